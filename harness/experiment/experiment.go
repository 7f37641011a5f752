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
	if o.Progress == nil {
		o.Progress = func(Step) {}
	}
	if err := o.supported(); err != nil {
		return nil, err
	}
	clusters := map[string]*clients.Clients{}
	defer func() {
		for _, c := range clusters {
			c.Close()
		}
	}()
	for _, name := range o.Experiment.Clusters() {
		c, err := clients.To(o.config(name))
		if err != nil {
			return nil, err
		}
		clusters[name] = c
	}
	hadoop := ""
	for _, name := range o.Experiment.Clusters() {
		version, err := clusters[name].Answers(ctx)
		if err != nil {
			return nil, fmt.Errorf("start run: cluster %s: %w", o.config(name).Name, err)
		}
		if name == o.Experiment.Cluster {
			hadoop = version
		}
	}
	run, err := open(&o, hadoop)
	if err != nil {
		return run, err
	}
	defer run.Close()
	for _, name := range o.Experiment.Clusters() {
		err = errors.Join(err, endLeftovers(ctx, clusters[name], func(text string) { o.Progress(Step{Doing: "look", Text: text}) }))
	}
	if err == nil {
		err = runTrials(ctx, &o, clusters, run)
	}
	if werr := writeSummary(run); err == nil {
		err = werr
	}
	if eerr := run.End(err); err == nil {
		err = eerr
	}
	return run, err
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
			err = errors.Join(err, c.Supported())
		}
	}
	return err
}

// open makes the run folder, or takes an unfinished one up. Hadoop is the
// cluster's version, "" for trials in virtual time.
func open(o *Options, hadoop string) (*runs.Run, error) {
	if o.Resume != "" {
		run, err := runs.Open(o.Resume)
		if err != nil {
			return nil, err
		}
		if simulated := run.Manifest().World == runs.WorldSimulated; simulated != (hadoop == "") {
			return nil, fmt.Errorf("resume %s: %w: its trials ran in another world: simulated %v", o.Resume, runs.ErrExists, simulated)
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
	m := runs.Manifest{Command: o.Command, Seed: o.Experiment.Seed, Settings: o.Settings}
	if hadoop == "" {
		m.World = runs.WorldSimulated
	} else {
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

func (o *Options) writeCluster(run *runs.Run, file string, c *config.Cluster) error {
	data, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	return run.WriteFile(file, data)
}

// outageLimit is how long a daemon may be away between two trials.
const outageLimit = 5 * time.Minute

func runTrials(ctx context.Context, o *Options, clusters map[string]*clients.Clients, run *runs.Run) (err error) {
	plan := map[string]config.Trial{}
	for _, t := range o.Experiment.Trials() {
		plan[t.Name] = t
	}
	sums := map[string]*hibench.Sums{}
	for name := range clusters {
		sums[name] = new(hibench.Sums)
	}
	var cache *inputCache // what one trial leaves to the next
	defer func() { err = errors.Join(err, cache.remove(ctx, false)) }()
	var failed []error
	todo := run.Todo()
	for i, name := range todo {
		trial, ok := plan[name]
		if !ok {
			return fmt.Errorf("run %s: trial %s is not in the experiment; was the file changed?", run.Dir, name)
		}
		active, err := run.Begin(name)
		if err != nil {
			return err
		}
		t := &trialRun{
			options: o, cluster: clusters[trial.Model.Cluster], plan: trial, results: run, folder: active,
			sums: sums[trial.Model.Cluster], cache: cache,
			step: Step{Trial: name, Number: i + 1, Trials: len(todo)},
		}
		if i+1 < len(todo) {
			next := plan[todo[i+1]]
			t.keepCache = next.Workload.Label == trial.Workload.Label && next.Model.Cluster == trial.Model.Cluster
		}
		if i > 0 { // the cluster may be down for a while, as in a restart
			err = t.cluster.AwaitAnswers(ctx, outageLimit)
		}
		if err == nil {
			err = t.run(ctx)
		}
		cache = t.cache
		if err != nil {
			err = fmt.Errorf("trial %s: %w", name, err)
			if ferr := active.Failed(err); ferr != nil {
				return errors.Join(err, ferr)
			}
			if ctx.Err() != nil {
				return fmt.Errorf("stopped in %w; take it up with: heddle run --resume %s", err, run.Dir)
			}
			if errors.Is(err, runs.ErrDiskFull) {
				return err
			}
			failed = append(failed, err)
			continue
		}
		if err := active.Done(); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}
