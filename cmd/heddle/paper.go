package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/paper"
	"heddle/harness/paper/clqlmrs"
	"heddle/traces/outfile"
)

// papers returns the published papers whose experiments heddle can repeat.
func papers() []*paper.Paper { return []*paper.Paper{clqlmrs.Paper()} }

// How many seeds the simulations of a paper's experiments use: normally, and
// with the flag --quick.
const fullSeeds, quickSeeds = 20, 5

func paperCommand() *cli.Command {
	var root string
	return &cli.Command{
		Name:      "paper",
		Usage:     "a paper's tables and figures beside those of heddle",
		ArgsUsage: "[NAME [FIGURE …]]",
		Description: `Without NAME it lists the papers. With NAME it simulates the paper's experiments on
many seeds, and prints results with 95 % intervals beside the published ones, and a
verdict on each claim: holds, direction (the sign is right, but not the size or the
whole order), fails, or not testable. FIGURE is the name of a part or a claim. For
example:

   heddle paper
   heddle paper clqlmrs --quick
   heddle paper clqlmrs fig5 table4
   heddle paper clqlmrs -o clqlmrs.html
   heddle paper clqlmrs --live             its experiment on a cluster, at a lab's size
   heddle paper clqlmrs --live-run RUN-FOLDER
   heddle paper clqlmrs --json | jq '.criteria[] | {id, verdict}'`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "quick", Usage: fmt.Sprintf("%d seeds instead of %d", quickSeeds, fullSeeds)},
			&cli.IntFlag{Name: "seeds", Usage: "simulate `N` seeds", DefaultText: fmt.Sprint(fullSeeds)},
			&cli.Uint64Flag{Name: "seed", Usage: "number from which all seeds are drawn", Value: 1},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "output format: text, markdown, csv or json"},
			jsonFlag(),
			&cli.StringFlag{Name: "o", Usage: "also write an offline HTML page to `FILE`"},
			&cli.BoolFlag{Name: "live", Usage: "run the paper's experiment on a cluster, and print the results"},
			&cli.StringFlag{Name: "live-run", Usage: "print the results of the run in `DIR`, finished or not"},
			unverifiedFlag(),
			&cli.StringFlag{Name: "cluster", Usage: "with --live, the `CLUSTER` file or lab (default: the experiment's)"},
			runsFlag(&root),
		},
		Action: func(c *cli.Context) error { return runPaper(c, root) },
	}
}

func runPaper(c *cli.Context, root string) error {
	args, err := arguments(c)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return listPapers(c)
	}
	list := papers()
	i := slices.IndexFunc(list, func(p *paper.Paper) bool { return p.Name == args[0] })
	if i < 0 {
		return withCode(exitUsage, fmt.Errorf("no paper %q; 'heddle paper' lists them", args[0]))
	}
	p := list[i]
	format := c.String("format")
	if c.Bool("json") {
		format = "json"
	}
	if !slices.Contains([]string{"text", "markdown", "csv", "json"}, format) {
		return withCode(exitUsage, fmt.Errorf("--format %q: want text, markdown, csv or json", format))
	}
	var r *paper.Report
	switch {
	case c.IsSet("live-run") || c.Bool("live"):
		r, err = livePaper(c, p, args[1:], root)
	default:
		r, err = simulatedPaper(c, p, args[1:])
	}
	if err != nil {
		return err
	}
	if file := c.String("o"); file != "" {
		if err := outfile.Replace(file, func(f *os.File) error { return r.WritePage(f) }); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	switch out := c.App.Writer; format {
	case "json":
		return printJSON(out, r)
	case "markdown":
		return r.WriteMarkdown(out)
	case "csv":
		return r.WriteCSV(out)
	default:
		return r.WriteText(out)
	}
}

func simulatedPaper(c *cli.Context, p *paper.Paper, parts []string) (*paper.Report, error) {
	o := paper.Options{Parts: parts, Seed: c.Uint64("seed"), Seeds: fullSeeds, Workers: runtime.GOMAXPROCS(0), Progress: paperProgress(os.Stderr)}
	if c.Bool("quick") {
		o.Seeds = quickSeeds
	}
	if c.IsSet("seeds") {
		if o.Seeds = c.Int("seeds"); o.Seeds < 2 || o.Seeds > 10_000 {
			return nil, withCode(exitUsage, fmt.Errorf("--seeds %d: want 2 to 10000; an interval needs 2", o.Seeds))
		}
	}
	r, err := p.Run(c.Context, o)
	switch {
	case errors.Is(err, paper.ErrUnknown):
		return nil, withCode(exitUsage, err)
	case err != nil:
		return nil, fmt.Errorf("paper %s: %w", p.Name, err)
	}
	return r, nil
}

// livePaper returns the results of a paper's experiment on a cluster. They come
// from an existing run, or from a run that livePaper starts.
func livePaper(c *cli.Context, p *paper.Paper, parts []string, root string) (*paper.Report, error) {
	dir := c.String("live-run")
	switch {
	case len(parts) > 0:
		return nil, withCode(exitUsage, fmt.Errorf("%q: a live run has no figures; want no FIGURE", parts[0]))
	case dir != "" && c.Bool("live"):
		return nil, withCode(exitUsage, errors.New("both --live and --live-run; want one of them"))
	case dir == "":
		var err error
		if dir, err = runLivePaper(c, p, root); err != nil {
			return nil, err
		}
	}
	t, err := paper.ReadLive(dir, c.Bool("unverified"))
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	return &paper.Report{
		Paper: p.Name, Title: p.Title, Source: p.Source, Live: t,
		Criteria: []paper.Criterion{}, Findings: []paper.Criterion{}, Figures: []*paper.Figure{},
	}, nil
}

// runLivePaper runs the paper's experiment on a cluster and returns the run
// folder.
func runLivePaper(c *cli.Context, p *paper.Paper, root string) (string, error) {
	o := experiment.Options{Source: p.Live.Experiment, Command: os.Args, Others: map[string]*config.Cluster{}}
	var err error
	if o.Experiment, err = config.ParseExperiment(p.Name+".yaml", o.Source); err != nil {
		return "", err
	}
	if c.IsSet("seed") {
		o.Experiment.Seed = c.Uint64("seed")
	}
	name := o.Experiment.Cluster
	if c.IsSet("cluster") {
		name = c.String("cluster")
	}
	if o.Cluster, err = loadCluster(name); err != nil {
		return "", err
	}
	if o.Root, err = runsRoot(root); err != nil {
		return "", err
	}
	changesCluster(c, name)
	progress := newProgress(os.Stderr)
	o.Progress = progress.step
	run, err := experiment.Run(c.Context, o)
	progress.close()
	if run == nil {
		return "", runError(err)
	}
	fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
	return run.Dir, runError(err)
}

// listed describes one paper in the output of "heddle paper" as JSON, which
// lists all papers.
type listed struct {
	Name   string       `json:"name"`
	Title  string       `json:"title"`
	Source string       `json:"source"`
	Parts  []listedItem `json:"parts"`
	Claims []listedItem `json:"claims"`
}

type listedItem struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func listPapers(c *cli.Context) error {
	var list []listed
	for _, p := range papers() {
		l := listed{Name: p.Name, Title: p.Title, Source: p.Source}
		for _, x := range p.Parts {
			l.Parts = append(l.Parts, listedItem{x.ID, x.Title})
		}
		for _, x := range p.Rules {
			l.Claims = append(l.Claims, listedItem{x.ID, x.Text})
		}
		list = append(list, l)
	}
	return printResult(c, list, func(out io.Writer) error {
		tabs := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, p := range list {
			fmt.Fprintf(tabs, "%s\t%s\n\t%s\n", p.Name, p.Title, p.Source)
			for _, x := range append(p.Parts, p.Claims...) {
				fmt.Fprintf(tabs, "  %s\t%s\n", x.ID, x.Text)
			}
		}
		return tabs.Flush()
	})
}

// paperProgress returns a function that shows which figure or claim of a paper
// is being computed. On a terminal it rewrites one line. Otherwise it prints a
// line for each figure or claim.
func paperProgress(out *os.File) func(paper.Progress) {
	began, terminal := time.Now(), term.IsTerminal(int(out.Fd()))
	return func(p paper.Progress) {
		line := fmt.Sprintf("%5.1fs  %d/%d  %s  (%d simulations)", time.Since(began).Seconds(), p.Parts, p.All, p.Part, p.Simulated)
		switch {
		case !terminal:
			fmt.Fprintln(out, line)
		case p.Parts == p.All:
			fmt.Fprint(out, "\r\x1b[K")
		default:
			fmt.Fprintf(out, "\r\x1b[K%s", line)
		}
	}
}
