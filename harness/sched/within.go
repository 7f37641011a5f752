package sched

import (
	"cmp"
	"slices"

	"heddle/harness/queues"
	"heddle/harness/state"
)

// jobPart is what a job has of its queue and is to have, in a round of preemption.
type jobPart struct {
	id    state.JobID
	of    *userPart
	held  state.Resource // by its tasks
	wants state.Resource // of other jobs
	gives state.Resource // to other jobs at most
	loses state.Resource // to other jobs
}

// userPart is what a user has of a queue, may have and is to have, all without ApplicationMasters.
type userPart struct {
	used, most, ideal state.Resource
	chosen            state.Resource // of used, for other queues
	done              bool           // jobs of the same priority get nothing more of the user's
}

// within chooses containers of queues that need more for other jobs of the same queue.
//
// Rule. What a queue uses and does not lose is divided: each job is to have what it uses and asks for, within
// its user's limit, and those that come first have it first (divideJobs). Who has less than that gets it of those
// who come last (exchange): of jobs of a lower priority, or of users with more than their limit. ApplicationMasters stay.
//
// Source. Hadoop 3.4.2 IntraQueueCandidatesSelector with FifoIntraQueuePreemptionPlugin.
func (r *round) within() {
	p := &r.file.Preemption
	r.list()
	for _, b := range r.needy {
		if r.mayExchange(b) {
			b.parts = r.divideJobs(b)
			most := r.above(queues.Times(b.Guaranteed, p.WithinMost), b.due)
			r.exchange(b.parts, r.min(most, r.allowed))
		}
	}
	forQueues := r.chosen
	for _, b := range r.needy {
		r.chooseWithin(b, forQueues)
	}
}

// mayExchange reports whether containers of a queue may be taken for other jobs of it, and some job asks for one.
func (m *tree) mayExchange(b *branch) bool {
	p := &m.file.Preemption
	return p.Within && len(b.asking)+len(b.pending) > 0 && !b.NoPreemption && !b.NoPreemptionWithin && b.ratio >= p.WithinFrom
}

// list lists, by queue, the active jobs that hold containers or ask for them, and adds up by job what is chosen already.
func (r *round) list() {
	for _, id := range r.live {
		if j := r.jobs.Of(id); j.stage == stageActive && (j.listed || !r.none(r.held(j))) {
			j.leaf.holding = append(j.leaf.holding, id)
		}
	}
	r.of = map[state.JobID]state.Resource{}
	for _, c := range r.chosen {
		r.of[c.Job] = r.of[c.Job].Add(r.size(c))
	}
}

// held returns what a job's tasks hold.
func (m *tree) held(j *treeJob) state.Resource {
	held := j.used.Sub(j.booked)
	if !j.waits {
		held = held.Sub(j.master)
	}
	return held
}

// size returns what a container holds.
func (r *round) size(c Container) state.Resource {
	if c.Master {
		return r.jobs.Of(c.Job).master
	}
	return r.v.ContainerSize(c.Job, c.Kind)
}

// divideJobs divides what a queue is to keep among its jobs. It returns those that hold containers, want some or both, in order.
func (r *round) divideJobs(b *branch) (jobs []jobPart) {
	left := b.used.Sub(b.due).Sub(b.mastersUsed)
	users := map[*treeUser]*userPart{}
	for id := range r.inOrder(b) {
		j := r.jobs.Of(id)
		x := jobPart{id: id, of: users[j.user], held: r.held(j)}
		if r.lacks(left) && r.none(x.held) {
			continue
		}
		if x.of == nil {
			x.of = &userPart{used: j.user.used.Sub(j.user.masters), most: r.userLimit(b, j.user, true).Sub(j.user.masters)}
			users[j.user] = x.of
		}
		var ideal, chosen state.Resource
		if !r.lacks(left) {
			chosen = r.of[id]
			x.of.chosen = x.of.chosen.Add(chosen)
			if keeps := x.held.Sub(chosen); r.less(x.of.ideal, x.of.most) {
				ideal = r.min(left, r.min(keeps.Add(r.asks(id)), x.of.most.Sub(x.of.ideal)))
				x.of.ideal, left = x.of.ideal.Add(ideal), positive(left.Sub(ideal))
				x.wants = r.above(ideal, keeps)
			}
		}
		x.gives = positive(positive(x.held.Sub(ideal)).Sub(chosen))
		jobs = append(jobs, x)
	}
	return jobs
}

// inOrder yields the jobs of a queue that hold containers or ask for them, in the order in which they are to have some.
func (r *round) inOrder(b *branch) func(yield func(state.JobID) bool) {
	waiting := b.pending
	compare := func(x, y state.JobID) int { return inTurn(r.v, x, y) }
	if b.Fair && r.file.Preemption.UsersFirst {
		b.holding, waiting = append(b.holding, waiting...), nil
		compare = r.leastFirst
	}
	slices.SortFunc(b.holding, compare)
	return func(yield func(state.JobID) bool) {
		holding := b.holding
		for len(holding)+len(waiting) > 0 {
			next := &holding
			if len(holding) == 0 || len(waiting) > 0 && compare(waiting[0], holding[0]) < 0 {
				next = &waiting
			}
			if !yield((*next)[0]) {
				return
			}
			*next = (*next)[1:]
		}
	}
}

// leastFirst compares jobs by what their users have without ApplicationMasters, and those of one user by what they use.
func (r *round) leastFirst(x, y state.JobID) int {
	i, j := r.jobs.Of(x), r.jobs.Of(y)
	if i.user == j.user {
		return cmp.Or(cmp.Compare(i.used.MemoryMB, j.used.MemoryMB), cmp.Compare(x, y))
	}
	usedX, usedY := i.user.used.Sub(i.user.masters), j.user.used.Sub(j.user.masters)
	switch {
	case r.less(usedX, usedY):
		return -1
	case r.less(usedY, usedX):
		return 1
	}
	return cmp.Compare(x, y)
}

// exchange finds what jobs lose to others, up to a limit. Who comes first gets first, and who comes last gives first.
func (r *round) exchange(jobs []jobPart, limit state.Resource) {
	var givers []*jobPart
	for i := range slices.Backward(jobs) {
		y := &jobs[i]
		if r.file.Preemption.UsersFirst {
			y.gives = positive(y.gives.Sub(r.step))
		}
		y.gives = r.min(y.gives, limit)
		if limit = positive(limit.Sub(y.gives)); !r.none(y.gives) {
			givers = append(givers, y)
		}
	}
	for i := range jobs {
		x := &jobs[i]
		for _, y := range givers {
			if r.none(x.wants) {
				break
			}
			if got := r.min(x.wants, r.mayGet(x, y)); !r.none(got) {
				x.wants, y.gives, y.loses = x.wants.Sub(got), y.gives.Sub(got), y.loses.Add(got)
			}
		}
		givers = slices.DeleteFunc(givers, func(y *jobPart) bool { return r.none(y.gives) })
	}
}

// mayGet returns what a job may get of another.
func (r *round) mayGet(x, y *jobPart) state.Resource {
	u, higher := y.of, cmp.Compare(r.v.Priority(x.id), r.v.Priority(y.id))
	switch over := r.less(u.most, u.used); {
	case x.of == u && higher <= 0, x.of != u && !over && r.file.Preemption.UsersFirst:
		return state.Resource{}
	case x.of != u && higher == 0 && over:
		excess := u.used.Sub(u.chosen).Sub(u.most)
		if u.done {
			excess = state.Resource{}
		}
		if r.less(excess, y.gives) {
			u.done = true
			return positive(excess)
		}
	}
	return y.gives
}

// chooseWithin chooses containers of those who come last. What is chosen of the queue for other queues counts for each job.
func (r *round) chooseWithin(b *branch, forQueues []Container) {
	for _, c := range forQueues {
		for i := range b.parts {
			if y, size := &b.parts[i], r.size(c); r.jobs.Of(c.Job).leaf == b && r.less(size, y.loses) {
				y.loses = y.loses.Sub(size)
			}
		}
	}
	var wanted state.Resource
	for i := range b.parts {
		wanted = wanted.Add(b.parts[i].loses)
	}
	for i := range slices.Backward(b.parts) {
		y := &b.parts[i]
		if r.none(y.loses) {
			continue
		}
		for _, c := range r.latest(y.id) {
			size := r.size(c)
			left := y.of.used.Sub(size)
			if c.Master || slices.ContainsFunc(forQueues, func(x Container) bool { return x.ID == c.ID }) {
				continue
			}
			if r.lacks(wanted) || r.file.Preemption.UsersFirst && !r.less(y.of.most, left) {
				break
			}
			if r.charge(&wanted, size) {
				r.chosen, y.of.used = append(r.chosen, c), left
			}
		}
	}
}
