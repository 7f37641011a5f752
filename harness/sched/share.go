package sched

import (
	"slices"
	"sort"

	"heddle/harness/state"
)

// shares keeps, for each queue, the jobs with a waiting task sorted by a key,
// such as the memory used. Jobs with equal keys are in order of submission. The
// queues are sorted too. To update the order, shares reads which jobs have
// changed (View.Changes) instead of looking at all jobs at each heartbeat.
type shares struct {
	// The method key returns the number by which jobs are sorted, the lowest
	// first; nil: the jobs of a queue go in FIFO order. If the field together is
	// true, all jobs are sorted as one queue.
	key      func(v *state.View, id state.JobID) float64
	together bool
	// ofQueue computes the key by which queues are sorted, with ties by first
	// use; nil if there is only one queue. The key may depend on what the queue
	// uses and, if there is a key, on the cluster's total resources. If anything
	// else that it depends on changes, the field stale must be set.
	ofQueue func(v *state.View, q state.QueueID) queueKey
	stale   bool // true: the sort keys of all queues must be computed again, for instance after a queue was created

	queues  [][]state.JobID // the jobs of each queue, sorted
	sorted  []queueUse
	listed  PerJob[listed]
	since   uint64
	begun   bool
	total   state.Resource
	changed []state.JobID

	// The position in a walk through the jobs: the next queue in sorted, and what is left of the present one.
	v    *state.View
	turn int
	left []state.JobID
}

// listed is the key by which a job is in the list of its queue, if it is.
type listed struct {
	is  bool
	key float64
}

// queueUse is a queue with its sort key, and the resources in use for which
// the key was computed.
type queueUse struct {
	queue state.QueueID
	used  state.Resource
	key   queueKey
}

// queueKey is what queues are sorted by: first whether a queue is below its
// minimum share, then its use.
type queueKey struct {
	served bool // true: the queue has at least its minimum share, so it comes after queues that lack theirs
	ratio  float64
}

func (a *queueUse) before(b *queueUse) bool {
	switch {
	case a.key.served != b.key.served:
		return b.key.served
	case a.key.ratio != b.key.ratio:
		return a.key.ratio < b.key.ratio
	}
	return a.queue < b.queue
}

// start begins a walk through the jobs, after it has brought all sort keys up
// to date.
func (o *shares) start(v *state.View) {
	anew, queues := o.stale, v.Queues()
	if o.key != nil {
		anew, queues = o.follow(v) || anew, len(o.queues)
	}
	o.stale = false
	for q := state.QueueID(len(o.sorted)); int(q) < queues; q++ {
		o.sorted, anew = append(o.sorted, queueUse{queue: q}), true
	}
	if o.ofQueue != nil {
		o.sortQueues(v, anew)
	}
	o.v, o.turn, o.left = v, 0, nil
}

// sortQueues computes the sort keys of the queues whose use has changed, or of
// all queues if anew is true. It sorts them by insertion as it goes, which is fast
// because few queues have moved since the last sort.
func (o *shares) sortQueues(v *state.View, anew bool) {
	sorted := o.sorted
	for i := range sorted {
		x := &sorted[i]
		if used := v.QueueUsed(x.queue); anew || used != x.used {
			x.used, x.key = used, o.ofQueue(v, x.queue)
		}
		if i > 0 && x.before(&sorted[i-1]) {
			moved, at := *x, i
			for ; at > 0 && moved.before(&sorted[at-1]); at-- {
				sorted[at] = sorted[at-1]
			}
			sorted[at] = moved
		}
	}
}

// next returns the next job, lowest share first, or false if no job is left.
func (o *shares) next() (state.JobID, bool) {
	for {
		for i, id := range o.left {
			if o.v.Waiting(id, state.Map)+o.v.Waiting(id, state.Reduce) > 0 {
				o.left = o.left[i+1:]
				return id, true
			}
		}
		if o.turn == len(o.sorted) {
			return state.None, false
		}
		q := o.sorted[o.turn].queue
		if o.turn++; o.key == nil {
			o.left = o.v.WaitingIn(q)
		} else {
			o.left = o.queues[q]
		}
	}
}

// follow brings the sorted jobs up to date with the cluster's present state,
// the View. It returns true if it had to compute the sort keys of all jobs.
func (o *shares) follow(v *state.View) (anew bool) {
	var ok bool
	o.changed, o.since, ok = v.Changes(o.since, o.changed[:0])
	// compute all sort keys again, for instance because the cluster's total resources changed
	if anew = !ok || !o.begun || o.total != v.Total(); anew {
		o.begun, o.total = true, v.Total()
		o.changed = o.changed[:0]
		for q := range o.queues {
			o.changed = append(o.changed, o.queues[q]...)
		}
		jobs := FIFOOrder(v)
		for id, ok := jobs.Next(); ok; id, ok = jobs.Next() {
			o.changed = append(o.changed, id)
		}
	}
	for _, id := range o.changed {
		o.move(v, id)
	}
	return anew
}

// move adds a job to the list of its queue, moves it there, or removes it,
// according to the job's waiting tasks and sort key.
func (o *shares) move(v *state.View, id state.JobID) {
	q := v.Queue(id)
	if o.together {
		q = 0
	}
	for int(q) >= len(o.queues) {
		o.queues = append(o.queues, nil)
	}
	list, now := &o.queues[q], listed{is: v.Waiting(id, state.Map)+v.Waiting(id, state.Reduce) > 0}
	if now.is {
		now.key = o.key(v, id)
	}
	was := *o.listed.Of(id)
	if was == now {
		return
	}
	if was.is {
		at := o.find(*list, was.key, id)
		*list = slices.Delete(*list, at, at+1)
	}
	if now.is {
		*list = slices.Insert(*list, o.find(*list, now.key, id), id)
	}
	*o.listed.Of(id) = now
}

// find returns where a job with a key is in a list, or belongs.
func (o *shares) find(list []state.JobID, key float64, id state.JobID) int {
	return sort.Search(len(list), func(i int) bool {
		x := list[i]
		return o.listed[x].key > key || o.listed[x].key == key && x >= id
	})
}
