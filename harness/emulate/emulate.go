// Package emulate runs a real, unmodified ResourceManager with nodes and ApplicationMasters
// that are not there: NodeManagers and MapReduce masters in this process, which speak
// Hadoop's RPC. Containers are timers, so a thousand nodes take a few hundredths of a core.
// What is placed where, and when, is YARN's own doing: its queues, locality delay, limits,
// labels and latencies. There is no HDFS: where blocks are is told by whoever runs jobs.
//
// The cluster is one to others as any, seen through the ResourceManager's REST and the
// ApplicationMasters' behind its proxy. Clients and Files are the ways to it.
//
// It needs Linux, where each address 127.a.b.c is one of this machine. It neither decides
// what runs, nor captures it.
package emulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/ipc"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/internal/poll"
	"heddle/harness/internal/units"
	"heddle/harness/lab"
	"heddle/harness/queues"
	"heddle/harness/require"
	"heddle/yarnclient"
)

// Cluster is an emulated cluster that is up.
type Cluster struct {
	*clients.Clients
	Nodes []*Node // workers, by their names' order in the description

	manager   *lab.Manager
	hadoop    string
	masters   []*Node // nodes on which ApplicationMasters alone run
	byHost    map[string]*Node
	web       string // address of the ApplicationMasters' REST
	server    *http.Server
	ctx       context.Context
	stop      context.CancelFunc
	tell      func(string)
	lines     [4]*ipc.Caller // connections to the ResourceManager that the nodes share
	starts    atomic.Int32   // of the ResourceManager, but for the first
	active    atomic.Int32   // of these, the last that is known to be active
	next      atomic.Int64
	divided   *queues.File // nil: by labels of heddle's own
	beats     atomic.Int64
	late      atomic.Int64
	mu        sync.Mutex
	said      int
	jobs      map[string]*master // by application id
	blocks    map[string][]hdfs.Block
	goroutine sync.WaitGroup
}

// Queue is the queue of jobs that name none.
const Queue = "replay"

// Hadoop returns the version of a described cluster's ResourceManager.
func Hadoop(m *config.Machines) (string, error) {
	v := cmp.Or(m.Hadoop, lab.DefaultHadoop)
	if all := lab.Hadoops(); !slices.Contains(all, v) {
		return "", fmt.Errorf("machines.hadoop %q: want one of %s", v, strings.Join(all, ", "))
	}
	return v, nil
}

// masterHost is the name of the node of ApplicationMasters, and mastersMB its memory where
// the description does not have it.
const (
	masterHost = "master"
	mastersMB  = 1 << 20
)

// Start starts the ResourceManager and registers all nodes that a cluster's file describes.
// It returns when the scheduler knows them. Files are written to a folder. tell gets what
// goes on, and what goes wrong later.
func Start(ctx context.Context, described *config.Cluster, folder string, tell func(string)) (c *Cluster, err error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("emulate: it needs Linux, where each node has an address 127.a.b.c of its own, and this is %s", runtime.GOOS)
	}
	c = &Cluster{byHost: map[string]*Node{}, tell: tell, jobs: map[string]*master{}, blocks: map[string][]hdfs.Block{}}
	c.ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err = c.start(ctx, described, folder); err != nil {
		c.Close()
		return nil, fmt.Errorf("emulate %s: %w", described.Name, err)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, described *config.Cluster, folder string) (err error) {
	m := described.Machines
	l := lab.Default()
	l.Nodes, l.Racks, l.Slots, l.Container, l.Async = m.Nodes, m.Racks, m.Slots, m.Container, m.Async
	l.NMHeartbeat, l.AMHeartbeat = m.NMHeartbeat, m.AMHeartbeat
	if l.Hadoop, err = Hadoop(m); err != nil {
		return err
	}
	c.hadoop = l.Hadoop
	if m.NodeExpiry > 0 {
		l.NodeExpiry = m.NodeExpiry
	} else {
		l.NodeExpiry = units.Duration(10 * time.Minute)
	}
	if m.Scheduler != "" {
		l.Scheduler = m.Scheduler
	}
	hosts := c.place(described)
	divided := ""
	site := map[string]string{
		"yarn.am.liveness-monitor.expiry-interval-ms": "600000",
		"yarn.cluster.max-application-priority":       "100",
	}
	if m.Queues != "" {
		if c.divided, err = config.ReadQueues(m.Queues); err != nil {
			return err
		}
		divided = c.divided.XML()
		c.divided.AddTo(site) // preemption is switched on in yarn-site.xml alone
	}
	if len(m.Labels) > 0 {
		site["yarn.node-labels.enabled"], site["yarn.node-labels.configuration-type"] = "true", "centralized"
		site["yarn.node-labels.fs-store.root-dir"] = "file://" + filepath.Join(folder, "node-labels")
	}
	c.manager, err = lab.NewManager(ctx, l, hosts, folder, divided, site, func(e lab.Event) { c.tell(e.What) })
	if err != nil {
		return err
	}
	for _, n := range append(c.masters, c.Nodes...) {
		if err := n.listen(); err != nil {
			return err
		}
	}
	if err := c.serve(); err != nil {
		return err
	}
	c.tell("starting the ResourceManager")
	if err := c.manager.Start(); err != nil {
		return err
	}
	own := *described
	own.ResourceManagers, own.NameNodes, own.HistoryServer, own.Agents = []string{"http://" + c.manager.Web}, nil, c.web, nil
	own.Security, own.Kerberos, own.User = config.SecuritySimple, nil, cmp.Or(own.User, "heddle")
	if c.Clients, err = clients.To(&own, clients.Patience{}); err != nil {
		return err
	}
	if err := c.await(ctx, "the ResourceManager", func() (bool, error) { _, err := c.RM.Active(ctx); return err == nil, nil }); err != nil {
		return err
	}
	if err := c.register(ctx, time.Duration(m.NMHeartbeat)); err != nil {
		return err
	}
	c.goroutine.Go(c.restart)
	return nil
}

// labelOf returns the node label of a queue's jobs.
func (c *Cluster) labelOf(queue string) string {
	if c.divided != nil {
		if q, err := c.divided.Leaf(queue); err == nil {
			return q.DefaultLabel
		}
	}
	return ""
}

// place makes the nodes that a cluster's file describes.
func (c *Cluster) place(described *config.Cluster) (hosts []lab.Host) {
	m := described.Machines
	facts, _ := m.Facts(described.Name, described.Rates)
	add := func(n *Node, rack int) {
		const first, most = 10, 250 // of the second byte of addresses, and of nodes that share the third
		i := len(hosts)
		n.ip = netip.AddrFrom4([4]byte{127, byte(first + i/most/most), byte(i / most % most), byte(i%most + 1)})
		n.c, n.running = c, map[containerID]*running{}
		c.byHost[n.Host] = n
		hosts = append(hosts, lab.Host{Name: n.Host, IP: n.ip, Rack: rack})
	}
	if m.Scheduler != "fair" && m.Queues == "" { // Fair has no labels, which keep tasks from a node
		mb := int64(m.AMMemory / units.MiB)
		if mb == 0 {
			mb = mastersMB
		}
		c.masters = []*Node{{Host: masterHost, Rack: "/core", MemoryMB: mb, VCores: 1 << 16}}
		add(c.masters[0], 0)
	}
	for _, f := range facts.Nodes {
		n := &Node{Host: string(f.Node), Rack: f.Rack, label: f.Label, MemoryMB: f.MemoryBytes >> 20, VCores: int(f.VCores)}
		c.Nodes = append(c.Nodes, n)
		rack := 0
		_, _ = fmt.Sscanf(f.Rack, "/rack%d", &rack)
		add(n, rack)
	}
	return hosts
}

// startLimit is how long the ResourceManager may take to start, and then for all nodes.
const startLimit = 10 * time.Minute

// await waits until done, unless the ResourceManager dies.
func (c *Cluster) await(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("%s is not ready after %v", what, startLimit))
	defer cancel()
	err := poll.Until(ctx, 100*time.Millisecond, func() (bool, error) {
		if err := c.manager.Died(); err != nil {
			return false, err
		}
		return done()
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// register makes the labels, and registers all nodes. The ResourceManager lists a node at
// once, but its scheduler takes them one by one: it has them all when no event waits.
func (c *Cluster) register(ctx context.Context, every time.Duration) error {
	if labels := c.manager.Labels; labels != nil {
		if err := c.RM.AddLabels(ctx, true, labels...); err != nil {
			return err
		}
		if err := c.RM.ReplaceLabels(ctx, map[string]string{c.masters[0].nodeID(): require.Masters}); err != nil {
			return err
		}
	}
	labelOf := map[string]string{}
	for _, n := range c.Nodes {
		if n.label != "" {
			labelOf[n.nodeID()] = n.label
		}
	}
	if len(labelOf) > 0 {
		names := slices.Compact(slices.Sorted(maps.Values(labelOf)))
		if err := errors.Join(c.RM.AddLabels(ctx, true, names...), c.RM.ReplaceLabels(ctx, labelOf)); err != nil {
			return err
		}
	}
	began, all := time.Now(), append(c.masters, c.Nodes...)
	c.tell(fmt.Sprintf("registering %d nodes", len(all)))
	calls, calling := errgroup.WithContext(ctx)
	const atOnce = 64
	calls.SetLimit(atOnce)
	for _, n := range all {
		calls.Go(func() error { return n.register(calling) })
	}
	if err := calls.Wait(); err != nil {
		return err
	}
	// Nodes beat in a mixed order. In the order of names those of a rack would beat one after
	// another, and a job would get its containers in one rack.
	for place, i := range rand.New(rand.NewPCG(1, 1)).Perm(len(all)) { //nolint:gosec // no secret: the same order in each run
		c.goroutine.Go(func() { all[i].beatOn(c.ctx, every*time.Duration(place)/time.Duration(len(all)), every) })
	}
	quiet := 0
	err := c.await(ctx, "the scheduler", func() (bool, error) {
		queued, err := c.RM.Queued(ctx)
		if quiet++; err != nil || queued > 0 {
			quiet = 0
		}
		return quiet > 2, nil
	})
	if err == nil {
		_, err = c.RM.WaitActive(ctx, len(all))
	}
	if err == nil {
		c.tell(fmt.Sprintf("%d nodes are in the scheduler after %v", len(all), time.Since(began).Round(100*time.Millisecond)))
	}
	return err
}

func (n *Node) nodeID() string { return fmt.Sprintf("%s:%d", n.Host, n.id.Number(2)) }

// say tells of an error, but for those that follow a ResourceManager's end. A few are enough.
func (c *Cluster) say(err error) {
	const most = 20
	c.mu.Lock()
	c.said++
	n := c.said
	c.mu.Unlock()
	if n <= most && c.ctx.Err() == nil && !down(err) {
		c.tell("emulated cluster: " + err.Error())
	}
}

// Close ends the ResourceManager and all that is emulated.
func (c *Cluster) Close() {
	c.stop()
	for _, n := range c.byHost {
		if n.server != nil {
			n.server.Close()
		}
	}
	c.goroutine.Wait()
	if c.manager != nil {
		c.manager.Stop(unix.SIGTERM)
	}
	if c.server != nil {
		_ = c.server.Close()
	}
	for _, line := range c.lines {
		if line != nil {
			line.Close(net.ErrClosed)
		}
	}
	if c.Clients != nil {
		_ = c.Clients.Close() // nothing is left to lose
	}
}

// SetDown has a worker vanish with all that runs there, or come back empty.
func (c *Cluster) SetDown(host string, down bool) error {
	n := c.byHost[host]
	if n == nil {
		return fmt.Errorf("emulated cluster: it has no node %s", host)
	}
	return n.restart(c.ctx, down)
}

// Counts returns how many heartbeats the nodes have sent, and how many were late.
func (c *Cluster) Counts() (beats, late int64) { return c.beats.Load(), c.late.Load() }

// JobError says that a job did not succeed.
type JobError struct{ App, Status, Reason string }

func (e *JobError) Error() string {
	return fmt.Sprintf("application %s: %s: %s", e.App, e.Status, e.Reason)
}

// Run submits a job and waits for its end. If ctx ends before, it kills the job. The error is
// a JobError if the job did not succeed.
func (c *Cluster) Run(ctx context.Context, job *Job) (accepted time.Time, err error) {
	rm := c.RM
	if job.User != "" {
		own := *c.Config
		own.User = job.User
		as, err := clients.To(&own, clients.Patience{})
		if err != nil {
			return accepted, err
		}
		defer as.Close()
		rm = as.RM
	}
	var app yarnclient.NewApp
	if err = c.steady(ctx, func() error { app, err = rm.NewApplication(ctx); return err }); err != nil {
		return accepted, err
	}
	m := newMaster(c, job, app.ID)
	if err := m.stage(); err != nil {
		return accepted, err
	}
	c.mu.Lock()
	c.jobs[app.ID] = m
	c.mu.Unlock()
	ended := make(chan struct{})
	m.over = sync.OnceFunc(func() { close(ended) })
	submitted := c.starts.Load()
	submit := func() error {
		return c.steady(ctx, func() error { return rm.Submit(ctx, m.submission(app.ID)) })
	}
	if err = submit(); err != nil {
		return accepted, &JobError{app.ID, "REFUSED", err.Error()}
	}
	accepted = time.Now()
	for {
		const seldom = 5 * time.Second // a job may end without a master
		select {
		case <-ctx.Done():
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
			defer cancel()
			return accepted, errors.Join(context.Cause(ctx), c.RM.KillApp(clean, app.ID))
		case <-ended:
			err = poll.Wait(ctx, 50*time.Millisecond)
		case <-time.After(seldom):
		}
		var is yarnclient.App
		if err == nil {
			err = c.steady(ctx, func() error { is, err = c.RM.App(ctx, app.ID); return err })
		}
		if now := c.starts.Load(); errors.Is(err, yarnclient.ErrNotFound) && now != submitted { // it was not stored yet
			submitted, err = now, submit()
		}
		switch {
		case err != nil && ctx.Err() == nil:
			return accepted, err
		case is.Ended() && is.FinalStatus != "SUCCEEDED":
			return accepted, &JobError{app.ID, is.FinalStatus, is.Diagnostics}
		case is.Ended():
			return accepted, nil
		}
	}
}

// launch starts the ApplicationMaster of an application in a container of a node.
func (c *Cluster) launch(n *Node, id containerID, token *ipc.Token) error {
	app := appName(appOf(id))
	c.mu.Lock()
	m := c.jobs[app]
	c.mu.Unlock()
	if m == nil {
		return fmt.Errorf("%s is no job of this emulation", app)
	}
	ctx, cancel := context.WithCancel(c.ctx)
	n.begin(id, m.masterSize(), 0, cancel)
	m.mu.Lock()
	m.node = n
	m.h.AMHosts = append(m.h.AMHosts, n.Host)
	m.mu.Unlock()
	c.goroutine.Go(func() {
		defer cancel()
		err := m.run(ctx, token)
		exit := int64(0)
		if err != nil {
			exit = 1
			if ctx.Err() == nil {
				c.say(err)
			}
		}
		n.end(id, exit)
		m.over()
	})
	return nil
}

// racks returns the racks of hosts, each once.
func (c *Cluster) racks(hosts []string) (racks []string) {
	seen := map[string]bool{}
	for _, h := range hosts {
		if n := c.byHost[h]; n != nil && !seen[n.Rack] {
			seen[n.Rack] = true
			racks = append(racks, n.Rack)
		}
	}
	return racks
}
