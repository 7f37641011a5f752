package recorded

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"heddle/harness/state"
	"heddle/traces"
)

// Foreign reports whether another tool recorded the trace. Such traces seldom say how large
// nodes and containers are.
func (t *Trace) Foreign() bool {
	return t.Header.Origin == traces.Imported || t.Header.Origin == traces.Recovered
}

// atOnce is the most that attempts used at the same time: of each of the trace's nodes, and
// in all of attempts whose node is not known.
type atOnce struct {
	nodes   []state.Resource
	unknown state.Resource
}

// measureAtOnce finds out how much attempts of another tool's trace used at the same time. Nodes
// of one kind count as the one of them that was used most. Starts that were made up tell
// nothing.
func (b *builder) measureAtOnce() {
	b.most = atOnce{nodes: make([]state.Resource, len(b.Nodes))}
	if !b.Foreign() || slices.Contains(b.Header.Synthetic, "schedule") {
		return
	}
	type change struct {
		t          traces.Time
		node       nodeIndex
		mb, vcores int64
	}
	var list []change
	for a := range b.attempts.all() {
		if j := b.jobs[a.job]; j != nil && a.End > a.Start {
			size := [2]state.Resource{sizeOf(j.MapMemoryBytes, j.MapVCores), sizeOf(j.ReduceMemoryBytes, j.ReduceVCores)}[a.Kind]
			mb, vcores := int64(size.MemoryMB), int64(size.VCores)
			list = append(list, change{a.Start, a.node, mb, vcores}, change{a.End, a.node, -mb, -vcores})
		}
	}
	slices.SortFunc(list, func(x, y change) int { return cmp.Or(cmp.Compare(x.t, y.t), cmp.Compare(x.mb, y.mb)) })
	used, most := make([]change, len(b.nodes)), make([]state.Resource, len(b.nodes))
	for _, c := range list {
		u, m := &used[c.node], &most[c.node]
		u.mb, u.vcores = u.mb+c.mb, u.vcores+c.vcores
		m.MemoryMB, m.VCores = max(m.MemoryMB, int32(min(u.mb, math.MaxInt32))), max(m.VCores, int32(min(u.vcores, math.MaxInt32)))
	}
	kinds := map[traces.NodeFacts]state.Resource{}
	kindOf := func(f traces.NodeFacts) traces.NodeFacts {
		f.Node, f.Rack = "", ""
		return f
	}
	for _, f := range b.Nodes {
		if n, ran := b.nodeOf[f.Node]; ran {
			kinds[kindOf(f)] = larger(kinds[kindOf(f)], most[n])
		}
	}
	for i, f := range b.Nodes {
		b.most.nodes[i] = kinds[kindOf(f)]
	}
	if n, ran := b.nodeOf[""]; ran {
		b.most.unknown = most[n]
	}
}

// Parallel reports whether two tasks of the trace could have run at once.
func (t *Trace) Parallel() bool {
	var end traces.Time
	return slices.ContainsFunc(t.Jobs, func(j *Job) bool {
		before := j.HasTasks() && j.T < end
		end = max(end, j.Finished)
		return before || len(j.Tasks[0]) > 1 || len(j.Tasks[1]) > 1
	})
}

func larger(a, b state.Resource) state.Resource {
	return state.Resource{MemoryMB: max(a.MemoryMB, b.MemoryMB), VCores: max(a.VCores, b.VCores)}
}

// usedAtOnce returns the most that attempts used at the same time of node i of a replay, which has
// so many nodes: what one of them ran at least, if the trace does not name the nodes.
func (t *Trace) usedAtOnce(i, nodes int) state.Resource {
	share := func(all int32) int32 { return int32((int64(all) + int64(nodes) - 1) / int64(nodes)) }
	least := state.Resource{MemoryMB: share(t.most.unknown.MemoryMB), VCores: share(t.most.unknown.VCores)}
	if len(t.most.nodes) == 0 {
		return least
	}
	return larger(least, t.most.nodes[i%len(t.most.nodes)])
}

// AssumedRoom says how much room the nodes of a replay are taken to have for containers, if
// the trace does not say it, or says less than it used; "" if it does.
func (t *Trace) AssumedRoom(c *Change, x []traces.NodeFacts) string {
	if c.Slots > 0 {
		return ""
	}
	lacks, seen := len(t.Nodes) == 0, false
	least, most := int64(math.MaxInt64), int64(0)
	for i, n := range x {
		known := len(t.Nodes) > 0 && t.Nodes[i%len(t.Nodes)].MemoryBytes>>20 > 0
		used := int64(t.usedAtOnce(i, len(x)).MemoryMB)
		if mb := n.MemoryBytes >> 20; !known || t.Nodes[i%len(t.Nodes)].MemoryBytes>>20 < mb {
			lacks, seen = true, seen || used == mb
			least, most = min(least, mb), max(most, mb)
		}
	}
	unknown := slices.ContainsFunc(t.Jobs, func(j *Job) bool {
		return j.MapMemoryBytes <= 0 && j.Maps > 0 || j.ReduceMemoryBytes <= 0 && j.Reduces > 0
	})
	switch {
	case !lacks && unknown:
		return fmt.Sprintf("containers of %d MB (--slots)", unknownMB)
	case !lacks:
		return ""
	}
	unit := "MB"
	if one := int64(t.container().MemoryMB); !slices.ContainsFunc(t.Jobs, func(j *Job) bool {
		return j.Maps > 0 && int64(sizeOf(j.MapMemoryBytes, 0).MemoryMB) != one ||
			j.Reduces > 0 && int64(sizeOf(j.ReduceMemoryBytes, 0).MemoryMB) != one
	}) {
		least, most, unit = least/one, most/one, "slots"
	}
	text := fmt.Sprintf("%d %s a node", most, unit)
	if least < most {
		text = fmt.Sprintf("%d to %d %s a node", least, most, unit)
	}
	if seen {
		text += ", as many as ran at once"
	}
	return text + " (--slots)"
}
