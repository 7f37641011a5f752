package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/compare"
)

func compareCommand() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "compare the models of finished runs",
		ArgsUsage: "RUN [RUN …]",
		Description: `Prints for each workload and metric the models' medians over the repeats, and how much
models differ within repeats, with 95 % intervals and p-values. With too few
repeats (an interval of a median needs 6) it says so and ranks nothing. Several
runs count as one, unless --apart is given. A single run whose experiment has thresholds
is held against them, too. For example:

   heddle compare RUN-FOLDER
   heddle compare --metric makespan --json RUN-FOLDER | jq '.pairs[] | {a, b, diffPct, p}'
   heddle compare --benchfmt RUN-FOLDER > runs.txt && benchstat -col model runs.txt

Metrics:
` + metricLines(),
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "metric", Usage: "only `METRIC`; may be repeated (default: all)"},
			&cli.BoolFlag{Name: "apart", Usage: "keep runs apart: a model is then named RUN/MODEL"},
			unverifiedFlag(),
			jsonFlag(),
			&cli.BoolFlag{Name: "benchfmt", Usage: "print every trial as a Go benchmark result, for benchstat"},
		},
		Action: runCompare,
	}
}

func runCompare(c *cli.Context) error {
	dirs, err := arguments(c)
	switch {
	case err != nil:
		return err
	case len(dirs) == 0:
		return withCode(exitUsage, errors.New("want one run folder or more; 'heddle run' prints the path of its run folder"))
	case c.Bool("json") && c.Bool("benchfmt"):
		return withCode(exitUsage, errors.New("both --json and --benchfmt; want one of them"))
	}
	report, err := compare.Runs(dirs, compare.Options{Metrics: c.StringSlice("metric"), Apart: c.Bool("apart"), Unverified: c.Bool("unverified")})
	switch {
	case err != nil:
		return withCode(exitUsage, err)
	case c.Bool("json"):
		return printJSON(c.App.Writer, report)
	case c.Bool("benchfmt"):
		return report.WriteBenchmarks(c.App.Writer)
	}
	return report.WriteText(c.App.Writer)
}

func metricLines() string {
	var text strings.Builder
	for _, m := range compare.Metrics() {
		fmt.Fprintf(&text, "   %-15s %s (%s)\n", m.Name, m.Text, m.Unit)
	}
	return text.String()
}
