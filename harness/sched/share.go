package sched

import "heddle/harness/state"

// shares is the jobs with something waiting, queue by queue, in each in
// ascending order of a key, ties by submission. It follows the changes of the
// View instead of looking at all jobs each round: a start or an end costs a few
// steps in a heap, and so does each job that is looked at.
type shares struct {
	// key is what a job is placed by; together says whether all jobs are in one
	// queue.
	key      func(v *state.View, id state.JobID) float64
	together bool
	// ofQueue is what queues are placed by, ties by first use; nil where there is
	// one. It depends on what the queue uses and on the cluster's total; whoever
	// has it depend on more says so by stale.
	ofQueue func(v *state.View, q state.QueueID) queueKey
	stale   bool // keys of queues are

	queues []jobHeap
	sorted []queueUse
	place  perJob[place]
	since  uint64
	begun  bool
	total  state.Resource
	moved  []state.JobID

	// The walk: which queue of sorted is next, and of the present one's heap the
	// entries of which all those above have been walked.
	turn  int
	heap  *jobHeap
	front []int32
}

// queueUse is a queue with its key when it used so much.
type queueUse struct {
	queue state.QueueID
	used  state.Resource
	key   queueKey
}

// queueKey has queues below a minimum first.
type queueKey struct {
	served bool // has its minimum
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

// jobHeap is a binary heap.
type jobHeap []keyed

type keyed struct {
	key float64
	job state.JobID
}

// place is a job's position in its heap + 1, 0 if it is in none.
type place int32

func (a keyed) before(b keyed) bool { return a.key < b.key || a.key == b.key && a.job < b.job }

// start begins a walk.
func (o *shares) start(v *state.View) {
	anew := o.follow(v) || o.stale
	o.stale = false
	for q := state.QueueID(len(o.sorted)); int(q) < len(o.queues); q++ {
		o.sorted, anew = append(o.sorted, queueUse{queue: q}), true
	}
	if o.ofQueue != nil {
		o.sortQueues(v, anew)
	}
	o.turn, o.front = 0, o.front[:0]
}

// sortQueues computes the keys of queues that use more or less than they did,
// or all anew, and sorts by insertion: it is nearly the order of the round
// before.
func (o *shares) sortQueues(v *state.View, anew bool) {
	for i := range o.sorted {
		x := &o.sorted[i]
		if used := v.QueueUsed(x.queue); anew || used != x.used {
			x.used, x.key = used, o.ofQueue(v, x.queue)
		}
	}
	for i := 1; i < len(o.sorted); i++ {
		if o.sorted[i].before(&o.sorted[i-1]) {
			x := o.sorted[i]
			at := i
			for ; at > 0 && x.before(&o.sorted[at-1]); at-- {
				o.sorted[at] = o.sorted[at-1]
			}
			o.sorted[at] = x
		}
	}
}

// next is the next job, false if there is none.
func (o *shares) next() (state.JobID, bool) {
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
	// The first child takes the place of what is walked, the second comes in.
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

// The front is a heap, too, of positions in the queue's. sink puts x in place
// of its first.
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

// rise adds x.
func (o *shares) rise(x int32) {
	heap, i := *o.heap, len(o.front)
	for o.front = append(o.front, x); i > 0 && heap[x].before(heap[o.front[(i-1)/2]]); i = (i - 1) / 2 {
		o.front[i] = o.front[(i-1)/2]
	}
	o.front[i] = x
}

// follow brings the heaps up to the present, and says whether it had to start
// anew.
func (o *shares) follow(v *state.View) (anew bool) {
	var ok bool
	o.moved, o.since, ok = v.Changes(o.since, o.moved[:0])
	if anew = !ok || !o.begun || o.total != v.Total(); anew { // keys may depend on the total
		o.begun, o.total = true, v.Total()
		o.moved = o.moved[:0]
		for q := range o.queues {
			for _, x := range o.queues[q] {
				o.moved = append(o.moved, x.job)
			}
		}
		jobs := fifoOrder(v)
		for id, ok := jobs.next(); ok; id, ok = jobs.next() {
			o.moved = append(o.moved, id)
		}
	}
	for _, id := range o.moved {
		o.move(v, id)
	}
	return anew
}

// move puts a job where it belongs.
func (o *shares) move(v *state.View, id state.JobID) {
	q := v.Queue(id)
	if o.together {
		q = 0
	}
	for int(q) >= len(o.queues) {
		o.queues = append(o.queues, nil)
	}
	heap := &o.queues[q]
	at := o.place.of(id)
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

// put places x in the hole at i, or above or below it.
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
	*o.place.of(x.job) = place(i + 1)
}
