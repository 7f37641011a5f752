package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collectors/node"
	"heddle/harness/capture"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/sched"
	"heddle/harness/steer/drive"
	"heddle/harness/watch"
	"heddle/harness/workload"
	"heddle/traces"
)

// measure runs the trial's jobs, records what happens on the cluster meanwhile,
// and writes the trace.
func (t *trialRun) measure(ctx context.Context) (results.Trial, error) {
	e := t.options.Experiment
	result := results.Trial{Name: t.plan.Name, Workload: t.plan.Workload.Label, Model: t.plan.Model.Label, Repeat: t.plan.Repeat}
	folder, err := t.folder.Folder(".")
	if err != nil {
		return result, err
	}
	defer folder.Close()
	var driver atomic.Pointer[drive.Driver]
	files := t.files
	if files == nil {
		files = watch.HDFS(t.cluster)
	}
	watcher := watch.New(t.cluster, files)
	session, err := outlast(ctx, t, func() (*capture.Session, error) { return t.startCapture(ctx, watcher, folder, &driver) })
	if err != nil {
		return result, runs.Explain(t.folder.Dir, 0, err)
	}
	session.Add(t.cache.notes()...)
	jobsRun, endJobs := context.WithCancelCause(ctx)
	defer endJobs(nil)
	faults, err := outlast(ctx, t, func() (*faultRun, error) { return t.beginFaults(jobsRun, endJobs, session) })
	var steered *steering
	if err == nil {
		steered, err = outlast(ctx, t, func() (*steering, error) { return t.steer(ctx, watcher, session) })
	}
	if err != nil {
		err = errors.Join(err, faults.end(ctx))
		_, serr := session.Stop(ctx)
		return result, errors.Join(err, serr)
	}
	if steered != nil {
		driver.Store(steered.driver)
	}
	if e.Under(t.plan.Model).Actuator == config.ActuatorLabels && len(e.KeepNodes) == 0 {
		t.say("steer", "all workers: other users' jobs wait until the trial ends (keepNodes would leave them nodes)")
	}
	t.say("run", fmt.Sprintf("%s under %s", t.plan.Workload.Label, t.plan.Model.Label))
	others := watchOthers(node.Options{Cgroup: t.cluster.Config.Cgroup})
	reports, ran := t.runJobs(jobsRun, steered)
	busy := others.othersUsed(&result)
	if ran != nil {
		// A Hadoop client process that ends early leaves its YARN application
		// running, so kill the application.
		ran = errors.Join(ran, t.hold.EndApps(ctx, t.tags...))
	}
	ran = errors.Join(ran, faults.end(ctx))
	t.say("history", "of its jobs")
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	waited := session.Wait(waiting)
	stranded, stopped := steered.stop(waiting, &result)
	err = errors.Join(ran, waited, stopped)
	history := waiting
	if ran != nil { // after an error wait less: an ApplicationMaster that was killed early wrote no history
		history, cancel = context.WithTimeout(waiting, 10*time.Second)
		defer cancel()
	}
	captured, kept := session.Stop(history)
	for _, app := range stranded {
		captured.Warnings = append(captured.Warnings,
			"application "+app+" asks for a label that no node has any more: it waits for ever; kill it")
	}
	if result.OthersCores != nil {
		captured.Header.Cluster.OthersCores = *result.OthersCores
	}
	for _, warning := range []string{t.cache.lookAgain(waiting), busy} {
		if warning != "" {
			captured.Warnings = append(captured.Warnings, warning)
		}
	}
	result.Reports = reports
	if kept != nil {
		return result, errors.Join(err, runs.Explain(t.folder.Dir, 0, kept))
	}
	return result, errors.Join(err, t.keep(&result, &captured))
}

// outlast begins a part of the trial, which asks the cluster's masters. If another one
// has to take over, it waits and begins again.
func outlast[T any](ctx context.Context, t *trialRun, begin func() (T, error)) (part T, err error) {
	err = t.cluster.Outlast(ctx, func(text string) { t.say("wait", text) }, func() (err error) {
		part, err = begin()
		return err
	})
	return part, err
}

// startCapture starts to record what the trial's jobs do, and reports their
// progress to the user. Once driver is set, the scheduler model hears of nodes' samples.
func (t *trialRun) startCapture(ctx context.Context, watcher *watch.Watcher, folder *os.Root,
	driver *atomic.Pointer[drive.Driver],
) (*capture.Session, error) {
	e := t.options.Experiment
	b := e.Under(t.plan.Model)
	pools, terms := map[string]string{}, map[string]traces.Terms{}
	for i, s := range t.submissions {
		pools[t.tags[i]], terms[t.tags[i]] = s.Pool, s.Terms
	}
	live := &Live{}
	return capture.Start(ctx, watcher, capture.Options{
		Seen: live.Add,
		Tags: t.tags, Pools: pools, Terms: terms, Workload: t.plan.Workload.Label, Costs: workload.Costs(t.plan.Workload), Folder: folder,
		Header: traces.Header{
			Origin: t.origin, Seed: e.Seed, Model: t.plan.Model.Model, Params: t.plan.Model.Params, Actuator: b.Actuator, Splits: b.Splits,
			Reasons: e.Reasons && b.Actuator != config.ActuatorNone, MapSlots: int32(b.MapSlots), ReduceSlots: int32(b.ReduceSlots),
			Told: b.Capacity.Telling(),
		},
		EveryLocations: max(time.Duration(e.Sampling.Locations), t.leastLocations), EveryRM: time.Duration(e.Sampling.RM),
		EveryAgents: time.Duration(e.Sampling.Agents),
		Sampled:     t.hearSamples(driver),
		Progress: func(p capture.Progress) {
			step := t.step
			step.Doing, step.Jobs, step.Live = "run", &p, live
			t.options.Progress(step)
		},
	})
}

// hearSamples returns a function that passes nodes' metrics on to the scheduler model,
// or nil if the model does not want them.
func (t *trialRun) hearSamples(driver *atomic.Pointer[drive.Driver]) func(traces.NodeSample) {
	if t.plan.Model.Model == config.ModelYARN {
		return nil
	}
	model, err := t.plan.Model.Scheduler(0)
	if err != nil {
		return nil // an error that steer returns
	}
	if _, ok := sched.As[sched.HearsLoad](model); !ok {
		return nil
	}
	return func(x traces.NodeSample) {
		if d := driver.Load(); d != nil {
			d.Sampled(x)
		}
	}
}

// runJobs runs the trial's submissions, each at its time. It returns when all
// have ended. It also returns when one has failed, unless that is a failed job and
// the workload counts these. The result reports contains the lines of
// HiBench's own report, if there are any.
func (t *trialRun) runJobs(ctx context.Context, steering *steering) (reports []string, err error) {
	clients, running := errgroup.WithContext(ctx)
	lines := make([]string, len(t.submissions))
	began := time.Now()
	for i, s := range t.submissions {
		due := time.NewTimer(s.At)
		clients.Go(func() error {
			defer due.Stop()
			select {
			case <-due.C:
			case <-running.Done():
				return running.Err()
			}
			ran, waited, err := steering.run(running, t.runner, i, t.tags[i], &s)
			lines[i], t.done[i].LabelWait = ran.Report, waited
			if !ran.Accepted.IsZero() {
				t.done[i].Answer = ran.Accepted.Sub(began.Add(s.At))
			}
			if running.Err() == nil && t.plan.Workload.CountsFailures() && errors.As(err, new(*workload.JobError)) {
				t.failures[i] = err
				t.say("fail", "a job failed, and the trial goes on: "+firstLine(err.Error()))
				return nil
			}
			return err
		})
	}
	err = cause(ctx, clients.Wait())
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" }), err
}

// keep writes the captured trace and sets those fields of the result that are
// computed from the trace.
func (t *trialRun) keep(result *results.Trial, captured *capture.Result) error {
	if t.cache != nil {
		cached := t.cache.result
		result.Cache = &cached
	}
	seen, names := map[traces.JobID]capture.Job{}, map[traces.JobID]string{}
	for _, j := range captured.Jobs {
		seen[j.ID], names[j.ID] = j, j.Name
	}
	figures, err := t.trial.keep(result, captured.Header, names, captured.Encode)
	if err == nil {
		err = captured.Clean()
	}
	if err != nil {
		return err
	}
	err = t.results.Update(func(m *runs.Manifest) {
		if m.Versions == nil {
			m.Versions = map[string]string{}
		}
		maps.Copy(m.Versions, captured.Header.Software)
	})
	if err != nil {
		return err
	}
	result.Warnings = append(t.notCold, captured.Warnings...)
	for i := range result.Jobs {
		result.Jobs[i].YarnMs = seen[result.Jobs[i].ID].YarnMs
	}
	t.jobs = map[string][]*measure.Job{}
	for _, done := range figures.JobList {
		for _, tag := range seen[done.ID].Tags {
			t.jobs[tag] = append(t.jobs[tag], done)
		}
	}
	if err := t.countFailures(result, captured.Jobs, figures.JobList); err != nil {
		return err
	}
	for i, s := range t.submissions {
		d := &t.done[i]
		d.Asked, d.Jobs = s.Asked, t.jobs[t.tags[i]]
		if t.failures[i] != nil {
			d.Failure = firstLine(t.failures[i].Error())
		} else if len(d.Jobs) < s.Jobs {
			return fmt.Errorf("%s: YARN has %d applications with the tag %s; want at least %d", s.Name, len(d.Jobs), t.tags[i], s.Jobs)
		}
	}
	result.Achieved = workload.Achieve(t.done)
	return nil
}
