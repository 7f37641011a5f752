// Package steer lets a scheduler model decide on a real cluster, and carries its
// decisions out with node labels: workers are parked in a label that no job
// asks for; a decision moves one into the label of its job and kind until the
// container is there, and parks it again. YARN and MapReduce are unmodified.
//
// A Driver watches the jobs that were submitted with one of its Submissions,
// keeps a state.State of them, offers nodes with room to the model, and
// records every decision with what became of it. What was not carried out as
// decided is told with its cause, made up for, and the model sees what really
// happened.
//
// It can also rewrite what ApplicationMasters read of where their input is,
// before they start: only cached replicas, or the one host and the order that a
// model has planned; with labels or without (splits.go, gate.go).
//
// It starts no jobs; who may change the cluster, and that all is put back, is
// package hold's.
package steer

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

	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// Options say how to steer.
type Options struct {
	Cluster *clients.Clients
	// Model decides; nil if Actuator is config.ActuatorNone and no plan is asked
	// for.
	Model sched.Model
	// Actuator is config.ActuatorLabels, the default, or config.ActuatorNone:
	// nodes are left alone and nothing is decided, splits alone are rewritten.
	Actuator string
	// Splits is what ApplicationMasters are to read of where their input is:
	// config.SplitsAsSubmitted, the default, config.SplitsCachedOnly, or
	// config.SplitsPlan, which takes a Model that is a sched.JobPlanner.
	Splits string
	// KeepSplits is given a job's job.splitmetainfo as it was submitted, and as
	// its ApplicationMaster will read it, before that is in place; nil keeps
	// nothing. It is called from many goroutines.
	KeepSplits func(job traces.JobID, submitted, rewritten []byte) error
	// KeepTraining is given the record of a model's training for a job, before
	// its first decision; nil keeps nothing.
	KeepTraining func(job traces.JobID, t *sched.Training) error
	// Changes carries changes out; a *hold.Hold, so that they are undone.
	Changes Changes
	// Start is the trace's time 0.
	Start time.Time
	// Record takes events for the trace; it is called from one goroutine.
	Record func(...traces.Event)
	// Keep are workers, by host name, that stay as they are: for jobs that
	// others submit, which would wait else.
	Keep []string
	// GrantLimit is how long a container may take to appear; 0 is 5 s, or ten
	// heartbeats of the nodes if that is longer.
	GrantLimit time.Duration
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
	rm       *yarnclient.RM
	changes  Changes
	describe describe
	model    sched.Model
	observer sched.Observer // nil if the model is none
	planner  sched.JobPlanner
	warmup   sched.Warmup
	acts     bool   // decides, and moves workers
	splits   string // what masters read of where their input is
	keep     func(job traces.JobID, submitted, rewritten []byte) error
	trained  func(job traces.JobID, t *sched.Training) error
	set      setup
	start    time.Time
	record   func(...traces.Event)
	log      *slog.Logger
	pool     *pool

	ctx   context.Context
	stop  context.CancelCauseFunc
	ended chan struct{} // closed when the loop has ended
	inbox chan func()   // what the loop is to do
	calls sync.WaitGroup
	stats struct {
		decisions, honoured, open atomic.Int64
		maps                      [state.LevelOff + 1]atomic.Int64
	}

	// The rest is the loop's alone.
	state    *state.State
	view     *state.View
	nodes    []*node              // by state.NodeID
	byID     map[string]*node     // "host:port"
	jobs     []*job               // by state.JobID
	apps     map[string]*job      // by application id; nil while it is read
	unread   map[string]time.Time // since when an application's files could not be read
	epoch    int64                // of the ResourceManager
	trouble  string               // why nothing is decided at present
	moves    moves
	gate     gate
	queued   []*node // with openings that wait
	lastID   int64   // of decisions
	offers   sched.Offers
	nextBeat int // node that is offered next
	watching watching
}

// Stats is how far a Driver is.
type Stats struct {
	// Decisions were made; Honoured of those that have been settled brought
	// exactly the container decided. Open are on their way.
	Decisions, Honoured, Open int64
	// Maps is how near the maps that started were to their data, by level.
	Maps [state.LevelOff + 1]int64
}

// Start parks the workers and begins to decide. The Driver ends with Stop, or
// when ctx does; Stop has to be called in both cases.
func Start(ctx context.Context, o Options) (*Driver, error) {
	// Failed reads are not tried again in silence: a ResourceManager that comes
	// back tells wrong things at first.
	c := o.Cluster.Config
	rm, err := yarnclient.NewRM(yarnclient.Options{
		Addresses: c.ResourceManagers, User: c.User, DialContext: c.DialContext(), Retries: -1, Timeout: callLimit,
	})
	if err != nil {
		return nil, err
	}
	set, err := look(ctx, rm)
	if err != nil {
		rm.Close()
		return nil, fmt.Errorf("start steering: %w", err)
	}
	describe, err := fromHDFS(ctx, o.Cluster)
	if err != nil {
		rm.Close()
		return nil, fmt.Errorf("start steering: %w", err)
	}
	d, err := start(ctx, rm, set, describe, o)
	if err != nil {
		rm.Close()
		return nil, fmt.Errorf("start steering: %w", err)
	}
	return d, nil
}

// start is Start with what it found out.
func start(ctx context.Context, rm *yarnclient.RM, set setup, describe describe, o Options) (*Driver, error) {
	d := &Driver{
		rm: rm, changes: o.Changes, describe: describe, model: o.Model, set: set, start: o.Start, record: o.Record, log: o.Log,
		pool: newPool(set.triples), inbox: make(chan func(), 64), ended: make(chan struct{}),
		state: state.New(), byID: map[string]*node{}, apps: map[string]*job{}, unread: map[string]time.Time{},
	}
	d.acts = o.Actuator != config.ActuatorNone
	d.splits = cmp.Or(o.Splits, config.SplitsAsSubmitted)
	d.observer, _ = o.Model.(sched.Observer)
	d.planner, _ = o.Model.(sched.JobPlanner)
	d.warmup, _ = o.Model.(sched.Warmup)
	if d.splits == config.SplitsPlan && d.planner == nil {
		return nil, errors.New("the model plans no splits")
	}
	if d.keep = o.KeepSplits; d.keep == nil {
		d.keep = func(traces.JobID, []byte, []byte) error { return nil }
	}
	if d.trained = o.KeepTraining; d.trained == nil {
		d.trained = func(traces.JobID, *sched.Training) error { return nil }
	}
	d.view = d.state.View()
	d.state.SetLateBinding(true)
	if d.record == nil {
		d.record = func(...traces.Event) {}
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.set.grantLimit, d.set.keep = o.GrantLimit, o.Keep
	if d.set.grantLimit == 0 {
		d.set.grantLimit = max(5*time.Second, 10*set.beat)
	}
	d.ctx, d.stop = context.WithCancelCause(ctx)
	if err := d.prepare(ctx); err != nil {
		return nil, err
	}
	go d.run()
	return d, nil
}

// prepare learns the nodes and parks them.
func (d *Driver) prepare(ctx context.Context) error {
	info, err := d.rm.WaitActive(ctx, 1)
	if err != nil {
		return err
	}
	d.epoch = info.ID
	list, err := d.rm.Nodes(ctx)
	if err != nil {
		return err
	}
	if d.set.smallest != (state.Resource{}) {
		d.state.SetSmallest(d.set.smallest)
	}
	for _, name := range d.set.keep {
		if !slices.ContainsFunc(list, func(n yarnclient.Node) bool { return n.Host == name }) {
			return fmt.Errorf("keep node %s: YARN knows no such node", name)
		}
	}
	// Nodes for masters keep their label, but are noted with the others: whoever
	// puts things back after a crash lets held masters start on them.
	parked := map[string]string{}
	masters := 0
	for _, n := range list {
		switch {
		case d.set.worker(n):
			d.addNode(n)
			if d.acts {
				parked[n.ID] = idleLabel
			}
		case n.State == "RUNNING" && n.Label() == d.set.amLabel:
			masters++
			if d.holds() {
				parked[n.ID] = d.set.amLabel
			}
		}
	}
	switch {
	case len(d.nodes) == 0:
		return errors.New("no running node to steer: all are kept for ApplicationMasters or carry labels of others; heddle doctor says what is missing")
	case masters == 0 && d.holds():
		return fmt.Errorf("no running node has label %s, which ApplicationMasters start on; heddle doctor says how to set one up", d.set.amLabel)
	}
	if d.acts && d.set.localityDelay {
		if err := d.changes.SetSchedulerConf(ctx, noLocalityDelay); err != nil {
			return err
		}
	}
	if err := d.changes.ReplaceLabels(ctx, parked); err != nil {
		return err
	}
	for _, n := range d.nodes {
		d.labelled(n, parked[n.yarn])
	}
	return nil
}

// holds says whether masters are held until their splits are rewritten.
func (d *Driver) holds() bool { return d.splits != config.SplitsAsSubmitted }

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
func (d *Driver) Stats() Stats {
	s := Stats{Decisions: d.stats.decisions.Load(), Honoured: d.stats.honoured.Load(), Open: d.stats.open.Load()}
	for level := range s.Maps {
		s.Maps[level] = d.stats.maps[level].Load()
	}
	return s
}

// now is the time since the trace's start.
func (d *Driver) now() traces.Time { return traces.Time(time.Since(d.start)) }
