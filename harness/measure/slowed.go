package measure

import (
	"fmt"
	"math"
	"time"

	"heddle/harness/doc"
	"heddle/traces"
)

// Slowed says how many attempts started on a node that a fault made slow, and on the
// others.
type Slowed struct {
	Node   traces.Node `json:"node"`
	AtMs   float64     `json:"atMs"` // from the trace's start
	Speed  float64     `json:"speed"`
	Before Starts      `json:"before"` // until then
	// Minutes are the starts in each of the minutes after it, five at most.
	Minutes []Starts `json:"minutes"`
}

// Starts counts attempts that started on one node, and in the mean on each of the other
// workers that were not slow.
type Starts struct {
	Own    float64 `json:"own"`
	Others float64 `json:"others"`
}

// slowedMinutes is for how many minutes after a node became slow starts are counted.
const slowedMinutes = 5

// slowed notes that the speed of a node changed. A speed below 0 is none.
func (c *Collector) slowed(e *traces.NodeSpeed) {
	n := c.node(e.Node)
	if n.slow = e.Speed >= 0 && e.Speed < 1; !n.slow || len(c.figures.Slowed) == mostSlowed {
		return
	}
	x := Slowed{Node: e.Node, AtMs: ms(e.T), Speed: e.Speed}
	for _, other := range c.figures.Nodes {
		x.Before.add(n, other, float64(other.Attempts))
	}
	c.figures.Slowed = append(c.figures.Slowed, x)
}

// mostSlowed is the largest number of changes that are counted: each costs time at every
// start that follows.
const mostSlowed = 100

// startedAfter counts the start of an attempt for each node that became slow before.
func (c *Collector) startedAfter(on *Node, t traces.Time) {
	for i := range c.figures.Slowed {
		x := &c.figures.Slowed[i]
		minute := int((ms(t) - x.AtMs) / float64(time.Minute.Milliseconds()))
		if minute < 0 || minute >= slowedMinutes {
			continue
		}
		for len(x.Minutes) <= minute {
			x.Minutes = append(x.Minutes, Starts{})
		}
		x.Minutes[minute].add(c.node(x.Node), on, 1)
	}
}

// add counts starts on a node: as the slow node's own, or as those of another worker.
func (s *Starts) add(slow, on *Node, starts float64) {
	switch {
	case on == slow:
		s.Own += starts
	case on.worker && !on.slow:
		s.Others += starts
	}
}

// endSlowed divides the starts of the other workers by their number.
func (f *Figures) endSlowed() {
	others := 0.0
	for _, n := range f.Nodes {
		if n.worker && !n.slow {
			others++
		}
	}
	others = max(others, 1)
	for i := range f.Slowed {
		x := &f.Slowed[i]
		x.Before.Others /= others
		for k := range x.Minutes {
			x.Minutes[k].Others /= others
		}
	}
}

// slowedStarts is the starts on slow nodes over those on each of the others, in the
// second and the third minute after they became slow.
func slowedStarts(list []*Figures) float64 {
	var sum Starts
	for _, f := range list {
		for i := range f.Slowed {
			for k, x := range f.Slowed[i].Minutes {
				if k == 1 || k == 2 {
					sum.Own, sum.Others = sum.Own+x.Own, sum.Others+x.Others
				}
			}
		}
	}
	if sum.Others == 0 {
		return math.NaN()
	}
	return sum.Own / sum.Others
}

// slowedTable returns the starts on slow nodes for people to read.
func slowedTable(list []Slowed) doc.Doc {
	t := doc.NewTable("slowed", "slow node", "speed", "starts on it", "on each other", "ratio")
	for i := range list {
		x := &list[i]
		for k, s := range append([]Starts{x.Before}, x.Minutes...) {
			when, speed := fmt.Sprintf("%s, minute %d", x.Node, k), doc.Fixed(x.Speed, 2, "")
			if k == 0 {
				when, speed = fmt.Sprintf("%s, until %.0f s", x.Node, x.AtMs/1000), doc.Words("1")
			}
			t.Add(when, speed, doc.Fixed(s.Own, 0, ""), doc.Fixed(s.Others, 1, ""), doc.Known(s.Others > 0, doc.Fixed(s.Own/s.Others, 2, "")))
		}
	}
	return doc.Doc{t}
}
