package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/results"
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
is held against them, too: if one is missed or untold, the exit code is 4. --benchfmt
checks none. For example:

   heddle compare RUN-FOLDER
   heddle compare --metric makespan --json RUN-FOLDER | jq '.pairs[] | {a, b, diffPct, p}'
   heddle compare --where 'repeat>1 && model~^delay' RUN-FOLDER
   heddle compare --benchfmt RUN-FOLDER > runs.txt && benchstat -col model runs.txt

A condition compares run, world, trial, workload, model, reading, repeat, seed or a metric with a
value, by = != < <= > >= or, with a regular expression, ~ !~. && and || join conditions,
! and parentheses do what they do in Go. Thresholds are not checked then.

Metrics, of which completion, waiting, slowdown, lateness and distance are also there as
.p50, .p90, .p95, .p99 and .max, such as waiting.p95:
` + metricLines(),
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "metric", Usage: "only `METRIC`, or all; may be repeated (default: the first six)"},
			&cli.StringFlag{Name: "where", Usage: "only trials that fulfil `CONDITION`"},
			&cli.StringFlag{Name: "by", Usage: "compare jobs by `queue, pool or size`, each class on its own; for metrics of jobs"},
			&cli.BoolFlag{Name: "apart", Usage: "keep runs apart: a model is then named RUN/MODEL"},
			&cli.StringFlag{Name: "untold", Usage: "whether thresholds that the repeats cannot tell `fail or pass` (default: as the experiment says)"},
			unverifiedFlag(),
			tableFlag(), jsonFlag(),
			&cli.BoolFlag{Name: "benchfmt", Usage: "print every trial as a Go benchmark result, for benchstat"},
		},
		Action: withArguments(runCompare),
	}
}

func runCompare(c *cli.Context, dirs []string) (err error) {
	switch {
	case len(dirs) == 0:
		return withCode(exitUsage, errors.New("want one run folder or more; 'heddle run' prints the path of its run folder"))
	case c.IsSet("by") && c.Bool("benchfmt"):
		return withCode(exitUsage, errors.New("both --by and --benchfmt; want one of them"))
	case wantsJSON(c) && c.Bool("benchfmt"):
		return withCode(exitUsage, errors.New("both --json and --benchfmt; want one of them"))
	case !slices.Contains([]string{"", config.UntoldFail, config.UntoldPass}, c.String("untold")):
		return withCode(exitUsage, fmt.Errorf("--untold %q: want %s or %s", c.String("untold"), config.UntoldFail, config.UntoldPass))
	}
	options := compare.Options{Metrics: several(c, "metric"), By: c.String("by"), Apart: c.Bool("apart"), Unverified: c.Bool("unverified")}
	if text := c.String("where"); c.IsSet("where") {
		if options.Where, err = results.Where(text); err != nil {
			return withCode(exitUsage, fmt.Errorf("--where: %w", err))
		}
	}
	report, err := compare.Runs(dirs, options)
	switch {
	case err != nil:
		return withCode(exitUsage, err)
	case c.Bool("benchfmt"):
		return report.WriteBenchmarks(c.App.Writer)
	}
	if err := printDoc(c, report, report.Doc()); err != nil {
		return err
	}
	return withCode(exitThreshold, compare.Unmet(report.Thresholds, cmp.Or(c.String("untold"), report.Untold)))
}

func metricLines() string {
	var text strings.Builder
	for _, m := range measure.Metrics() {
		if m.Part { // the help says once how they are named
			continue
		}
		unit := ""
		if m.Unit != "" {
			unit = " (" + m.Unit + ")"
		}
		fmt.Fprintf(&text, "   %-15s %s%s\n", m.Name, m.Text, unit)
	}
	return text.String()
}
