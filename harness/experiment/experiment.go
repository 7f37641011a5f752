// Package experiment plans and carries out an experiment: every workload under
// every model, repeated, each trial captured into a run folder that can be
// taken up again after an interruption.
//
// It drives a cluster through its clients and its Hadoop installation alone. It
// starts no daemon, and decides no placement.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.yaml.in/yaml/v4"

	"heddle/harness/capture"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/runs"
	"heddle/harness/steer"
	"heddle/hibench"
)

// Options say what to run, where, and where results go.
type Options struct {
	Experiment *config.Experiment
	// Source is the experiment file as given, kept with the results.
	Source  []byte
	Cluster *config.Cluster
	// Others are the clusters that models name, if not the experiment's, by
	// that name.
	Others map[string]*config.Cluster
	// Root is the folder of run folders; Name is the run's own, by default the
	// time and the experiment's name.
	Root, Name string
	// Resume is an unfinished run folder to take up; Root and Name are then not
	// looked at.
	Resume string
	// Unverified takes up also a run whose files are not as recorded.
	Unverified bool
	// RecordObservations keeps what steering saw of the cluster, in each trial's logs.
	RecordObservations bool
	// Command is the command line, for the manifest.
	Command []string
	// Settings are noted in the manifest, such as how a lab was set up.
	Settings map[string]string
	// Progress hears of steps and of jobs' progress; may be nil.
	Progress func(Step)
}

// Step is something that a run has come to.
type Step struct {
	// Trial is its name and Number its place, from 1, of Trials.
	Trial          string
	Number, Trials int
	// Doing is "prepare", "run", "history", "check", …; Text says more.
	Doing, Text string
	// Jobs is set while jobs run, Steering while a model steers them too.
	Jobs     *capture.Progress
	Steering *steer.Stats
}

// Run carries out what is to be done and returns the run folder, also with an
// error: what was complete is in it. A trial that fails does not stop the
// others; the error then names it. The end of ctx stops at once, ends the jobs
// on the cluster and leaves a run that can be taken up.
func Run(ctx context.Context, o Options) (*runs.Run, error) {
	return carryOut(ctx, &o, &clusterWorld{options: &o, clusters: map[string]*clients.Clients{}, sums: map[string]*hibench.Sums{}})
}

// config is the cluster that the experiment or a model names.
func (o *Options) config(name string) *config.Cluster {
	if name == o.Experiment.Cluster {
		return o.Cluster
	}
	return o.Others[name]
}

func (o *Options) supported() error {
	err := o.Experiment.Supported()
	for _, name := range o.Experiment.Clusters() {
		if c := o.config(name); c == nil {
			err = errors.Join(err, fmt.Errorf("cluster %s was not given", name))
		} else {
			err = errors.Join(err, c.Supported(), refuseKeys(o.Experiment, c))
		}
	}
	return err
}

// open makes the run folder of trials in a world, or takes an unfinished one up.
// Hadoop is the cluster's version, "" in virtual time.
func open(o *Options, world, hadoop string) (*runs.Run, error) {
	if o.Resume != "" {
		run, err := runs.Open(o.Resume)
		if err != nil {
			return nil, err
		}
		if was := run.Manifest().World; was != world {
			run.Close()
			return nil, fmt.Errorf("resume %s: %w: %s", o.Resume, runs.ErrExists, otherWorld[was])
		}
		run.Unverified = o.Unverified
		if _, err = run.Resume(); err == nil {
			_, err = Results(run) // the summary will hold them
		}
		o.Experiment.Seed = run.Manifest().Seed // the file's may have been overruled
		if err != nil {
			run.Close()
		}
		return run, err
	}
	m := runs.Manifest{Command: o.Command, World: world, Seed: o.Experiment.Seed, Settings: o.Settings}
	if hadoop != "" {
		m.Versions = map[string]string{"hadoop": hadoop}
	}
	for _, t := range o.Experiment.Trials() {
		m.Trials = append(m.Trials, runs.TrialRecord{Name: t.Name})
	}
	if o.Name == "" {
		o.Name = runs.Name(time.Now(), o.Experiment.Name)
	}
	if err := os.MkdirAll(o.Root, 0o755); err != nil {
		return nil, fmt.Errorf("make folder of runs: %w", err)
	}
	run, err := runs.Create(o.Root, o.Name, m)
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
	if err != nil {
		return run, errors.Join(err, run.End(err))
	}
	return run, nil
}

// otherWorld says what became of the trials of a run, by its world.
var otherWorld = map[string]string{
	runs.WorldSimulated: "its trials are simulated; take it up with --simulate",
	"":                  "its trials ran on a cluster; take it up without --simulate",
}

func (o *Options) writeCluster(run *runs.Run, file string, c *config.Cluster) error {
	data, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	return run.WriteFile(file, data)
}
