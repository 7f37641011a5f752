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

	"heddle/harness/paper"
	"heddle/harness/paper/clqlmrs"
)

// papers are those that there are experiments of.
func papers() []*paper.Paper { return []*paper.Paper{clqlmrs.Paper()} }

// Seeds of a paper's simulations.
const fullSeeds, quickSeeds = 20, 6

func paperCommand() *cli.Command {
	return &cli.Command{
		Name:      "paper",
		Usage:     "a paper's tables and figures beside ours",
		ArgsUsage: "[NAME [FIGURE …]]",
		Description: `Without a name: the papers there are. With one: its experiments, simulated on many
seeds, with 95 % intervals beside what is published, and a verdict on each of its
claims: holds, direction (the sign, not the size or all of the order), fails, or
not testable. FIGURE is a part or a claim of it. For example:

   heddle paper
   heddle paper clqlmrs --quick
   heddle paper clqlmrs fig5 table4
   heddle paper clqlmrs -o clqlmrs.html
   heddle paper clqlmrs --json | jq '.criteria[] | {id, verdict}'`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "quick", Usage: fmt.Sprintf("%d seeds instead of %d", quickSeeds, fullSeeds)},
			&cli.IntFlag{Name: "seeds", Usage: "simulate `N` seeds", DefaultText: fmt.Sprint(fullSeeds)},
			&cli.Uint64Flag{Name: "seed", Usage: "that all others are drawn from", Value: 1},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		},
		Action: runPaper,
	}
}

func runPaper(c *cli.Context) error {
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
		return withCode(exitUsage, fmt.Errorf("no paper %q; heddle paper lists them", args[0]))
	}
	o := paper.Options{Parts: args[1:], Seed: c.Uint64("seed"), Seeds: fullSeeds, Workers: runtime.GOMAXPROCS(0)}
	if c.Bool("quick") {
		o.Seeds = quickSeeds
	}
	if c.IsSet("seeds") {
		if o.Seeds = c.Int("seeds"); o.Seeds < 2 || o.Seeds > 10_000 {
			return withCode(exitUsage, fmt.Errorf("--seeds %d: want 2 to 10000; intervals take 2", o.Seeds))
		}
	}
	o.Progress = paperProgress(os.Stderr)
	r, err := list[i].Run(c.Context, o)
	switch {
	case errors.Is(err, paper.ErrUnknown):
		return withCode(exitUsage, err)
	case err != nil:
		return fmt.Errorf("paper %s: %w", args[0], err)
	case c.Bool("json"):
		return printJSON(c.App.Writer, r)
	}
	return r.WriteText(c.App.Writer)
}

func listPapers(c *cli.Context) error {
	tabs := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	for _, p := range papers() {
		fmt.Fprintf(tabs, "%s\t%s\n\t%s\n", p.Name, p.Title, p.Source)
		for _, x := range p.Parts {
			fmt.Fprintf(tabs, "  %s\t%s\n", x.ID, x.Title)
		}
		for _, x := range p.Rules {
			fmt.Fprintf(tabs, "  %s\t%s\n", x.ID, x.Text)
		}
	}
	return tabs.Flush()
}

// paperProgress says which part is under way: on one line of a terminal, else a
// line each.
func paperProgress(out *os.File) func(paper.Progress) {
	began, terminal := time.Now(), term.IsTerminal(int(out.Fd()))
	return func(p paper.Progress) {
		line := fmt.Sprintf("%5.1fs  %d/%d  %s  (%d simulations)", time.Since(began).Seconds(), p.Parts, p.All, p.Part, p.Simulated)
		switch {
		case !terminal:
			fmt.Fprintln(out, line)
		case p.Parts == p.All:
			io.WriteString(out, "\r\x1b[K") //nolint:errcheck // progress only
		default:
			fmt.Fprintf(out, "\r\x1b[K%s", line)
		}
	}
}
