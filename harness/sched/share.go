package sched

import "heddle/harness/state"

// shares keeps, for each queue, the jobs with a waiting task sorted by a key,
// such as the memory used. Jobs with equal keys are in order of submission. The
// queues are sorted too. To update the order, shares reads which jobs have
// changed (View.Changes) instead of looking at all jobs at each heartbeat. A
// task's start or end costs a few steps in a heap.
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

	queues  []jobHeap
	sorted  []queueUse
	place   PerJob[place]
	since   uint64
	begun   bool
	total   state.Resource
	changed []state.JobID

	// The position in a walk through the jobs. The field turn is the next queue
	// in sorted, and heap is the heap of the present queue. The field front has
	// the positions, in heap, of the jobs that may come next: those not yet
	// walked whose parent was walked.
	turn  int
	heap  *jobHeap
	front []int32

	// Without a key, the jobs of the present queue that may come next.
	v    *state.View
	fifo []state.JobID
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

// jobHeap is a binary heap of the jobs of one queue, with the lowest sort key
// first.
type jobHeap []keyed

type keyed struct {
	key float64
	job state.JobID
}

// place is a job's position in its queue's heap plus 1, or 0 if the job is in
// no heap.
type place int32

func (a keyed) before(b keyed) bool { return a.key < b.key || a.key == b.key && a.job < b.job }

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
	o.turn, o.front, o.v, o.fifo = 0, o.front[:0], v, nil
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
	if o.key == nil {
		return o.nextInQueue()
	}
	for len(o.front) == 0 {
		if o.turn == len(o.sorted) {
			return state.None, false
		}
		o.heap = &o.queues[o.sorted[o.turn].queue]
		if o.turn++; len(*o.heap) > 0 {
			o.front = append(o.front, 0)
		}
	}
	heap, at := *o.heap, o.front[0]
	// Remove the first entry of front, the heap of jobs that may come next. In
	// the heap of all jobs this entry has two children: the first takes its
	// place in front, the second is added.
	if child := 2*at + 1; int(child) < len(heap) {
		o.sink(child)
		if child++; int(child) < len(heap) {
			o.rise(child)
		}
	} else {
		last := len(o.front) - 1
		end := o.front[last]
		if o.front = o.front[:last]; last > 0 {
			o.sink(end)
		}
	}
	return heap[at].job, true
}

// nextInQueue is next without a key.
func (o *shares) nextInQueue() (state.JobID, bool) {
	for {
		for i, id := range o.fifo {
			if o.v.Waiting(id, state.Map)+o.v.Waiting(id, state.Reduce) > 0 {
				o.fifo = o.fifo[i+1:]
				return id, true
			}
		}
		if o.turn == len(o.sorted) {
			return state.None, false
		}
		o.fifo = o.v.WaitingIn(o.sorted[o.turn].queue)
		o.turn++
	}
}

// sink replaces the first entry of the heap front by x and restores the heap's
// order. The entries of front are positions, in the queue's heap, of jobs that
// may come next.
func (o *shares) sink(x int32) {
	heap, i := *o.heap, 0
	for child := 1; child < len(o.front); child = 2*i + 1 {
		if child+1 < len(o.front) && heap[o.front[child+1]].before(heap[o.front[child]]) {
			child++
		}
		if !heap[o.front[child]].before(heap[x]) {
			break
		}
		o.front[i] = o.front[child]
		i = child
	}
	o.front[i] = x
}

// rise adds position x to the heap front and restores the heap's order. The
// entries of front are positions, in the queue's heap, of jobs that may come
// next.
func (o *shares) rise(x int32) {
	heap, i := *o.heap, len(o.front)
	for o.front = append(o.front, x); i > 0 && heap[x].before(heap[o.front[(i-1)/2]]); i = (i - 1) / 2 {
		o.front[i] = o.front[(i-1)/2]
	}
	o.front[i] = x
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
			for _, x := range o.queues[q] {
				o.changed = append(o.changed, x.job)
			}
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

// move adds a job to the heap of its queue, moves it within the heap, or
// removes it, according to the job's waiting tasks and sort key.
func (o *shares) move(v *state.View, id state.JobID) {
	q := v.Queue(id)
	if o.together {
		q = 0
	}
	for int(q) >= len(o.queues) {
		o.queues = append(o.queues, nil)
	}
	heap := &o.queues[q]
	at := o.place.Of(id)
	waits := v.Waiting(id, state.Map)+v.Waiting(id, state.Reduce) > 0
	switch {
	case waits && *at == 0:
		*heap = append(*heap, keyed{})
		o.up(*heap, len(*heap)-1, keyed{o.key(v, id), id})
	case waits:
		o.put(*heap, int(*at-1), keyed{o.key(v, id), id})
	case *at > 0:
		hole, last := int(*at-1), len(*heap)-1
		moved := (*heap)[last]
		if *heap, *at = (*heap)[:last], 0; hole < last {
			o.put(*heap, hole, moved)
		}
	}
}

// put places job x at position i of the queue's heap, where it may replace
// another entry, and moves x up or down until the heap is in order.
func (o *shares) put(heap jobHeap, i int, x keyed) {
	if i > 0 && x.before(heap[(i-1)/2]) {
		o.up(heap, i, x)
		return
	}
	for child := 2*i + 1; child < len(heap); child = 2*i + 1 {
		if child+1 < len(heap) && heap[child+1].before(heap[child]) {
			child++
		}
		if !heap[child].before(x) {
			break
		}
		o.set(heap, i, heap[child])
		i = child
	}
	o.set(heap, i, x)
}

func (o *shares) up(heap jobHeap, i int, x keyed) {
	for ; i > 0 && x.before(heap[(i-1)/2]); i = (i - 1) / 2 {
		o.set(heap, i, heap[(i-1)/2])
	}
	o.set(heap, i, x)
}

func (o *shares) set(heap jobHeap, i int, x keyed) {
	heap[i] = x
	*o.place.Of(x.job) = place(i + 1)
}
