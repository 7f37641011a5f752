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
	loose    state.Resource // what it uses above its guarantee and others may take
	excess   state.Resource // what it has too much
	due      state.Resource // of that, what is to be chosen
	parts    []jobPart
}

// round is a round of preemption.
type round struct {
	*tree
	v        *state.View
	running  func(state.JobID) []Container
	allowed  state.Resource // what may still be chosen
	chosen   []Container
	chosenOf map[state.JobID]state.Resource // by job: what is chosen for other queues
	needy    []*branch                      // queues that need more than is theirs, the neediest of a parent first
}

// PreemptMs implements Preempter.
func (m *tree) PreemptMs() int64 { return m.file.Preemption.IntervalMs }

// Preempt implements Preempter.
//
// Rule. What is guaranteed to queues that need it less is divided among the others (share). What a
// leaf uses above its part is its excess, of which some is chosen (choose). Then some of what a leaf keeps
// is chosen for other jobs of it (within). A container that is still chosen after some time ends.
//
// Source. Hadoop 3.4.2 ProportionalCapacityPreemptionPolicy with FifoCandidatesSelector.
//
// Differs. Containers that have no task yet are not chosen. A wait that is a multiple of the interval is
// over after so many rounds; in Hadoop, where rounds come some ms early or late, it takes one more at times.
// Queues of equal need come in any order there, and in another each round; here the order turns round each time.
func (m *tree) Preempt(v *state.View, running func(state.JobID) []Container, out []Container) []Container {
	m.follow(v)
	if !slices.ContainsFunc(m.all, func(b *branch) bool { return m.mayLose(b) || m.mayExchange(b) }) {
		return out
	}
	p := &m.file.Preemption
	r := round{tree: m, v: v, running: running, allowed: queues.Times(m.total, p.PerRound)}
	m.back = !m.back
	r.demand(m.root)
	m.root.ideal = m.root.Guaranteed
	r.divide(m.root)
	for _, b := range m.all {
		if m.mayLose(b) && !m.none(b.excess) {
			b.due = m.part(b.excess, p.Part)
			r.choose(b, b.due)
		}
	}
	if p.Within {
		r.within()
	}
	now := v.Now() / 1e6
	for _, c := range r.chosen {
		if at, known := m.chosen[c.ID]; !known {
			m.chosen[c.ID] = now
		} else if at+p.WaitMs <= now {
			delete(m.chosen, c.ID)
			out = append(out, c)
		}
	}
	maps.DeleteFunc(m.chosen, func(_ uint64, at int64) bool { return at+2*p.WaitMs < now })
	return out
}

// mayLose reports whether a queue uses so much more than its guarantee that containers may be taken from it.
func (m *tree) mayLose(b *branch) bool {
	return len(b.children) == 0 && !b.NoPreemption && m.less(queues.Times(b.Guaranteed, 1+m.file.Preemption.Ignored), b.used)
}

// above returns by how much a is more than b.
func (c *amounts) above(a, b state.Resource) state.Resource {
	return positive(c.max(a.Sub(b), state.Resource{}))
}

// asks returns what a job waits for, or enough for any cluster.
func (r *round) asks(id state.JobID) (sum state.Resource) {
	const enough = 1 << 28
	j := r.jobs.Of(id)
	for kind, size := range [...]state.Resource{r.v.ContainerSize(id, state.Map), r.v.ContainerSize(id, state.Reduce), j.master} {
		sum = sum.Add(size.Times(min(r.waitsFor(j, r.v, id, kind), enough/max(1, size.MemoryMB))))
	}
	return sum
}

// demand finds what a queue asks for, and what it uses above its guarantee.
func (r *round) demand(b *branch) {
	b.claim = claim{}
	for _, u := range b.users {
		if u != nil && u.active > 0 {
			u.room = r.above(r.userLimit(b, u, false), u.used)
		}
	}
	for _, id := range b.asking {
		j := r.jobs.Of(id)
		if r.none(j.user.room) {
			continue
		}
		asks := r.asks(id)
		got := smallest(asks, j.user.room)
		j.user.room, b.asked = j.user.room.Sub(got), b.asked.Add(got)
		b.unbooked = b.unbooked.Add(smallest(got, r.above(asks, j.booked)))
	}
	above := r.above(b.used, b.Guaranteed)
	if len(b.children) == 0 && !b.NoPreemption {
		b.loose = above
	}
	for _, c := range b.children {
		r.demand(c)
		b.asked, b.unbooked, b.loose = b.asked.Add(c.asked), b.unbooked.Add(c.unbooked), b.loose.Add(c.loose)
	}
	b.loose = r.min(b.loose, above)
}

// divide gives what a queue is to have to its children, and finds what these have too much.
func (r *round) divide(b *branch) {
	r.share(b)
	var needed state.Resource
	for _, c := range b.children {
		needed = needed.Add(r.above(c.used, c.ideal))
	}
	scale := float32(1)
	if r.less(r.allowed, needed) {
		scale = r.ratio(r.allowed, needed)
	}
	for _, c := range b.children {
		c.excess = queues.Times(r.above(c.used, c.ideal), scale)
		r.divide(c)
	}
}

// share divides what a queue is to have among its children: each gets what it uses and nobody may take, then
// the needier ones get parts of what is left by their guarantees, and those without a guarantee what is left then.
func (r *round) share(b *branch) {
	left := b.ideal
	var needy []*branch
	for _, c := range b.children {
		c.ideal = c.used.Sub(c.loose)
		left = left.Sub(c.ideal)
		if r.less(c.ideal, c.used.Add(c.asked)) {
			needy = append(needy, c)
		}
	}
	has := func(c *branch) float32 {
		if r.none(c.Guaranteed) {
			return math.MaxInt32
		}
		return r.ratio(c.ideal, c.Guaranteed)
	}
	need := func(x, y *branch) int { return b.before(x, y, has(x), has(y)) }
	if r.back {
		slices.Reverse(needy)
	}
	slices.SortStableFunc(needy, need)
	r.needy = append(r.needy, needy...)
	for len(needy) > 0 && !r.none(left) {
		var sum state.Resource
		for _, c := range needy {
			sum = sum.Add(c.Guaranteed)
		}
		n := 1
		for n < len(needy) && need(needy[n-1], needy[n]) == 0 {
			n++
		}
		by, offered, turn := 1/float32(len(needy)), left, slices.Clone(needy[:n])
		needy = needy[n:]
		for _, c := range turn {
			if !r.none(sum) {
				by = r.ratio(c.Guaranteed, sum)
			}
			if got := r.accept(c, smallest(r.part(offered, by), left)); !r.none(got) {
				left, needy = r.above(left, got), append(needy, c)
			}
		}
		slices.SortStableFunc(needy, need)
	}
}

// accept has a queue take as much as it can use of what is offered. A leaf takes no more than its
// guarantee, or what it uses.
func (r *round) accept(b *branch, offered state.Resource) state.Resource {
	got := smallest(positive(b.Most.Sub(b.ideal)), r.min(offered, b.used.Add(b.unbooked).Sub(b.ideal)))
	if len(b.children) == 0 {
		got = r.min(got, r.above(r.max(b.used, b.Guaranteed), b.ideal))
	}
	got = smallest(positive(got), offered)
	b.ideal = b.ideal.Add(got)
	return got
}

// choose chooses containers of a queue: of the newest jobs first, and of a job the newest maps, then reduces.
// Nodes that are reserved for its jobs are given free before. ApplicationMasters come last, and only as far as
// they use more than their limit.
func (r *round) choose(b *branch, wanted state.Resource) {
	jobs := slices.Clone(b.active)
	slices.SortFunc(jobs, func(x, y state.JobID) int {
		if usedX, usedY := r.jobs.Of(x).used.MemoryMB, r.jobs.Of(y).used.MemoryMB; b.Fair && usedX != usedY {
			return cmp.Compare(usedY, usedX)
		}
		return order(r.v, b.Fair, y, x)
	})
	var masters []Container
	var mastersUsed state.Resource
	for _, id := range jobs {
		if r.none(wanted) {
			return
		}
		for n := range r.booked {
			if x := &r.booked[n]; x.made && x.job == id && !r.none(wanted) {
				r.charge(&wanted, x.size)
				r.unbook(n)
			}
		}
		for _, c := range r.latest(id) {
			if c.Master {
				masters, mastersUsed = append(masters, c), mastersUsed.Add(r.size(c))
			} else if r.charge(&wanted, r.size(c)) {
				r.chosen = append(r.chosen, c)
			}
		}
	}
	for _, c := range masters {
		size := r.size(c)
		if r.less(queues.Times(b.Guaranteed, b.AMPercent), mastersUsed) && r.charge(&wanted, size) {
			r.chosen, mastersUsed = append(r.chosen, c), mastersUsed.Sub(size)
		}
	}
}

// latest returns the containers of a job, the newest maps first, then reduces.
func (r *round) latest(id state.JobID) []Container {
	list := r.running(id)
	slices.SortFunc(list, func(x, y Container) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(y.StartMs, x.StartMs), cmp.Compare(y.ID, x.ID))
	})
	return list
}

// charge takes a container of this size off what is wanted and what the round may choose. It
// reports whether that is possible, and of use.
func (r *round) charge(wanted *state.Resource, size state.Resource) bool {
	if r.none(*wanted) || !r.fits(size, r.allowed) || !r.less(positive(wanted.Sub(size)), positive(*wanted)) {
		return false
	}
	*wanted, r.allowed = wanted.Sub(size), r.allowed.Sub(size)
	return true
}
