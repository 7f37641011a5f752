package lanes

import (
	"strconv"

	"heddle/traces"
	"heddle/traces/printable"
)

// marked takes faults and changes of nodes into account.
func (c *collector) marked(e traces.Event, t int64) {
	switch e := e.(type) {
	case *traces.Note:
		c.mark(mark{What: "note", Node: unknown, From: t, To: t, Text: e.Text})
	case *traces.NodeDown:
		i := c.node(e.Node)
		c.open(mark{What: "down", Node: i, From: t, To: unknown, Text: e.Reason})
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
			c.open(mark{What: "slow", Node: i, From: t, To: unknown, Share: e.Speed, Text: "runs at " +
				strconv.FormatFloat(e.Speed, 'g', 3, 64) + " of its speed"})
		}
	case *traces.NodeCapacity:
		i := c.node(e.Node)
		c.close("capacity", i, t)
		mib := e.MemoryBytes >> 20
		if whole := c.d.nodes[i].mib; mib < whole && mib >= 0 {
			c.open(mark{
				What: "capacity", Node: i, From: t, To: unknown, Share: float64(mib) / float64(whole),
				Text: strconv.FormatInt(mib, 10) + " of " + strconv.FormatInt(whole, 10) + " MiB left for containers",
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
	c.close(m.What, m.Node, m.From)
	if c.mark(m) {
		c.lasting[lasting{m.What, m.Node}] = len(c.d.Marks) - 1
	}
}

// mark adds a mark, and reports false if there are too many.
func (c *collector) mark(m mark) bool {
	if len(c.d.Marks) == mostMarks {
		c.d.MoreMarks++
		return false
	}
	m.Text = printable.Line(m.Text)
	c.d.Marks = append(c.d.Marks, m)
	return true
}

func (c *collector) close(what string, n int32, t int64) {
	if i, ok := c.lasting[lasting{what, n}]; ok {
		c.d.Marks[i].To = t
		delete(c.lasting, lasting{what, n})
	}
}
