package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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
	// cleanUp removes what killed runs left behind and would disturb the first
	// trial.
	cleanUp(ctx context.Context) error
	// stage returns the object whose methods carry out the steps of a trial:
	// prepare, run, check, clean.
	stage(t *trial) (stage, error)
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
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("trial took longer than its timeout of %v", limit))
		defer cancel()
	}
	s, err := w.stage(t)
	if err != nil {
		return err
	}
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
func (t *trial) keep(result *results.Trial, h traces.Header, names map[traces.JobID]string, encode func(io.Writer, func(traces.Event)) error) (*measure.Figures, error) {
	collector := measure.New(h)
	if err := writeTrace(t.folder, encode, collector.Add); err != nil {
		return nil, err
	}
	f := collector.Figures()
	result.Plan, result.MakespanMs = f.Plan, int64(math.Round(f.MakespanMs))
	for _, j := range f.JobList {
		if j.CompletionMs >= 0 {
			result.Jobs = append(result.Jobs, results.Job{ID: j.ID, Name: names[j.ID], Outcome: j.Outcome.String(), CompletionMs: int64(math.Round(j.CompletionMs))})
		}
	}
	return f, nil
}

// seed returns the seed of the trial's random numbers. It differs between
// repeats, but not between scheduler models.
func (t *trial) seed() uint64 { return t.options.Experiment.Seed + uint64(t.plan.Repeat-1) }

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
	if err != nil {
		return run, errors.Join(err, w.close(ctx))
	}
	defer run.Close()
	if err = w.cleanUp(ctx); err == nil {
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

// runTrials runs trials one after the other. If one fails, the others still
// run.
func runTrials(ctx context.Context, o *Options, w world, run *runs.Run) error {
	plan := map[string]*config.Trial{}
	for _, t := range o.Experiment.Trials() {
		plan[t.Name] = &t
	}
	var failed []error
	todo := run.Todo()
	for i, name := range todo {
		if plan[name] == nil {
			return fmt.Errorf("run %s: trial %s is not in the experiment; was the file changed?", run.Dir, name)
		}
		active, err := run.Begin(name)
		if err != nil {
			return err
		}
		t := &trial{options: o, plan: *plan[name], results: run, folder: active, step: Step{Folder: run.Dir, Trial: name, Number: i + 1, Trials: len(todo)}}
		if i+1 < len(todo) {
			t.next = plan[todo[i+1]]
		}
		if active.Before != "" {
			t.say("begin", "again; files of the last try are in "+active.Before)
		}
		if err := t.run(ctx, w); err != nil {
			err = fmt.Errorf("trial %s: %w", name, err)
			if ferr := active.Failed(err); ferr != nil {
				return errors.Join(err, ferr)
			}
			if ctx.Err() != nil {
				return fmt.Errorf("stopped in %w; to continue: heddle run --resume %s", err, run.Dir)
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
