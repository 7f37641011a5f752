package sched

import "heddle/harness/cluster"

// order is the jobs with something waiting, one after the other: FIFO as walk
// says, or by a key.
type order struct {
	walk  walk
	keyed bool
	keys  byKey
}

// fifo starts over in FIFO order.
func (o *order) fifo(v *cluster.View) { o.walk, o.keyed = fifoOrder(v), false }

// by puts the jobs of the FIFO order into that of a key that is given them one
// by one.
func (o *order) by() { o.keyed, o.keys.heap = true, o.keys.heap[:0] }

// fewestRunning orders by running tasks, fewest first.
func (o *order) fewestRunning(v *cluster.View) {
	o.by()
	for id, ok := o.walk.next(); ok; id, ok = o.walk.next() {
		o.keys.add(0, float64(v.Running(id, cluster.Map)+v.Running(id, cluster.Reduce)), id)
	}
	o.keys.order()
}

// next is the next job, false if there is none.
func (o *order) next() (cluster.JobID, bool) {
	if o.keyed {
		return o.keys.next()
	}
	return o.walk.next()
}

// byKey goes through jobs in ascending order of a key, ties by submission. It is
// a heap: the first job costs one look at each, those after it little.
type byKey struct{ heap []keyed }

type keyed struct {
	rank int32 // compared first
	key  float64
	job  cluster.JobID
}

func (a keyed) before(b keyed) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	if a.key != b.key {
		return a.key < b.key
	}
	return a.job < b.job
}

// add adds a job; order makes the heap of those that were added.
func (o *byKey) add(rank int32, key float64, id cluster.JobID) {
	o.heap = append(o.heap, keyed{rank, key, id})
}

func (o *byKey) order() {
	for i := len(o.heap)/2 - 1; i >= 0; i-- {
		o.down(i)
	}
}

// next is the job with the least key, which is taken out; false if there is
// none.
func (o *byKey) next() (cluster.JobID, bool) {
	last := len(o.heap) - 1
	if last < 0 {
		return cluster.None, false
	}
	id := o.heap[0].job
	o.heap[0] = o.heap[last]
	o.heap = o.heap[:last]
	o.down(0)
	return id, true
}

func (o *byKey) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(o.heap) {
			return
		}
		if child+1 < len(o.heap) && o.heap[child+1].before(o.heap[child]) {
			child++
		}
		if !o.heap[child].before(o.heap[i]) {
			return
		}
		o.heap[i], o.heap[child] = o.heap[child], o.heap[i]
		i = child
	}
}
