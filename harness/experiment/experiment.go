// Package experiment plans an experiment and carries it out: each workload
// under each model, repeated. It captures each trial into a run folder. An
// interrupted run can be resumed.
//
// It works on a cluster through its clients and its Hadoop installation, or in
// virtual time. It starts no daemon and decides no placement.
//
// Words:
//
//   - world: where trials run, on clusters or in virtual time
//   - stage: one trial's steps in a world: prepare, run, check, clean
//   - plan: the experiment's trials in their order
//   - warm-up: a trial before the measured ones; its result is not used
//   - forecast: how long a plan would take, by the times of a similar run
package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.yaml.in/yaml/v4"

	"heddle/harness/capture"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/replay/calibration"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/workload"
	"heddle/traces"
)

// Options say which experiment to run, on which clusters, and where to keep the
// results.
type Options struct {
	Experiment *config.Experiment
	// Source is the content of the experiment file. The run folder gets a copy
	// of this content.
	Source  []byte
	Cluster *config.Cluster
	// Others are further clusters, by the names in the experiment file. Some
	// scheduler models run on these instead of the experiment's own cluster.
	Others map[string]*config.Cluster
	// Root is the folder that contains the run folders. Name is the name of
	// this run's folder; by default it is the time and the experiment's name.
	Root, Name string
	// Resume is the path of an unfinished run folder to continue. Root and Name
	// are ignored then.
	Resume string
	// Unverified allows to resume a run although some of its files differ from
	// the hashes recorded for them.
	Unverified bool
	// RecordObservations says that heddle records what it sees of the cluster
	// while a scheduler model decides. The record is in each trial's folder
	// logs.
	RecordObservations bool
	// ShareCores has this process take as large a share of the cores as a lab of this
	// machine has, until undo is called: see lab.ShareCores. Run calls it if the cluster
	// is such a lab. It may be nil.
	ShareCores func() (undo func(), err error)
	// Program is the path of the heddle that runs as the tasks of synthetic
	// jobs. Empty means the running program.
	Program string
	// Calibration has the times of tasks for deadlines of a run on a cluster that are
	// multiples of the time that a job takes alone. Without one, Run refuses them. A
	// run that is resumed has the deadlines that it began with.
	Calibration *calibration.Calibration
	deadlines   deadlines
	reduces     map[string]string // settings of the run that say what was set in workloads that named no reduces
	// Command is the command line of this process. The run's manifest
	// (manifest.json) records it.
	Command []string
	// Settings are values on which results depend, such as the settings of a
	// local test cluster. The run's manifest (manifest.json) records them.
	Settings map[string]string
	// OthersCores is how many of the cores that all nodes share other programs take from
	// the tasks of a simulation.
	OthersCores float64
	// Speed, above 0, is how fast the processors are relative to those of the calibration.
	Speed float64
	// OwnSeeds gives each model of a repeat random numbers of its own in virtual
	// time, for forecasts of runs on a cluster: there, the trials of a repeat do not
	// vary alike. Otherwise all models of a repeat have the same random numbers.
	OwnSeeds bool
	// Progress is called at each step of a trial, and repeatedly while jobs
	// run. It may be nil.
	Progress func(Step)
	// Watched has simulated trials follow their events, for the field Live of steps.
	// Trials on a cluster always do.
	Watched bool
}

// Step is one step of a run, for messages to the user about what the run is
// doing now.
type Step struct {
	// Folder is the path of the run folder, empty before there is one.
	Folder string
	// Trial is the name of the trial under way. Number is its position in the
	// run's order of trials, from 1. Trials is the number of all trials.
	Trial          string
	Number, Trials int
	// Model is the label of the trial's scheduler model.
	Model string
	// Doing is the kind of step, such as "prepare", "run" or "check". Text
	// describes the step in more detail.
	Doing, Text string
	// Failure is why the trial failed. It is set in the last step of a trial that did.
	Failure string
	// Jobs counts the trial's jobs and tasks as their ApplicationMasters do. It is set
	// while they run on a cluster. Live is set while jobs run or are simulated, unless
	// nobody asked for it.
	Jobs *capture.Progress
	Live *Live
	// Simulated is set while a trial is simulated.
	Simulated *Simulated
}

// Live is what a trial that runs has done so far. Several goroutines may use it.
type Live struct {
	mu   sync.Mutex
	live measure.Live
}

// Add takes an event of the trial.
func (l *Live) Add(e traces.Event) {
	l.mu.Lock()
	l.live.Add(e)
	l.mu.Unlock()
}

// Now returns what the trial does now.
func (l *Live) Now() measure.Now {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live.Now()
}

// Simulated says how far the simulation of a trial is: how many of its tasks
// have succeeded.
type Simulated struct{ Done, Tasks int64 }

// Run carries out an experiment on its clusters and returns the run folder. If
// a trial fails, the others still run, and the error names the failed one.
// After an error the returned folder keeps all complete trials, and the run can
// be resumed later. When ctx ends, Run stops at once and ends its jobs on the
// cluster. On a lab of this machine, it takes a share of the cores while it runs, see
// Options.ShareCores.
func Run(ctx context.Context, o Options) (*runs.Run, error) {
	if o.Cluster != nil && o.Cluster.Cgroup != "" && o.ShareCores != nil {
		undo, err := o.ShareCores()
		if err == nil {
			defer undo()
		} else if o.Progress != nil {
			o.Progress(Step{Doing: "look", Text: fmt.Sprintf("%v: steering and measuring may stand still while tasks compute", err)})
		}
	}
	return carryOut(ctx, &o, &clusterWorld{options: &o, clusters: map[string]*usedCluster{}})
}

// config returns the description of the cluster with the given name: the
// experiment's own cluster, or one on which a scheduler model runs.
func (o *Options) config(name string) *config.Cluster {
	if name == o.Experiment.Cluster {
		return o.Cluster
	}
	return o.Others[name]
}

func (o *Options) supported(ctx context.Context) error {
	err := o.Experiment.Supported()
	for _, w := range o.Experiment.Workloads {
		if terr := workload.CheckJobs(ctx, w); terr != nil {
			err = errors.Join(err, refusal(o.Experiment, config.Problem{Message: terr.Error()}))
		}
	}
	for _, name := range o.Experiment.Clusters() {
		if c := o.config(name); c == nil {
			err = errors.Join(err, fmt.Errorf("no cluster file for cluster %s", name))
		} else {
			err = errors.Join(err, c.Supported(), o.refuseKeys(c))
		}
	}
	return err
}

// resume opens the folder of an unfinished run. Alone says whether deadlines are
// computed from the time that jobs take alone.
func resume(o *Options, world string, alone bool) (*runs.Run, error) {
	run, err := runs.Open(o.Resume)
	if err != nil {
		return nil, err
	}
	if was := run.Manifest().World; was != world {
		run.Close()
		return nil, fmt.Errorf("resume %s: %w: %s", o.Resume, runs.ErrExists, otherWorld[was])
	}
	run.Unverified = o.Unverified
	if err = run.Resume(); err == nil {
		_, err = results.List(run) // when a run is resumed, fail now if its results cannot be read, because the summary at the end needs them
	}
	if err == nil && alone {
		o.deadlines, err = readDeadlines(run, o.Experiment)
	}
	// use the seed that the run recorded: it may come from a flag and differ from the experiment file's
	o.Experiment.Seed = run.Manifest().Seed
	if err != nil {
		run.Close()
	}
	return run, err
}

// open makes the run folder of a new experiment, or opens the folder of an
// unfinished run. The argument world says where the trials run: on a cluster or
// in virtual time. The argument hadoop is the cluster's Hadoop version, "" in
// virtual time.
func open(ctx context.Context, o *Options, world, hadoop string) (*runs.Run, error) {
	alone := world != runs.WorldSimulated && slices.ContainsFunc(o.Experiment.Workloads, ofAlone)
	if o.Resume != "" {
		return resume(o, world, alone)
	}
	settings, err := fileSettings(o.Experiment, o.Settings)
	if err != nil {
		return nil, err
	}
	maps.Copy(settings, o.reduces)
	if alone {
		if o.deadlines, err = computeDeadlines(ctx, o); err != nil {
			return nil, err
		}
	}
	m := runs.Manifest{Command: o.Command, World: world, Seed: o.Experiment.Seed, Settings: settings}
	if world != "" {
		m.Cluster = o.Cluster.Described()
	}
	if hadoop != "" {
		m.Versions = map[string]string{"hadoop": hadoop}
	}
	for _, t := range o.Experiment.Trials() {
		m.Trials = append(m.Trials, runs.TrialRecord{Name: t.Name, Warmup: t.Warmup})
	}
	run, err := runs.New(o.Root, o.Name, o.Experiment.Name, m)
	if err != nil {
		return nil, err
	}
	err = o.writeCluster(run, "cluster.yaml", o.Cluster)
	for _, m := range o.Experiment.Models {
		if m.Cluster != o.Experiment.Cluster {
			err = errors.Join(err, o.writeCluster(run, "cluster-"+m.Label+".yaml", o.config(m.Cluster)))
		}
	}
	if err == nil {
		err = run.WriteFile("experiment.yaml", o.Source)
	}
	if err == nil && alone {
		err = o.deadlines.write(run)
	}
	if err != nil {
		return run, errors.Join(err, run.End(err))
	}
	return run, nil
}

// otherWorld returns an error message for a run that is resumed in the wrong
// way. It says whether the run's trials ran on a cluster or were simulated, and
// which command resumes the run.
var otherWorld = map[string]string{
	runs.WorldSimulated: "its trials are simulated; resume it with --simulate",
	runs.WorldEmulated:  "its trials are on emulated nodes; resume it with --emulate",
	"":                  "its trials ran on a cluster; resume it without --simulate",
}

func (o *Options) writeCluster(run *runs.Run, file string, c *config.Cluster) error {
	data, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	return run.WriteFile(file, data)
}
