// Package yarntest has a fake YARN cluster to test against: ResourceManager,
// NodeManagers, MapReduce ApplicationMasters and JobHistory server behind one
// REST interface, with the behaviour that placement depends on. Nodes send
// heartbeats, node labels partition them, jobs ask per host, rack and
// anywhere, containers are allocated on heartbeats or asynchronously, masters
// bind tasks to containers late, tasks run and end, and what can go wrong on a
// real cluster can be made to go wrong at a chosen moment.
//
// It is a model, not Hadoop: one queue order (priority, then submission), no
// queue capacities, no preemption, no shuffle, no HDFS.
//
// The cluster has no goroutine and no timer. It is a sequence of events in
// virtual time; every request first carries out those that are due by
// [Config].Now. So it is deterministic, works with the wall clock, with a
// manual [Clock] and under testing/synctest, and a thousand nodes cost little.
package yarntest

import (
	"container/heap"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"heddle/yarnclient"
)

// Config describes a cluster. Zero durations mean what is said.
type Config struct {
	Nodes []Node
	// Labels are the node labels known from the start, all exclusive; those of
	// Nodes are added.
	Labels []string
	// Heartbeat of NodeManagers, 200 ms unless set. Nodes are spread over it.
	Heartbeat time.Duration
	// AMHeartbeat of ApplicationMasters, 200 ms unless set.
	AMHeartbeat time.Duration
	// Async is the interval of asynchronous scheduling, which gives a node at
	// most one container in each; 0 allocates on node heartbeats only, there as
	// many as fit.
	Async time.Duration
	// MaxAssignments bounds the containers of one heartbeat; 0 means no bound.
	MaxAssignments int
	// LocalityDelay is node-locality-delay: opportunities to pass over before a
	// rack-local container; 0 means none.
	LocalityDelay int
	// LabelDelay is the time from a label change to the scheduler's knowing it.
	LabelDelay time.Duration
	// AMStart is the time from a master's container to its registration, 500 ms
	// unless set; TaskStart from the master's getting a container to the
	// attempt's start, 20 ms unless set.
	AMStart, TaskStart time.Duration
	// Expiry is how long a silent node counts as running, 15 s unless set.
	Expiry time.Duration
	// HistoryDelay is the time from a job's end to its appearing in the history
	// server's list.
	HistoryDelay time.Duration
	// MaxPriority caps application priorities; 0 means 100.
	MaxPriority int
	// Typed makes the answers that Hadoop 3.3 and 3.4 write with every scalar
	// quoted and lists of one collapsed come typed and as arrays, as 3.5 does.
	Typed bool
	// Conf is what the daemons tell of their settings.
	Conf map[string]string
	// Latency is added to every exchange of Transport.
	Latency time.Duration
	// Now is the clock; nil is time.Now, which testing/synctest controls.
	Now func() time.Time
}

// Node is a NodeManager.
type Node struct {
	Host     string
	Rack     string // "/rack1"
	Label    string // empty: default partition
	MemoryMB int64
	VCores   int
}

// Workers returns racks times perRack nodes r1n1, r1n2, ... in racks /rack1, ...
func Workers(racks, perRack int, memoryMB int64, vcores int) []Node {
	var nodes []Node
	for r := 1; r <= racks; r++ {
		for n := 1; n <= perRack; n++ {
			nodes = append(nodes, Node{Host: fmt.Sprintf("r%dn%d", r, n), Rack: fmt.Sprintf("/rack%d", r), MemoryMB: memoryMB, VCores: vcores})
		}
	}
	return nodes
}

// Clock is a clock that a test moves.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at a fixed moment.
func NewClock() *Clock { return &Clock{now: time.UnixMilli(1_700_000_000_000)} }

// Now is for Config.Now.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Fake is a fake cluster. Its methods may be called from any goroutine.
type Fake struct {
	mu     sync.Mutex
	cfg    Config
	mux    *http.ServeMux
	faults []*fault

	now    time.Time // of the event being carried out
	queue  eventQueue
	seq    int
	nodes  []*node
	byID   map[string]*node
	labels map[string]bool   // name -> exclusive
	stored map[string]string // labels of nodes that do not exist, which Hadoop keeps
	conf   map[string]string

	id       int64 // epoch
	restarts int
	haState  string // "" while down
	active   string // where a standby redirects
	apps     []*app
	appByID  map[string]*app
	scratch  scratch
}

// New starts a cluster: nodes are registered, nothing runs.
func New(cfg Config) *Fake {
	orElse := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	orElse(&cfg.Heartbeat, 200*time.Millisecond)
	orElse(&cfg.AMHeartbeat, 200*time.Millisecond)
	orElse(&cfg.AMStart, 500*time.Millisecond)
	orElse(&cfg.TaskStart, 20*time.Millisecond)
	orElse(&cfg.Expiry, 15*time.Second)
	if cfg.MaxPriority == 0 {
		cfg.MaxPriority = 100
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	c := &Fake{
		cfg: cfg, now: cfg.Now(), haState: yarnclient.HAActive,
		byID: map[string]*node{}, labels: map[string]bool{}, stored: map[string]string{},
		conf: map[string]string{}, appByID: map[string]*app{},
	}
	c.id = c.now.UnixMilli()
	c.mux = c.routes()
	for _, l := range cfg.Labels {
		c.labels[l] = true
	}
	for i, spec := range cfg.Nodes {
		n := &node{Node: spec, id: spec.Host + ":45454", state: "RUNNING", total: yarnclient.Resource{MemoryMB: spec.MemoryMB, VCores: spec.VCores}, seen: c.now}
		n.sched = spec.Label
		if spec.Label != "" {
			c.labels[spec.Label] = true
		}
		c.nodes = append(c.nodes, n)
		c.byID[n.id] = n
		n.beat = func() { c.heartbeat(n) }
		c.after(cfg.Heartbeat*time.Duration(i+1)/time.Duration(len(cfg.Nodes)), n.beat)
	}
	if cfg.Async > 0 {
		c.after(cfg.Async, c.asyncRound)
	}
	return c
}

// Run carries out what is due. Requests do so by themselves; it is for tests
// that look at the cluster without one.
func (c *Fake) Run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
}

func (c *Fake) run() {
	until := c.cfg.Now()
	for len(c.queue) > 0 && !c.queue[0].at.After(until) {
		e := heap.Pop(&c.queue).(event)
		c.now = e.at
		e.do()
	}
	c.now = until
}

// after plans an event.
func (c *Fake) after(d time.Duration, do func()) {
	c.seq++
	heap.Push(&c.queue, event{c.now.Add(d), c.seq, do})
}

func (c *Fake) up() bool { return c.haState == yarnclient.HAActive }

// node is a NodeManager and what the scheduler thinks of it.
type node struct {
	Node
	id         string
	state      string // RUNNING, LOST
	dead       bool   // sends no heartbeats
	seen       time.Time
	sched      string    // the label that the scheduler goes by
	schedAt    time.Time // it knows the last change then
	total      yarnclient.Resource
	used       yarnclient.Resource
	containers []*container
	beat       func()

	stale time.Duration // fault: the next label change reaches the scheduler late
	twice bool          // fault: the next allocation is doubled
}

// container is an allocated container.
type container struct {
	id       string
	app      *app
	node     *node
	priority int
	memoryMB int64
	started  time.Time
	ended    bool // on the node; the ResourceManager learns it with the heartbeat
	attempt  *attempt
}

func (n *node) fits(memoryMB int64) bool {
	return n.used.MemoryMB+memoryMB <= n.total.MemoryMB && n.used.VCores < n.total.VCores
}

// heartbeat tells the ResourceManager what ended, and lets it allocate.
func (c *Fake) heartbeat(n *node) {
	if n.dead {
		return
	}
	c.after(c.cfg.Heartbeat, n.beat)
	if !c.up() {
		return
	}
	n.seen = c.now
	if n.state == "LOST" {
		n.state = "RUNNING"
	}
	c.reap(n, func(k *container) bool { return k.ended })
	if c.cfg.Async == 0 {
		c.allocateOn(n, c.cfg.MaxAssignments)
	}
}

// reap frees the containers that gone selects.
func (c *Fake) reap(n *node, gone func(*container) bool) {
	kept := n.containers[:0]
	for _, k := range n.containers {
		if !gone(k) {
			kept = append(kept, k)
			continue
		}
		n.used.MemoryMB -= k.memoryMB
		n.used.VCores--
		k.app.drop(k)
	}
	clear(n.containers[len(kept):])
	n.containers = kept
}

// StopNode silences a NodeManager: its tasks end with it, and it is LOST after
// Expiry.
func (c *Fake) StopNode(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	n := c.byID[host+":45454"]
	if n == nil || n.dead {
		return
	}
	n.dead = true
	for _, k := range n.containers {
		if k.attempt != nil {
			k.attempt.silent = true
		}
	}
	c.after(c.cfg.Expiry, func() {
		if !n.dead {
			return
		}
		n.state = "LOST"
		lost := append([]*container(nil), n.containers...)
		c.reap(n, func(*container) bool { return true })
		for _, k := range lost {
			c.lost(k)
		}
	})
}

// StartNode brings a stopped NodeManager back, empty and with its own size.
func (c *Fake) StartNode(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	n := c.byID[host+":45454"]
	if n == nil || !n.dead {
		return
	}
	n.dead = false
	n.total = yarnclient.Resource{MemoryMB: n.MemoryMB, VCores: n.VCores}
	lost := append([]*container(nil), n.containers...)
	c.reap(n, func(*container) bool { return true })
	for _, k := range lost {
		c.lost(k)
	}
	c.after(0, n.beat)
}

// lost tells the master, or for its own container the ResourceManager, that a
// container is gone. One that the master has not heard of it asks for again.
func (c *Fake) lost(k *container) {
	a := k.app
	switch i := slices.Index(a.granted, k); {
	case k == a.master:
		c.masterLost(a)
	case i >= 0:
		a.granted, a.changed = slices.Delete(a.granted, i, i+1), true
	case k.attempt != nil && !k.attempt.ended():
		c.endAttempt(k.attempt, "KILLED")
	}
}

// setLabel changes a node's label at once in the answers and LabelDelay later
// in the scheduler, which learns of changes in their order.
func (c *Fake) setLabel(n *node, label string) {
	n.Label = label
	at := c.now.Add(c.cfg.LabelDelay + n.stale)
	if at.Before(n.schedAt) {
		at = n.schedAt
	}
	n.stale, n.schedAt = 0, at
	if !at.After(c.now) {
		n.sched = label
		return
	}
	restarts := c.restarts
	c.after(at.Sub(c.now), func() {
		if c.restarts == restarts { // else it has read what is stored
			n.sched = label
		}
	})
}

type event struct {
	at  time.Time
	seq int
	do  func()
}

type eventQueue []event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	if !q[i].at.Equal(q[j].at) {
		return q[i].at.Before(q[j].at)
	}
	return q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *eventQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*q = old[:len(old)-1]
	return e
}

func (c *Fake) containerID(a *app) string {
	a.containerSeq++
	epoch := ""
	if c.restarts > 0 {
		epoch = fmt.Sprintf("e%02d_", c.restarts)
	}
	return "container_" + epoch + a.serial + "_" + fmt.Sprintf("%02d_%06d", a.attemptNo, a.containerSeq)
}

func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func itoa(n int) string { return strconv.Itoa(n) }
