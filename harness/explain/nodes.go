package explain

import (
	"cmp"
	"slices"
	"sort"

	"heddle/harness/state"
	"heddle/traces"
)

// node is a node with what it had free over time.
type node struct {
	traces.NodeFacts
	disk, link int64 // bytes per second; 0: not known
	slowed     []traces.Time
	losses     []*attempt
	sizes      []traces.NodeCapacity
	ran        []*attempt
	free       []level // by time
	busy       *sharing
}

// level is what a node had free from a time on.
type level struct {
	t    traces.Time
	free state.Amounts
}

type span struct{ from, to traces.Time }

// handOverMost is how long it may take, after there is room for a container, until a task
// runs in it: one heartbeat of the NodeManager and one of the ApplicationMaster, 1 s each by
// Hadoop's default, and the launch.
const handOverMost = traces.Time(3e9)

func (w *Reader) changed(e traces.Event, now traces.Time) {
	switch e := e.(type) {
	case *traces.NodeUp:
		n := w.node(e.Node)
		if e.MemoryBytes > 0 && n.MemoryBytes == 0 {
			n.MemoryBytes, n.VCores = e.MemoryBytes, e.VCores
		}
		n.Rack = cmp.Or(e.Rack, n.Rack)
		if i := len(n.losses) - 1; i >= 0 {
			n.losses[i].end = min(n.losses[i].end, now)
		}
	case *traces.NodeDown:
		n := w.node(e.Node)
		if i := len(n.losses) - 1; i < 0 || n.losses[i].end <= now {
			x := &attempt{node: n, lost: true, need: state.Amounts{state.Unlimited}, start: now, from: now, end: -never}
			n.losses, w.takers = append(n.losses, x), append(w.takers, x)
		}
	case *traces.NodeCapacity:
		n := w.node(e.Node)
		n.sizes = append(n.sizes, traces.NodeCapacity{T: now, MemoryBytes: e.MemoryBytes, VCores: e.VCores})
	case *traces.NodeSpeed:
		if n := w.node(e.Node); e.Speed >= 0 && e.Speed < 1 {
			n.slowed = append(n.slowed, now)
		}
	}
}

// lostIn returns when the node was lost last in a time; never: it was not.
func (n *node) lostIn(from, to traces.Time) traces.Time {
	for _, x := range slices.Backward(n.losses) {
		if x.start >= from && x.start <= to {
			return x.start
		}
	}
	return never
}

// needs is what the container of an attempt takes. A speculative one takes no slot.
func (w *Reader) needs(a *attempt) state.Amounts {
	if w.byCount {
		return state.Amounts{1}
	}
	kind := a.id.Kind & 1
	n := state.Amounts{a.job.bytes[kind]}
	if w.header.CountsCores() {
		n[1] = int64(max(1, a.job.vcores[kind]))
	}
	if !a.speculative && !a.master && (w.header.MapSlots > 0 || w.header.ReduceSlots > 0) {
		n[2+kind] = 1
	}
	return n
}

// fill finds out what each node had free over time.
func (w *Reader) fill() {
	for _, a := range w.ends {
		a.node.ran = append(a.node.ran, a)
		w.byCount = w.byCount || a.node.MemoryBytes <= 0 || a.job.bytes[a.id.Kind&1] <= 0
	}
	changes := map[*node][]change{}
	for _, a := range w.takers {
		if a.isAttempt() {
			a.need = w.needs(a)
		}
		if !a.master || !w.byCount {
			changes[a.node] = append(changes[a.node], change{a.start, a.need, a}, change{a.end, state.Amounts{}.Minus(a.need), nil})
		}
	}
	for _, n := range w.names {
		n.fill(w, changes[n])
	}
}

// change is a change of what is taken of a node.
type change struct {
	t     traces.Time
	takes state.Amounts // negative: gives back
	a     *attempt      // what takes it from then on
}

// fill fills the list of what the node had free. A node of which the trace says nothing, or less than was
// taken at once, has as much as that.
func (n *node) fill(w *Reader, list []change) {
	has := state.Capacity(w.header, n.MemoryBytes, n.VCores)
	if w.byCount {
		has = state.Amounts{0, state.Unlimited, state.Unlimited, state.Unlimited}
	} else {
		was := has
		for _, x := range n.sizes {
			is := state.Capacity(w.header, x.MemoryBytes, x.VCores)
			list = append(list, change{x.T, was.Minus(is), nil})
			was = is
		}
	}
	slices.SortStableFunc(list, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(b2i(a.a != nil), b2i(b.a != nil)))
	})
	if free := has; w.byCount || len(n.sizes) == 0 {
		for _, c := range list {
			if c.takes[0] > -state.Unlimited && c.takes[0] < state.Unlimited { // no loss of the node
				free = free.Minus(c.takes)
			}
			for i, x := range free {
				has[i], free[i] = has[i]-min(0, x), max(0, x)
			}
		}
	}
	n.free = []level{{never, has}}
	for _, c := range list {
		last := n.free[len(n.free)-1]
		if last.t != c.t {
			n.free = append(n.free, level{c.t, last.free})
		}
		n.free[len(n.free)-1].free = last.free.Minus(c.takes)
		if c.a != nil && c.a.isAttempt() {
			n.reserve(w, c.a)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reserve counts the room of an attempt that starts now, at the end of the list, as taken from when
// there was room for it: it was on its way. It does so for the time of a hand-over at most
// before the start, or before the decision if that is known.
func (n *node) reserve(w *Reader, a *attempt) {
	given, known := w.bound[a.id]
	if known = known && given <= a.start; !known {
		given = a.start
	}
	least := min(a.start, max(given-handOverMost, a.asked))
	i := len(n.free) - 1
	for n.free[i].t > least && n.free[i-1].free.Holds(&a.need) {
		i--
	}
	if a.from = max(n.free[i].t, least); n.free[i].t < a.from {
		n.free = slices.Insert(n.free, i+1, level{a.from, n.free[i].free})
		i++
	}
	for ; n.free[i].t < a.start; i++ {
		n.free[i].free = n.free[i].free.Minus(a.need)
	}
	if known {
		a.from = min(a.from, max(given, a.asked))
	}
}

// roomSince returns since when, up to t, some worker had room for a container all the time. It is t if
// none had right before t.
func (w *Reader) roomSince(need state.Amounts, t traces.Time) traces.Time {
	list, ok := w.rooms[need]
	if !ok && len(w.rooms) < mostSizes {
		list = w.roomFor(&need)
		w.rooms[need] = list
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].from >= t })
	if i > 0 && list[i-1].to >= t {
		return list[i-1].from
	}
	return t
}

// mostSizes is for how many sizes of containers room is looked for.
const mostSizes = 16

// roomFor lists the times in which some worker has room for a container.
func (w *Reader) roomFor(need *state.Amounts) (list []span) {
	var all []span
	for _, n := range w.names {
		if !n.Worker || len(n.ran) == 0 && (w.byCount || n.MemoryBytes <= 0) {
			continue
		}
		open := false
		for _, l := range append(n.free, level{t: -never}) {
			if open {
				all[len(all)-1].to = l.t
			}
			has := l.free.Holds(need)
			if has && !open {
				all = append(all, span{l.t, -never})
			}
			open = has
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range all {
		if i := len(list) - 1; i >= 0 && list[i].to >= s.from {
			list[i].to = max(list[i].to, s.to)
		} else {
			list = append(list, s)
		}
	}
	return list
}
