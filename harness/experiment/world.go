package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces"
)

// world is where an experiment's trials run: on real clusters or in virtual
// time.
type world interface {
	// name returns the text that manifest.json has for trials run here: "" for
	// a cluster, runs.WorldSimulated for virtual time.
	name() string
	// The method open returns an error if the experiment is not supported here
	// (on a real cluster, or in virtual time). Otherwise it returns the
	// cluster's Hadoop version, "" in virtual time.
	open(ctx context.Context) (hadoop string, err error)
	// atOnce returns how many trials run at the same time.
	atOnce() int
	// cleanUp removes what killed runs left behind and would disturb the first
	// trial. The argument folder is the run folder.
	cleanUp(ctx context.Context, folder string) error
	// stage returns the object whose methods carry out the steps of a trial:
	// prepare, run, check, clean.
	stage(t *trial) stage
	// close removes what the experiment's trials left on the cluster, such as
	// cached blocks.
	close(ctx context.Context) error
}

// stage carries out the steps of one trial. The steps are called in this order:
// prepare, run, check, clean.
type stage interface {
	// prepare makes the trial's input, puts the part that the experiment names
	// into the HDFS cache, and returns the input's length in bytes.
	prepare(ctx context.Context) (inputBytes int64, err error)
	// run runs the workload's jobs to their end and writes the trial's trace.
	run(ctx context.Context) (results.Trial, error)
	// check compares the outputs of the jobs with their input, and returns in
	// words what it compared.
	check(ctx context.Context) ([]string, error)
	// clean removes everything that the trial made, except the trial's folder.
	clean() error
}

// trial is one trial under way, on a real cluster or in virtual time.
type trial struct {
	options *Options
	plan    config.Trial
	next    *config.Trial // the trial that runs after this one; nil if this is the last
	results *runs.Run
	folder  *runs.Active
	step    Step
}

// run carries out all steps of a trial, on a cluster or in virtual time as
// world says, and writes the trial's result.
func (t *trial) run(ctx context.Context, w world) error {
	if limit := time.Duration(t.options.Experiment.Timeout); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit,
			fmt.Errorf("trial took longer than its timeout of %v; raise timeout: in the experiment", limit))
		defer cancel()
	}
	s := w.stage(t)
	bytes, err := s.prepare(ctx)
	if err != nil {
		return cause(ctx, err)
	}
	result, err := s.run(ctx)
	if err == nil {
		result.InputBytes = bytes
		result.Checked, err = s.check(ctx)
	}
	if err = errors.Join(cause(ctx, err), s.clean()); err != nil {
		return err
	}
	return results.Write(t.folder, &result)
}

// keep writes the trial's trace and computes the result's figures from the
// trace's events. The argument names has the name of each job.
func (t *trial) keep(result *results.Trial, h traces.Header, names map[traces.JobID]string,
	encode func(io.Writer, func(traces.Event)) error,
) (*measure.Figures, error) {
	collector := measure.New(h)
	err := t.folder.Write(results.TraceFile, func(out io.Writer) error { return encode(out, collector.Add) })
	if err != nil {
		return nil, err
	}
	f := collector.Figures()
	result.Plan, result.MakespanMs, result.StarvedMs = f.Plan, int64(math.Round(f.MakespanMs)), f.StarvedMs
	for _, j := range f.JobList {
		if j.CompletionMs >= 0 {
			result.Jobs = append(result.Jobs, results.Job{
				ID: j.ID, Name: names[j.ID], Outcome: j.Outcome.String(),
				CompletionMs: int64(math.Round(j.CompletionMs)),
			})
		}
	}
	return f, nil
}

// seed returns the seed of the trial's random numbers. It differs between
// repeats, but not between scheduler models.
func (t *trial) seed() uint64 { return t.options.Experiment.Seed + uint64(t.plan.Repeat-1) }

// log makes a file in the trial's folder logs.
func (t *trial) log(name string) (*os.File, error) {
	logs, err := t.folder.Folder("logs")
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	return logs.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
}

func (t *trial) say(doing, text string) {
	step := t.step
	step.Doing, step.Text = doing, text
	t.options.Progress(step)
}

// carryOut runs those trials of an experiment that are not complete yet. The
// argument w says where: on a real cluster or in virtual time.
func carryOut(ctx context.Context, o *Options, w world) (*runs.Run, error) {
	if o.Progress == nil {
		o.Progress = func(Step) {}
	}
	hadoop, err := w.open(ctx)
	if err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	run, err := open(ctx, o, w.name(), hadoop)
	if o.Resume != "" && errors.Is(err, runs.ErrExists) { // it is finished
		return run, w.close(ctx)
	}
	if err != nil {
		return run, errors.Join(err, w.close(ctx))
	}
	defer run.Close()
	if err = w.cleanUp(ctx, run.Dir); err == nil {
		err = runTrials(ctx, o, w, run)
	}
	err = errors.Join(err, w.close(ctx))
	if werr := results.WriteSummary(run); err == nil {
		err = werr
	}
	if eerr := run.End(err); err == nil {
		err = eerr
	}
	return run, err
}

// runTrials runs trials in the order of the plan, as many at once as the world allows.
// If one fails, the others still run.
func runTrials(ctx context.Context, o *Options, w world, run *runs.Run) error {
	plan := map[string]*config.Trial{}
	for _, t := range o.Experiment.Trials() {
		plan[t.Name] = &t
	}
	todo := run.Todo()
	for _, name := range todo {
		if plan[name] == nil {
			return fmt.Errorf("run %s: trial %s is not in the experiment; was the file changed?", run.Dir, name)
		}
	}
	steps := &inOrder{progress: o.Progress, held: make([][]Step, len(todo)), ended: make([]bool, len(todo))}
	running := make(chan struct{}, w.atOnce())
	begun := make(chan struct{}, 1+(w.atOnce()-1)*writers)
	ended := make([]trialEnd, len(todo))
	before := map[string]<-chan struct{}{} // by a model that keeps its state: closed when its last trial that was begun has ended
	var stopped atomic.Bool
	var trials sync.WaitGroup
	for i, name := range todo {
		if begun <- struct{}{}; stopped.Load() {
			break
		}
		own := *o
		own.Progress = func(s Step) { steps.say(i, s) }
		t := &trial{options: &own, plan: *plan[name], results: run, step: Step{
			Folder: run.Dir, Trial: name, Number: i + 1, Trials: len(todo),
			Model: plan[name].Model.Label,
		}}
		if i+1 < len(todo) {
			t.next = plan[todo[i+1]]
		}
		var earlier <-chan struct{}
		over := make(chan struct{})
		if t.keepsState() {
			earlier, before[t.plan.Model.Label] = before[t.plan.Model.Label], over
		}
		trials.Go(func() {
			if earlier != nil {
				<-earlier
			}
			if !stopped.Load() {
				ended[i] = t.carryOut(ctx, w, running)
			}
			if ended[i].stops {
				stopped.Store(true)
			}
			close(over)
			steps.end(i)
			<-begun
		})
	}
	trials.Wait()
	var failed []error
	for _, e := range ended {
		if e.stops {
			return e.err
		}
		if e.err != nil {
			failed = append(failed, e.err)
		}
	}
	if failed == nil {
		return nil
	}
	return &failedTrials{strings.Join(runs.Failures(run.Manifest().Trials), "\n"), failed}
}

// failedTrials are the errors of all trials that failed, told as the run's manifest has them.
type failedTrials struct {
	text string
	errs []error
}

func (f *failedTrials) Error() string   { return f.text }
func (f *failedTrials) Unwrap() []error { return f.errs }

// writers is how many trials are begun for each one that runs: the others wait until
// their files are on the disk.
const writers = 4

// trialEnd says how a trial ended: err is nil if it ended well, and stops is true if no
// further trial may begin.
type trialEnd struct {
	err   error
	stops bool
}

// carryOut begins a trial, runs it once there is room among those that run, and records
// how it ended.
func (t *trial) carryOut(ctx context.Context, w world, running chan struct{}) trialEnd {
	var err error
	if t.folder, err = t.results.Begin(t.plan.Name); err != nil {
		return trialEnd{err, true}
	}
	if t.folder.Before != "" {
		t.say("begin", "again; files of the last try are in "+t.folder.Before+" until it is done")
	}
	running <- struct{}{}
	err = t.run(ctx, w)
	<-running
	if err == nil {
		err = t.folder.Done()
		return trialEnd{err, err != nil}
	}
	why := err.Error()
	err = fmt.Errorf("trial %s: %w", t.plan.Name, err)
	if ferr := t.folder.Failed(err); ferr != nil {
		return trialEnd{errors.Join(err, ferr), true}
	}
	if ctx.Err() != nil {
		return trialEnd{fmt.Errorf("stopped in %w; to continue: heddle run --resume %s", err, t.results.Dir), true}
	}
	step := t.step
	step.Doing, step.Failure = "failed", why
	t.options.Progress(step)
	return trialEnd{err, errors.Is(err, runs.ErrDiskFull)}
}

// inOrder passes on the steps of trials that run at the same time as if these ran one
// after the other. Of steps that say how far a simulation is, a trial behind the first
// keeps the last one, which has its counts.
type inOrder struct {
	mu       sync.Mutex
	progress func(Step)
	first    int      // the first trial that has not ended
	held     [][]Step // steps of trials behind it
	ended    []bool
}

// say takes a step of a trial.
func (o *inOrder) say(trial int, s Step) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if trial == o.first {
		o.progress(s)
		return
	}
	held := o.held[trial]
	if last := len(held) - 1; last >= 0 && s.Simulated != nil && held[last].Simulated != nil {
		held = held[:last]
	}
	o.held[trial] = append(held, s)
}

// end notes that a trial has ended, and passes on what this lets follow.
func (o *inOrder) end(trial int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended[trial] = true
	for o.first < len(o.ended) && o.ended[o.first] {
		if o.first++; o.first < len(o.held) {
			for _, s := range o.held[o.first] {
				o.progress(s)
			}
			o.held[o.first] = nil
		}
	}
}
