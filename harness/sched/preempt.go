package sched

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"heddle/harness/queues"
	"heddle/harness/state"
)

// Preempter is a model that takes containers from jobs. Simulations find out with As whether a
// model is one; on a real cluster YARN does it.
type Preempter interface {
	// PreemptMs returns the time between two calls of Preempt, in ms; 0: there are none.
	PreemptMs() int64
	// Preempt appends to out the containers that are ended now. running returns those of a job.
	Preempt(v *state.View, running func(state.JobID) []Container, out []Container) []Container
}

// Container is a container that runs.
type Container struct {
	ID      uint64 // that no other container of the run has
	Job     state.JobID
	Kind    state.Kind
	Master  bool // the job's ApplicationMaster is in it
	StartMs int64
}

// claim is what a queue is to have, in a round of preemption.
type claim struct {
	asked    state.Resource // what its jobs ask for, within the limits of their users
	unbooked state.Resource // of asked, for what no node is reserved
	ideal    state.Resource
	fixed    state.Resource // what it uses above its guarantee and nobody may take
	loose    state.Resource // what it uses above its guarantee and others may take
	excess   state.Resource // what it has too much
}

// PreemptMs implements Preempter.
func (m *tree) PreemptMs() int64 {
	if p := &m.file.Preemption; p.Enabled && !p.ObserveOnly {
		return p.IntervalMs
	}
	return 0
}

// Preempt implements Preempter.
//
// Rule. What is guaranteed to queues that need it less is divided among the others (share). What a
// leaf uses above its part is its excess. Some of that is chosen: of the newest jobs first, and of a
// job the newest maps, then reduces. A container that is still chosen after some time ends.
//
// Source. Hadoop 3.4.2 ProportionalCapacityPreemptionPolicy with FifoCandidatesSelector.
//
// Differs. Containers that have no task yet are not chosen.
func (m *tree) Preempt(v *state.View, running func(state.JobID) []Container, out []Container) []Container {
	m.follow(v)
	if !slices.ContainsFunc(m.all, m.mayLose) {
		return out
	}
	p := &m.file.Preemption
	m.allowed = queues.Times(m.total, p.PerRound)
	m.demand(v, m.root)
	m.root.ideal = m.root.Guaranteed
	m.divide(m.root)
	now := v.Now() / 1e6
	for _, b := range m.all {
		if !m.mayLose(b) || m.none(b.excess) {
			continue
		}
		for _, c := range m.choose(v, b, m.part(b.excess, float64(p.Part)), running) {
			at, known := m.chosen[c.ID]
			if !known {
				m.chosen[c.ID] = now
			} else if at+p.WaitMs <= now {
				delete(m.chosen, c.ID)
				out = append(out, c)
			}
		}
	}
	maps.DeleteFunc(m.chosen, func(_ uint64, at int64) bool { return at+2*p.WaitMs < now })
	return out
}

// mayLose reports whether a queue uses so much more than its guarantee that containers may be taken from it.
func (m *tree) mayLose(b *branch) bool {
	return len(b.children) == 0 && !b.NoPreemption && m.less(queues.Times(b.Guaranteed, 1+m.file.Preemption.Ignored), b.used)
}

// part returns a part of r, rounded up.
func (c *amounts) part(r state.Resource, by float64) state.Resource {
	if !c.dominant {
		return state.Resource{MemoryMB: int32(float64(r.MemoryMB)*by + 0.5), VCores: r.VCores}
	}
	up := func(n int32) int32 { return int32(math.Ceil(float64(float32(float64(n) * by)))) }
	return state.Resource{MemoryMB: up(r.MemoryMB), VCores: up(r.VCores)}
}

// positive returns r with 0 for what is below.
func positive(r state.Resource) state.Resource {
	return state.Resource{MemoryMB: max(0, r.MemoryMB), VCores: max(0, r.VCores)}
}

// demand finds what a queue asks for, and what it uses above its guarantee.
func (m *tree) demand(v *state.View, b *branch) {
	b.claim = claim{}
	if len(b.children) == 0 {
		m.demandLeaf(v, b)
	}
	for _, c := range b.children {
		m.demand(v, c)
		b.asked, b.unbooked, b.loose = b.asked.Add(c.asked), b.unbooked.Add(c.unbooked), b.loose.Add(c.loose)
	}
	above := m.max(b.used.Sub(b.Guaranteed), state.Resource{})
	switch {
	case len(b.children) == 0 && b.NoPreemption:
		b.fixed = above
	case len(b.children) == 0:
		b.loose = above
	case m.less(b.loose, above):
		b.fixed = above.Sub(b.loose)
	default:
		b.loose = above
	}
}

// demandLeaf adds up what the active jobs of a queue ask for.
func (m *tree) demandLeaf(v *state.View, b *branch) {
	type left struct{ asked, unbooked state.Resource }
	users := map[*treeUser]*left{}
	for _, id := range b.asking {
		j := m.jobs.Of(id)
		u := users[j.user]
		if u == nil {
			room := positive(m.userLimit(b, j.user).Sub(j.user.used))
			u = &left{room, room}
			users[j.user] = u
		}
		asks := times(v.ContainerSize(id, state.Map), v.Waiting(id, state.Map)).Add(times(v.ContainerSize(id, state.Reduce), v.Waiting(id, state.Reduce)))
		if j.waits {
			asks = asks.Add(j.master)
		}
		asked, unbooked := smallest(asks, u.asked), smallest(positive(asks.Sub(j.booked)), u.unbooked)
		u.asked, u.unbooked = u.asked.Sub(asked), u.unbooked.Sub(unbooked)
		b.asked, b.unbooked = b.asked.Add(asked), b.unbooked.Add(unbooked)
	}
}

// times returns the size of n containers, or enough for any cluster.
func times(size state.Resource, n int32) state.Resource {
	const enough = 1 << 28
	of := func(x int32) int32 { return int32(min(int64(x)*int64(n), enough)) }
	return state.Resource{MemoryMB: of(size.MemoryMB), VCores: of(size.VCores)}
}

// divide gives what a queue is to have to its children, and finds what these have too much.
func (m *tree) divide(b *branch) {
	var guaranteed, others []*branch
	for _, c := range b.children {
		if m.none(c.Guaranteed) {
			others = append(others, c)
		} else {
			guaranteed = append(guaranteed, c)
		}
	}
	m.share(others, m.share(guaranteed, b.ideal))
	var needed state.Resource
	for _, c := range b.children {
		needed = needed.Add(m.max(c.used.Sub(c.ideal), state.Resource{}))
	}
	scale := float32(1)
	if m.less(m.allowed, needed) {
		scale = m.ratio(m.allowed, needed)
	}
	for _, c := range b.children {
		least := m.max(m.min(c.used.Add(c.asked), c.Guaranteed), c.ideal)
		c.excess = queues.Times(m.max(c.used.Sub(least), state.Resource{}), scale)
		m.divide(c)
	}
}

// share divides what there is among queues: each gets what it uses within its guarantee, then the
// needier ones get parts of what is left by their guarantees. It returns what YARN takes to be left
// for queues without a guarantee: all but the first such part.
func (m *tree) share(list []*branch, left state.Resource) (rest state.Resource) {
	var needy []*branch
	for _, c := range list {
		c.ideal = c.used
		if m.less(c.Guaranteed, c.used) {
			c.ideal = smallest(c.Guaranteed, c.used).Add(c.fixed)
		}
		left = left.Sub(c.ideal)
		if m.less(c.ideal, c.used.Add(c.asked)) {
			needy = append(needy, c)
		}
	}
	rest = left
	for first := true; len(needy) > 0 && m.less(state.Resource{}, left); {
		slices.SortStableFunc(needy, m.compareNeed)
		var sum state.Resource
		for _, c := range needy {
			sum = sum.Add(c.Guaranteed)
		}
		n := 1
		for n < len(needy) && m.compareNeed(needy[n-1], needy[n]) == 0 {
			n++
		}
		all, offered := len(needy), left
		turn := slices.Clone(needy[:n])
		needy = needy[n:]
		for _, c := range turn {
			if m.none(left) {
				break
			}
			by := [2]float64{float64(1 / float32(all)), float64(1 / float32(all))}
			if !m.none(sum) {
				by[0] = float64(float32(c.Guaranteed.MemoryMB) / float32(max(1, sum.MemoryMB)))
				by[1] = float64(float32(c.Guaranteed.VCores) / float32(max(1, sum.VCores)))
			}
			part := state.Resource{MemoryMB: m.part(offered, by[0]).MemoryMB, VCores: m.part(offered, by[1]).VCores}
			got := m.accept(c, smallest(part, left))
			if left = left.Sub(got); first {
				first, rest = false, left
			}
			if left = positive(left); m.less(state.Resource{}, got) {
				needy = append(needy, c)
			}
		}
	}
	return rest
}

// compareNeed compares queues by what they have of what is guaranteed to them, the least first, and
// by priority if their parent does.
func (m *tree) compareNeed(x, y *branch) int {
	has := func(b *branch) float32 {
		if m.none(b.Guaranteed) {
			return math.MaxInt32
		}
		return m.ratio(b.ideal, b.Guaranteed)
	}
	hasX, hasY := has(x), has(y)
	if x.parent.ByPriority && x.Priority != y.Priority && (hasX < 1) == (hasY < 1) {
		return cmp.Compare(y.Priority, x.Priority)
	}
	return cmp.Compare(hasX, hasY)
}

// accept has a queue take as much as it can use of what is offered. A leaf takes no more than its
// guarantee, or what it uses.
func (m *tree) accept(b *branch, offered state.Resource) state.Resource {
	got := smallest(positive(b.Most.Sub(b.ideal)), m.min(offered, b.used.Add(b.unbooked).Sub(b.ideal)))
	if len(b.children) == 0 {
		got = m.min(got, m.max(m.max(b.used, b.Guaranteed).Sub(b.ideal), state.Resource{}))
	}
	got = smallest(positive(got), offered)
	b.ideal = b.ideal.Add(got)
	return got
}

// choose chooses containers of a queue. Nodes that are reserved for its jobs are given free first.
// ApplicationMasters come last, and only as far as they use more than their limit.
func (m *tree) choose(v *state.View, b *branch, wanted state.Resource, running func(state.JobID) []Container) (list []Container) {
	jobs := slices.DeleteFunc(slices.Clone(m.live), func(id state.JobID) bool {
		j := m.jobs.Of(id)
		return j.leaf != b || j.stage != stageActive
	})
	slices.SortFunc(jobs, func(x, y state.JobID) int {
		if usedX, usedY := m.jobs.Of(x).used.MemoryMB, m.jobs.Of(y).used.MemoryMB; b.Fair && usedX != usedY {
			return cmp.Compare(usedY, usedX)
		}
		return order(v, b.Fair, y, x)
	})
	var masters []Container
	var mastersUsed state.Resource
	for _, id := range jobs {
		if !m.less(state.Resource{}, wanted) {
			return list
		}
		for n := range m.booked {
			if x := &m.booked[n]; x.made && x.job == id && m.less(state.Resource{}, wanted) {
				m.charge(&wanted, x.size)
				m.unbook(n)
			}
		}
		of := running(id)
		slices.SortFunc(of, func(x, y Container) int {
			return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(y.StartMs, x.StartMs), cmp.Compare(y.ID, x.ID))
		})
		for _, c := range of {
			if c.Master {
				masters, mastersUsed = append(masters, c), mastersUsed.Add(m.jobs.Of(id).master)
			} else if m.less(state.Resource{}, wanted) && m.charge(&wanted, v.ContainerSize(id, c.Kind)) {
				list = append(list, c)
			}
		}
	}
	for _, c := range masters {
		size := m.jobs.Of(c.Job).master
		if !m.less(state.Resource{}, wanted) || !m.less(queues.Times(b.Guaranteed, b.AMPercent), mastersUsed) {
			break
		}
		if m.charge(&wanted, size) {
			list, mastersUsed = append(list, c), mastersUsed.Sub(size)
		}
	}
	return list
}

// charge takes a container of this size off what is wanted and what the round may choose. It
// reports whether it may be chosen, and is of use.
func (m *tree) charge(wanted *state.Resource, size state.Resource) bool {
	if !m.fits(size, m.allowed) || !m.less(positive(wanted.Sub(size)), positive(*wanted)) {
		return false
	}
	*wanted, m.allowed = wanted.Sub(size), m.allowed.Sub(size)
	return true
}
