package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/clients"
	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/lab"
	"heddle/harness/lease"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/runs"
	"heddle/traces/printable"
)

func runCommand() *cli.Command {
	var o experiment.Options
	return &cli.Command{
		Name:      "run",
		Usage:     "run an experiment on a cluster and capture it, or simulate it",
		ArgsUsage: "EXPERIMENT.yaml",
		Description: `Runs every workload of the experiment under every model, repeated. Results go to a
run folder, whose path is printed. Warm-ups run first and are in no result. --resume
continues an interrupted run, on the cluster or in virtual time as it began: warm-ups and
the interrupted trial run again; the files of its last try are kept until it is done. For
example:

   heddle lab up
   heddle run first.yaml
   heddle run --resume RUN-FOLDER

With --simulate the same trials run in virtual time, on the machines that a cluster
file describes (machines:): that of --cluster, the experiment's, that of the run given
with --calibration, or else always the same four nodes. Which lab there is makes no
difference. Warm-ups are skipped. Trials are simulated on all cores, which does not change
the results. Task times are those of a calibration, or typical ones, and differ between
repeats as measured ones do:

   heddle run --simulate --calibration RUN-FOLDER first.yaml

With --dry-run nothing runs on the cluster. It prints the trials, how long they would
take, and how many repeats would tell a difference of --tell, by the spread of the
repeats of a run like it, or else of a simulation:

   heddle run --dry-run --like RUN-FOLDER --tell 3% first.yaml

The page of heddle report is in the run folder as report.html, and is written anew after
each trial. While the run goes on, a browser that shows it loads it anew by itself. To see
the page of another machine, copy it, or forward a port of any file server by ssh.

Where the experiment has thresholds, each is printed at the end as met, missed, or
untold where the repeats are too few to tell. If one is not met, the exit code is 4;
'untold: pass' among the thresholds lets the untold ones pass.`,
		Flags: []cli.Flag{
			runsFlag(&o.Root),
			&cli.StringFlag{Name: "run-name", Destination: &o.Name, Usage: "`NAME` of the run folder (default: time and experiment)"},
			&cli.StringFlag{Name: "resume", Destination: &o.Resume, Usage: "continue the unfinished run in `DIR`"},
			&cli.BoolFlag{Name: "unverified", Destination: &o.Unverified, Usage: "with --resume or --like, also read files that have changed since they were recorded, with a warning"},
			&cli.StringFlag{Name: "cluster", Usage: "`CLUSTER` file or lab, instead of the experiment's"},
			&cli.BoolFlag{Name: "record-observations", Destination: &o.RecordObservations, Usage: "keep what steering observed in each trial's logs, to repeat its decisions without a cluster"},
			&cli.BoolFlag{Name: "simulate", Usage: "run the trials in virtual time, on no cluster"},
			&cli.StringFlag{Name: "calibration", Usage: "with --simulate or --dry-run, or for deadlines by the time alone, the calibration: a `FILE` of heddle replay --calibrate, or a run folder to fit one to"},
			speedFlag(),
			&cli.Float64Flag{Name: "others", Destination: &o.OthersCores, Usage: "with --simulate, how many of the cores that all nodes share other programs take from the tasks"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the trials in their order, the time that they would take, and how many repeats are enough; run nothing on the cluster"},
			&cli.StringFlag{Name: "like", Usage: "with --dry-run, estimate from the run folder `RUN` (default: from a simulation)"},
			&cli.StringFlag{Name: "tell", Value: "5%", Usage: "with --dry-run, the difference to tell, in `PERCENT`"},
			&cli.StringFlag{Name: "metric", Value: "makespan", Usage: "with --dry-run, what differs: a `METRIC` of heddle compare that is a time or multiple"},
			tableFlag(), jsonFlag(),
		},
		Action: withArguments(func(c *cli.Context, files []string) error {
			if c.Bool("dry-run") {
				return dryRun(c, files, &o)
			}
			return runExperiment(c, files, &o)
		}),
	}
}

func runExperiment(c *cli.Context, files []string, o *experiment.Options) error {
	if (o.Resume == "") != (len(files) == 1) || len(files) > 1 {
		return withCode(exitUsage, errors.New("want either one experiment file, or --resume with a run folder"))
	}
	old, err := openExperiment(o, files)
	if err != nil {
		return withCode(exitUsage, err)
	}
	simulated := c.Bool("simulate") || old != nil && old.Manifest().World == runs.WorldSimulated // a run is taken up in the world where it began
	switch {
	case old != nil && simulated && !c.IsSet("calibration") && ranWith(old, "--calibration"):
		return withCode(exitUsage, fmt.Errorf("resume %s: its trials were simulated with --calibration; give the same calibration again", o.Resume))
	case old != nil && simulated && !c.IsSet("others") && ranWith(old, "--others"):
		return withCode(exitUsage, fmt.Errorf("resume %s: its trials were simulated with --others; give the same number again", o.Resume))
	case old != nil && simulated && !c.IsSet("speed-of") && ranWith(old, "--speed-of"):
		return withCode(exitUsage, fmt.Errorf("resume %s: its trials were simulated with --speed-of; give the same run again", o.Resume))
	case !simulated && c.IsSet("speed-of"):
		return withCode(exitUsage, errors.New("--speed-of: want --simulate or --dry-run with it; a cluster has the speed that it has"))
	case !simulated && c.IsSet("others"):
		return withCode(exitUsage, errors.New("--others: want --simulate with it; on a cluster, other programs take what they take"))
	case old != nil && !simulated && c.IsSet("calibration"):
		return withCode(exitUsage, fmt.Errorf("resume %s: both --resume and --calibration; want --resume alone: the run has the deadlines that it began with", o.Resume))
	case simulated && o.RecordObservations:
		return withCode(exitUsage, errors.New("both --record-observations and --simulate; want one of them: a simulation steers no cluster"))
	case !simulated && c.IsSet("calibration") && !slices.ContainsFunc(o.Experiment.Workloads, ofAlone):
		return withCode(exitUsage, errors.New("--calibration: want --simulate with it; a run on a cluster needs none, but for a deadline that is a multiple of a job's time alone"))
	case c.IsSet("like"), c.IsSet("tell"), c.IsSet("metric"):
		return withCode(exitUsage, errors.New("--like, --tell, --metric: want --dry-run with them"))
	}
	name, err := findClusters(c, o, old, simulated)
	if err != nil {
		return err
	}
	if err := foreignPrograms(o, old, simulated); err != nil {
		return withCode(exitUsage, err)
	}
	var warnings []string
	if old != nil {
		warnings = old.Warnings()
	}
	if o.Root, err = runsRoot(o.Root); err != nil {
		return err
	}
	o.Command = os.Args
	p := newRunProgress(c)
	if o.Calibration, err = calibrationOf(c, o); err != nil {
		return withCode(exitUsage, err)
	}
	p.page = &runPage{c: c, say: p.say}
	o.Progress, o.Watched = p.step, p.bottom != nil
	var run *runs.Run
	if simulated {
		run, err = experiment.Simulate(c.Context, *o, o.Calibration)
	} else {
		changesCluster(c, append([]string{name}, slices.Collect(maps.Keys(o.Others))...)...)
		o.ShareCores = lab.ShareCores
		run, err = experiment.Run(c.Context, *o)
	}
	p.close()
	var limits []compare.Threshold
	if err == nil && o.Experiment.Thresholds.Len() > 0 {
		limits, err = thresholdsOf(run, o.Unverified)
	}
	if run != nil {
		if perr := printResults(c, run, append(warnings, run.Warnings()...), limits, simulated, o.Calibration); err == nil {
			err = perr
		}
		fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
		p.page.end(run.Dir)
	}
	if err == nil {
		next(c, "heddle compare", run.Dir)
		return withCode(exitThreshold, compare.Unmet(limits, o.Experiment.Thresholds.Untold))
	}
	return runError(err)
}

// foreignPrograms returns an error if a run that is taken up would run what a folder says
// that this user's heddle did not begin: any program can stand there. On a cluster, the
// folder also says which cluster that is, and which keys and tokens are sent to it.
func foreignPrograms(o *experiment.Options, old *runs.Run, simulated bool) error {
	if old == nil || old.Own() {
		return nil
	}
	var list []string
	for _, m := range o.Experiment.Models {
		if len(m.Command) > 0 {
			list = append(list, "model "+m.Label+": "+strings.Join(m.Command, " "))
		}
	}
	if simulated && len(list) == 0 {
		return nil
	}
	if !simulated {
		for _, w := range o.Experiment.Workloads {
			if w.Jar != "" {
				list = append(list, "workload "+w.Label+": "+w.Jar)
			}
		}
		c := o.Cluster
		commands := [][]string{{c.Hadoop.Home}, {c.HiBench}}
		if f := c.Faults; f != nil {
			commands = append(commands, f.NodeDown, f.NodeUp, f.NodeSlow)
		}
		for _, command := range commands {
			if text := strings.Join(command, " "); text != "" {
				list = append(list, "cluster "+c.Name+": "+text)
			}
		}
		list = append(list, "on "+strings.Join(c.ResourceManagers, ", "))
	}
	return fmt.Errorf("resume %s: this user's heddle did not begin that run on this machine, and it would run programs of the folder's choice (%s). If you know them, give the experiment file yourself, which continues the same run: heddle run --runs %s --run-name %s EXPERIMENT.yaml",
		o.Resume, printable.Line(strings.Join(list, "; ")), printable.ShellWord(filepath.Dir(filepath.Clean(o.Resume))), printable.ShellWord(filepath.Base(filepath.Clean(o.Resume))))
}

func ofAlone(w config.Workload) bool { return w.Deadline.OfAlone() }

// thresholdsOf returns what the trials of a run show about the experiment's
// thresholds. All trials must be done.
func thresholdsOf(run *runs.Run, unverified bool) ([]compare.Threshold, error) {
	report, err := compare.Runs([]string{run.Dir}, compare.Options{Unverified: unverified})
	if err != nil {
		return nil, err
	}
	return report.Thresholds, nil
}

// openExperiment reads the experiment from the given file, or from the folder
// of a run that is resumed. The result old is the resumed run, nil for a new
// run.
func openExperiment(o *experiment.Options, files []string) (old *runs.Run, err error) {
	if o.Resume == "" {
		o.Experiment, o.Source, err = config.LoadExperiment(files[0])
		return nil, err
	}
	if old, err = runs.Open(o.Resume); err != nil {
		return nil, err
	}
	old.Unverified = o.Unverified
	if o.Source, err = old.ReadFile("experiment.yaml"); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("resume %s: it has no experiment.yaml: either heddle was ended before anything ran, and the run can be started anew, or it is a capture", o.Resume)
	} else if err == nil {
		o.Experiment, err = config.ParseExperiment(filepath.Join(o.Resume, "experiment.yaml"), o.Source)
	}
	if err == nil {
		err = experiment.FindFiles(o.Experiment, old.Manifest())
	}
	return old, err
}

// findClusters reads the descriptions of the experiment's cluster and of the
// clusters that its scheduler models name. For a run that is resumed, it reads
// them from the run folder. The argument name is what the user gave as the
// experiment's cluster. If inVirtualTime is true, the cluster is simulated.
func findClusters(c *cli.Context, o *experiment.Options, old *runs.Run, inVirtualTime bool) (name string, err error) {
	switch {
	case inVirtualTime && old == nil:
		return o.Experiment.Cluster, findSimulated(c, o)
	case inVirtualTime && c.IsSet("cluster"):
		return "", withCode(exitUsage, fmt.Errorf("resume %s: both --resume and --cluster; want --resume alone: all trials of a simulation have one cluster", o.Resume))
	}
	load := func(name, kept string) (*config.Cluster, error) {
		if old == nil {
			return loadCluster(name)
		}
		data, err := old.ReadFile(kept)
		if err != nil {
			return nil, withCode(exitUsage, err)
		}
		cluster, err := config.ParseCluster(filepath.Join(o.Resume, kept), data)
		return cluster, withCode(exitUsage, err)
	}
	e := o.Experiment
	name = e.Cluster
	if old != nil {
		name = filepath.Join(o.Resume, "cluster.yaml")
	}
	if c.IsSet("cluster") {
		name = c.String("cluster")
		o.Cluster, err = loadCluster(name)
	} else {
		o.Cluster, err = load(e.Cluster, "cluster.yaml")
	}
	if err != nil {
		return name, err
	}
	o.Others = map[string]*config.Cluster{}
	for _, m := range e.Models {
		if m.Cluster == e.Cluster {
			continue
		}
		if o.Others[m.Cluster], err = load(m.Cluster, "cluster-"+m.Label+".yaml"); err != nil {
			return name, err
		}
	}
	return name, nil
}

// ranWith reports whether a flag was on the command line that began a run.
func ranWith(run *runs.Run, flag string) bool {
	return slices.ContainsFunc(run.Manifest().Command, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
}

// calibrationOf returns the durations of tasks for a simulation. It reads a
// calibration file, or computes a calibration from the trials of a run folder.
// It returns nil if the flag --calibration is missing. It also sets the speed of the processors.
func calibrationOf(c *cli.Context, o *experiment.Options) (costs *calibration.Calibration, err error) {
	if costs, err = fitted(c, o); err == nil {
		o.Speed, err = speedOf(c, costs)
	}
	if err == nil && o.Speed != 1 {
		settings := map[string]string{"speedOfProcessors": fmt.Sprintf("%.4g", o.Speed)}
		maps.Copy(settings, o.Settings)
		o.Settings = settings
	}
	return costs, err
}

func fitted(c *cli.Context, o *experiment.Options) (*calibration.Calibration, error) {
	path := c.String("calibration")
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return calibration.Read(path)
	}
	run, list, err := tracesOfRun(path, o.Unverified)
	if err != nil {
		return nil, err
	}
	if unlike := experiment.Unlike(o.Experiment, run.Run, true); unlike != "" {
		warn("calibration: " + unlike)
	}
	return replay.Calibrate(list, recorded.Change{}, o.Experiment.Fetches)
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

func runsFlag(root *string) cli.Flag {
	return &cli.StringFlag{Name: "runs", Destination: root, Usage: "folder of run folders, `DIR` (default: in the user's state folder)"}
}

// unverifiedFlag returns the flag --unverified. With this flag, a command reads
// files of a run folder even if they have changed since the run recorded their
// hashes.
func unverifiedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "unverified", Usage: "also read files that have changed since they were recorded, with a warning"}
}

// runsRoot returns the folder that contains the run folders: the given one, or
// the default if none is given.
func runsRoot(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	return runs.DefaultRoot()
}

// newRun returns the folder in which a run folder is to be made at the end of a command,
// by the flags --runs and --run-name. It fails if that cannot be.
func newRun(c *cli.Context) (root string, err error) {
	if root, err = runsRoot(c.String("runs")); err == nil {
		err = runs.Free(root, c.String("run-name"))
	}
	return root, withCode(exitUsage, err)
}

// runError gives an error of a run the exit code with which the process is to
// end.
func runError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, runs.ErrExists), errors.Is(err, runs.ErrNotRun), errors.Is(err, runs.ErrRunning), errors.Is(err, runs.ErrDamaged), errors.Is(err, clients.ErrBadFile), errors.As(err, new(*config.Error)):
		return withCode(exitUsage, err)
	case clients.Unable(err), errors.As(err, new(*lease.HeldError)):
		return withCode(exitCluster, err)
	}
	return err
}
