package lanes

import (
	"cmp"
	"slices"
)

// A span is the time that a container is taken on a node.
type span struct {
	node     int32
	from, to int64
}

// lanes returns the lane of each bar and of each master: the lowest of its node in which
// the one before has ended. Both are in the order of their starts.
func lanes(d *data) (bars, masters []int64) {
	free := make([][]int64, len(d.nodes)) // for each lane of a node, when it is free
	put := func(s span) int64 {
		k := slices.IndexFunc(free[s.node], func(t int64) bool { return t <= s.from })
		if k < 0 {
			k = len(free[s.node])
			free[s.node] = append(free[s.node], 0)
		}
		// What has no length takes its lane for 1 ms, so that bars never hide each other.
		free[s.node][k] = max(s.to, s.from+1)
		return int64(k)
	}
	upTo := func(t int64) {
		for len(masters) < len(d.masters) && d.masters[len(masters)].from <= t {
			m := d.masters[len(masters)]
			masters = append(masters, put(span{m.node, m.from, m.to}))
		}
	}
	for _, b := range d.bars {
		upTo(b.from)
		bars = append(bars, put(span{b.node, b.from, b.to}))
	}
	upTo(d.to)
	return bars, masters
}

// countSlots sets how many containers the workers could hold at each time. There is no
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
	now := make([]int64, len(d.nodes))
	total := int64(0)
	for i, n := range d.nodes {
		if n.worker {
			now[i] = holds(c.sizes[i])
			d.nodes[i].slots = now[i]
			total += now[i]
		}
	}
	if total == 0 {
		return
	}
	d.slots = []step{{d.from, total}}
	slices.SortStableFunc(c.memory, func(a, b memory) int { return cmp.Compare(a.t, b.t) })
	for _, m := range c.memory {
		if !d.nodes[m.node].worker {
			continue
		}
		total += holds(m.mib) - now[m.node]
		now[m.node] = holds(m.mib)
		if k := len(d.slots) - 1; d.slots[k].t == m.t {
			d.slots[k].n = total
		} else {
			d.slots = append(d.slots, step{m.t, total})
		}
	}
}
