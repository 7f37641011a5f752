package sched

import (
	"slices"

	"heddle/harness/state"
)

var kinds = [...]state.Kind{state.Map, state.Reduce}

// waiting counts the waiting tasks of all jobs. It reads which jobs have
// changed (View.Changes) instead of looking at every job.
type waiting struct {
	since   uint64
	begun   bool
	inOrder bool // true: no job has a priority, so FIFO order is the order of submission
	changed []state.JobID
	of      [2]sums
	sizes   [2]sizes
}

func (w *waiting) follow(v *state.View) {
	var ok bool
	if w.changed, w.since, ok = v.Changes(w.since, w.changed[:0]); !ok || !w.begun {
		w.begun, w.inOrder = true, true
		w.of, w.sizes = [2]sums{}, [2]sizes{}
		w.changed = append(w.changed[:0], v.Active()...)
	}
	for _, id := range w.changed {
		w.inOrder = w.inOrder && v.Priority(id) == 0
		for _, k := range kinds {
			n := v.Waiting(id, k)
			w.of[k].set(id, n)
			w.sizes[k].count(id, n > 0, v.ContainerSize(id, k))
		}
	}
}

func (w *waiting) allFit(v *state.View, n state.NodeID) bool {
	for _, k := range kinds {
		for _, x := range w.sizes[k].list {
			if x.jobs > 0 && (!v.Free(n).Holds(x.size) || v.FreeSlots(n, k) <= 0) {
				return false
			}
		}
	}
	return true
}

// sizes counts the jobs that have a waiting task of one kind (map or reduce),
// by container size.
type sizes struct {
	of   PerJob[int32] // for each job, 1 + the index in list of its container size; 0: no task of this kind waits
	list []sized
}

type sized struct {
	size state.Resource
	jobs int32
}

func (s *sizes) count(id state.JobID, waits bool, size state.Resource) {
	at := s.of.Of(id)
	switch {
	case waits && *at == 0:
		i := slices.IndexFunc(s.list, func(x sized) bool { return x.size == size })
		if i < 0 {
			i = len(s.list)
			s.list = append(s.list, sized{size: size})
		}
		s.list[i].jobs++
		*at = int32(i + 1)
	case !waits && *at > 0:
		s.list[*at-1].jobs--
		*at = 0
	}
}

// sums holds how many tasks of each job wait, as a tree of partial sums
// (Fenwick, Software: Practice and Experience 24, 1994). Node i, counted from
// 1, holds the sum over the i & -i jobs that end with job i-1.
type sums struct {
	of    []int32
	tree  []int64
	total int64
}

func (s *sums) set(id state.JobID, n int32) {
	if int(id) >= len(s.of) { // the tree has no room for this job: double its size until it has, and fill it again
		size := 256
		for size <= int(id) {
			size *= 2
		}
		of := make([]int32, size)
		copy(of, s.of)
		*s = sums{of: make([]int32, size), tree: make([]int64, size+1)}
		for i, n := range of {
			if n > 0 {
				s.set(state.JobID(i), n)
			}
		}
	}
	change := int64(n - s.of[id])
	if change == 0 {
		return
	}
	s.of[id] = n
	s.total += change
	for i := int(id) + 1; i < len(s.tree); i += i & -i {
		s.tree[i] += change
	}
}

// find returns one of all waiting tasks by its number: tasks are counted from
// 0, in the order of their jobs. It returns the task's job, and how many
// waiting tasks of that job come before the task.
func (s *sums) find(at int64) (state.JobID, int32) {
	i := 0
	for step := len(s.of); step > 0; step /= 2 {
		if next := i + step; next < len(s.tree) && s.tree[next] <= at {
			i, at = next, at-s.tree[next]
		}
	}
	return state.JobID(i), int32(at)
}
