package cmd

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/lab"
	"heddle/harness/replay/calibration"
	"heddle/harness/runs"
)

type runOptions struct {
	named
	New        bool   `flag:"new" text:"write an experiment file to begin with"`
	Resume     string `flag:"resume" text:"continue the unfinished run in DIR" of:"DIR"`
	Unverified bool   `flag:"unverified" text:"with --resume or --like, also read files that have changed since they were recorded, with a warning"`
	Cluster    string `flag:"cluster" text:"CLUSTER file or lab, instead of the experiment's" of:"CLUSTER"`
	Record     bool   `flag:"record-observations" text:"keep what steering observed in each trial's logs, to repeat its decisions without a cluster"`
	Simulate   bool   `flag:"simulate" text:"run the trials in virtual time, on no cluster" heading:"On no cluster"`
	Emulate    bool   `flag:"emulate" text:"run the trials under a real ResourceManager on this machine, with emulated nodes and tasks" heading:"On no cluster"`
	simulation `heading:"On no cluster"`
	DryRun     bool   `flag:"dry-run" text:"print the trials in their order, the time that they would take, and how many repeats are enough; run nothing on the cluster" heading:"Before a run"`
	Like       string `flag:"like" text:"with --dry-run, estimate from the run folder RUN" of:"RUN" without:"from a simulation" heading:"Before a run"`
	Tell       string `flag:"tell" text:"with --dry-run, the difference to tell, in PERCENT" of:"PERCENT" heading:"Before a run"`
	Metric     string `flag:"metric" suggest:"metrics" text:"with --dry-run, what differs: a METRIC of heddle compare that is a time or multiple" of:"METRIC" heading:"Before a run"`
	printed
}

// simulation has what times in virtual time rest on.
type simulation struct {
	Calibration string  `flag:"calibration" text:"with --simulate, --emulate or --dry-run, or for deadlines by the time alone, the calibration: a FILE of heddle replay --calibrate, or a run folder to fit one to" of:"FILE"`
	SpeedOf     string  `flag:"speed-of" text:"with --calibration: compute as fast as processors did in RUN, a short run right before of a workload of the calibration" of:"RUN"`
	Others      float64 `flag:"others" text:"with --simulate, how many of the cores that all nodes share other programs take from the tasks" min:"0"`
}

func runRun(c *cli.Context, o *runOptions, files []string) error {
	x := &experiment.Options{
		Name: o.RunName, Resume: o.Resume, Unverified: o.Unverified, RecordObservations: o.Record, OthersCores: o.Others,
		Command: os.Args,
	}
	if o.New {
		return beginExperiment(c, files)
	}
	if o.DryRun {
		return dryRun(c, o, x, files)
	}
	return runExperiment(c, o, x, files)
}

func runExperiment(c *cli.Context, o *runOptions, x *experiment.Options, files []string) error {
	switch {
	case (o.Resume == "") != (len(files) == 1):
		return usagef("want either one experiment file, or --resume with a run folder")
	case o.Simulate && o.Emulate:
		return usagef("both --simulate and --emulate; want one of them")
	}
	old, err := x.Load(append(files, "")[0])
	if err != nil {
		return usage(err)
	}
	world := o.world(old)
	described := world != "" // the cluster is only described
	if err := checkRun(c, o, x, old, world); err != nil {
		return usage(err)
	}
	name, err := findClusters(c, o, x, old, described)
	if err != nil {
		return err
	}
	if err := x.Foreign(old, described); err != nil {
		return usage(err)
	}
	var warnings []string
	if old != nil {
		warnings = old.Warnings()
	}
	if x.Root, err = runsRoot(o.Runs); err != nil {
		return err
	}
	p := newRunProgress(c)
	if x.Calibration, err = calibrationOf(c, o, x); err != nil {
		return usage(err)
	}
	p.page = &runPage{c: c, say: p.say}
	x.Progress, x.Watched = p.step, p.bottom != nil
	run, err := carryOut(c, x, world, name)
	p.close()
	var limits []compare.Threshold
	if err == nil && x.Experiment.Thresholds.Len() > 0 {
		var report *compare.Report
		if report, err = compare.Runs([]string{run.Dir}, compare.Options{Unverified: o.Unverified}); err == nil {
			limits = report.Thresholds
		}
	}
	if run != nil {
		costs := x.Calibration
		if world != runs.WorldSimulated {
			costs = nil
		}
		finished, ferr := compare.Finish(run, append(warnings, run.Warnings()...), limits, costs)
		if ferr == nil {
			ferr = show(c, finished)
		}
		if err == nil {
			err = ferr
		}
		fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
		p.page.end(run.Dir)
	}
	if err != nil {
		return err
	}
	next(c, "heddle compare", run.Dir)
	return withCode(exitThreshold, compare.Unmet(limits, x.Experiment.Thresholds.CannotTell))
}

// carryOut runs an experiment in a world, on a cluster that the user has named so.
func carryOut(c *cli.Context, x *experiment.Options, world, name string) (*runs.Run, error) {
	switch world {
	case runs.WorldSimulated:
		return experiment.Simulate(c.Context, *x, x.Calibration)
	case runs.WorldEmulated:
		putsBack(c, "nothing; the emulated cluster ends", "its files heddle-emulated-* are left in the folder for temporary files")
		return experiment.Emulate(c.Context, *x, x.Calibration)
	}
	changesCluster(c, append([]string{name}, slices.Collect(maps.Keys(x.Others))...)...)
	x.ShareCores = lab.ShareCores
	return experiment.Run(c.Context, *x)
}

// world returns where trials run, as a run's manifest has it. A run is taken up where it
// began.
func (o *runOptions) world(old *runs.Run) string {
	switch {
	case o.Simulate:
		return runs.WorldSimulated
	case o.Emulate:
		return runs.WorldEmulated
	case old != nil:
		return old.Manifest().World
	}
	return ""
}

// checkRun returns an error if flags do not go together, or with the run that is resumed.
func checkRun(c *cli.Context, o *runOptions, x *experiment.Options, old *runs.Run, world string) error {
	described := world != ""
	if old != nil && described {
		for _, flag := range []string{"calibration", "others", "speed-of"} {
			if !c.IsSet(flag) && ranWith(old, "--"+flag) {
				return fmt.Errorf("resume %s: its trials were simulated with --%s; give the same again", o.Resume, flag)
			}
		}
	}
	alone := func(w config.Workload) bool { return w.Deadline.OfAlone() }
	switch {
	case !described && o.SpeedOf != "":
		return errors.New("--speed-of: want --simulate or --dry-run with it; a cluster has the speed that it has")
	case !described && c.IsSet("others"):
		return errors.New("--others: want --simulate with it; on a cluster, other programs take what they take")
	case old != nil && !described && o.Calibration != "":
		return fmt.Errorf("resume %s: both --resume and --calibration; want --resume alone: the run has the deadlines that it began "+
			"with", o.Resume)
	case world == runs.WorldSimulated && o.Record:
		return errors.New("both --record-observations and --simulate; want one of them: a simulation steers no cluster")
	case !described && o.Calibration != "" && !slices.ContainsFunc(x.Experiment.Workloads, alone):
		return errors.New("--calibration: want --simulate with it; a run on a cluster needs none, but for a deadline that is a " +
			"multiple of a job's time alone")
	case c.IsSet("like"), c.IsSet("tell"), c.IsSet("metric"):
		return errors.New("--like, --tell, --metric: want --dry-run with them")
	}
	return nil
}

// findClusters reads the descriptions of the experiment's cluster and of the
// clusters that its scheduler models name. For a run that is resumed, it reads
// them from the run folder. The result name is what the user gave as the
// experiment's cluster. If inVirtualTime is true, the cluster is simulated.
func findClusters(c *cli.Context, o *runOptions, x *experiment.Options, old *runs.Run, inVirtualTime bool) (name string, err error) {
	switch {
	case inVirtualTime && old == nil:
		return x.Experiment.Cluster, findSimulated(c, o, x)
	case inVirtualTime && o.Cluster != "":
		return "", usagef("resume %s: both --resume and --cluster; want --resume alone: all trials of a simulation have one cluster",
			o.Resume)
	}
	load := func(name, kept string) (*config.Cluster, error) {
		if old == nil {
			return loadCluster(name)
		}
		data, err := old.ReadFile(kept)
		if err != nil {
			return nil, usage(err)
		}
		cluster, err := config.ParseCluster(filepath.Join(o.Resume, kept), data)
		return cluster, usage(err)
	}
	e := x.Experiment
	switch name = e.Cluster; {
	case o.Cluster != "":
		name = o.Cluster
		x.Cluster, err = loadCluster(name)
	case old != nil:
		name = filepath.Join(o.Resume, "cluster.yaml")
		fallthrough
	default:
		x.Cluster, err = load(e.Cluster, "cluster.yaml")
	}
	x.Others = map[string]*config.Cluster{}
	for _, m := range e.Models {
		if err == nil && m.Cluster != e.Cluster {
			x.Others[m.Cluster], err = load(m.Cluster, "cluster-"+m.Label+".yaml")
		}
	}
	return name, err
}

// ranWith reports whether a flag was on the command line that began a run.
func ranWith(run *runs.Run, flag string) bool {
	return slices.ContainsFunc(run.Manifest().Command, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
}

// calibrationOf sets what times of a simulation rest on, and returns the calibration, nil
// without one.
func calibrationOf(c *cli.Context, o *runOptions, x *experiment.Options) (*calibration.Calibration, error) {
	costs, unlike, err := x.Fit(o.simulation.Calibration)
	if unlike != "" {
		warn("calibration: " + unlike)
	}
	if err != nil {
		return nil, err
	}
	note, err := x.SetSpeed(o.SpeedOf, costs)
	say(c, note)
	return costs, err
}

// changesCluster records what heddle must undo on the clusters if this run of
// an experiment is interrupted.
func changesCluster(c *cli.Context, names ...string) {
	var restore []string
	for _, name := range names {
		restore = append(restore, "heddle restore --cluster "+name)
	}
	putsBack(c, "jobs, nodes, node labels and cached files of "+strings.Join(names, ", "), strings.Join(restore, "; "))
}
