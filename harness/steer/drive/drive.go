// Package drive steers a real cluster: it makes the calls that the Core of package
// steer asks for, and gives it the answers. The Core runs in one goroutine, the
// loop; each call runs in one of its own.
//
// It decides nothing. What the Core is told can be recorded and replayed without a
// cluster, see Recorder and Replay.
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

// Options say how to steer and where to report.
type Options struct {
	Watch *watch.Watcher
	// Core has the model, the actuator, the splits and Origin. Of its Setup,
	// GrantLimit and Keep count; Start asks the cluster for the rest.
	Core steer.Options
	// Changes makes the calls that change the cluster. With a *lease.Hold they are
	// undone later.
	Changes Changes
	// Tags are all tags that submitted jobs will carry. The applications are always
	// listed by all of them, as a capture lists them, so that one answer serves both.
	Tags []string
	// KeepSplits is called with a job's job.splitmetainfo as submitted, before
	// that is replaced; nil keeps nothing. Many goroutines call it.
	KeepSplits func(job traces.JobID, submitted []byte) error
	// KeepTraining is called with a model's training for a job, before its first
	// decision; nil keeps nothing.
	KeepTraining func(job traces.JobID, t *sched.Training) error
	// Record adds events to the trace. One goroutine calls it.
	Record func(...traces.Event)
	// Recorder records what the Core is told; nil records nothing.
	Recorder *Recorder
	// Log takes messages for the operator; nil discards them.
	Log *slog.Logger
}

// Changes are the calls of yarnclient.RM that change the cluster.
type Changes interface {
	ReplaceLabels(ctx context.Context, labelOf map[string]string) error
	SetNodeResource(ctx context.Context, id string, total yarnclient.Resource) error
	SetSchedulerConf(ctx context.Context, change yarnclient.SchedulerChange) error
}

// Driver steers a cluster. Its methods are safe for concurrent use.
type Driver struct {
	Options
	rm    *yarnclient.RM // the ResourceManager of Watch
	files jobFiles
	core  *steer.Core // used by the loop only
	pool  chan string // numbers of the triples of labels that are free

	ctx   context.Context
	stop  context.CancelCauseFunc
	ended chan struct{}          // closed when the loop has ended
	inbox chan steer.Observation // observations for the Core
	calls sync.WaitGroup
	stats atomic.Pointer[steer.Stats]
}

// Start parks the workers and starts the loop. The Driver ends with Stop or with
// ctx; call Stop in both cases.
func Start(ctx context.Context, o Options) (*Driver, error) {
	o.Watch = o.Watch.Once()
	setup, err := readSetup(ctx, o.Watch.RM)
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

// start does what Start does once the Setup is known. Failed calls are not tried
// again in silence: a ResourceManager that comes back gives wrong answers at
// first.
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

// run is the loop: it gives observations to the Core and begins the actions that
// this returns.
func (d *Driver) run() {
	defer close(d.ended)
	var batch []steer.Observation
	timer := time.NewTimer(0)
	defer timer.Stop()
	for d.ctx.Err() == nil {
		for more := true; more; { // take all observations that are there
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
		case <-d.inbox: // the answer came too late
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

// now is Origin plus the time elapsed since by the monotonic clock, so it never
// goes back. It is a wall-clock value, so that a recording restores it exactly.
func (d *Driver) now() time.Time {
	return d.Core.Origin.Round(0).Add(time.Since(d.Core.Origin))
}

// Stop ends steering and waits for the calls under way. Nodes stay parked and jobs
// that still run wait forever, until the lease.Hold is released. The error says
// why the Driver had ended before, if it had.
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

// Stats returns the progress of steering.
func (d *Driver) Stats() steer.Stats { return *d.stats.Load() }

// Submission is the right to submit jobs that are steered, see steer.Submission.
type Submission struct {
	steer.Submission
	d *Driver
}

// Submission waits for a free triple of labels. The caller submits jobs with the
// tag, in lower case, and with the Submission's Settings.
func (d *Driver) Submission(ctx context.Context, tag string) (*Submission, error) {
	select {
	case <-d.ended: // ended wins over a free triple
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

// Settings returns the properties that the jobs must have.
func (s *Submission) Settings() map[string]string { return s.d.Core.Settings(&s.Submission) }

// Release frees the triple. Call it when the jobs have ended.
func (s *Submission) Release() { s.d.post(steer.Observation{Released: s.Number}) }

// post sends an observation to the loop.
func (d *Driver) post(o steer.Observation) {
	o.Received = d.now()
	select {
	case d.inbox <- o:
	case <-d.ended:
	}
}
