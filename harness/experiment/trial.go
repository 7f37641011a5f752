package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/harness/capture"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/runs"
	"heddle/harness/steer"
	"heddle/hibench"
	"heddle/traces"
	"heddle/yarnclient"
)

// tagPrefix begins the YARN tags of all our jobs.
const tagPrefix = "heddle"

// dataRoot is the folder in HDFS that everything heddle writes there is below.
const dataRoot = "/heddle"

// trialRun is one trial under way.
type trialRun struct {
	options *Options
	cluster *clients.Clients
	plan    config.Trial
	results *runs.Run
	folder  *runs.Active
	sums    *hibench.Sums // of the run's inputs on this cluster
	step    Step
	// cache is what the trial before has left in the HDFS cache, then this
	// trial's; nil is nothing. It stays for the next trial where keepCache says so.
	cache     *inputCache
	keepCache bool
}

// Result is what a trial came to, kept beside its trace as result.json.
type Result struct {
	Trial    string `json:"trial"`
	Workload string `json:"workload"`
	Model    string `json:"model"`
	Repeat   int    `json:"repeat"`
	// InputBytes is the length of the input's files.
	InputBytes int64       `json:"inputBytes"`
	Jobs       []JobResult `json:"jobs"`
	// MakespanMs is from the first submission to the last end.
	MakespanMs int64 `json:"makespanMs"`
	// Cache is set where a part of the input was cached.
	Cache *CacheResult `json:"cache,omitempty"`
	// Plan is set where the model planned the splits.
	Plan *measure.Plan `json:"plan,omitempty"`
	// Checked says what of the outputs was compared, in words.
	Checked []string `json:"checked"`
	// Reports are HiBench's own lines, where it ran the jobs.
	Reports  []string `json:"hibenchReports,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// JobResult is one job of a trial.
type JobResult struct {
	ID      traces.JobID `json:"id"`
	Name    string       `json:"name"`
	Outcome string       `json:"outcome"`
	// CompletionMs is from submission to end, by Hadoop's clocks.
	CompletionMs int64 `json:"completionMs"`
}

// run prepares, runs, captures and checks the trial.
func (t *trialRun) run(ctx context.Context) error {
	if limit := time.Duration(t.options.Experiment.Timeout); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("trial took longer than its timeout of %v", limit))
		defer cancel()
	}
	runner, err := t.runner(ctx)
	if err != nil {
		return err
	}
	tags := t.tags()
	if err := removeStalePools(ctx, t.cluster.HDFS); err != nil {
		return err
	}
	t.say("prepare", "input of "+t.plan.Workload.Label)
	data, err := runner.Prepare(ctx, tags[0])
	if err != nil {
		return errors.Join(cause(ctx, err), t.killTagged(ctx, tags[0]+"-prep"))
	}
	if t.options.Experiment.ColdReads && len(t.cluster.Agents) > 0 {
		t.say("drop", "page caches")
		if err := t.cluster.DropCaches(ctx); err != nil {
			return fmt.Errorf("%w; allow it on the agents, or set coldReads: false", err)
		}
	}
	if err := t.cacheInput(ctx, data.Path); err != nil {
		return err
	}
	result, jobs, err := t.measure(ctx, runner, tags)
	if err != nil || !t.keepCache {
		err = errors.Join(err, t.cache.remove(ctx, err == nil))
		t.cache = nil
	}
	if err != nil {
		return errors.Join(err, clean(runner, tags))
	}
	result.InputBytes = data.Bytes
	t.say("check", "output")
	for _, tag := range tags {
		check, err := runner.Check(ctx, tag, jobs.records(tag))
		if err != nil {
			return errors.Join(cause(ctx, err), t.killTagged(ctx, tag+"-check"), clean(runner, tags))
		}
		result.Checked = check.Compared
	}
	if err := clean(runner, tags); err != nil {
		return err
	}
	if err := t.dropLinks(); err != nil {
		return err
	}
	return writeResult(t.folder, &result)
}

// clean removes what the jobs have written.
func clean(runner *hibench.Runner, tags []string) (err error) {
	for _, tag := range tags {
		err = errors.Join(err, runner.Clean(tag))
	}
	return err
}

// cacheInput caches what the experiment says of the input, unless the trial
// before has left just that.
func (t *trialRun) cacheInput(ctx context.Context, input string) error {
	say := func(text string) { t.say("cache", text) }
	o, left := t.options.Experiment, t.cache
	t.cache = nil
	if left != nil {
		whole, err := left.again(ctx, t.cluster.HDFS, input, say)
		if whole {
			t.cache = left
			return nil
		}
		if err := errors.Join(err, left.remove(ctx, true)); err != nil {
			return err
		}
	}
	lifetime := 7 * 24 * time.Hour
	if o.Timeout > 0 {
		lifetime = time.Duration(len(o.Models)) * (10*time.Minute + time.Duration(o.Timeout))
	}
	var err error
	t.cache, err = cacheInput(ctx, t.cluster.HDFS, input, o.Cache, lifetime, say)
	return err
}

// dropLinks removes what links out of the trial: the clients' configuration
// folders consist of links to the cluster's own files.
func (t *trialRun) dropLinks() error {
	logs, err := t.folder.Folder("logs")
	if err != nil {
		return err
	}
	defer logs.Close()
	return fs.WalkDir(logs.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			err = logs.Remove(name)
		}
		return err
	})
}

// measure runs the trial's jobs while it captures them, and writes the trace.
func (t *trialRun) measure(ctx context.Context, runner *hibench.Runner, tags []string) (Result, *tally, error) {
	e := t.options.Experiment
	result := Result{Trial: t.plan.Name, Workload: t.plan.Workload.Label, Model: t.plan.Model.Label, Repeat: t.plan.Repeat}
	folder, err := t.folder.Folder(".")
	if err != nil {
		return result, nil, err
	}
	defer folder.Close()
	jobsFolder, err := t.folder.Folder("jobs")
	if err != nil {
		return result, nil, err
	}
	defer jobsFolder.Close()
	sampling := e.Sampling
	var driver atomic.Pointer[steer.Driver]
	session, err := capture.Start(ctx, t.cluster, capture.Options{
		Tags: tags, Workload: t.plan.Workload.Label, Folder: folder,
		Header: traces.Header{
			Seed: e.Seed, Model: t.plan.Model.Model, Params: t.plan.Model.Params, Actuator: e.ActuatorOf(t.plan), Splits: e.SplitsOf(t.plan),
		},
		EveryLocations: time.Duration(sampling.Locations), EveryRM: time.Duration(sampling.RM), EveryAgents: time.Duration(sampling.Agents),
		Progress: func(p capture.Progress) {
			step := t.step
			step.Doing, step.Jobs = "run", &p
			if d := driver.Load(); d != nil {
				stats := d.Stats()
				step.Steering = &stats
			}
			t.options.Progress(step)
		},
	})
	if err != nil {
		return result, nil, runs.Explain(t.folder.Dir, 0, err)
	}
	session.Add(t.cache.notes()...)
	steering, err := t.steer(ctx, session, jobsFolder)
	if err != nil {
		_, serr := session.Stop(ctx)
		return result, nil, errors.Join(err, serr)
	}
	if steering != nil {
		driver.Store(steering.driver)
	}
	if e.ActuatorOf(t.plan) == config.ActuatorLabels && len(e.KeepNodes) == 0 {
		t.say("steer", "all workers: jobs of others wait until the trial ends (keepNodes leaves them some)")
	}
	t.say("run", fmt.Sprintf("%s under %s", t.plan.Workload.Label, t.plan.Model.Label))
	clients, running := errgroup.WithContext(ctx)
	reports := make([]string, len(tags))
	for i := range tags {
		clients.Go(func() error {
			r, err := steering.run(running, runner, tags[i])
			if r.Report != nil {
				reports[i] = r.Report.Line
			}
			return err
		})
	}
	ran := cause(ctx, clients.Wait())
	if ran != nil {
		// A client that is stopped leaves its application running.
		ran = errors.Join(ran, t.killTagged(ctx, tags...))
	}
	t.say("history", "of its jobs")
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	waited := session.Wait(waiting)
	stranded, stopped := steering.stop(waiting)
	err = errors.Join(ran, waited, stopped)
	history := waiting
	if ran != nil { // a master that was killed early has written none
		history, cancel = context.WithTimeout(waiting, 10*time.Second)
		defer cancel()
	}
	captured, kept := session.Stop(history)
	for _, app := range stranded {
		captured.Warnings = append(captured.Warnings, "application "+app+" asks for a label that no node has any more: it waits for ever; end it")
	}
	if warning := t.cache.lookAgain(waiting); warning != "" {
		captured.Warnings = append(captured.Warnings, warning)
	}
	result.Reports = slices.DeleteFunc(reports, func(line string) bool { return line == "" })
	if kept != nil {
		return result, nil, errors.Join(err, runs.Explain(t.folder.Dir, 0, kept))
	}
	jobs, kept := t.keep(&result, &captured)
	return result, jobs, errors.Join(err, kept)
}

// keep writes the trace and notes what it says of the jobs.
func (t *trialRun) keep(result *Result, captured *capture.Result) (*tally, error) {
	if t.cache != nil {
		cached := t.cache.result
		result.Cache = &cached
	}
	figures, jobs := measure.New(captured.Header), newTally(captured.Jobs)
	err := writeTrace(t.folder, captured, func(e traces.Event) { figures.Add(e); jobs.add(e) })
	if err != nil {
		return nil, err
	}
	if err := t.versions(captured.Header.Software); err != nil {
		return nil, err
	}
	result.Plan, result.Warnings = figures.Figures().Plan, captured.Warnings
	result.Jobs, result.MakespanMs = jobs.ended, jobs.makespanMs()
	for _, j := range captured.Jobs {
		if j.Outcome != traces.Succeeded {
			return nil, fmt.Errorf("%s %s: %s; its files are in %s", j.ID, j.Outcome, oneLine(j.Diagnostics), filepath.Join(t.folder.Dir, "jobs", string(j.ID)))
		}
	}
	if want := max(t.plan.Workload.Jobs, 1); len(captured.Jobs) < want {
		return nil, fmt.Errorf("YARN knows %d applications with the tag of this trial, want %d or more", len(captured.Jobs), want)
	}
	return jobs, nil
}

// tally takes from a trial's events what its result says of each job.
type tally struct {
	jobs      []capture.Job
	submitted map[traces.JobID]traces.Time
	counts    map[traces.JobID]*hibench.Counters // of attempts that succeeded
	ended     []JobResult
	first     traces.Time
	last      traces.Time
}

func newTally(jobs []capture.Job) *tally {
	return &tally{jobs: jobs, submitted: map[traces.JobID]traces.Time{}, counts: map[traces.JobID]*hibench.Counters{}}
}

func (t *tally) add(event traces.Event) {
	switch e := event.(type) {
	case *traces.JobSubmitted:
		if len(t.submitted) == 0 || e.T < t.first {
			t.first = e.T
		}
		t.submitted[e.Job] = e.T
	case *traces.JobFinished:
		j := JobResult{ID: e.Job, Outcome: e.Outcome.String(), CompletionMs: (e.T - t.submitted[e.Job]).Milliseconds()}
		if i := slices.IndexFunc(t.jobs, func(j capture.Job) bool { return j.ID == e.Job }); i >= 0 {
			j.Name = t.jobs[i].Name
		}
		t.last, t.ended = max(t.last, e.T), append(t.ended, j)
	case *traces.AttemptFinished:
		c := t.countsOf(e.Attempt.Job)
		switch {
		case e.Outcome != traces.Succeeded:
		case e.Attempt.Kind == traces.Map:
			c.MapInputRecords += e.Counters.InputRecords
			c.MapOutputRecords += e.Counters.OutputRecords
		default:
			c.ReduceOutputRecords += e.Counters.OutputRecords
		}
	}
}

// makespanMs is from the first submission to the last end.
func (t *tally) makespanMs() int64 { return (t.last - t.first).Milliseconds() }

// records are what the tagged job read and wrote, nil where there is none.
func (t *tally) records(tag string) *hibench.Counters {
	for _, j := range t.jobs {
		if slices.Contains(j.Tags, tag) {
			return t.countsOf(j.ID)
		}
	}
	return nil
}

func (t *tally) countsOf(job traces.JobID) *hibench.Counters {
	c := t.counts[job]
	if c == nil {
		c = &hibench.Counters{}
		t.counts[job] = c
	}
	return c
}

// killTagged ends the applications that carry one of the tags. It works also after ctx
// has ended: nothing of ours stays on the cluster.
func (t *trialRun) killTagged(ctx context.Context, tags ...string) error {
	apps, err := t.cluster.RM.Apps(context.WithoutCancel(ctx), yarnclient.AppFilter{Tags: tags, States: unfinished})
	if err != nil {
		return fmt.Errorf("look for applications tagged %v, which may still run: %w", tags, err)
	}
	return endApps(ctx, t.cluster.RM, apps)
}

// runner is the trial's workload.
func (t *trialRun) runner(ctx context.Context) (*hibench.Runner, error) {
	files, err := t.cluster.HDFS.Files()
	if err != nil {
		return nil, err
	}
	logs, err := t.folder.Folder("logs")
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	workers, err := t.workers(ctx)
	if err != nil {
		return nil, err
	}
	c, w := t.cluster.Config, t.plan.Workload
	env := hibench.Env{
		HadoopHome: c.Hadoop.Home, ConfDir: c.Hadoop.Conf, User: c.User,
		FS: hibench.HDFS(files), DataDir: dataRoot + "/hibench", RunDir: filepath.Join(t.folder.Dir, "logs"), Checkout: c.HiBench,
		Workers: workers, Sums: t.sums,
	}
	return hibench.New(env, hibench.Spec{
		Workload: w.Name, Profile: w.Profile, SizeBytes: int64(w.Size), Maps: w.Maps, Reduces: w.Reduces,
		Settings: hibench.Settings(w.Settings),
	})
}

// writeResult keeps what a trial came to.
func writeResult(folder *runs.Active, r *Result) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return folder.WriteFile(resultFile, append(data, '\n'))
}

// workers are the nodes that hold data, as HiBench's reports count them; none
// without HiBench, or where the NameNode tells only superusers.
func (t *trialRun) workers(ctx context.Context) ([]string, error) {
	if t.cluster.Config.HiBench == "" {
		return nil, nil
	}
	dataNodes, err := t.cluster.HDFS.DataNodes(ctx)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	var hosts []string
	for _, d := range dataNodes {
		hosts = append(hosts, d.Host)
	}
	return hosts, err
}

// versions notes what took part in the manifest.
func (t *trialRun) versions(software map[string]string) error {
	return t.results.Update(func(m *runs.Manifest) {
		if m.Versions == nil {
			m.Versions = map[string]string{}
		}
		maps.Copy(m.Versions, software)
	})
}

func (t *trialRun) say(doing, text string) {
	step := t.step
	step.Doing, step.Text = doing, text
	t.options.Progress(step)
}

// tags are new ones, one for each job that the trial starts at once. YARN keeps
// tags in lower case.
func (t *trialRun) tags() []string {
	name := ownName(tagPrefix)
	tags := make([]string, max(t.plan.Workload.Jobs, 1))
	for i := range tags {
		tags[i] = fmt.Sprintf("%s-%d", name, i+1)
	}
	return tags
}

// cause is why ctx ended, where that is why err is there.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}
