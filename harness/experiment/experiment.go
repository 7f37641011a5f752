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
//   - leftover: something that a killed run left on the cluster
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

// Options say what to run, on which cluster, and where to keep the results.
type Options struct {
	Experiment *config.Experiment
	// Source is the content of the experiment file, which the run folder keeps.
	Source  []byte
	Cluster *config.Cluster
	// Others are the clusters that models name instead of the experiment's own,
	// by name.
	Others map[string]*config.Cluster
	// Root is the folder of run folders. Name is this run's name, by default
	// the time and the experiment's name.
	Root, Name string
	// Resume is the path of an unfinished run folder to continue. Root and Name
	// are ignored then.
	Resume string
	// Unverified allows to resume a run whose files differ from their recorded
	// hashes.
	Unverified bool
	// RecordObservations keeps what steering observed of the cluster, in each
	// trial's logs.
	RecordObservations bool
	// Command is the command line, for the manifest.
	Command []string
	// Settings are kept in the manifest, such as the settings of a lab.
	Settings map[string]string
	// Progress is called at each step and while jobs run. It may be nil.
	Progress func(Step)
}

// Step tells the user what a run is doing now.
type Step struct {
	// Trial is the trial's name. Number is its position among Trials, from 1.
	Trial          string
	Number, Trials int
	// Doing is the kind of step, such as "prepare", "run" or "check". Text says
	// more.
	Doing, Text string
	// Jobs is set while jobs run. Steering is set while a model steers them.
	Jobs     *capture.Progress
	Steering *steer.Stats
}

// Run carries out an experiment on its clusters and returns the run folder,
// after an error too: it keeps all complete trials. If a trial fails, the
// others still run, and the error names it. When ctx ends, Run stops at once
// and ends its jobs on the cluster. The run can be resumed then.
func Run(ctx context.Context, o Options) (*runs.Run, error) {
	return carryOut(ctx, &o, &clusterWorld{options: &o, clusters: map[string]*clients.Clients{}, sums: map[string]*hibench.Sums{}})
}

// config returns the cluster of a name that the experiment or a model uses.
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
			err = errors.Join(err, fmt.Errorf("no cluster file for cluster %s", name))
		} else {
			err = errors.Join(err, c.Supported(), refuseKeys(o.Experiment, c))
		}
	}
	return err
}

// open makes the run folder for trials in a world, or opens an unfinished one.
// hadoop is the cluster's Hadoop version, "" in virtual time.
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
			_, err = Results(run) // fail now if the results, which the summary will need, cannot be read
		}
		o.Experiment.Seed = run.Manifest().Seed // the run's seed counts, since a flag may have replaced the file's
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

// otherWorld says, by a run's world, how its trials ran and how to resume it.
var otherWorld = map[string]string{
	runs.WorldSimulated: "its trials are simulated; resume it with --simulate",
	"":                  "its trials ran on a cluster; resume it without --simulate",
}

func (o *Options) writeCluster(run *runs.Run, file string, c *config.Cluster) error {
	data, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	return run.WriteFile(file, data)
}
