package lanes

import (
	"math"
	"slices"

	"heddle/traces"
)

// A span is the time that a container is taken on a node.
type span struct {
	node     int32
	from, to int64
}

// lanes returns the lane of each bar and of each master: the lowest of its node in which
// the one before has ended. Both are in the order of their starts. Where nodes have slots for
// maps and for reduces, the first lanes are those of maps, and those of reduces follow; what
// finds no slot, such as a master, is below.
func lanes(d *data) (bars, masters []int64) {
	free := make([][]int64, len(d.nodes)) // for each lane of a node, when it is free
	maps, all := int(d.KindSlots[0]), int(d.KindSlots[0]+d.KindSlots[1])
	put := func(s span, first, last int) int64 {
		lanes := free[s.node]
		if len(lanes) < all {
			lanes = append(lanes, make([]int64, all-len(lanes))...)
			for i := range lanes {
				lanes[i] = math.MinInt64
			}
		}
		k := slices.IndexFunc(lanes[first:last], func(t int64) bool { return t <= s.from })
		if k += first; k < first {
			k = slices.IndexFunc(lanes[all:], func(t int64) bool { return t <= s.from })
			if k += all; k < all {
				k = len(lanes)
				lanes = append(lanes, 0)
			}
		}
		free[s.node] = lanes
		// What has no length takes its lane for 1 ms, so that bars never hide each other.
		free[s.node][k] = max(s.to, s.from+1)
		return int64(k)
	}
	upTo := func(t int64) {
		for len(masters) < len(d.masters) && d.masters[len(masters)].from <= t {
			m := d.masters[len(masters)]
			masters = append(masters, put(span{m.node, m.from, m.to}, all, all))
		}
	}
	for _, b := range d.bars {
		upTo(b.from)
		first, last := 0, maps
		if b.kind == traces.Reduce {
			first, last = maps, all
		}
		bars = append(bars, put(span{b.node, b.from, b.to}, first, last))
	}
	upTo(d.To)
	return bars, masters
}

// countSlots sets how many containers each worker could hold at the start. There is no
// such number if the trace has no sizes of nodes or containers.
func (c *collector) countSlots() {
	d := &c.d
	least := int64(0) // size of the smallest container
	for _, j := range d.jobs {
		for _, mib := range j.containerMiB {
			if mib > 0 && (least == 0 || mib < least) {
				least = mib
			}
		}
	}
	most := int64(c.header.MapSlots + c.header.ReduceSlots)
	holds := func(mib int64) int64 {
		switch {
		case mib <= 0 || least == 0 && most == 0:
			return 0
		case least == 0:
			return most
		case most == 0:
			return mib / least
		}
		return min(most, mib/least)
	}
	d.KindSlots = c.kindSlots(most, least)
	for i, n := range d.nodes {
		if n.worker && n.slots == 0 { // an executor of Spark has as many as cores
			d.nodes[i].slots = holds(c.sizes[i])
		}
	}
}

// mostKindSlots bounds the slots of a node that have lanes of their own.
const mostKindSlots = 64

// kindSlots returns how many slots for maps and for reduces each worker has: those of the
// header, if the memory of all workers holds as many of the smallest containers. Otherwise
// memory is what limits, and nobody can say which kind its room is for: 0 and 0.
func (c *collector) kindSlots(most, least int64) [2]int64 {
	for i, n := range c.d.nodes {
		if n.worker && least > 0 && c.sizes[i] > 0 && c.sizes[i]/least < most {
			return [2]int64{}
		}
	}
	if most > mostKindSlots {
		return [2]int64{}
	}
	return [2]int64{int64(c.header.MapSlots), int64(c.header.ReduceSlots)}
}
