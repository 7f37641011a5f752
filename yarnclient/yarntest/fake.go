// Package yarntest is a fake YARN cluster for tests: ResourceManager,
// NodeManagers, MapReduce ApplicationMasters and JobHistory server behind one
// REST interface. It behaves like Hadoop in everything that decides on which
// node a task runs. Nodes send heartbeats, and node labels partition them.
// Jobs request containers on hosts, in racks and anywhere. The scheduler
// allocates containers on heartbeats or asynchronously. ApplicationMasters
// choose a task for a container only when they get the container. Tests can
// inject faults of a real cluster at any moment.
//
// The fake cluster is simpler than Hadoop. It has one order of applications
// (priority, then submission), and no queue capacities, preemption, shuffle or
// HDFS.
//
// The fake cluster has no goroutine and no timer. It is a sequence of events in
// virtual time: each request first carries out the events that are due by
// [Config].Now. Therefore it is deterministic, works with the wall clock, with
// a manual [Clock] and under testing/synctest, and a thousand nodes need little
// CPU time.
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

// Config describes a fake cluster. A duration of zero means the default that
// its field's comment states.
type Config struct {
	Nodes []Node
	// Labels are the exclusive node labels that exist at the start. The labels of
	// the nodes in the field Nodes are added to these labels.
	Labels []string
	// Heartbeat is the interval between two heartbeats of a NodeManager; 0 means
	// 200 ms. The heartbeats of all NodeManagers are spread evenly over this
	// interval.
	Heartbeat time.Duration
	// AMHeartbeat is the interval between two heartbeats of an
	// ApplicationMaster; 0 means 200 ms.
	AMHeartbeat time.Duration
	// Async is the interval of asynchronous scheduling, which allocates at most
	// one container on each node per interval. 0 means that containers are
	// allocated on NodeManagers' heartbeats only, as many as fit.
	Async time.Duration
	// MaxAssignments is the maximum number of containers allocated per
	// heartbeat of a NodeManager; 0 means no limit.
	MaxAssignments int
	// LocalityDelay is the Capacity scheduler's node-locality-delay: how many
	// scheduling opportunities a request lets pass before it takes a rack-local
	// container. 0 means that it takes any node at once.
	LocalityDelay int
	// LabelDelay is the time from the change of a node's label until the
	// scheduler uses the new label.
	LabelDelay time.Duration
	// QueuesUnsaid leaves the sizes of event queues out of the answers, as Hadoop 3.3
	// does.
	QueuesUnsaid bool
	// AMStart is the time from the allocation of an ApplicationMaster's
	// container until the ApplicationMaster registers; 0 means 500 ms.
	// TaskStart is the time from when the ApplicationMaster gets a container
	// until the task attempt in it starts; 0 means 20 ms.
	AMStart, TaskStart time.Duration
	// Expiry is how long a node that sends no heartbeats still counts as
	// running; 0 means 15 s.
	Expiry time.Duration
	// Typed makes all answers like those of Hadoop 3.5: numbers without quotes
	// and lists in brackets. Hadoop 3.3 and 3.4 put all values of some answers
	// in quotes, and write a list of one element without brackets.
	Typed bool
	// Conf has the configuration properties that the daemons report.
	Conf map[string]string
	// Queues are the leaf queues to which applications can be submitted through
	// REST. nil means any queue.
	Queues []string
	// MaxAllocation is the largest container; 0 means 8 GiB and 4 cores.
	MaxAllocation yarnclient.Resource
	// Latency is the delay of each request that is sent through Transport.
	Latency time.Duration
	// Now is the function that tells the cluster the current time; nil means
	// time.Now, which testing/synctest controls.
	Now func() time.Time
}

// Node describes one NodeManager of the fake cluster.
type Node struct {
	Host     string
	Rack     string // the node's rack, such as "/rack1"
	Label    string // node label of the node; empty means the default partition
	MemoryMB int64
	VCores   int
}

// Workers returns the nodes of a cluster with the given number of racks,
// /rack1, /rack2, .... Each rack has perRack nodes; those of /rack1 are r1n1,
// r1n2, ....
func Workers(racks, perRack int, memoryMB int64, vcores int) []Node {
	var nodes []Node
	for r := 1; r <= racks; r++ {
		for n := 1; n <= perRack; n++ {
			nodes = append(nodes, Node{Host: fmt.Sprintf("r%dn%d", r, n), Rack: fmt.Sprintf("/rack%d", r), MemoryMB: memoryMB, VCores: vcores})
		}
	}
	return nodes
}

// Fake is a fake YARN cluster. Its methods may be called from any goroutine.
type Fake struct {
	mu     sync.Mutex
	cfg    Config
	mux    *http.ServeMux
	faults []*fault

	now    time.Time // virtual time of the simulated event, such as a heartbeat, that is being carried out
	queue  eventQueue
	seq    int
	nodes  []*node
	byID   map[string]*node
	labels map[string]bool   // whether the node label is exclusive; the key is the label's name
	stored map[string]string // node labels that were set for nodes that do not exist; Hadoop, too, stores such labels
	conf   map[string]string

	id          int64            // id of the ResourceManager, as in ClusterInfo.ID; changes with each restart
	leaked      map[string]int64 // injected fault: memory in MB counted under a node label that no container uses
	labelEvents int              // changes of labels that the scheduler does not know yet
	restarts    int
	haState     string // high-availability state of the ResourceManager; "" while it is down
	active      string // address to which the ResourceManager redirects while it is standby
	apps        []*app
	appByID     map[string]*app
	lastApp     int // number of the last application id that was reserved
	scratch     scratch
}

// New returns a fake cluster whose nodes are registered and where no
// application runs.
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
	if cfg.MaxAllocation == (yarnclient.Resource{}) {
		cfg.MaxAllocation = yarnclient.Resource{MemoryMB: 8192, VCores: 4}
	}
	c := &Fake{
		cfg: cfg, now: cfg.Now(), haState: yarnclient.HAActive,
		byID: map[string]*node{}, labels: map[string]bool{}, stored: map[string]string{}, leaked: map[string]int64{},
		conf: map[string]string{}, appByID: map[string]*app{},
	}
	c.id = c.now.UnixMilli()
	c.mux = c.routes()
	for _, l := range cfg.Labels {
		c.labels[l] = true
	}
	for i, spec := range cfg.Nodes {
		n := &node{
			Node: spec, id: spec.Host + ":45454", state: "RUNNING",
			total: yarnclient.Resource{MemoryMB: spec.MemoryMB, VCores: spec.VCores}, seen: c.now,
		}
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

// after schedules the function do to run when the duration d has passed in
// virtual time.
func (c *Fake) after(d time.Duration, do func()) {
	c.seq++
	heap.Push(&c.queue, event{c.now.Add(d), c.seq, do})
}

func (c *Fake) up() bool { return c.haState == yarnclient.HAActive }

// node is a NodeManager of the fake cluster, with what the scheduler knows of
// it.
type node struct {
	Node
	id         string
	state      string // state of the node: RUNNING or LOST
	dead       bool   // whether the NodeManager is stopped and sends no heartbeats
	seen       time.Time
	sched      string    // node label by which the scheduler allocates now
	schedAt    time.Time // time at which the scheduler starts to use the node's newest label
	total      yarnclient.Resource
	used       yarnclient.Resource
	containers []*container
	beat       func()

	stale time.Duration // injected fault: extra time until the scheduler uses the label that the node is given next
	twice bool          // injected fault: the scheduler allocates the next container twice
}

// container is a container that the scheduler has allocated on a node.
type container struct {
	id       string
	app      *app
	node     *node
	priority int
	memoryMB int64
	started  time.Time
	ended    bool // whether the container has ended on its node; the ResourceManager learns this with the node's next heartbeat
	attempt  *attempt
}

func (n *node) fits(memoryMB int64) bool {
	return n.used.MemoryMB+memoryMB <= n.total.MemoryMB && n.used.VCores < n.total.VCores
}

// heartbeat reports a node's ended containers to the ResourceManager, which may
// then allocate new containers on the node.
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

// reap removes from a node all containers for which the function gone returns
// true, and frees the resources of these containers.
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

// StopNode stops a NodeManager. The tasks on the node end and its heartbeats
// stop; after Config.Expiry its state is LOST.
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

// StartNode starts a stopped NodeManager again, without containers and with its
// configured memory and cores.
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

// lost handles the loss of a container. The task attempt in it ends as killed.
// If the ApplicationMaster did not know of the container yet, it requests the
// container again. If the ApplicationMaster itself ran in it, the
// ResourceManager treats the ApplicationMaster as failed.
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

// setLabel changes a node's label. REST answers show the new label at once.
// The scheduler uses the new label after Config.LabelDelay. It applies several
// changes of a node in the order of the requests.
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
	c.labelEvents++
	c.after(at.Sub(c.now), func() {
		c.labelEvents--
		if c.restarts == restarts { // otherwise nothing is left to do: the restarted ResourceManager has read the new label from its store
			n.sched = label
		}
	})
}

// maxPriority is the highest priority that an application can have.
const maxPriority = 100

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
