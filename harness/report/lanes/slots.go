package lanes

import (
	"cmp"
	"slices"
)

// lanes returns the lane of each bar: the lowest of its node in which the bar before has
// ended. Bars are in the order of their starts.
func lanes(bars []bar, nodes int) []int64 {
	free := make([][]int64, nodes) // for each lane of a node, when it is free
	list := make([]int64, len(bars))
	for i, b := range bars {
		k := slices.IndexFunc(free[b.node], func(t int64) bool { return t <= b.from })
		if k < 0 {
			k = len(free[b.node])
			free[b.node] = append(free[b.node], 0)
		}
		// An attempt of no length takes its lane for 1 ms, so that bars never hide each other.
		free[b.node][k] = max(b.to, b.from+1)
		list[i] = int64(k)
	}
	return list
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
