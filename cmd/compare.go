package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/compare"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces/exchange"
)

type compareOptions struct {
	compare.Options
	Where      string `flag:"where" text:"only trials that fulfil CONDITION" of:"CONDITION"`
	CannotTell string `flag:"cannot-tell" values:"fail,pass" text:"what thresholds do that the repeats cannot tell" without:"as the experiment says"`
	Benchfmt   bool   `flag:"benchfmt" text:"print every trial as a Go benchmark result, for benchstat" heading:"Output"`
	printed
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
	if isTrace(dirs[0]) {
		for _, path := range dirs {
			if !isTrace(path) {
				return usagef("%s is a trace and %s a run; want one or the other", dirs[0], path)
			}
		}
		return compareTraces(c, dirs)
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

// isTrace reports whether an argument is a trace, or a folder of such, and no run.
func isTrace(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return err == nil
	}
	_, err = runs.Open(path)
	return errors.Is(err, runs.ErrNotRun)
}

// compareTraces compares jobs and applications of traces by their names.
func compareTraces(c *cli.Context, paths []string) error {
	var list []*measure.Figures
	for _, path := range paths {
		r, imported, err := exchange.Any(c.Context, path, nil)
		if err != nil {
			return err
		}
		if imported != nil {
			warn(imported.LeftOut...)
		}
		f := measure.Of(r.Header(), r.All())
		err = r.Err()
		r.Close()
		if err != nil {
			return err
		}
		list = append(list, f)
	}
	return printDoc(c, list, compare.Applications(paths, list))
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
