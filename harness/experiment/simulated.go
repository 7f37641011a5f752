package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"heddle/harness/capture"
	"heddle/harness/config"
	"heddle/harness/replay"
	"heddle/harness/runs"
	"heddle/harness/workload"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// Simulate carries out the experiment in virtual time: the same trials in the
// same order, of the workloads' twins on the cluster's machines as its file
// describes them. Results and traces are as those of Run. Calibration has what
// tasks cost; nil takes typical costs, of which the results warn.
//
// The input lies where the experiment's seed puts it, in every trial the same.
// Each repeat draws other computing times, which are the same for all models.
func Simulate(ctx context.Context, o Options, calibration *replay.Calibration) (*runs.Run, error) {
	if o.Progress == nil {
		o.Progress = func(Step) {}
	}
	w := &simulatedWorld{options: &o, calibration: calibration, inputs: map[string]*replay.Trace{}}
	if err := w.supported(); err != nil {
		return nil, err
	}
	run, err := open(&o, "")
	if err != nil {
		return run, err
	}
	defer run.Close()
	plan := map[string]config.Trial{}
	for _, t := range o.Experiment.Trials() {
		plan[t.Name] = t
	}
	todo := run.Todo()
	for i, name := range todo {
		if err = ctx.Err(); err != nil {
			err = fmt.Errorf("stopped: %w; take it up with: heddle run --simulate --resume %s", err, run.Dir)
			break
		}
		trial, ok := plan[name]
		if !ok {
			err = fmt.Errorf("run %s: trial %s is not in the experiment; was the file changed?", run.Dir, name)
			break
		}
		o.Progress(Step{Trial: name, Number: i + 1, Trials: len(todo), Doing: "simulate", Text: "in virtual time"})
		if err = w.trial(ctx, run, trial); err != nil {
			err = fmt.Errorf("trial %s: %w", name, err)
			break
		}
	}
	if werr := writeSummary(run); err == nil {
		err = werr
	}
	return run, errors.Join(err, run.End(err))
}

// simulatedWorld is where an experiment's trials run in virtual time.
type simulatedWorld struct {
	options     *Options
	calibration *replay.Calibration
	inputs      map[string]*replay.Trace // by workload
}

// supported refuses what a simulation cannot honour, by its key.
func (w *simulatedWorld) supported() error {
	e := w.options.Experiment
	err := e.Supported()
	if len(e.KeepNodes) > 0 {
		err = errors.Join(err, errors.New("keepNodes: a simulation has no jobs of others; leave the key out"))
	}
	if len(e.Clusters()) > 1 {
		err = errors.Join(err, errors.New("models[].cluster: a simulation has one cluster; leave the key out"))
	}
	for _, x := range e.Workloads {
		_, terr := workload.Of(x).Twin(e.Cache)
		err = errors.Join(err, terr)
	}
	if err == nil {
		_, _, err = workload.Cluster(w.options.Cluster)
	}
	if err != nil {
		return &config.Error{File: e.Name, Problems: []config.Problem{{Message: "simulate: " + err.Error()}}}
	}
	return nil
}

// input is a workload's jobs and files, made when they are first needed.
func (w *simulatedWorld) input(x config.Workload) (*replay.Trace, *replay.Calibration, error) {
	e := w.options.Experiment
	twin, err := workload.Of(x).Twin(e.Cache)
	if err != nil {
		return nil, nil, err
	}
	h, disk, err := workload.Cluster(w.options.Cluster)
	if err != nil {
		return nil, nil, err
	}
	costs := w.calibration
	if costs == nil {
		costs = replay.Uncalibrated(h.Cluster, twin.Costs)
	}
	disk.CachedReplicas = max(1, e.Cache.Replicas)
	t := w.inputs[x.Label]
	if t == nil {
		if t, err = twin.Trace(h, disk, e.Seed); err != nil {
			return nil, nil, err
		}
		w.inputs[x.Label] = t
	}
	return t, costs, nil
}

// trial simulates one trial and keeps what it came to.
func (w *simulatedWorld) trial(ctx context.Context, run *runs.Run, plan config.Trial) error {
	active, err := run.Begin(plan.Name)
	if err != nil {
		return err
	}
	if err = w.simulate(ctx, active, plan); err != nil {
		return errors.Join(err, active.Failed(err))
	}
	return active.Done()
}

func (w *simulatedWorld) simulate(ctx context.Context, active *runs.Active, plan config.Trial) error {
	e := w.options.Experiment
	input, costs, err := w.input(plan.Workload)
	if err != nil {
		return err
	}
	model := plan.Model
	model.Splits = e.SplitsOf(plan)
	var events []traces.Event
	_, header, err := replay.Run(&replay.Config{
		Trace: input, Model: model, Actuator: e.ActuatorOf(plan), Seed: e.Seed + uint64(plan.Repeat-1),
		Calibration: costs, Modelled: true, Interrupted: ctx.Err,
		Record: func(event traces.Event) { events = append(events, event) },
	})
	if err != nil {
		return err
	}
	header.Seed = e.Seed
	traces.Sort(events)
	err = active.Write(traceFile, func(w io.Writer) error {
		return tracefile.Encode(w, filepath.Join(active.Dir, traceFile), header, events)
	})
	if err != nil {
		return err
	}
	var list []capture.Job
	for _, j := range input.Jobs {
		list = append(list, capture.Job{ID: j.Job, Name: cmp.Or(j.Name, string(j.Job))})
	}
	jobs := newTally(list)
	for _, event := range events {
		jobs.add(event)
	}
	result := Result{Trial: plan.Name, Workload: plan.Workload.Label, Model: plan.Model.Label, Repeat: plan.Repeat, Checked: []string{}}
	result.Jobs, result.MakespanMs = jobs.ended, jobs.makespanMs()
	for i := range input.Jobs[0].Tasks[traces.Map] {
		result.InputBytes += input.Jobs[0].Tasks[traces.Map][i].LengthBytes
	}
	if w.calibration == nil {
		result.Warnings = append(result.Warnings, "uncalibrated: tasks take typical times of a lab, not this cluster's; give --calibration")
	}
	return writeResult(active, &result)
}
