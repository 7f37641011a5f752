package emulate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"heddle/collectors/hdfs/ipc"
	"heddle/collectors/hdfs/jobsplit"
)

const (
	trackerProtocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
	webPort         = 8042 // of NodeManagers; nobody listens there
)

// What a NodeManager reports of a container, and how YARN says that a container was ended
// by its ApplicationMaster or by the ResourceManager.
const (
	stateRunning, stateComplete = 2, 3
	exitStopped                 = -105
)

// Node is an emulated NodeManager.
type Node struct {
	Host, Rack string
	MemoryMB   int64
	VCores     int

	c      *Cluster
	label  string // its node label, beside those by which heddle steers
	ip     netip.Addr
	server net.Listener // for the ResourceManager, which starts ApplicationMasters
	id     ipc.Message  // NodeId

	mu      sync.Mutex
	gone    bool // it sends no heartbeats
	last    int64
	starts  int32                    // of the ResourceManager, when the node registered
	keys    [2][]byte                // the newest keys of container tokens and NodeManager tokens, which it never uses
	running map[containerID]*running // by their ids
}

// containerID is a ContainerId as it came, which is the same for the same container.
type containerID string

// running is a container on a node: one that runs, or whose end the ResourceManager has not
// acknowledged.
type running struct {
	done     bool
	exit     int64
	size     ipc.Message
	priority int
	killed   func() // is called if the ResourceManager ends the container, or the node is lost
}

// begin starts a container.
func (n *Node) begin(id containerID, size ipc.Message, priority int, killed func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running[id] = &running{size: size, priority: priority, killed: killed}
}

// end ends a container, which the node then reports.
func (n *Node) end(id containerID, exit int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.running[id]; r != nil && !r.done {
		r.done, r.exit = true, exit
	}
}

// kill ends a container that the ResourceManager does not want any more.
func (n *Node) kill(id containerID) {
	n.mu.Lock()
	r := n.running[id]
	if r == nil || r.done {
		n.mu.Unlock()
		return
	}
	r.done, r.exit = true, exitStopped
	n.mu.Unlock()
	r.killed()
}

// restart has a node vanish with all that runs there, or come back empty.
func (n *Node) restart(ctx context.Context, gone bool) error {
	n.mu.Lock()
	lost := n.running
	n.gone, n.running = gone, map[containerID]*running{}
	n.mu.Unlock()
	for _, r := range lost {
		if !r.done {
			r.killed()
		}
	}
	if gone {
		return nil
	}
	return n.register(ctx)
}

func resource(mb int64, cores int) ipc.Message { return ipc.Message{}.Int(1, mb).Int(2, int64(cores)) }

// register registers the node. A ResourceManager that has started again learns of its containers.
func (n *Node) register(ctx context.Context) error {
	size := resource(n.MemoryMB, n.VCores)
	n.mu.Lock()
	n.last, n.starts = 0, n.c.starts.Load()
	m := ipc.Message{}.Put(1, n.id).Int(3, webPort).Put(4, size).Text(5, n.c.hadoop)
	for id, r := range n.running {
		is := int64(stateRunning)
		if r.done {
			is = stateComplete
		}
		m = m.Put(6, ipc.Message{}.Put(1, []byte(id)).Int(2, is).Put(3, r.size).Put(4, ipc.Message{}.Int(1, int64(r.priority))).
			Text(5, "").Int(6, r.exit).Int(7, time.Now().UnixMilli())) // without text a ResourceManager dies
	}
	m = m.Put(9, size).Put(12, n.status())
	n.mu.Unlock()
	answer, err := n.c.tracker(ctx, "registerNodeManager", m)
	if err != nil {
		return fmt.Errorf("register node %s: %w", n.Host, err)
	}
	if action := answer.Number(3); action != 0 {
		return fmt.Errorf("register node %s: refused with action %d: %s", n.Host, action, answer.Get(5))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keys = [2][]byte{answer.Get(1), answer.Get(2)}
	return nil
}

// status is what a node says of itself in a heartbeat. The lock is held.
func (n *Node) status() ipc.Message {
	m := ipc.Message{}.Put(1, n.id).Int(2, n.last)
	for id, r := range n.running {
		s := ipc.Message{}.Put(1, []byte(id))
		if r.done {
			s = s.Int(2, stateComplete).Int(4, r.exit)
		} else {
			s = s.Int(2, stateRunning)
		}
		m = m.Put(3, s)
	}
	idle := ipc.Message{}.Int(1, 0).Int(2, 0).Float(3, 0) // what containers and the node use, without which /nodes fails
	return m.Put(4, ipc.Message{}.Int(1, 1).Text(2, "").Int(3, time.Now().UnixMilli())).Put(6, idle).Put(7, idle)
}

// Actions that the ResourceManager asks of a node.
const (
	actionResync   = 1
	actionShutdown = 2
)

// beat sends one heartbeat.
func (n *Node) beat(ctx context.Context) error {
	n.mu.Lock()
	if n.gone {
		n.mu.Unlock()
		return nil
	}
	m := ipc.Message{}.Put(1, n.status()).Put(2, n.keys[0]).Put(3, n.keys[1])
	n.mu.Unlock()
	answer, err := n.c.tracker(ctx, "nodeHeartbeat", m)
	if err != nil {
		return err
	}
	n.c.beats.Add(1)
	var action int64
	var unwanted, forgotten []containerID
	n.mu.Lock()
	for field, f := range answer.Fields() {
		switch field {
		case 1:
			n.last = f.Int
		case 2, 3:
			n.keys[field-2] = f.Bytes
		case 4:
			action = f.Int
		case 5:
			unwanted = append(unwanted, containerID(f.Bytes))
		case 6: // an application has ended
			for id := range n.running {
				if string(appOf(id)) == string(f.Bytes) {
					unwanted, forgotten = append(unwanted, id), append(forgotten, id)
				}
			}
		case 9: // the end was heard of
			delete(n.running, containerID(f.Bytes))
		}
	}
	n.mu.Unlock()
	for _, id := range unwanted {
		n.kill(id)
	}
	n.mu.Lock()
	for _, id := range forgotten {
		delete(n.running, id)
	}
	n.mu.Unlock()
	switch action {
	case actionResync:
		if n.starts != n.c.starts.Load() {
			return n.register(ctx)
		}
		return n.restart(ctx, false) // it was silent for so long that its containers count as lost
	case actionShutdown:
		return fmt.Errorf("node %s: the ResourceManager shuts it down: %s", n.Host, answer.Get(8))
	}
	return nil
}

// beatOn sends heartbeats until the context ends, the first after a part of the interval.
func (n *Node) beatOn(ctx context.Context, first, every time.Duration) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for next := time.Now().Add(first); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := n.beat(ctx); err != nil && ctx.Err() == nil {
			n.c.say(err)
		}
		if next = next.Add(every); time.Until(next) < 0 {
			n.c.late.Add(1)
			next = time.Now()
		}
		timer.Reset(time.Until(next))
	}
}

// listen opens the node's port, at which the ResourceManager starts ApplicationMasters.
func (n *Node) listen() (err error) {
	if n.server, err = net.Listen("tcp", net.JoinHostPort(n.ip.String(), "0")); err != nil {
		return fmt.Errorf("node %s: %w", n.Host, err)
	}
	port := n.server.Addr().(*net.TCPAddr).Port
	n.id = ipc.Message{}.Text(1, n.Host).Int(2, int64(port))
	go func() {
		for {
			nc, err := n.server.Accept()
			if err != nil {
				return
			}
			go func() {
				if err := ipc.Serve(nc, n.answer); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset by peer") {
					n.c.say(fmt.Errorf("node %s: a caller: %w", n.Host, err))
				}
			}()
		}
	}()
	return nil
}

// answer carries out a call of the ResourceManager.
func (n *Node) answer(method string, request []byte) ([]byte, error) {
	var answer ipc.Message
	for field, f := range ipc.Message(request).Fields() {
		if field != 1 {
			continue
		}
		one := ipc.Message(f.Bytes)
		switch method {
		case "startContainers":
			id := containerID(one.Get(2, 1, 1)) // of the container token's identifier
			token, password, err := jobsplit.Token(one.Get(1, 2), "YARN_AM_RM_TOKEN")
			if err == nil {
				err = n.c.launch(n, id, &ipc.Token{ID: token, Password: password})
			}
			if err != nil {
				return nil, err
			}
			answer = answer.Put(2, []byte(id))
		case "stopContainers":
			n.kill(containerID(f.Bytes))
			answer = answer.Put(1, f.Bytes)
		default:
			return nil, fmt.Errorf("an emulated NodeManager has no method %s", method)
		}
	}
	return answer, nil
}

// appOf returns the ApplicationId of a container.
func appOf(id containerID) ipc.Message { return ipc.Message(id).Get(2, 1) }

// appName returns an application's id as YARN writes it.
func appName(app ipc.Message) string {
	return fmt.Sprintf("application_%d_%04d", app.Number(2), app.Number(1))
}

// String returns a container's id as YARN writes it. The upper bits of its number count the
// ResourceManager's restarts.
func (id containerID) String() string {
	attempt, number := ipc.Message(id).Get(2), ipc.Message(id).Number(3)
	const bits = 40
	epoch := ""
	if n := number >> bits; n > 0 {
		epoch = fmt.Sprintf("e%02d_", n)
	}
	return fmt.Sprintf("container_%s%s_%02d_%06d", epoch, strings.TrimPrefix(appName(attempt.Get(1)), "application_"), attempt.Number(2),
		number&(1<<bits-1))
}
