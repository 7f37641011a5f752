package steer

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// node is a worker.
type node struct {
	core   *Core
	id     state.NodeID
	name   string // host
	yarn   string // "host:port"
	full   yarnclient.Resource
	up     bool
	label  string // that it was last given for certain
	sent   string // that it was last sent
	sentBy int    // number of the call
	then   func() // to be done when that label is there

	active   *opening   // that has the node
	queue    []*opening // that wait for it
	inQueued bool       // in Core.queued
	last     *opening   // that had it before

	spare []*container // that nobody decided, yet

	missingSince time.Time // since when YARN's list has been without it, zero: it is there
	foreignMB    int64     // used by others, in the last listing
	skipped      bool      // a decision came to nothing: offered again with the next heartbeat
}

func (c *Core) addNode(n yarnclient.Node) {
	full := state.Resource{MemoryMB: int32(n.Total.MemoryMB), VCores: int32(n.Total.VCores)}
	if !c.Setup.CountCores {
		full.VCores = 1 << 20
	}
	id, err := c.state.AddNode(n.Host, n.Rack, full)
	if err != nil {
		c.log(Warn, "a second NodeManager of one host is not steered", "node", n.ID)
		return
	}
	x := &node{core: c, id: id, name: n.Host, yarn: n.ID, full: n.Total, up: true}
	c.nodes = append(c.nodes, x)
	c.byID[n.ID] = x
}

// labelled notes that a node has a label.
func (n *node) labelled(label string) {
	if n.label == label {
		return
	}
	n.label = label
	n.core.state.SetLabel(n.id, label)
	n.core.record(&traces.NodeLabel{T: n.core.at(), Node: traces.Node(n.name), Label: label})
}

// moves are labels to be set. All that come together, and those that come while
// a call is under way, go with one call, so that they arrive in the order they
// were asked for. A call that hangs is overtaken.
type moves struct {
	core   *Core
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

func (m *moves) set(n *node, x move) {
	if m.to == nil {
		m.to = map[*node]move{}
	}
	m.to[n] = x
}

// move gives a node a label and then does something.
func (n *node) move(label string, then func()) {
	if n.core.acts {
		n.core.moves.set(n, move{label: label, then: then})
	}
}

// moveAgain sends what was sent last, unless something newer waits.
func (n *node) moveAgain() {
	if _, waits := n.core.moves.to[n]; !waits {
		n.core.moves.set(n, move{label: n.sent, again: true})
	}
}

// flush sends what is to be set, unless a call is under way.
func (m *moves) flush() {
	c := m.core
	if len(m.to) == 0 || c.trouble != "" {
		return
	}
	if wait := overtakeAfter - c.now.Sub(m.since); m.calls > 0 && wait > 0 {
		m.wake.in(wait)
		return
	}
	m.calls++
	m.last++
	m.since = c.now
	number, batch := m.last, m.to
	m.to = nil
	set := &SetLabels{LabelOf: make(map[string]string, len(batch))}
	for n, x := range batch {
		set.LabelOf[n.yarn] = x.label
		n.sent, n.sentBy = x.label, number
		if !x.again {
			n.then = x.then
		}
	}
	c.change(set, &set.Number, func(err error) {
		m.calls--
		m.answered(number, batch, err)
	})
}

// answered follows a call. Setting a label again does no harm: so it is done where
// the call failed, or where another call overtook it and the order is not known.
func (m *moves) answered(number int, batch map[*node]move, err error) {
	for n := range batch {
		if n.sentBy != number {
			delete(batch, n)
			n.moveAgain()
		}
	}
	if err != nil {
		m.failed++
		for n := range batch {
			n.moveAgain()
		}
		m.core.failed("move nodes", err)
		return
	}
	m.failed = 0
	nodes := slices.SortedFunc(maps.Keys(batch), func(a, b *node) int { return cmp.Compare(a.id, b.id) })
	for _, n := range nodes {
		n.labelled(batch[n].label)
		if then := n.then; then != nil {
			n.then = nil
			then()
		}
	}
}

// watchNodes looks at all nodes now and then: who is lost or back, and whether
// each has the label that it should.
func (c *Core) watchNodes() {
	ask(c, Look{What: AskNodes}, func(list []yarnclient.Node, sent time.Time, err error) {
		c.watching.nodes.in(max(500*time.Millisecond, pauseFor(20, c.now.Sub(sent))))
		switch {
		case err != nil:
			c.failed("list nodes", err)
		case c.trouble == "" && len(list) > 0:
			c.sawNodes(list)
		}
	})
}

func (c *Core) sawNodes(list []yarnclient.Node) {
	used := map[*node]int64{}
	for _, j := range c.jobs {
		for _, x := range j.live {
			used[x.node] += int64(j.size[x.kind].MemoryMB)
		}
	}
	listed := map[*node]bool{}
	for _, info := range list {
		n := c.byID[info.ID]
		if n == nil {
			n = c.cameBackAs(info)
		}
		switch running := info.State == "RUNNING"; {
		case n == nil:
			if c.Setup.worker(info) {
				c.addNode(info)
				if n = c.byID[info.ID]; n != nil {
					n.move(idleLabel, n.offer)
				}
			} else {
				c.gate.mend(info)
			}
		case !running && n.up:
			n.lost(info.State)
		case running && !n.up:
			n.up = true
			c.state.NodeUp(n.id)
			n.move(idleLabel, n.offer)
		case running && n.active == nil && len(c.moves.to) == 0 && c.moves.calls == 0 && info.Label() != n.label:
			// A call that was given up took effect late, or somebody else moved it.
			c.log(Warn, "a node had another label than it was given", "node", n.name, "label", info.Label())
			n.move(idleLabel, nil)
		}
		listed[n] = true
		if n == nil || !n.up || n.active != nil {
			continue
		}
		// What others use, if it shows twice in a row: containers come and go
		// between two answers.
		foreign := max(0, info.UsedMB-used[n])
		if foreign == n.foreignMB || foreign == 0 {
			capacity := c.view.Capacity(n.id)
			capacity.MemoryMB = int32(n.full.MemoryMB - foreign)
			if capacity != c.view.Capacity(n.id) {
				c.state.SetCapacity(n.id, capacity)
				n.offer()
			}
		}
		n.foreignMB = foreign
	}
	for _, n := range c.nodes {
		switch {
		case listed[n] || !n.up:
			n.missingSince = time.Time{}
		case n.missingSince.IsZero():
			n.missingSince = c.now
		case c.now.Sub(n.missingSince) > missingFor:
			n.lost("unknown to the ResourceManager")
		}
	}
}

// missingFor is how long nodes may take to come back to a ResourceManager that
// was started anew.
const missingFor = 10 * time.Second

// cameBackAs is a node that was lost and has come back with another port, nil if
// this is none.
func (c *Core) cameBackAs(info yarnclient.Node) *node {
	id := c.view.NodeNamed(info.Host)
	if id == state.None || info.State != "RUNNING" {
		return nil
	}
	n := c.nodes[id]
	if n.up {
		return nil
	}
	delete(c.byID, n.yarn)
	n.yarn, n.full = info.ID, info.Total
	c.byID[n.yarn] = n
	return n
}

// lost ends what was to happen on a node.
func (n *node) lost(state string) {
	n.up = false
	n.core.state.NodeDown(n.id)
	cause := "the node is " + state
	for _, op := range n.queue {
		op.end("cancelled", cause)
	}
	n.queue = nil
	if op := n.active; op != nil {
		n.active = nil
		op.end("cancelled", cause)
	}
	n.move(idleLabel, nil)
}
