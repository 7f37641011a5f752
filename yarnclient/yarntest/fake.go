// Package yarntest is a fake YARN cluster for tests: ResourceManager,
// NodeManagers, MapReduce ApplicationMasters and JobHistory server behind one
// REST interface. It behaves like Hadoop where placement depends on it. Nodes
// send heartbeats, and node labels partition them. Jobs request containers on
// hosts, in racks and anywhere; containers are allocated on heartbeats or
// asynchronously. ApplicationMasters bind tasks to containers late. Tasks run
// and end. Tests can inject faults of a real cluster at any moment.
//
// It is a model and not Hadoop. It has one queue order (priority, then
// submission), and no queue capacities, preemption, shuffle or HDFS.
//
// The cluster has no goroutine and no timer. It is a sequence of events in
// virtual time: each request first carries out the events that are due by
// [Config].Now. Therefore it is deterministic, works with the wall clock, with
// a manual [Clock] and under testing/synctest, and a thousand nodes cost
// little.
//
// Words: master stands for a job's ApplicationMaster; an ask is a row of an
// application's table of resource requests.
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

// Config describes a cluster. For a zero duration, each field says what it
// means.
type Config struct {
	Nodes []Node
	// Labels are the node labels that exist at the start, all exclusive. Those
	// of Nodes are added.
	Labels []string
	// Heartbeat is the interval of NodeManagers' heartbeats; 0 means 200 ms.
	// The nodes' heartbeats are spread evenly over it.
	Heartbeat time.Duration
	// AMHeartbeat is the interval of ApplicationMasters' heartbeats; 0 means
	// 200 ms.
	AMHeartbeat time.Duration
	// Async is the interval of asynchronous scheduling, which allocates at most
	// one container per node and interval. 0 means allocation on node
	// heartbeats only, as many containers as fit.
	Async time.Duration
	// MaxAssignments is the most containers per heartbeat; 0 means no limit.
	MaxAssignments int
	// LocalityDelay is node-locality-delay: how many scheduling opportunities a
	// request passes up before it takes a rack-local container. 0 means none.
	LocalityDelay int
	// LabelDelay is the time from a label change until the scheduler uses it.
	LabelDelay time.Duration
	// AMStart is the time from the allocation of a master's container to the
	// master's registration; 0 means 500 ms. TaskStart is the time from when
	// the master gets a container to the attempt's start; 0 means 20 ms.
	AMStart, TaskStart time.Duration
	// Expiry is how long a silent node counts as running; 0 means 15 s.
	Expiry time.Duration
	// Typed writes all answers with typed scalars and arrays, as Hadoop 3.5
	// does. Hadoop 3.3 and 3.4 write some with quoted scalars, and a list of
	// one without brackets.
	Typed bool
	// Conf has the settings that the daemons report.
	Conf map[string]string
	// Latency is added to each request through Transport.
	Latency time.Duration
	// Now returns the time; nil means time.Now, which testing/synctest
	// controls.
	Now func() time.Time
}

// Node describes a NodeManager of the fake cluster.
type Node struct {
	Host     string
	Rack     string // the node's rack, such as "/rack1"
	Label    string // the node's label; empty means the default partition
	MemoryMB int64
	VCores   int
}

// Workers returns perRack nodes r1n1, r1n2, ... in each of the racks /rack1,
// ...
func Workers(racks, perRack int, memoryMB int64, vcores int) []Node {
	var nodes []Node
	for r := 1; r <= racks; r++ {
		for n := 1; n <= perRack; n++ {
			nodes = append(nodes, Node{Host: fmt.Sprintf("r%dn%d", r, n), Rack: fmt.Sprintf("/rack%d", r), MemoryMB: memoryMB, VCores: vcores})
		}
	}
	return nodes
}

// Clock is a clock that only the test advances.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows a fixed time.
func NewClock() *Clock { return &Clock{now: time.UnixMilli(1_700_000_000_000)} }

// Now returns the time that the clock shows. Config.Now can be set to it.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
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

	now    time.Time // the time of the event that is being carried out
	queue  eventQueue
	seq    int
	nodes  []*node
	byID   map[string]*node
	labels map[string]bool   // whether each node label is exclusive, by its name
	stored map[string]string // labels of nodes that do not exist, which Hadoop stores
	conf   map[string]string

	id       int64 // the current value of ClusterInfo.ID
	restarts int
	haState  string // HA state; "" while the ResourceManager is down
	active   string // the address that a standby redirects to
	apps     []*app
	appByID  map[string]*app
	scratch  scratch
}

// New returns a cluster whose nodes are registered and where nothing runs.
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

func (c *Fake) run() {
	until := c.cfg.Now()
	for len(c.queue) > 0 && !c.queue[0].at.After(until) {
		e := heap.Pop(&c.queue).(event)
		c.now = e.at
		e.do()
	}
	c.now = until
}

// after adds an event to the queue, which happens after the time d.
func (c *Fake) after(d time.Duration, do func()) {
	c.seq++
	heap.Push(&c.queue, event{c.now.Add(d), c.seq, do})
}

func (c *Fake) up() bool { return c.haState == yarnclient.HAActive }

// node is a NodeManager, with the scheduler's view of it.
type node struct {
	Node
	id         string
	state      string // state of the node: RUNNING or LOST
	dead       bool   // whether the node is stopped and sends no heartbeats
	seen       time.Time
	sched      string    // the node label that the scheduler uses
	schedAt    time.Time // when the scheduler starts to use the last label change
	total      yarnclient.Resource
	used       yarnclient.Resource
	containers []*container
	beat       func()

	stale time.Duration // injected delay of the next label change in the scheduler
	twice bool          // injected fault: the next allocation is doubled
}

// container is a container that the scheduler has allocated on a node.
type container struct {
	id       string
	app      *app
	node     *node
	priority int
	memoryMB int64
	started  time.Time
	ended    bool // whether it has ended on its node; the next heartbeat tells the ResourceManager
	attempt  *attempt
}

func (n *node) fits(memoryMB int64) bool {
	return n.used.MemoryMB+memoryMB <= n.total.MemoryMB && n.used.VCores < n.total.VCores
}

// heartbeat reports a node's ended containers to the ResourceManager, which may
// allocate new ones.
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

// reap frees those containers of a node for which gone returns true.
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

// StopNode stops a NodeManager. Its tasks end, it sends no more heartbeats, and
// it is LOST after Expiry.
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

// StartNode starts a stopped NodeManager, without containers and with its
// configured size.
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

// lost tells the master that a container is gone; for the master's own
// container it tells the ResourceManager. If the master did not know of the
// container yet, it requests it again.
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

// setLabel changes a node's label. Answers show it at once; the scheduler uses
// it after LabelDelay, and sees changes in their order.
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
		if c.restarts == restarts { // a ResourceManager that was restarted has read the stored labels already
			n.sched = label
		}
	})
}

// maxPriority is the highest priority of an application.
const maxPriority = 100

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
