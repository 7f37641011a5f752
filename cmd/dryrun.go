package cmd

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/experiment"
	"heddle/harness/measure"
	"heddle/harness/replay/calibration"
	"heddle/harness/results"
	"heddle/harness/workload"
)

// dryRun prints how long a run of an experiment would take and how many repeats
// it needs, without running it.
func dryRun(c *cli.Context, o *runOptions, x *experiment.Options, files []string) error {
	metric, tellPct, err := o.asked(files)
	if err != nil {
		return err
	}
	if _, err := x.Load(files[0]); err != nil {
		return usage(err)
	}
	if err := x.Experiment.Supported(); err != nil {
		return usage(err)
	}
	like := o.Like
	var costs *calibration.Calibration
	var notes []string
	if like == "" {
		folder, err := os.MkdirTemp("", "heddle-dry-run-")
		if err != nil {
			return fmt.Errorf("make folder for the simulation: %w", err)
		}
		defer os.RemoveAll(folder)
		if like, costs, notes, err = simulateLike(c, o, *x, folder); err != nil {
			return err
		}
		if like == "" { // nothing can be simulated
			return printDoc(c, map[string][]string{"notes": notes}, doc.Doc{doc.Notes(notes)})
		}
	}
	run, err := results.Open(like, o.Unverified)
	if err != nil {
		return usage(err)
	}
	f := experiment.Expect(x.Experiment, run, metric, tellPct)
	f.Notes = notes
	f.Warnings = append(f.Warnings, results.Starved(run.Trials)...)
	if o.Like != "" {
		if unlike := experiment.Unlike(x.Experiment, run.Run, false); unlike != "" {
			f.Warnings = append(f.Warnings, unlike)
		}
	}
	for _, r := range run.Trials[:min(1, len(run.Trials))] {
		if o.Like == "" {
			f.Warnings = append(f.Warnings, r.Warnings...)
		}
	}
	f.Warnings = append(f.Warnings, run.Warnings()...)
	var predicted []experiment.NewRun
	if costs != nil {
		predicted = experiment.NewTrials(costs, run.Trials)
	}
	return printDoc(c, struct {
		*experiment.Forecast
		NewRuns []experiment.NewRun `json:"newRuns,omitempty"`
		RestsOn string              `json:"restsOn,omitempty"`
	}{f, predicted, experiment.RestsOn(costs)}, append(f.Doc(), experiment.NewRunsDoc(costs, predicted)...))
}

// asked returns which difference a dry run is to tell, of which metric.
func (o *runOptions) asked(files []string) (none measure.Metric, tellPct float64, err error) {
	switch {
	case len(files) != 1 || o.Resume != "" || o.Simulate:
		return none, 0, usagef("--dry-run: want one experiment file, without --resume and --simulate")
	case o.Like != "" && (o.Calibration != "" || o.Cluster != "" || o.SpeedOf != ""):
		return none, 0, usagef("--like: want it without --calibration, --speed-of and --cluster, which are for a forecast from a simulation")
	}
	tellPct, err = strconv.ParseFloat(strings.TrimSuffix(o.Tell, "%"), 64)
	if err != nil || !(tellPct > 0 && tellPct <= 1000) {
		return none, 0, usagef("--tell %q: want a difference above 0%% and up to 1000%%, such as 5%%", o.Tell)
	}
	metrics, err := measure.Find([]string{o.Metric})
	switch {
	case err != nil:
		return none, 0, usagef("--metric: %w", err)
	case len(metrics) > 1 || !metrics[0].IsFactor():
		return none, 0, usagef("--metric %s: want one time or multiple, whose differences are percentages", o.Metric)
	}
	return metrics[0], tellPct, nil
}

// simulateLike simulates a few repeats of an experiment, from which a forecast
// can be made. It writes them to a run folder below the folder root and returns
// the run folder's path, the calibration, nil if none is given, and what is said of the plan.
func simulateLike(
	c *cli.Context, o *runOptions, x experiment.Options, root string,
) (dir string, costs *calibration.Calibration, notes []string, err error) {
	e := *x.Experiment
	e.Repeats, e.Timeout, e.Warmups = experiment.ForecastRepeats, 0, 0
	if _, err := findClusters(c, o, &x, nil, true); err != nil {
		return "", nil, nil, err
	}
	if costs, err = calibrationOf(c, o, &x); err != nil {
		return "", nil, nil, usage(err)
	}
	notes = workload.Scripts(x.Cluster)
	e.Workloads = slices.DeleteFunc(slices.Clone(e.Workloads), func(w config.Workload) bool {
		if workload.HasTwin(w) {
			return false
		}
		notes = append(notes, w.Label+": no estimate, since only a cluster knows which jobs its programs start")
		return true
	})
	if len(e.Workloads) == 0 {
		return "", nil, notes, nil
	}
	p := newRunProgress(c)
	defer p.close()
	x.Experiment, x.Root, x.Name, x.OwnSeeds = &e, root, "simulated", true
	x.Progress = func(s experiment.Step) {
		if s.Doing == "plan" {
			notes = append(notes, s.Text)
		} else {
			p.step(s)
		}
	}
	run, err := experiment.Simulate(c.Context, x, costs)
	if err != nil {
		return "", nil, nil, fmt.Errorf("%w; --like estimates from a run instead of a simulation", err)
	}
	return run.Dir, costs, notes, nil
}
