package emulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"heddle/collectors/hdfs/ipc"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/internal/poll"
	"heddle/traces"
	"heddle/traces/jhist"
	"heddle/yarnclient"
)

const masterProtocol = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

// Task is what a task of an emulated job does: it lasts, whichever node it is on.
type Task struct {
	// Length is how long an attempt takes. A reduce takes it from the end of the job's last
	// map on, if it started before.
	Length   time.Duration
	Counters traces.Counters
	// Split and Hosts are a map's input and the hosts that have it.
	Split jobsplit.Split
	Hosts []string
}

// Job is a MapReduce job to emulate.
type Job struct {
	Conf          yarn.Conf // with all that an ApplicationMaster reads
	User          string    // "" is the cluster's
	Maps, Reduces []Task
	Steps         Steps
}

// Steps are the times that Hadoop's own steps take on real nodes: until an ApplicationMaster
// that was launched has registered, from the choice of a task to its start, from its end to
// that of its container, and from the last task's end to the job's.
type Steps struct{ AMStart, Launch, Free, Finish time.Duration }

// master is an emulated ApplicationMaster with its job. What it has done is kept as a job
// history has it.
type master struct {
	*Job
	c    *Cluster
	id   string // of the job
	beat time.Duration

	mu       sync.Mutex
	h        jhist.Job
	tasks    [2][]*task
	left     [2]int // tasks that have not succeeded
	asks     asks
	near     map[string][]*task // maps that were asked for, by host and by rack
	order    []*task            // maps that were asked for, in order
	failed   []*task            // maps that are asked for again since one was lost
	pending  []*task            // reduces that are not asked for yet
	reduces  []*task            // reduces that were asked for
	begun    bool               // enough maps have succeeded for reduces
	hungry   time.Time          // since when maps wait
	on       map[containerID]*attempt
	roomMB   int64 // headroom, as the ResourceManager last said
	lastMap  time.Time
	response int64
	complete chan struct{} // closed when all tasks have succeeded
	node     *Node
	staged   yarn.Staged
	offsets  map[int64]*Task // maps' tasks, by where their splits begin in job.split
	over     func()          // is called when the ApplicationMaster has ended
}

type task struct {
	*Task
	h     *jhist.Task
	kind  traces.TaskKind
	waits int // priority at which a container is asked for; 0: none is
	near  []string
	now   *attempt // that runs
}

type attempt struct {
	h         *jhist.Attempt
	task      *task
	node      *Node
	container containerID
	timer     *time.Timer
	started   bool
	over      bool
	stopped   bool // its container has ended before it
}

func newMaster(c *Cluster, job *Job, app string) *master {
	serial := strings.TrimPrefix(app, "application_")
	m := &master{
		Job: job, c: c, id: "job_" + serial, complete: make(chan struct{}), near: map[string][]*task{}, on: map[containerID]*attempt{},
		beat: time.Duration(job.Conf.Int(amBeat, 1000)) * time.Millisecond,
		left: [2]int{len(job.Maps), len(job.Reduces)},
		asks: asks{count: map[ask]int64{}, changed: map[ask]bool{}, size: map[int]ipc.Message{}, label: map[int]string{}},
	}
	label := job.Conf["mapreduce.job.node-label-expression"]
	for _, k := range []struct {
		kind       string
		priorities []int
	}{{"map", []int{yarnclient.PriorityMap, yarnclient.PriorityFailedMap}}, {"reduce", []int{yarnclient.PriorityReduce}}} {
		size := resource(job.Conf.Int("mapreduce."+k.kind+".memory.mb", 1024), int(job.Conf.Int("mapreduce."+k.kind+".cpu.vcores", 1)))
		own, ok := job.Conf["mapreduce."+k.kind+".node-label-expression"]
		if !ok {
			own = label
		}
		for _, p := range k.priorities {
			m.asks.size[p], m.asks.label[p] = size, own
		}
	}
	m.h = jhist.Job{
		ID: m.id, Name: job.Conf["mapreduce.job.name"], User: cmp.Or(job.User, c.Config.User), Queue: job.Conf["mapreduce.job.queuename"],
		SubmitMs: time.Now().UnixMilli(), Maps: int32(len(job.Maps)), Reduces: int32(len(job.Reduces)), //nolint:gosec // few
		Counters: traces.NoCounters,
	}
	for kind, list := range [][]Task{job.Maps, job.Reduces} {
		for i := range list {
			k := traces.TaskKind(kind)
			id := traces.Task{Job: traces.JobID(m.id), Kind: k, Index: int32(i)} //nolint:gosec // few
			t := &task{Task: &list[i], kind: k, h: &jhist.Task{
				ID: id.String(), Type: [2]string{"MAP", "REDUCE"}[kind], SplitHosts: list[i].Hosts,
			}}
			t.near = append(slices.Clone(t.Hosts), c.racks(t.Hosts)...)
			m.tasks[kind] = append(m.tasks[kind], t)
			m.h.Tasks = append(m.h.Tasks, t.h)
		}
	}
	return m
}

// run is the life of an ApplicationMaster, from its launch to its end.
func (m *master) run(ctx context.Context, token *ipc.Token) error {
	if err := poll.Wait(ctx, m.Steps.AMStart); err != nil {
		return err
	}
	rm, err := m.register(ctx, token)
	if err != nil {
		if rm, err = m.again(ctx, nil, token, err); err != nil {
			return err
		}
	}
	defer func() {
		if rm != nil {
			rm.Close(net.ErrClosed)
		}
	}()
	if err := m.begin(); err != nil {
		return fmt.Errorf("%s: %w", m.id, err)
	}
	ticker := time.NewTicker(m.beat)
	defer ticker.Stop()
	done := m.complete
	var finish <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-done:
			done, finish = nil, time.After(m.Steps.Finish)
			continue
		case <-finish:
			if err = m.unregister(ctx, rm); err == nil {
				return nil
			}
			finish = time.After(m.beat)
		case <-ticker.C:
			err = m.heartbeat(ctx, rm)
		}
		if err != nil {
			if rm, err = m.again(ctx, rm, token, err); err != nil {
				return err
			}
		}
	}
}

// again registers with a ResourceManager that has started again since an error, and asks once more for all that is
// missing. Another error it returns.
func (m *master) again(ctx context.Context, rm *ipc.Caller, token *ipc.Token, err error) (*ipc.Caller, error) {
	for {
		known, ok := errors.AsType[*ipc.RemoteError](err)
		if !down(err) && !(ok && strings.HasSuffix(known.Class, ".ApplicationMasterNotRegisteredException")) {
			return rm, fmt.Errorf("%s: %w", m.id, err)
		}
		if rm != nil {
			rm.Close(net.ErrClosed)
		}
		if err = poll.Wait(ctx, time.Second); err == nil {
			rm, err = m.register(ctx, token)
		}
		if err == nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.response = 0
			m.asks.again()
			return rm, nil
		}
	}
}

func (m *master) register(ctx context.Context, token *ipc.Token) (*ipc.Caller, error) {
	rm, err := ipc.Dial(ctx, m.c.manager.Scheduler, masterProtocol, "", token)
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	if _, err = rm.Call(ctx, "registerApplicationMaster", ipc.Message{}.Text(1, m.node.Host).Int(2, 0).Text(3, m.c.web+"/")); err != nil {
		rm.Close(net.ErrClosed)
		return nil, fmt.Errorf("register: %w", err)
	}
	return rm, nil
}

// unregister ends the application.
func (m *master) unregister(ctx context.Context, rm *ipc.Caller) error {
	m.mu.Lock()
	m.h.FinishMs, m.h.Outcome, m.h.Status = time.Now().UnixMilli(), traces.Succeeded, "SUCCEEDED"
	m.mu.Unlock()
	const succeeded = 1
	request := ipc.Message{}.Text(1, "").Text(2, m.c.web+"/jobhistory/job/"+m.id).Int(3, succeeded)
	for {
		answer, err := rm.Call(ctx, "finishApplicationMaster", request)
		if err != nil {
			return fmt.Errorf("finish: %w", err)
		}
		if ipc.Message(answer).Number(1) == 1 {
			return nil
		}
		if err := poll.Wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// begin asks for all maps.
func (m *master) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.h.LaunchMs != 0 { // a second ApplicationMaster; what succeeded stays
		return nil
	}
	if err := m.read(); err != nil {
		return err
	}
	m.h.LaunchMs, m.hungry = time.Now().UnixMilli(), time.Now()
	for _, list := range m.tasks {
		for _, t := range list {
			t.h.StartMs = m.h.LaunchMs
			m.want(t, false)
		}
	}
	if m.left == [2]int{} {
		close(m.complete)
	}
	return nil
}

// want asks for a container for a task, or remembers a reduce to ask for. A map that was
// lost is asked for before others, wherever it may be.
func (m *master) want(t *task, lost bool) {
	switch {
	case t.kind == traces.Reduce:
		m.pending = append(m.pending, t)
	case lost:
		t.waits = yarnclient.PriorityFailedMap
		m.failed = append(m.failed, t)
		m.asks.add(t.waits, nil, 1)
	default:
		t.waits = yarnclient.PriorityMap
		m.order = append(m.order, t)
		for _, place := range t.near {
			m.near[place] = append(m.near[place], t)
		}
		m.asks.add(t.waits, t.near, 1)
	}
}

// heartbeat sends what is asked for, and takes what has come.
func (m *master) heartbeat(ctx context.Context, rm *ipc.Caller) error {
	m.mu.Lock()
	all := len(m.Maps) + len(m.Reduces)
	progress := 1 - float32(m.left[0]+m.left[1])/float32(max(1, all))
	request := m.asks.message().Int(4, m.response).Float(5, math.Float32bits(progress))
	m.asks.sent()
	m.mu.Unlock()
	body, err := rm.Call(ctx, "allocate", request)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var come []*grant
	for field, f := range ipc.Message(body).Fields() {
		x := ipc.Message(f.Bytes)
		switch field {
		case 1:
			return fmt.Errorf("the ResourceManager says command %d", f.Int)
		case 2:
			m.response = f.Int
		case 3:
			g := &grant{id: containerID(x.Get(1)), node: m.c.byHost[string(x.Get(2, 1))], priority: int(x.Get(5).Number(1))}
			if g.node == nil {
				return errors.New("a container came on an unknown node")
			}
			come = append(come, g)
		case 4:
			m.ended(containerID(x.Get(1)), x.Number(4))
		case 5:
			m.roomMB = x.Number(1)
		case 6:
			const lost = 5
			if x.Number(7) == lost {
				m.nodeLost(string(x.Get(1, 1)))
			}
		}
	}
	m.assign(come)
	m.rampReduces()
	return nil
}

// nodeLost has the maps run again that succeeded on a node, if their output is still needed.
func (m *master) nodeLost(host string) {
	if m.left[traces.Reduce] == 0 {
		return
	}
	for _, t := range m.tasks[traces.Map] {
		n := len(t.h.Attempts) - 1
		if t.h.Status == "" || t.h.Attempts[n].Host != host {
			continue
		}
		t.h.Attempts[n].Status, t.h.Attempts[n].Error = "KILLED", traces.KilledWithNode
		t.h.Status, t.h.Winner, t.h.FinishMs = "", "", 0
		m.left[traces.Map]++
		m.want(t, true)
	}
}

// masterSize is the size of the ApplicationMaster's container.
func (m *master) masterSize() ipc.Message {
	return resource(m.Conf.Int("yarn.app.mapreduce.am.resource.mb", 512), int(m.Conf.Int("yarn.app.mapreduce.am.resource.cpu-vcores", 1)))
}
