package cmd

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/report"
	"heddle/traces/outfile"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "one page of runs and traces, for a browser",
		ArgsUsage: "RUN|TRACE [RUN …]",
		Description: `Writes one HTML file that needs no network: which model was faster and whether the
repeats tell it, thresholds, differences, distributions, jobs, and where all of it is
from. A RUN is the name of a run folder below --runs, or the path of one. A TRACE is a
file in any format that heddle trace import reads; beside runs it is what they replay.
Trials that were measured are replayed too, to show how far predictions are from them.
For example:

   heddle report -o page.html RUN-FOLDER
   heddle report -o page.html --metric makespan --metric cacheLocal RUN-FOLDER
   heddle report -o day.html RUN-FOLDER job-trace.json.gz`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the page to `FILE`, which must not exist"},
			&cli.StringSliceFlag{Name: "metric", Usage: "compare by `METRIC` of heddle compare, or all; the first is that of the page's first sentence; may be repeated (default: mean completion and the usual ones)"},
			&cli.BoolFlag{Name: "apart", Usage: "keep runs apart: a model is then named RUN/MODEL"},
			&cli.BoolFlag{Name: "fidelity", Usage: "replay the trials to compare them with predictions", DefaultText: "for measured runs"},
			unverifiedFlag(),
			runsFlag(nil),
		},
		Action: withArguments(runReport),
	}
}

// mostPageBytes is how large a page is without a warning.
const mostPageBytes = 5_000_000

func runReport(c *cli.Context, args []string) error {
	path := c.String("output")
	switch {
	case len(args) == 0:
		return withCode(exitUsage, errors.New("want a RUN or a TRACE; 'heddle runs list' lists runs"))
	case path == "":
		return withCode(exitUsage, errors.New("report needs --output FILE.html"))
	}
	if err := absent(path); err != nil {
		return err
	}
	if _, err := measure.Find(several(c, "metric")); err != nil { // before traces are read
		return withCode(exitUsage, err)
	}
	p := newProgress(c)
	defer p.close()
	o := report.Options{
		Command: os.Args,
		Metrics: several(c, "metric"), Apart: c.Bool("apart"), Unverified: c.Bool("unverified"), Fidelity: c.Bool("fidelity"),
		Progress: func(doing string) { p.show(func() []string { return []string{doing} }) },
	}
	root, err := runsRoot(c.String("runs"))
	if err != nil {
		return err
	}
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && !info.IsDir() {
			o.Traces = append(o.Traces, arg)
			continue
		}
		run, err := openRun(root, arg)
		if err != nil {
			return withCode(exitUsage, fmt.Errorf("%w; a TRACE is a file", err))
		}
		if measured := o.AddRun(run); measured && !c.IsSet("fidelity") {
			o.Fidelity = true
		}
	}
	d, err := report.Of(c.Context, o)
	if err != nil {
		return withCode(exitUsage, err)
	}
	p.close()
	if err := outfile.Create(path, func(f *os.File) error { return doc.WritePage(f, d) }); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > mostPageBytes {
		warn(fmt.Sprintf("%s has %s: browsers are slow with such a page; fewer runs or metrics make it smaller", path, doc.Bytes(info.Size())))
	}
	return nil
}
