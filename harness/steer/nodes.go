package steer

import (
	"context"
	"maps"
	"slices"
	"time"

	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// node is a worker.
type node struct {
	id     state.NodeID
	name   string // host
	yarn   string // "host:port"
	full   yarnclient.Resource
	up     bool
	label  string // that it was last given for certain
	sent   string // that it was last sent
	sentBy int    // number of the call
	then   func() // to be done when that label is there

	active *opening   // that has the node
	queue  []*opening // that wait for it
	listed bool       // in Driver.queued
	last   *opening   // that had it before

	spare []*container // that nobody decided, yet

	unlisted  time.Time // since when YARN's list has been without it, zero: it is there
	foreignMB int64     // used by others, in the last listing
	refused   bool      // a decision came to nothing: offered again with the next heartbeat
}

func (d *Driver) addNode(n yarnclient.Node) {
	full := state.Resource{MemoryMB: int32(n.Total.MemoryMB), VCores: int32(n.Total.VCores)}
	if !d.set.countCores {
		full.VCores = 1 << 20
	}
	id, err := d.state.AddNode(n.Host, n.Rack, full)
	if err != nil {
		d.log.Warn("a second NodeManager of one host is not steered", "node", n.ID)
		return
	}
	x := &node{id: id, name: n.Host, yarn: n.ID, full: n.Total, up: true}
	d.nodes = append(d.nodes, x)
	d.byID[n.ID] = x
}

// labelled notes that a node has a label.
func (d *Driver) labelled(n *node, label string) {
	if n.label == label {
		return
	}
	n.label = label
	d.state.SetLabel(n.id, label)
	d.record(&traces.NodeLabel{T: d.now(), Node: traces.Node(n.name), Label: label})
}

// moves are labels to be set. All that come together, and those that come while
// a call is under way, go with one call, so that they arrive in the order they
// were asked for. A call that hangs is overtaken.
type moves struct {
	to     map[*node]move
	calls  int // under way
	last   int // number of the last one
	since  time.Time
	failed int // in a row
	wake   *alarm
}

// overtakeAfter is how long a call may hold up the next.
const overtakeAfter = 250 * time.Millisecond

// move is a label to be set. One that is sent again keeps what is to be done
// when it is there.
type move struct {
	label string
	then  func()
	again bool
}

// move gives a node a label and then does something.
func (d *Driver) move(n *node, label string, then func()) {
	if !d.acts {
		return
	}
	if d.moves.to == nil {
		d.moves.to = map[*node]move{}
	}
	d.moves.to[n] = move{label: label, then: then}
}

// moveAgain sends what was sent last, unless something newer waits.
func (d *Driver) moveAgain(n *node) {
	if _, waits := d.moves.to[n]; waits {
		return
	}
	if d.moves.to == nil {
		d.moves.to = map[*node]move{}
	}
	d.moves.to[n] = move{label: n.sent, again: true}
}

func (d *Driver) flushMoves() {
	m := &d.moves
	if len(m.to) == 0 || d.trouble != "" {
		return
	}
	if wait := overtakeAfter - time.Since(m.since); m.calls > 0 && wait > 0 {
		m.wake.in(wait)
		return
	}
	m.calls++
	m.last++
	m.since = time.Now()
	number, batch := m.last, m.to
	m.to = nil
	labelOf := make(map[string]string, len(batch))
	for n, x := range batch {
		labelOf[n.yarn] = x.label
		n.sent, n.sentBy = x.label, number
		if !x.again {
			n.then = x.then
		}
	}
	d.change(func(ctx context.Context) error { return d.changes.ReplaceLabels(ctx, labelOf) }, func(err error) {
		m.calls--
		d.moved(number, batch, err)
	})
}

// moved follows a call. Setting a label again does no harm: so it is done where
// the call failed, or where another call overtook it and the order is not known.
func (d *Driver) moved(number int, batch map[*node]move, err error) {
	for n := range batch {
		if n.sentBy != number {
			delete(batch, n)
			d.moveAgain(n)
		}
	}
	if err != nil {
		d.moves.failed++
		for n := range batch {
			d.moveAgain(n)
		}
		d.failed("move nodes", err)
		return
	}
	d.moves.failed = 0
	nodes := slices.SortedFunc(maps.Keys(batch), func(a, b *node) int { return int(a.id - b.id) })
	for _, n := range nodes {
		d.labelled(n, batch[n].label)
		if then := n.then; then != nil {
			n.then = nil
			then()
		}
	}
}

// watchNodes looks at all nodes now and then: who is lost or back, and whether
// each has the label that it should.
func (d *Driver) watchNodes() {
	began := time.Now()
	ask(d, func(ctx context.Context) ([]yarnclient.Node, error) { return d.rm.Nodes(ctx) }, func(list []yarnclient.Node, err error) {
		d.watching.nodes.in(max(500*time.Millisecond, 20*time.Since(began)))
		switch {
		case err != nil:
			d.failed("list nodes", err)
		case d.trouble == "" && len(list) > 0:
			d.sawNodes(list)
		}
	})
}

func (d *Driver) sawNodes(list []yarnclient.Node) {
	used := map[*node]int64{}
	for _, j := range d.jobs {
		for _, c := range j.live {
			used[c.node] += int64(j.size[c.kind].MemoryMB)
		}
	}
	listed := map[*node]bool{}
	for _, info := range list {
		n := d.byID[info.ID]
		if n == nil {
			n = d.movedTo(info)
		}
		switch running := info.State == "RUNNING"; {
		case n == nil:
			if d.set.worker(info) {
				d.addNode(info)
				if n = d.byID[info.ID]; n != nil {
					d.move(n, idleLabel, func() { d.offer(n) })
				}
			}
		case !running && n.up:
			d.nodeLost(n, info.State)
		case running && !n.up:
			n.up = true
			d.state.NodeUp(n.id)
			d.move(n, idleLabel, func() { d.offer(n) })
		case running && n.active == nil && len(d.moves.to) == 0 && d.moves.calls == 0 && info.Label() != n.label:
			// A call that was given up took effect late, or somebody else moved it.
			d.log.Warn("a node had another label than it was given", "node", n.name, "label", info.Label())
			d.move(n, idleLabel, nil)
		}
		listed[n] = true
		if n == nil || !n.up || n.active != nil {
			continue
		}
		// What others use, if it shows twice in a row: containers come and go
		// between two answers.
		foreign := max(0, info.UsedMB-used[n])
		if foreign == n.foreignMB || foreign == 0 {
			capacity := d.view.Capacity(n.id)
			capacity.MemoryMB = int32(n.full.MemoryMB - foreign)
			if capacity != d.view.Capacity(n.id) {
				d.state.SetCapacity(n.id, capacity)
				d.offer(n)
			}
		}
		n.foreignMB = foreign
	}
	for _, n := range d.nodes {
		switch {
		case listed[n] || !n.up:
			n.unlisted = time.Time{}
		case n.unlisted.IsZero():
			n.unlisted = time.Now()
		case time.Since(n.unlisted) > unlistedFor:
			d.nodeLost(n, "unknown to the ResourceManager")
		}
	}
}

// unlistedFor is how long nodes may take to come back to a ResourceManager that
// was started anew.
const unlistedFor = 10 * time.Second

// movedTo is a node that was lost and has come back with another port, nil if
// this is none.
func (d *Driver) movedTo(info yarnclient.Node) *node {
	id := d.view.NodeNamed(info.Host)
	if id == state.None || info.State != "RUNNING" {
		return nil
	}
	n := d.nodes[id]
	if n.up {
		return nil
	}
	delete(d.byID, n.yarn)
	n.yarn, n.full = info.ID, info.Total
	d.byID[n.yarn] = n
	return n
}

// nodeLost ends what was to happen on a node.
func (d *Driver) nodeLost(n *node, state string) {
	n.up = false
	d.state.NodeDown(n.id)
	cause := "the node is " + state
	for _, op := range n.queue {
		d.endOpening(op, "cancelled", cause)
	}
	n.queue = nil
	if op := n.active; op != nil {
		n.active = nil
		d.endOpening(op, "cancelled", cause)
	}
	d.move(n, idleLabel, nil)
}
