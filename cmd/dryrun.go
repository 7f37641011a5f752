package cmd

import (
	"errors"
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
func dryRun(c *cli.Context, files []string, o *experiment.Options) error {
	switch {
	case len(files) != 1 || o.Resume != "" || c.Bool("simulate"):
		return withCode(exitUsage, errors.New("--dry-run: want one experiment file, without --resume and --simulate"))
	case c.IsSet("like") && (c.IsSet("calibration") || c.IsSet("cluster") || c.IsSet("speed-of")):
		return withCode(exitUsage, errors.New("--like: want it without --calibration, --speed-of and --cluster, which are for a forecast from a simulation"))
	}
	tellPct, err := strconv.ParseFloat(strings.TrimSuffix(c.String("tell"), "%"), 64)
	if err != nil || !(tellPct > 0 && tellPct <= 1000) {
		return withCode(exitUsage, fmt.Errorf("--tell %q: want a difference above 0%% and up to 1000%%, such as 5%%", c.String("tell")))
	}
	metrics, err := measure.Find([]string{c.String("metric")})
	switch {
	case err != nil:
		return withCode(exitUsage, fmt.Errorf("--metric: %w", err))
	case len(metrics) > 1 || !metrics[0].IsFactor():
		return withCode(exitUsage, fmt.Errorf("--metric %s: want one time or multiple, whose differences are percentages", c.String("metric")))
	}
	if _, err := openExperiment(o, files); err != nil {
		return withCode(exitUsage, err)
	}
	if err := o.Experiment.Supported(); err != nil {
		return withCode(exitUsage, err)
	}
	like := c.String("like")
	var costs *calibration.Calibration
	var notes []string
	if like == "" {
		folder, err := os.MkdirTemp("", "heddle-dry-run-")
		if err != nil {
			return fmt.Errorf("make folder for the simulation: %w", err)
		}
		defer os.RemoveAll(folder)
		if like, costs, notes, err = simulateLike(c, *o, folder); err != nil {
			return err
		}
		if like == "" { // nothing can be simulated
			return printDoc(c, map[string][]string{"notes": notes}, doc.Doc{doc.Notes(notes)})
		}
	}
	run, err := results.Open(like, o.Unverified)
	if err != nil {
		return withCode(exitUsage, err)
	}
	f := experiment.Expect(o.Experiment, run, metrics[0], tellPct)
	f.Notes = notes
	f.Warnings = append(f.Warnings, results.Starved(run.Trials)...)
	if c.IsSet("like") {
		if unlike := experiment.Unlike(o.Experiment, run.Run, false); unlike != "" {
			f.Warnings = append(f.Warnings, unlike)
		}
	}
	for _, r := range run.Trials[:min(1, len(run.Trials))] {
		if !c.IsSet("like") {
			f.Warnings = append(f.Warnings, r.Warnings...)
		}
	}
	f.Warnings = append(f.Warnings, run.Warnings()...)
	var predicted []nextRun
	if costs != nil {
		predicted = nextTrials(costs, run.Trials)
	}
	return printDoc(c, struct {
		*experiment.Forecast
		NewRuns []nextRun `json:"newRuns,omitempty"`
		RestsOn string    `json:"restsOn,omitempty"`
	}{f, predicted, restsOn(costs)}, append(f.Doc(), nextRunsDoc(costs, predicted)...))
}

// simulateLike simulates a few repeats of an experiment, from which a forecast
// can be made. It writes them to a run folder below the folder root and returns
// the run folder's path, the calibration, nil if none is given, and what is said of the plan.
func simulateLike(c *cli.Context, o experiment.Options, root string) (dir string, costs *calibration.Calibration, notes []string, err error) {
	e := *o.Experiment
	e.Repeats, e.Timeout, e.Warmups = experiment.ForecastRepeats, 0, 0
	if _, err := findClusters(c, &o, nil, true); err != nil {
		return "", nil, nil, err
	}
	if costs, err = calibrationOf(c, &o); err != nil {
		return "", nil, nil, withCode(exitUsage, err)
	}
	notes = workload.Scripts(o.Cluster)
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
	o.Experiment, o.Root, o.Name, o.Progress, o.OwnSeeds = &e, root, "simulated", nil, true
	o.Progress = func(s experiment.Step) {
		if s.Doing == "plan" {
			notes = append(notes, s.Text)
		} else {
			p.step(s)
		}
	}
	run, err := experiment.Simulate(c.Context, o, costs)
	if err != nil {
		return "", nil, nil, fmt.Errorf("%w; --like estimates from a run instead of a simulation", runError(err))
	}
	return run.Dir, costs, notes, nil
}
