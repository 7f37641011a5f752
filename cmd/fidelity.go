package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/fidelity"
	"heddle/harness/measure"
	"heddle/harness/results"
)

type fidelityOptions struct {
	Across   []string `flag:"across" text:"fit to the run folder RUN, RUN:WORKLOAD, or RUN:WORKLOAD:MODEL, and predict the runs of the arguments with that, but for the trials fitted to; may be repeated" of:"RUN"`
	MaxError string   `flag:"max-error" text:"end with code 4 if a workload and model's mean error is above PERCENT" of:"PERCENT"`
	Metric   []string `flag:"metric" list:"," suggest:"metrics" text:"errors of METRIC of heddle compare too, or of all; may be repeated" of:"METRIC"`
	fidelity.Options
	printed
}

// acrossSeeds is enough for chance in replays to be less than what is asked of
// predictions: with 5 seeds, means of one job on a lab were off by 3 % for chance alone.
const acrossSeeds = 20

func runFidelity(c *cli.Context, o *fidelityOptions, dirs []string) (err error) {
	o.Interrupted = c.Context.Err
	if o.Across != nil {
		o.Seeds = cmp.Or(o.Seeds, acrossSeeds)
		if o.Metric != nil || o.MaxError != "" {
			return errors.New("--across: --metric and --max-error are for the runs of one folder; want --across without them")
		}
		report, err := fidelity.AcrossRuns(o.Across, dirs, o.Options)
		if err != nil {
			return err
		}
		return show(c, report)
	}
	if len(dirs) != 1 {
		return errors.New("want one run folder; 'heddle run' prints the path of its run folder")
	}
	if info, err := os.Stat(dirs[0]); err == nil && info.Mode().IsRegular() {
		instead := "heddle replay " + dirs[0] + " simulates a trace"
		if run := results.RunOf(dirs[0]); run != "" {
			instead = "heddle fidelity " + run
		}
		return fmt.Errorf("%s is a file: each trial is predicted from the other repeats of its run, so fidelity takes the folder of "+
			"a run; %s", dirs[0], instead)
	}
	if o.Metric != nil {
		if o.Metrics, err = measure.Find(o.Metric); err != nil {
			return err
		}
	}
	most := math.Inf(1)
	if o.MaxError != "" {
		if most, err = strconv.ParseFloat(strings.TrimSuffix(o.MaxError, "%"), 64); err != nil || !(most >= 0) {
			return fmt.Errorf("--max-error %q: want a percentage such as 5%%", o.MaxError)
		}
	}
	report, err := fidelity.Of(dirs[0], o.Options)
	if err != nil {
		return err
	}
	err = show(c, report)
	if worst := report.Worst(); err == nil && o.MaxError != "" && !(float64(worst.MeanAbsErrorPct) <= most) {
		return withCode(exitThreshold, fmt.Errorf("%s under %s: the mean error of predictions is %.1f %%, above --max-error %g%%",
			worst.Workload, worst.Model, worst.MeanAbsErrorPct, most))
	}
	return err
}
