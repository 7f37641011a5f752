package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/doc"
	"heddle/harness/export"
	"heddle/harness/nearest"
	"heddle/harness/paper"
	"heddle/harness/paper/clqlmrs"
	"heddle/harness/paper/learning"
	"heddle/harness/paper/modfair"
	"heddle/harness/paper/reverse"
	"heddle/harness/paper/rhc"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces/outfile"
)

// papers are the published papers whose experiments heddle can repeat: a line
// each, and nothing else in this command is about one of them.
var papers = []func() *paper.Paper{
	clqlmrs.Paper,
	learning.Paper,
	modfair.Paper,
	reverse.Paper,
	rhc.Paper,
}

func paperNames() (names []string) {
	for _, of := range papers {
		names = append(names, of().Name)
	}
	return names
}

// How many seeds the simulations of a paper's experiments use: normally, and
// with the flag --quick. With fewer than six, differences that are the same with
// every seed have no interval.
const fullSeeds, quickSeeds = 20, 6

func paperCommand() *cli.Command {
	return &cli.Command{
		Name:      "paper",
		Usage:     "a paper's figures and claims beside those of heddle, and whether the claims need the paper's method",
		ArgsUsage: "[NAME [FIGURE …]]",
		Description: `Without NAME it lists the papers. With NAME it simulates the paper's experiments on
many seeds, read as printed, and prints results with 95 % intervals beside the
published ones, and a verdict on each claim: holds, direction (the sign is right, but
not the size or the whole order), fails, reversed (the opposite is shown), ceiling
(there is no room for the effect) or not testable. Each claim is also judged with
controls in the place of the paper's scheduler: what a control meets as well does not
need the paper's method. FIGURE is the name of a figure, a table or a claim.

What is simulated is kept in a run folder, whose path is printed: a row for each
scheduler, setting and seed, for heddle compare and heddle runs export.

With --matrix it judges the claims in many readings of the paper. For example:

   heddle paper
   heddle paper clqlmrs --quick
   heddle paper clqlmrs fig5 table4
   heddle paper clqlmrs --matrix --quick
   heddle paper clqlmrs --matrix --axes reward,disk C2
   heddle paper clqlmrs --reading repaired --set containers=ram --also capacity
   heddle paper clqlmrs -o clqlmrs.html --pictures pictures
   heddle paper clqlmrs --live             its experiment on a cluster, at a lab's size
   heddle paper clqlmrs --live-run RUN-FOLDER
   heddle paper clqlmrs --json | jq '.criteria[] | {id, verdict, neededMethod}'`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "quick", Usage: fmt.Sprintf("%d seeds instead of %d", quickSeeds, fullSeeds)},
			&cli.IntFlag{Name: "seeds", Usage: "simulate `N` seeds", DefaultText: fmt.Sprintf("%d, or fewer for the matrix of some papers", fullSeeds)},
			&cli.Uint64Flag{Name: "seed", Usage: "number from which all seeds are drawn", Value: 1},
			&cli.StringFlag{Name: "parts", Usage: "figures, tables and claims, such as `fig5,C3`: the same as behind NAME"},
			&cli.StringFlag{Name: "reading", Usage: "the `READING` of the paper (default: as printed)"},
			&cli.StringSliceFlag{Name: "set", Usage: "change a property of the set-up or an axis: `NAME=VALUE`, such as containers=8 or cache=16GB"},
			&cli.StringSliceFlag{Name: "model-param", Usage: "change a parameter of a model: `MODEL.NAME=VALUE`, such as clqlmrs.reward=step"},
			&cli.StringSliceFlag{Name: "also", Usage: "compare with this `MODEL` too, in the figures and as a control"},
			&cli.BoolFlag{Name: "matrix", Usage: "judge the claims in many readings: as printed, those with a name, one axis at a time, and all pairs of values"},
			&cli.StringFlag{Name: "axes", Usage: "with --matrix, the `AXES` to vary, such as reward,disk (default: the paper's choice)"},
			&cli.BoolFlag{Name: "full", Usage: "with --matrix, all combinations of values instead of all pairs"},
			tableFlag(), jsonFlag(),
			&cli.StringFlag{Name: "o", Usage: "also write an offline HTML page to `FILE`, which must not exist"},
			&cli.StringFlag{Name: "pictures", Usage: "also draw each figure, and how the model learns, as SVG files in the folder `DIR`"},
			&cli.BoolFlag{Name: "live", Usage: "run the paper's experiment on a cluster, and print the results"},
			&cli.BoolFlag{Name: "dry-run", Usage: "with --live, print how many repeats are needed, and run nothing on the cluster"},
			&cli.StringFlag{Name: "live-run", Usage: "print the results of the run in `DIR`, finished or not"},
			unverifiedFlag(),
			&cli.StringFlag{Name: "cluster", Usage: "with --live, the `CLUSTER` file or lab (default: the experiment's)"},
			runsFlag(nil),
			&cli.StringFlag{Name: "run-name", Usage: "`NAME` of the run folder (default: time and paper)"},
		},
		Action: withArguments(runPaper),
	}
}

// paperResult is what the command prints: a report or a matrix.
type paperResult interface {
	Doc() doc.Doc
}

func runPaper(c *cli.Context, args []string) (err error) {
	began := time.Now()
	if len(args) == 0 {
		return listPapers(c)
	}
	i := slices.IndexFunc(papers, func(of func() *paper.Paper) bool { return of().Name == args[0] })
	if i < 0 {
		return withCode(exitUsage, fmt.Errorf("no paper %q; %s", args[0], nearest.Hint(args[0], paperNames())))
	}
	p := papers[i]()
	if p.Live == nil && (c.Bool("live") || c.IsSet("live-run")) {
		return withCode(exitUsage, fmt.Errorf("--live, --live-run: paper %s has no experiment for a cluster", p.Name))
	}
	if err := checkPaperFlags(c); err != nil {
		return withCode(exitUsage, err)
	}
	if err := absent(c.String("o")); err != nil {
		return err
	}
	var r paperResult
	var root string
	switch {
	case c.Bool("live") && c.Bool("dry-run"):
		return forecastPaper(c, p, args[1:])
	case c.IsSet("live-run") || c.Bool("live"):
		r, err = livePaper(c, p, args[1:])
	default:
		if root, err = newRun(c); err == nil {
			r, err = simulatedPaper(c, p, args[1:])
		}
	}
	if err != nil {
		return err
	}
	run, err := keepPaper(c, r, root, began)
	if err != nil {
		return err
	}
	if err := writePaperFiles(c, r, run); err != nil {
		return err
	}
	if err := printDoc(c, r, r.Doc()); err != nil {
		return err
	}
	if run != nil {
		fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
		next(c, "heddle runs show", run.Dir)
	}
	return nil
}

// keepPaper writes what was simulated to a run folder. It returns nil if nothing was.
func keepPaper(c *cli.Context, r paperResult, root string, began time.Time) (*runs.Run, error) {
	var kept *paper.Kept
	switch x := r.(type) {
	case *paper.Report:
		kept = &x.Kept
	case *paper.Matrix:
		kept = &x.Kept
	}
	if kept == nil || len(kept.Trials) == 0 { // what ran on a cluster has its folder
		return nil, nil
	}
	run, err := kept.Write(root, c.String("run-name"), os.Args, began)
	if err != nil {
		return nil, runError(err)
	}
	return run, nil
}

// mostPaperRows is how many rows of a run a page has as a file: it is to be smaller than
// 5 MB.
const mostPaperRows = 5000

// paperSource says where a page is from: the command, the version, the date and the run
// folder, with the rows of the run as a file. There is no run if a cluster ran the jobs.
func paperSource(run *runs.Run) (doc.Doc, error) {
	d := doc.Doc{doc.Heading("Where this is from")}
	if run == nil {
		return append(d, doc.Facts{{Name: "command", Value: strings.Join(os.Args, " ")}, {Name: "heddle", Value: runs.ThisBuild().String()}, {Name: "page of", Value: time.Now().UTC().Format(time.DateTime + " UTC")}}), nil
	}
	d = append(d, doc.Facts{{Name: "run folder", Value: run.Dir}})
	d = append(d, results.Provenance(run)...)
	finished, err := results.Open(run.Dir, false)
	if err != nil {
		return nil, err
	}
	if len(finished.Trials) > mostPaperRows {
		return append(d, doc.Text(fmt.Sprintf("\"heddle runs export -o rows.csv %s\" writes the rows of the run, one for each scheduler, setting and seed.", run.Dir))), nil
	}
	folder, err := os.MkdirTemp("", "heddle-paper-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "rows.csv")
	if _, err := export.Write([]*results.Run{finished}, export.Trials, file); err != nil {
		return nil, err
	}
	rows, err := os.ReadFile(file)
	return append(d, doc.Text("The rows of the run, one for each scheduler, setting and seed:"), doc.Files{{Name: "rows.csv", Type: "text/csv", Data: rows}}), err
}

func checkPaperFlags(c *cli.Context) error {
	switch {
	case (c.IsSet("axes") || c.Bool("full")) && !c.Bool("matrix"):
		return errors.New("--axes, --full: want --matrix with them")
	case c.Bool("matrix") && c.IsSet("reading"):
		return errors.New("--reading: a matrix has all readings; want it without --matrix")
	case c.Bool("dry-run") && !c.Bool("live"):
		return errors.New("--dry-run: want --live with it")
	}
	return nil
}

// writePaperFiles writes the files that were asked for besides the output.
func writePaperFiles(c *cli.Context, r paperResult, run *runs.Run) error {
	if file := c.String("o"); file != "" {
		source, err := paperSource(run)
		if err != nil {
			return fmt.Errorf("write page: %w", err)
		}
		if err := outfile.Create(file, func(f *os.File) error { return doc.WritePage(f, append(r.Doc(), source...)) }); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	if x, ok := r.(*paper.Report); ok && c.IsSet("pictures") {
		return paper.WritePictures(c.String("pictures"), x.Figures)
	}
	return nil
}

// simulatedPaper simulates a paper's experiments in one reading, or in the
// readings of a matrix.
func simulatedPaper(c *cli.Context, p *paper.Paper, parts []string) (paperResult, error) {
	w := &work{progress: newProgress(c)}
	defer w.close()
	o := paper.Options{
		Parts: parts, Reading: c.String("reading"), Set: map[string]string{},
		Seed: c.Uint64("seed"), Workers: runtime.GOMAXPROCS(0), Progress: paperProgress(w),
	}
	if c.Bool("quick") {
		o.Seeds = quickSeeds
	}
	if c.IsSet("seeds") {
		if o.Seeds = c.Int("seeds"); o.Seeds < 2 || o.Seeds > 10_000 {
			return nil, withCode(exitUsage, fmt.Errorf("--seeds %d: want 2 to 10000; an interval needs 2", o.Seeds))
		}
	}
	o.Parts = append(slices.Clone(o.Parts), fields(c.String("parts"))...)
	for _, flag := range []string{"set", "model-param"} {
		for _, text := range c.StringSlice(flag) {
			name, value, ok := strings.Cut(text, "=")
			if !ok || name == "" || strings.Contains(name, ".") != (flag == "model-param") {
				return nil, withCode(exitUsage, fmt.Errorf("--%s %q: want NAME=VALUE for --set and MODEL.NAME=VALUE for --model-param", flag, text))
			}
			o.Set[p.Key(name)] = value
		}
	}
	for _, model := range several(c, "also") {
		o.Also = append(o.Also, paper.Scheduler{Label: model, Model: model})
	}
	vary := paper.Vary{Axes: fields(c.String("axes")), Full: c.Bool("full")}
	if c.Bool("matrix") {
		p.Size(&o, vary)
	}
	if o.Seeds == 0 {
		o.Seeds = fullSeeds
	}
	var r paperResult
	var err error
	if c.Bool("matrix") {
		r, err = p.Matrix(c.Context, o, vary)
	} else {
		r, err = p.Run(c.Context, o)
	}
	switch {
	case errors.Is(err, paper.ErrUnknown):
		return nil, withCode(exitUsage, err)
	case err != nil:
		return nil, fmt.Errorf("paper %s: %w", p.Name, err)
	}
	return r, nil
}

// fields returns the parts of a text that are separated by commas.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

// listed describes one paper in the output of "heddle paper" as JSON, which
// lists all papers.
type listed struct {
	Name   string       `json:"name"`
	Title  string       `json:"title"`
	Source string       `json:"source"`
	Parts  []listedItem `json:"parts"`
	Claims []listedItem `json:"claims"`
	Axes   []paper.Axis `json:"axes"`
}

type listedItem struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func listPapers(c *cli.Context) error {
	var list []listed
	for _, of := range papers {
		p := of()
		l := listed{Name: p.Name, Title: p.Title, Source: p.Source, Axes: p.Axes}
		for _, x := range p.Parts {
			l.Parts = append(l.Parts, listedItem{x.ID, x.Title})
		}
		for _, x := range p.Claims {
			l.Claims = append(l.Claims, listedItem{x.ID, x.Text})
		}
		list = append(list, l)
	}
	var d doc.Doc
	for _, p := range list {
		t := &doc.Table{Name: p.Name, Columns: []string{"part", "what it is about"}}
		for _, x := range append(p.Parts, p.Claims...) {
			t.Add(doc.Words(x.ID), doc.Words(x.Text))
		}
		for _, a := range p.Axes {
			var values []string
			for _, v := range a.Values {
				values = append(values, v.Value)
			}
			t.Add(doc.Words(a.Name), doc.Words(a.About+": "+strings.Join(values, ", ")))
		}
		d = append(d, doc.Heading(p.Name+": "+p.Title), doc.Text(p.Source), t)
	}
	return printDoc(c, list, d)
}

// paperProgress returns a function that shows which figure, claim or reading of
// a paper is being computed.
func paperProgress(w *work) func(paper.Progress) {
	return func(p paper.Progress) {
		w.counted(float64(p.Done), float64(p.All), func() string {
			return fmt.Sprintf("%d/%d  %s (%d simulations, %d trainings)", p.Done, p.All, p.Doing, p.Simulated, p.Trained)
		})
	}
}
