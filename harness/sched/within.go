package sched

import (
	"cmp"
	"slices"

	"heddle/harness/queues"
	"heddle/harness/state"
)

// jobPart is what a job lacks of its part of a queue, or has too much, in a round of preemption.
type jobPart struct {
	id    state.JobID
	of    *userPart
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
// Source. Hadoop 3.4.2 IntraQueueCandidatesSelector with FifoIntraQueuePreemptionPlugin. What looks odd there is so here: a
// job that comes after all is divided gives as if nothing of it were chosen for other queues, and each job that
// loses some loses less by all that is (chooseWithin).
//
// Differs. Tasks that outlive their ApplicationMaster are not chosen while the next one waits.
func (r *round) within() {
	r.chosenOf = map[state.JobID]state.Resource{}
	for _, c := range r.chosen {
		r.chosenOf[c.Job] = r.chosenOf[c.Job].Add(r.size(c))
	}
	for _, b := range r.needy {
		if r.mayExchange(b) {
			b.parts = r.divideJobs(b)
			most := r.above(queues.Times(b.Guaranteed, r.file.Preemption.WithinMost), b.due)
			r.exchange(b.parts, r.min(most, r.allowed))
		}
	}
	forQueues := r.chosen
	for _, b := range r.needy {
		r.chooseWithin(b, forQueues)
	}
}

// mayExchange reports whether some job of a queue asks for containers and another may lose some: where limits of users go
// first, only jobs of users with more. It finds what users have and may have.
func (m *tree) mayExchange(b *branch) bool {
	p := &m.file.Preemption
	if !p.Within || len(b.asking)+len(b.pending) == 0 || b.NoPreemption || b.NoPreemptionWithin || b.ratio < p.WithinFrom {
		return false
	}
	may := !p.UsersFirst
	for _, u := range b.users {
		if u != nil && u.pending+u.active > 0 {
			u.part = userPart{used: u.used.Sub(u.masters), most: m.userLimit(b, u, true).Sub(u.masters)}
			may = may || m.less(u.part.most, u.part.used)
		}
	}
	return may
}

// size returns what a container holds.
func (r *round) size(c Container) state.Resource {
	if c.Master {
		return r.jobs.Of(c.Job).master
	}
	return r.v.ContainerSize(c.Job, c.Kind)
}

// divideJobs divides what a queue is to keep among its jobs. It returns those that hold containers or get some, in order.
func (r *round) divideJobs(b *branch) (jobs []jobPart) {
	left := b.used.Sub(b.due).Sub(b.mastersUsed)
	active, pending, compare := b.active, b.pending, func(x, y state.JobID) int { return inTurn(r.v, x, y) }
	if b.Fair && r.file.Preemption.UsersFirst {
		active, pending, compare = slices.Concat(active, pending), nil, r.leastFirst
		slices.SortFunc(active, compare)
	}
	for len(active)+len(pending) > 0 {
		next := &active
		if len(active) == 0 || len(pending) > 0 && compare(pending[0], active[0]) < 0 {
			next = &pending
		}
		id := (*next)[0]
		*next = (*next)[1:]
		j := r.jobs.Of(id)
		u := &j.user.part
		held := j.used.Sub(j.booked) // by its tasks
		if !j.waits {
			held = held.Sub(j.master)
		}
		var wants, ideal, chosen state.Resource
		if r.lacks(left) {
			pending = nil // they hold nothing
		} else {
			chosen = r.chosenOf[id]
			u.chosen = u.chosen.Add(chosen)
			if keeps := held.Sub(chosen); r.less(u.ideal, u.most) {
				ideal = r.min(left, r.min(keeps.Add(r.asks(id)), u.most.Sub(u.ideal)))
				u.ideal, left = u.ideal.Add(ideal), positive(left.Sub(ideal))
				wants = r.above(ideal, keeps)
			}
		}
		if gives := positive(positive(held.Sub(ideal)).Sub(chosen)); !r.none(gives) || !r.none(wants) {
			jobs = append(jobs, jobPart{id: id, of: u, wants: wants, gives: gives})
		}
	}
	return jobs
}

// leastFirst compares jobs by what their users have, then by what they use themselves.
func (r *round) leastFirst(x, y state.JobID) int {
	i, j := r.jobs.Of(x), r.jobs.Of(y)
	return cmp.Or(cmp.Compare(r.ratio(i.user.part.used, r.total), r.ratio(j.user.part.used, r.total)),
		cmp.Compare(i.used.MemoryMB, j.used.MemoryMB), cmp.Compare(x, y))
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
	}
}

// mayGet returns what a job may get of another.
func (r *round) mayGet(x, y *jobPart) state.Resource {
	u, higher := y.of, cmp.Compare(r.v.Priority(x.id), r.v.Priority(y.id))
	switch over := r.less(u.most, u.used); {
	case x.of == u && higher <= 0, x.of != u && (!over && r.file.Preemption.UsersFirst || higher == 0 && u.done):
		return state.Resource{}
	case x.of != u && higher == 0 && over:
		if excess := u.used.Sub(u.chosen).Sub(u.most); r.less(excess, y.gives) {
			u.done = true
			return positive(excess)
		}
	}
	return y.gives
}

// chooseWithin chooses containers of those who come last. What is chosen of the queue for other queues counts for each job.
func (r *round) chooseWithin(b *branch, forQueues []Container) {
	var wanted state.Resource
	for i := range b.parts {
		y := &b.parts[i]
		for _, c := range forQueues {
			if size := r.size(c); r.jobs.Of(c.Job).leaf == b && r.less(size, y.loses) {
				y.loses = y.loses.Sub(size)
			}
		}
		wanted = wanted.Add(y.loses)
	}
	for i := range slices.Backward(b.parts) {
		y := &b.parts[i]
		if r.none(y.loses) {
			continue
		}
		for _, c := range r.latest(y.id) {
			if c.Master || slices.Contains(forQueues, c) {
				continue
			}
			size := r.size(c)
			left := y.of.used.Sub(size)
			if r.lacks(wanted) || r.file.Preemption.UsersFirst && !r.less(y.of.most, left) {
				break
			}
			if r.charge(&wanted, size) {
				r.chosen, y.of.used = append(r.chosen, c), left
			}
		}
	}
}
