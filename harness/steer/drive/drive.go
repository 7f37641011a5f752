// Package drive steers a real cluster. The Core of package steer decides which calls to
// make. This package makes them and gives the answers to the Core. The Core runs in one
// goroutine; each call runs in a goroutine of its own.
//
// The answers that the Core gets can be recorded, and replayed later without a cluster:
// see Recorder and Replay.
package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/steer"
	"heddle/harness/watch"
	"heddle/traces"
	"heddle/yarnclient"
)

// Options say how to steer the cluster, and where events and messages go.
type Options struct {
	Watch *watch.Watcher
	// Core holds the scheduler model, the actuator, the choice of splits and Origin. Of
	// its field Setup only GrantLimit, Keep and the slots are used; Start asks the
	// cluster for the rest.
	Core steer.Options
	// Changes makes the calls that change the cluster. If it is a *change.Hold, the
	// lease on the cluster, these changes are undone when the lease is released.
	Changes Changes
	// Tags are the YARN tags of all jobs that will be submitted. Steering always lists
	// the applications of all Tags, as a capture does, so that one answer of YARN
	// serves both.
	Tags []string
	// KeepSplits is called with a job's file job.splitmetainfo as submitted, before
	// steering replaces that file. nil: the file is not kept. Several goroutines may
	// call KeepSplits at a time.
	KeepSplits func(job traces.JobID, submitted []byte) error
	// KeepTraining is called with the training of a scheduler model for a job, before
	// the model's first decision for that job; nil: the training is not kept.
	KeepTraining func(job traces.JobID, t *sched.Training) error
	// Now and then, KeepState is called with the scheduler model in the goroutine in
	// which the model decides, so that it may be asked what it has learnt; nil: it is
	// not asked. KeepState must return soon.
	KeepState func(sched.Model)
	// Record takes events for the trace. One goroutine calls it.
	Record func(...traces.Event)
	// Recorder records what steering observes and does in this run; nil: nothing is
	// recorded.
	Recorder *Recorder
	// Log takes messages to the operator; nil: they are discarded.
	Log *slog.Logger
}

// Changes are the calls to the ResourceManager that change the cluster.
type Changes interface {
	ReplaceLabels(ctx context.Context, labelOf map[string]string) error
	SetNodeResource(ctx context.Context, id string, total yarnclient.Resource) error
	SetSchedulerConf(ctx context.Context, change yarnclient.SchedulerChange) error
}

// Driver steers a real cluster: it makes the scheduler model's decisions take
// effect. Its methods are safe for concurrent use.
type Driver struct {
	Options
	files jobFiles
	core  *steer.Core // the steering logic; only the method run uses it, in one goroutine
	pool  chan string // numbers NN of node labels aNN, mNN and rNN that no Submission uses at present

	ctx   context.Context
	stop  context.CancelCauseFunc
	ended chan struct{}          // channel that is closed when steering has ended
	inbox chan steer.Observation // observations that wait for the Core
	calls sync.WaitGroup
	// asking has an element for each question that the ResourceManager is at, see asksAtOnce
	asking chan struct{}
	stats  atomic.Pointer[steer.Stats]
}

// Start gives the workers the label "idle", which no job asks for, and starts
// steering. Steering ends with Stop or with ctx; call Stop in both cases.
func Start(ctx context.Context, o Options) (*Driver, error) {
	o.Watch = o.Watch.Once()
	err := readSetup(ctx, o.Watch.RM, &o.Core.Setup)
	var d *Driver
	if err == nil {
		least := max(1, int64(o.Core.Setup.Smallest.MemoryMB))
		d, err = start(ctx, &staged{watch: o.Watch, leastMB: least, jobs: map[string]stagedJob{}}, o)
	}
	if err != nil {
		return nil, fmt.Errorf("start steering: %w", err)
	}
	return d, nil
}

// keepStateEvery is how much of what a model has learnt a crash may lose.
const keepStateEvery = 5 * time.Second

// callLimit is the time limit of one call that changes the cluster.
const callLimit = 3 * time.Second

// start starts steering with a Setup that was read from the cluster. It does not repeat
// calls that fail: a ResourceManager that has just restarted gives wrong answers at
// first.
func start(ctx context.Context, files jobFiles, o Options) (*Driver, error) {
	rm := o.Watch.RM
	d := &Driver{
		Options: o, files: files, pool: make(chan string, len(o.Core.Setup.Triples)),
		inbox: make(chan steer.Observation, 64), ended: make(chan struct{}),
		asking: make(chan struct{}, asksAtOnce),
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
	// YARN lists nodes in any order, a trace's header by name. A replay must give models the same one.
	slices.SortFunc(d.Core.Nodes, func(a, b yarnclient.Node) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.ID, b.ID)) })
	core, parked, err := steer.New(d.Core)
	if err != nil {
		return nil, err
	}
	d.core = core
	if d.Core.Setup.LocalityDelay && d.Core.Actuator != config.ActuatorNone {
		if err := d.Changes.SetSchedulerConf(ctx, steer.NoLocalityDelay); err != nil {
			return nil, err
		}
	}
	if err := d.Changes.ReplaceLabels(ctx, parked); err != nil {
		return nil, err
	}
	d.stats.Store(&steer.Stats{})
	d.ctx, d.stop = context.WithCancelCause(ctx)
	d.Recorder.begin(d.Core)
	go d.run()
	return d, nil
}

// run gives observations to the Core, and starts the actions that the Core returns,
// until steering ends.
func (d *Driver) run() {
	defer close(d.ended)
	var batch []steer.Observation
	timer := time.NewTimer(0)
	defer timer.Stop()
	kept := d.now()
	for d.ctx.Err() == nil {
		for more := true; more; { // take all waiting observations out of the queue
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
		if d.KeepState != nil && now.Sub(kept) >= keepStateEvery {
			kept = now
			d.KeepState(d.Core.Model)
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
		case <-d.inbox: // drop answers that come after steering has ended
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

// The method now returns Origin plus the time elapsed since then on the monotonic
// clock, so it never goes back. The returned time has no monotonic reading, so that a
// recording can restore exactly the same value.
func (d *Driver) now() time.Time {
	return d.Core.Origin.Round(0).Add(time.Since(d.Core.Origin))
}

// Stop ends steering and waits for the calls under way. Nodes keep the label "idle" and
// running jobs get no more containers, until the lease on the cluster is released. The
// returned error is the cause if steering had ended before Stop was called.
func (d *Driver) Stop() error {
	d.stop(errStopped)
	<-d.ended
	if err := context.Cause(d.ctx); !errors.Is(err, errStopped) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("steering: %w", err)
	}
	return nil
}

var errStopped = errors.New("steering was stopped")

// Done returns a channel that is closed when steering has ended.
func (d *Driver) Done() <-chan struct{} { return d.ended }

// Stats returns counts of decisions, of their outcomes, and of started maps by
// locality.
func (d *Driver) Stats() steer.Stats { return *d.stats.Load() }

// Submission is the right to submit jobs whose tasks steering places. Its three node
// labels are used for no other jobs until Release.
type Submission struct {
	steer.Submission
	d *Driver
}

// Submission waits until three node labels (for ApplicationMasters, maps and reduces)
// are free. The caller then submits jobs with the given YARN tag, which must be in
// lower case, and with the properties that the method Settings returns. pool is the
// group of jobs among which the model shares slots; empty means the jobs' queue. terms
// are the deadline, price and hints of each job.
func (d *Driver) Submission(ctx context.Context, tag, pool string, terms traces.Terms) (*Submission, error) {
	select {
	case <-d.ended: // if steering has ended, report why, even if labels are free
		return nil, fmt.Errorf("wait for free labels: %w", context.Cause(d.ctx))
	default:
	}
	select {
	case number := <-d.pool:
		s := &Submission{steer.Submission{Number: number, Tag: tag, Pool: pool, Terms: terms}, d}
		d.post(steer.Observation{Submitted: &s.Submission})
		return s, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for free labels: %w", context.Cause(ctx))
	case <-d.ended:
		return nil, fmt.Errorf("wait for free labels: %w", context.Cause(d.ctx))
	}
}

// Settings returns the MapReduce properties that the steered jobs must have.
func (s *Submission) Settings() map[string]string { return s.d.Core.Settings(&s.Submission) }

// Release frees the Submission's three node labels for other jobs. Call it when the
// Submission's jobs have ended.
func (s *Submission) Release() { s.d.post(steer.Observation{Released: s.Number}) }

// Sampled tells the scheduler model of a node's metrics, from its agent. A model that
// is no sched.HearsLoad is not told.
func (d *Driver) Sampled(x traces.NodeSample) {
	if _, ok := sched.As[sched.HearsLoad](d.Core.Model); ok {
		d.post(steer.Observation{Sampled: &x})
	}
}

// post puts an observation into the queue from which the steering Core gets it.
func (d *Driver) post(o steer.Observation) {
	o.Received = d.now()
	select {
	case d.inbox <- o:
	case <-d.ended:
	}
}
