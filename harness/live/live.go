// Package live lets a scheduler model decide on a real cluster, and carries its
// decisions out with node labels: workers are parked in a label that no job
// asks for; a decision moves one into the label of its job and kind until the
// container is there, and parks it again. YARN and MapReduce are unmodified.
//
// A Driver watches the jobs that were submitted with one of its Submissions,
// keeps a cluster.State of them, offers nodes with room to the model, and
// records every decision with what became of it. What was not carried out as
// decided is told with its cause, made up for, and the model sees what really
// happened.
//
// It neither starts jobs nor reads splits anew for other models; who may change
// the cluster, and that all is put back, is package hold's.
package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"heddle/harness/cluster"
	"heddle/harness/connect"
	"heddle/harness/sched"
	"heddle/traces"
	"heddle/yarnclient"
)

// Options say how to steer.
type Options struct {
	Cluster *connect.Cluster
	Model   sched.Model
	// Changes carries changes out; a *hold.Hold, so that they are undone.
	Changes Changes
	// Start is the trace's time 0.
	Start time.Time
	// Record takes events for the trace; it is called from one goroutine.
	Record func(...traces.Event)
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
	stats struct{ decisions, honoured, open atomic.Int64 }

	// The rest is the loop's alone.
	state    *cluster.State
	view     *cluster.View
	nodes    []*node          // by cluster.NodeID
	byID     map[string]*node // "host:port"
	jobs     []*job           // by cluster.JobID
	apps     map[string]*job  // by application id; nil while it is read
	epoch    int64            // of the ResourceManager
	trouble  string           // why nothing is decided at present
	moves    moves
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
		state: cluster.New(), byID: map[string]*node{}, apps: map[string]*job{},
	}
	d.observer, _ = o.Model.(sched.Observer)
	d.view = d.state.View()
	if d.record == nil {
		d.record = func(...traces.Event) {}
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.set.grantLimit = o.GrantLimit
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
	if d.set.smallest != (cluster.Resource{}) {
		d.state.SetSmallest(d.set.smallest)
	}
	parked := map[string]string{}
	for _, n := range list {
		if d.set.worker(n) {
			d.addNode(n)
			parked[n.ID] = idleLabel
		}
	}
	if len(parked) == 0 {
		return errors.New("no running node to steer: all are kept for ApplicationMasters or carry labels of others; heddle doctor says what is missing")
	}
	if d.set.localityDelay {
		if err := d.changes.SetSchedulerConf(ctx, noLocalityDelay); err != nil {
			return err
		}
	}
	if err := d.changes.ReplaceLabels(ctx, parked); err != nil {
		return err
	}
	for _, n := range d.nodes {
		d.labelled(n, idleLabel)
	}
	return nil
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
func (d *Driver) Stats() Stats {
	return Stats{d.stats.decisions.Load(), d.stats.honoured.Load(), d.stats.open.Load()}
}

// now is the time since the trace's start.
func (d *Driver) now() traces.Time { return traces.Time(time.Since(d.start)) }
