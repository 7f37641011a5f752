package explain

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"heddle/harness/state"
	"heddle/traces"
)

// node is a node with what it had free over time.
type node struct {
	name    traces.Node
	rack    string
	bytes   int64
	vcores  int32
	cores   float64
	worker  bool
	disk    int64 // bytes per second; 0: not known
	link    int64
	lost    []traces.Time
	sizes   []size // of its capacity
	slow    []slowSpan
	masters []masterSpan
	ran     []*attempt // by start
	free    []level    // by time
	busy    *sharing
}

// size is what a node has from a time on.
type size struct {
	t      traces.Time
	down   bool
	set    bool // to these
	bytes  int64
	vcores int32
}

type slowSpan struct {
	from  traces.Time
	speed float64
}

// masterSpan is the time in which an ApplicationMaster took room.
type masterSpan struct {
	from, to traces.Time
	bytes    int64
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

// mostSizes is for how many sizes of containers room is looked for.
const mostSizes = 16

func (w *world) changed(e traces.Event, now traces.Time) {
	switch e := e.(type) {
	case *traces.NodeUp:
		n := w.node(e.Node)
		if e.MemoryBytes > 0 && n.bytes == 0 {
			n.bytes, n.vcores = e.MemoryBytes, e.VCores
		}
		if e.Rack != "" {
			n.rack = e.Rack
		}
		n.sizes = append(n.sizes, size{t: now})
	case *traces.NodeDown:
		n := w.node(e.Node)
		n.lost = append(n.lost, now)
		n.sizes = append(n.sizes, size{t: now, down: true})
	case *traces.NodeCapacity:
		n := w.node(e.Node)
		n.sizes = append(n.sizes, size{now, false, true, e.MemoryBytes, e.VCores})
	case *traces.NodeSpeed:
		n := w.node(e.Node)
		n.slow = append(n.slow, slowSpan{now, e.Speed})
	}
}

// lostIn returns when the node was lost last in a time; -1<<60: it was not.
func (n *node) lostIn(from, to traces.Time) traces.Time {
	for i := len(n.lost) - 1; i >= 0; i-- {
		if t := n.lost[i]; t <= to && t >= from {
			return t
		}
	}
	return -1 << 60
}

// mastered ends the time in which an ApplicationMaster of a job takes room.
func (w *world) mastered(j *job, now traces.Time) {
	if j.masterOn != nil && len(j.masters) > 0 {
		from := j.masters[len(j.masters)-1]
		if len(j.masters) > 1 && from == now {
			from = j.masters[len(j.masters)-2]
		}
		j.masterOn.masters = append(j.masterOn.masters, masterSpan{from, now, j.masterBytes})
	}
	j.masterOn = nil
}

// need is what the container of an attempt takes. A speculative one takes no slot.
func (w *world) need(a *attempt) state.Amounts {
	if w.byCount {
		return state.Amounts{1}
	}
	n, j, kind := state.Amounts{}, a.job, a.id.Kind
	n[0] = j.bytes[kind&1]
	if w.countsCores() {
		n[1] = int64(max(1, j.vcores[kind&1]))
	}
	if !a.speculative && !a.master && (w.header.MapSlots > 0 || w.header.ReduceSlots > 0) {
		n[2+kind&1] = 1
	}
	return n
}

func (w *world) countsCores() bool {
	return w.header.Origin == traces.Simulated ||
		strings.HasSuffix(w.header.Settings["yarn.scheduler.capacity.resource-calculator"], "DominantResourceCalculator")
}

// capacity is what a node has for containers.
func (w *world) capacity(bytes int64, vcores int32) state.Amounts {
	const uncounted = math.MaxInt64 / 4
	a := state.Amounts{min(bytes, uncounted), uncounted, uncounted, uncounted}
	if w.countsCores() && vcores > 0 {
		a[1] = int64(vcores)
	}
	if w.header.MapSlots > 0 || w.header.ReduceSlots > 0 {
		a[2], a[3] = int64(w.header.MapSlots), int64(w.header.ReduceSlots)
	}
	return a
}

// rooms finds out what each node had free over time.
func (w *world) rooms() {
	for _, a := range w.ends {
		if a.node.name == "" {
			w.byCount = true
		}
		a.node.ran = append(a.node.ran, a)
		w.byCount = w.byCount || a.node.bytes <= 0 || a.job.bytes[a.id.Kind&1] <= 0
	}
	for _, n := range w.names {
		slices.SortStableFunc(n.ran, func(a, b *attempt) int { return cmp.Compare(a.start, b.start) })
		n.level(w)
	}
}

// delta is a change of what a node has free.
type delta struct {
	t     traces.Time
	by    state.Amounts
	start *attempt // an attempt that starts then
}

// level fills the node's list of what was free.
func (n *node) level(w *world) {
	var list []delta
	none := state.Amounts{}
	for _, a := range n.ran {
		need := w.need(a)
		list = append(list, delta{a.end, need, nil}, delta{a.start, none.Minus(need), a})
	}
	now := w.capacity(n.bytes, n.vcores)
	if w.byCount {
		now = state.Amounts{n.peak(), math.MaxInt64 / 4, math.MaxInt64 / 4, math.MaxInt64 / 4}
	} else {
		for _, m := range n.masters {
			by := state.Amounts{m.bytes}
			list = append(list, delta{m.from, none.Minus(by), nil}, delta{m.to, by, nil})
		}
		now = n.held(now, list)
	}
	list = append(list, n.resized(w, now)...)
	slices.SortStableFunc(list, func(a, b delta) int {
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(b2i(a.start != nil), b2i(b.start != nil)))
	})
	n.free = append(n.free, level{-1 << 60, now})
	for _, d := range list {
		last := &n.free[len(n.free)-1]
		if last.t != d.t {
			n.free = append(n.free, level{d.t, last.free})
			last = &n.free[len(n.free)-1]
		}
		last.free = last.free.Minus(none.Minus(d.by))
		if d.start != nil {
			n.reserve(w, d.start)
		}
	}
}

// held returns what the node has, or as much as its containers took at once, if the trace
// says that it has less, and its size never changed.
func (n *node) held(has state.Amounts, list []delta) state.Amounts {
	if len(n.sizes) > 0 {
		return has
	}
	slices.SortStableFunc(list, func(a, b delta) int {
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(b2i(a.start != nil), b2i(b.start != nil)))
	})
	least, free := has, has
	for _, d := range list {
		free = free.Minus(state.Amounts{}.Minus(d.by))
		for i := range free {
			least[i] = min(least[i], free[i])
		}
	}
	for i := range has {
		has[i] -= min(0, least[i])
	}
	return has
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// peak is how many attempts ran at once, at most.
func (n *node) peak() int64 {
	var ends []traces.Time
	for _, a := range n.ran {
		ends = append(ends, a.end)
	}
	slices.Sort(ends)
	ended, most := 0, 0
	for i, a := range n.ran {
		for ended < len(ends) && ends[ended] <= a.start {
			ended++
		}
		most = max(most, i+1-ended)
	}
	return int64(most)
}

// resized lists the changes of the node's capacity.
func (n *node) resized(w *world, has state.Amounts) (list []delta) {
	whole, now := has, has
	for _, x := range n.sizes {
		next := whole
		switch {
		case x.down:
			next = state.Amounts{}
		case x.set && !w.byCount:
			whole = w.capacity(x.bytes, x.vcores)
			next = whole
		}
		list = append(list, delta{x.t, next.Minus(now), nil})
		now = next
	}
	return list
}

// reserve counts the room of an attempt that starts now, at the end of the list, as taken from when
// there was room for it: it was on its way. It does so for the time of a hand-over at most
// before the start, or before the decision if that is known.
func (n *node) reserve(w *world, a *attempt) {
	given, known := w.bound[a.id]
	if known = known && given <= a.start; !known {
		given = a.start
	}
	least := max(given-handOverMost, a.asked)
	need := w.need(a)
	i := len(n.free) - 1
	a.from = n.free[i].t
	for i > 0 && n.free[i].t > least && n.free[i-1].free.Holds(&need) {
		i--
		a.from = max(n.free[i].t, least)
	}
	if a.from < n.free[len(n.free)-1].t {
		if n.free[i].t < a.from {
			n.free = slices.Insert(n.free, i+1, level{a.from, n.free[i].free})
			i++
		}
		for ; n.free[i].t < a.start; i++ {
			n.free[i].free = n.free[i].free.Minus(need)
		}
	}
	if known {
		a.from = min(a.from, max(given, a.asked))
	}
}

// fullSpans lists the times in which no worker has room for a container.
func (w *world) fullSpans(need state.Amounts) []span {
	if list, ok := w.full[need]; ok {
		return list
	}
	if len(w.full) >= mostSizes {
		return nil
	}
	type flip struct {
		t  traces.Time
		by int
	}
	var flips []flip
	for _, n := range w.names {
		if !n.worker || len(n.ran) == 0 && (w.byCount || n.bytes <= 0) {
			continue
		}
		had := false
		for _, l := range n.free {
			if has := l.free.Holds(&need); has != had {
				flips = append(flips, flip{l.t, b2i(has) - b2i(had)})
				had = has
			}
		}
	}
	slices.SortStableFunc(flips, func(a, b flip) int { return cmp.Compare(a.t, b.t) })
	list := []span{}
	open, since := 0, traces.Time(-1<<60)
	for i := 0; i < len(flips); {
		t, before := flips[i].t, open
		for ; i < len(flips) && flips[i].t == t; i++ {
			open += flips[i].by
		}
		switch {
		case before == 0 && open > 0 && t > since:
			list = append(list, span{since, t})
		case before > 0 && open == 0:
			since = t
		}
	}
	if open == 0 {
		list = append(list, span{since, 1 << 60})
	}
	w.full[need] = list
	return list
}

// roomSince returns from when on, up to t, some worker had room for a container all the time. It is t if
// none had right before t.
func (w *world) roomSince(need state.Amounts, t traces.Time) traces.Time {
	list := w.fullSpans(need)
	i, _ := slices.BinarySearchFunc(list, t, func(s span, t traces.Time) int { return cmp.Compare(s.from, t) })
	if i == 0 {
		return -1 << 60
	}
	return min(list[i-1].to, t)
}
