package lanes

import (
	"strconv"

	"heddle/traces"
)

// marked takes faults and changes of nodes into account.
func (c *collector) marked(e traces.Event, t int64) {
	switch e := e.(type) {
	case *traces.Note:
		c.mark(mark{what: "note", node: unknown, from: t, to: t, text: e.Text})
	case *traces.NodeDown:
		i := c.node(e.Node)
		c.open(mark{what: "down", node: i, from: t, to: unknown, text: e.Reason})
		if up, ok := c.up[i]; ok && up == t { // found lost when it came back, which stands first
			c.close("down", i, t)
		}
	case *traces.NodeUp:
		i := c.node(e.Node)
		n := &c.d.nodes[i]
		if e.Rack != "" {
			n.rack = e.Rack
		}
		if e.MemoryBytes > 0 {
			n.mib = e.MemoryBytes >> 20
		}
		c.close("down", i, t)
		c.up[i] = t
	case *traces.NodeSpeed:
		i := c.node(e.Node)
		c.close("slow", i, t)
		if e.Speed != 1 && e.Speed >= 0 && e.Speed < 1e6 {
			c.open(mark{what: "slow", node: i, from: t, to: unknown, share: e.Speed, text: "runs at " +
				strconv.FormatFloat(e.Speed, 'g', 3, 64) + " of its speed"})
		}
	case *traces.NodeCapacity:
		i := c.node(e.Node)
		c.close("capacity", i, t)
		mib := e.MemoryBytes >> 20
		if whole := c.d.nodes[i].mib; mib < whole && mib >= 0 {
			c.open(mark{
				what: "capacity", node: i, from: t, to: unknown, share: float64(mib) / float64(whole),
				text: strconv.FormatInt(mib, 10) + " of " + strconv.FormatInt(whole, 10) + " MiB left for containers",
			})
		}
	}
}

// lasting is a mark of a node that has no end yet.
type lasting struct {
	what string
	node int32
}

// open adds a mark that lasts until it is closed.
func (c *collector) open(m mark) {
	c.close(m.what, m.node, m.from)
	if c.mark(m) {
		c.lasting[lasting{m.what, m.node}] = len(c.d.marks) - 1
	}
}

// mark adds a mark, and reports false if there are too many.
func (c *collector) mark(m mark) bool {
	if len(c.d.marks) == mostMarks {
		c.d.moreMarks++
		return false
	}
	c.d.marks = append(c.d.marks, m)
	return true
}

func (c *collector) close(what string, n int32, t int64) {
	if i, ok := c.lasting[lasting{what, n}]; ok {
		c.d.marks[i].to = t
		delete(c.lasting, lasting{what, n})
	}
}
