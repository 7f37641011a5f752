// Package drive steers a real cluster: it asks the cluster what package steer's
// Core wants to know, and carries out what that says. The Core is gone through in
// one goroutine; calls to the cluster run beside it.
//
// It decides nothing. What it gives the Core can be recorded (see Recording), and be
// gone through again without a cluster.
package drive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"heddle/harness/sched"
	"heddle/harness/steer"
	"heddle/harness/watch"
	"heddle/traces"
	"heddle/yarnclient"
)

// Options say how to steer, and whom to tell.
type Options struct {
	Watch *watch.Watcher
	// Core has the model, the actuator and the splits; Setup's limits and Origin. The
	// rest is found out.
	Core steer.Options
	// Changes carries changes out; a *lease.Hold, so that they are undone.
	Changes Changes
	// KeepSplits is given a job's job.splitmetainfo as it was submitted, before
	// another is in its place; nil keeps nothing. It is called from many goroutines.
	KeepSplits func(job traces.JobID, submitted []byte) error
	// KeepTraining is given the record of a model's training for a job, before
	// its first decision; nil keeps nothing.
	KeepTraining func(job traces.JobID, t *sched.Training) error
	// Record takes events for the trace; it is called from one goroutine.
	Record func(...traces.Event)
	// Recorder keeps what the Core is told; nil keeps nothing.
	Recorder *Recorder
	// Log takes what an operator may want to know; nil discards it.
	Log *slog.Logger
}

// Changes are the calls that change the cluster, as yarnclient.RM has them.
type Changes interface {
	ReplaceLabels(ctx context.Context, labelOf map[string]string) error
	SetNodeResource(ctx context.Context, id string, total yarnclient.Resource) error
	SetSchedulerConf(ctx context.Context, change yarnclient.SchedulerChange) error
}

// Driver steers a cluster. Its methods are safe for use by many goroutines.
type Driver struct {
	Options
	rm    *yarnclient.RM // of Watch
	files jobFiles
	core  *steer.Core // the loop's alone
	pool  chan string // free triples

	ctx   context.Context
	stop  context.CancelCauseFunc
	ended chan struct{}          // closed when the loop has ended
	inbox chan steer.Observation // what the Core is to hear of
	calls sync.WaitGroup
	stats atomic.Pointer[steer.Stats]
}

// Start parks the workers and begins to decide. The Driver ends with Stop, or
// when ctx does; Stop has to be called in both cases.
func Start(ctx context.Context, o Options) (*Driver, error) {
	o.Watch = o.Watch.Once()
	setup, err := look(ctx, o.Watch.RM)
	if err != nil {
		return nil, fmt.Errorf("start steering: %w", err)
	}
	setup.GrantLimit, setup.Keep = o.Core.Setup.GrantLimit, o.Core.Setup.Keep
	o.Core.Setup = setup
	files := &staged{watch: o.Watch, leastMB: max(1, int64(setup.Smallest.MemoryMB)), jobs: map[string]stagedJob{}}
	d, err := start(ctx, files, o)
	if err != nil {
		return nil, fmt.Errorf("start steering: %w", err)
	}
	return d, nil
}

// callLimit bounds one call that changes the cluster.
const callLimit = 3 * time.Second

// start is Start with what it found out. Watch asks once: a ResourceManager that
// comes back tells wrong things at first.
func start(ctx context.Context, files jobFiles, o Options) (*Driver, error) {
	rm := o.Watch.RM
	d := &Driver{
		Options: o, rm: rm, files: files, pool: make(chan string, len(o.Core.Setup.Triples)),
		inbox: make(chan steer.Observation, 64), ended: make(chan struct{}),
	}
	for _, number := range o.Core.Setup.Triples {
		d.pool <- number
	}
	if d.Record == nil {
		d.Record = func(...traces.Event) {}
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	info, err := rm.WaitActive(ctx, 1)
	if err != nil {
		return nil, err
	}
	d.Core.RM, d.Core.Setup.Address = info.ID, rm.Address()
	if d.Core.Nodes, err = rm.Nodes(ctx); err != nil {
		return nil, err
	}
	core, parked, err := steer.New(d.Core)
	if err != nil {
		return nil, err
	}
	d.core = core
	if d.Core.Setup.LocalityDelay && d.decides() {
		if err := d.Changes.SetSchedulerConf(ctx, steer.NoLocalityDelay); err != nil {
			return nil, err
		}
	}
	if err := d.Changes.ReplaceLabels(ctx, parked); err != nil {
		return nil, err
	}
	d.stats.Store(&steer.Stats{})
	d.ctx, d.stop = context.WithCancelCause(ctx)
	d.Recorder.begin(&d.Core)
	go d.run()
	return d, nil
}

// run is the loop: the Core hears of one thing after the other, and what it says
// is begun.
func (d *Driver) run() {
	defer close(d.ended)
	var batch []steer.Observation
	timer := time.NewTimer(0)
	defer timer.Stop()
	for d.ctx.Err() == nil {
		for more := true; more; { // what comes together is looked at together
			select {
			case o := <-d.inbox:
				batch = append(batch, o)
			default:
				more = false
			}
		}
		now := d.now()
		step := d.Recorder.observed(now, batch)
		actions, wake := d.core.Step(now, batch)
		d.Recorder.said(step, actions)
		stats := d.core.Stats()
		d.stats.Store(&stats)
		for _, o := range batch {
			if o.Released != "" {
				d.pool <- o.Released
			}
		}
		batch = batch[:0]
		for _, a := range actions {
			d.begin(a)
		}
		timer.Reset(max(0, wake.Sub(d.now())))
		select {
		case o := <-d.inbox:
			batch = append(batch, o)
		case <-timer.C:
		case <-d.ctx.Done():
		}
	}
	quiet := make(chan struct{})
	go func() { d.calls.Wait(); close(quiet) }()
	for done := false; !done; {
		select {
		case <-d.inbox: // answers that come too late
		case <-quiet:
			done = true
		}
	}
	now := d.now()
	step := d.Recorder.observed(now, nil)
	actions := d.core.End(now)
	if step != nil {
		step.End = true
	}
	d.Recorder.said(step, actions)
	for _, a := range actions {
		d.begin(a)
	}
	if err := d.Recorder.close(); err != nil {
		d.Log.Error(err.Error())
	}
}

// now is the time by the clock that began with the trace: it never goes back, and
// is the same number where it is read from a recording.
func (d *Driver) now() time.Time {
	return d.Core.Origin.Round(0).Add(time.Since(d.Core.Origin))
}

// Stop ends steering: nothing more is decided, calls under way are waited for.
// Nodes stay parked, and jobs that still run wait for ever: release the hold.
// The error is why the Driver ended by itself, if it did.
func (d *Driver) Stop() error {
	d.stop(errStopped)
	<-d.ended
	if err := context.Cause(d.ctx); !errors.Is(err, errStopped) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("steering: %w", err)
	}
	return nil
}

var errStopped = errors.New("steering was stopped")

// Done is closed when the Driver has ended.
func (d *Driver) Done() <-chan struct{} { return d.ended }

// Stats is how far the Driver is.
func (d *Driver) Stats() steer.Stats { return *d.stats.Load() }

// Submission is the right to submit jobs that are steered.
type Submission struct {
	steer.Submission
	d *Driver
}

// Submission waits until a triple of labels is free. The jobs must carry the
// tag, in lower case, and the Submission's settings.
func (d *Driver) Submission(ctx context.Context, tag string) (*Submission, error) {
	select {
	case <-d.ended: // even if labels are free
		return nil, fmt.Errorf("wait for free labels: %w", context.Cause(d.ctx))
	default:
	}
	select {
	case number := <-d.pool:
		s := &Submission{steer.Submission{Number: number, Tag: tag}, d}
		d.post(steer.Observation{Submitted: &s.Submission})
		return s, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for free labels: %w", context.Cause(ctx))
	case <-d.ended:
		return nil, fmt.Errorf("wait for free labels: %w", context.Cause(d.ctx))
	}
}

// Settings are the properties that the jobs must have.
func (s *Submission) Settings() map[string]string { return s.d.Core.Settings(&s.Submission) }

// Release gives the labels back, when the jobs have ended.
func (s *Submission) Release() { s.d.post(steer.Observation{Released: s.Number}) }

// post has the Core hear of something.
func (d *Driver) post(o steer.Observation) {
	o.Received = d.now()
	select {
	case d.inbox <- o:
	case <-d.ended:
	}
}
