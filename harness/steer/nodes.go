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

// node is a worker on which steering places tasks.
type node struct {
	core   *Core
	id     state.NodeID
	name   string // host name of the node
	yarn   string // NodeManager's id in YARN, "host:port"
	size   size
	up     bool
	label  string // last node label that YARN confirmed
	sent   string // last node label sent to YARN
	sentBy int    // number of the call that sent the node's last label to YARN
	then   func() // function that is called when YARN has confirmed the label that was sent last

	active   *opening   // group of decisions for which the node has a job's node label now, or is about to get or lose it; nil: none
	queue    []*opening // decisions that wait until the node has carried out earlier ones, in groups of one job and kind of task
	inQueued bool       // whether the node is in Core.queued, the list of nodes for which decisions wait
	last     *opening   // group of decisions for which the node had a job's node label before the active group

	spare []*container // containers on this node that YARN granted without a decision

	registeredAt time.Time          // time when the ResourceManager first listed the node as running since its last restart; zero: it has not
	sample       *traces.NodeSample // newest metrics of the node; nil: there are none
	missingSince time.Time          // time of the first list of YARN's nodes without this node; zero: the node is listed
	foreignMB    int64              // memory in MB that applications not steered use, by YARN's last list of nodes
	othersMB     int64              // the same, as two lists in a row agreed on it
	// YARN granted no container for the last decision on this node; the model is asked about the node again at its next heartbeat
	skipped bool
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
	x := &node{core: c, id: id, name: n.Host, yarn: n.ID, up: true}
	x.size = size{node: x, full: n.Total, left: n.Total, offered: n.Total.MemoryMB}
	c.nodes = append(c.nodes, x)
	c.byID[n.ID] = x
}

// labelled notes which label the node has, and records a change of the label in the
// trace.
func (n *node) labelled(label string) {
	if n.label == label {
		return
	}
	n.label = label
	n.core.record(&traces.NodeLabel{T: n.core.at(), Node: traces.Node(n.name), Label: label})
}

// moves collects label changes of nodes and sends them to YARN. Changes that come
// together, or while a call is under way, are sent in one call, so that YARN makes them
// in the right order. If a call gets no answer, the next one is sent after
// overtakeAfter.
type moves struct {
	core   *Core
	to     map[*node]move
	calls  int // number of calls under way that change labels
	last   int // number of calls made so far that change labels
	since  time.Time
	next   time.Time // when labels are changed again, at the earliest
	failed int       // how many calls that change labels failed in a row
	wake   *alarm
}

// overtakeAfter is how long a call that changes labels waits for an earlier such
// call without an answer.
const overtakeAfter = 250 * time.Millisecond

// move is one change of a node's label. The field then is a function that is called
// when YARN has confirmed the label. If the same label is sent again, the function of
// the first sending stays.
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

// move gives the node a label. The argument then is a function that is called when
// YARN has confirmed the label.
func (n *node) move(label string, then func()) {
	if n.core.acts {
		n.core.moves.set(n, move{label: label, then: then})
	}
}

// moveAgain sends the node's last label to YARN again, unless a newer label waits to
// be sent.
func (n *node) moveAgain() {
	if _, waits := n.core.moves.to[n]; !waits {
		n.core.moves.set(n, move{label: n.sent, again: true})
	}
}

// flush sends the collected label changes to YARN. If an earlier call that changes
// labels is still under way, flush first waits for it, for overtakeAfter at most. Where many jobs run, it
// collects changes for longer.
func (m *moves) flush() {
	c := m.core
	if len(m.to) == 0 || c.trouble != "" {
		return
	}
	if wait := overtakeAfter - c.now.Sub(m.since); m.calls > 0 && wait > 0 {
		m.wake.in(wait)
		return
	}
	if wait := m.next.Sub(c.now); wait > 0 {
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
		m.next = c.now.Add(c.pause(c.running()/manyJobs, m.since))
		m.answered(number, batch, err)
	})
}

// answered handles the result of a call that changes labels. It sends a node's label
// again if the call failed, or if a later call for that node was sent before this
// result came: YARN may have carried out the two calls in either order. Setting a label
// twice does no harm.
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

// watchNodes asks YARN for all nodes at intervals. It finds nodes that were lost or
// came back, and nodes with a wrong label.
func (c *Core) watchNodes() {
	ask(c, Look{What: AskNodes, Limit: 20 * time.Second}, func(list []yarnclient.Node, sent time.Time, err error) {
		c.watching.nodes.in(max(500*time.Millisecond, c.pause(20, sent)))
		switch {
		case err != nil:
			c.failed("list nodes", err)
		case c.trouble == "" && len(list) > 0:
			for _, info := range list {
				if n := c.byID[info.ID]; n != nil && info.State == "RUNNING" && sent.After(c.restartedAt) {
					n.registered()
				}
			}
			c.sawNodes(list, sent)
		}
	})
}

func (c *Core) sawNodes(list []yarnclient.Node, sent time.Time) {
	used := map[*node]int64{}
	for _, j := range c.jobs {
		for _, x := range j.live {
			used[x.node] += int64(j.size[x.kind].MemoryMB)
		}
	}
	listed := map[*node]bool{}
	for _, info := range list {
		n := c.sawState(info)
		listed[n] = true
		if n == nil || !n.up || n.active != nil {
			continue
		}
		// Memory used by other applications is taken off the node's capacity only when
		// two node lists in a row agree on its amount: a single list may be older or
		// newer than steering's list of containers.
		foreign := max(0, info.UsedMB-used[n])
		if foreign == n.foreignMB || foreign == 0 {
			n.othersMB = foreign
			if n.limitRoom() {
				n.offer()
			}
		}
		n.foreignMB = foreign
		n.size.saw(info.Total, sent)
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

// sawState handles whether a listed node runs, and its label. It returns the node, or nil
// if steering has no use for it.
func (c *Core) sawState(info yarnclient.Node) *node {
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
		n.size.registered(n.size.full)
		n.size.follow()
		c.state.NodeUp(n.id)
		n.move(idleLabel, n.offer)
	case running && n.active == nil && len(c.moves.to) == 0 && c.moves.calls == 0 && info.Label() != n.label:
		// Either a call that changes the node's label timed out and took effect
		// later, or somebody else has set the label.
		c.log(Warn, "a node has another label than it was given; it is parked again", "node", n.name, "label", info.Label(), "given", n.label)
		n.move(idleLabel, nil)
	}
	return n
}

// missingFor is how long a node may take to register with a restarted
// ResourceManager; after that it counts as lost.
const missingFor = 10 * time.Second

// cameBackAs returns the lost node that, by YARN's description in info, has registered
// again under another port; nil if there is no such node.
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
	n.yarn = info.ID
	n.size.registered(info.Total)
	c.byID[n.yarn] = n
	return n
}

// lost notes that YARN has lost the node, and cancels the decisions that wait for it.
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
