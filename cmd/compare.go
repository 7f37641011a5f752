package cmd

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/compare"
	"heddle/harness/measure"
	"heddle/harness/results"
)

type compareOptions struct {
	compare.Options
	Where      string `flag:"where" text:"only trials that fulfil CONDITION" of:"CONDITION"`
	CannotTell string `flag:"cannot-tell" values:"fail,pass" text:"what thresholds do that the repeats cannot tell" without:"as the experiment says"`
	Benchfmt   bool   `flag:"benchfmt" text:"print every trial as a Go benchmark result, for benchstat" heading:"Output"`
	printed
}

func compareCommand() *cli.Command {
	return reader(&cli.Command{
		Name:      "compare",
		Usage:     "compare the models of finished runs",
		ArgsUsage: "RUN [RUN …]",
		Description: `Prints for each workload and metric the models' means over the repeats, and how much
models differ within repeats, with 95 % intervals: shown, just shown, or cannot tell. The
last sentence says which was faster. Several runs count as one, unless --apart is given.
A single run whose experiment has thresholds is held against them, too: if one is missed,
or the repeats cannot tell, the exit code is 4. --benchfmt checks none. For example:

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
	}, &compareOptions{}, runCompare)
}

func runCompare(c *cli.Context, o *compareOptions, dirs []string) (err error) {
	switch {
	case o.By != "" && o.Benchfmt:
		return usagef("both --by and --benchfmt; want one of them")
	case wantsJSON(c) && o.Benchfmt:
		return usagef("both --json and --benchfmt; want one of them")
	}
	if c.IsSet("where") {
		if o.Options.Where, err = results.Where(o.Where); err != nil {
			return fmt.Errorf("--where: %w", err)
		}
	}
	root, _ := runsRoot("") // without one there are no names
	for i, dir := range dirs {
		if _, err := os.Stat(dir); err == nil {
			continue
		}
		if run, err := openRun(root, dir); err == nil {
			dirs[i] = run.Dir
		}
	}
	report, err := compare.Runs(dirs, o.Options)
	switch {
	case err != nil:
		return err
	case o.Benchfmt:
		return failed(report.WriteBenchmarks(c.App.Writer))
	}
	if err := show(c, report); err != nil {
		return err
	}
	return withCode(exitThreshold, compare.Unmet(report.Thresholds, cmp.Or(o.CannotTell, report.CannotTell)))
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
