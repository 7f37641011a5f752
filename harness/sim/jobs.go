package sim

import (
	"math"
	"slices"

	"heddle/harness/state"
	"heddle/traces"
)

// jobs is the table of the jobs that were submitted and have not ended.
type jobs struct {
	view       *state.View
	costs      *Costs
	racks      int32
	losesNodes bool // maps may be lost after they have succeeded
	list       []job
	slot       []int32 // by the job's number in package state (state.JobID): index of the job in jobs.list
	spare      []int32 // indexes of entries in jobs.list that are free for new jobs
	live       int     // number of jobs in the table
	tasks      int64   // number of tasks of these jobs
}

// maxTasks is the largest number of tasks that all unfinished jobs together
// may have. This limits the simulator's memory, since a task takes about 50
// bytes.
const maxTasks = 1 << 26

// begin empties the table.
func (b *jobs) begin(v *state.View, c *Costs, racks int32, losesNodes bool) {
	*b = jobs{view: v, costs: c, racks: racks, losesNodes: losesNodes, list: b.list[:0], slot: b.slot[:0], spare: b.spare[:0]}
}

// of returns the job with a number in package state.
func (b *jobs) of(id state.JobID) *job { return &b.list[b.slot[id]] }

// add puts job x into the table. Its number in package state must be that of the last
// job added, plus one. The parameter replicas has the nodes that store its input, or is nil if
// package state knows them.
func (b *jobs) add(id state.JobID, x *Job, replicas *state.Hosts) int32 {
	var slot int32
	if k := len(b.spare); k > 0 {
		slot = b.spare[k-1]
		b.spare = b.spare[:k-1]
	} else {
		slot = int32(len(b.list))
		b.list = append(b.list, job{})
	}
	b.slot = append(b.slot, slot)
	j := &b.list[slot]
	work, spread, out, tries, ran, blocks, pasts, division := j.work, j.spread, j.out, j.tries, j.ran, j.blocks, j.pasts, j.division
	*j = job{
		id: id, gen: j.gen, name: idOf(x), total: [2]int32{x.Maps, x.Reduces},
		size: [2]state.Resource{x.MapSize, x.ReduceSize}, amSize: x.AMSize, amNode: state.None,
		amStartMs: b.costs.AMStartMs, finishMs: b.costs.FinishMs,
		slowStart: int32(math.Ceil(float64(x.SlowStart * float32(x.Maps)))), askMs: append([]int64(nil), x.ReduceAskMs...), replicas: replicas,
		waiting: -1, woken: -1, out: out[:0], division: division[:0], tries: tries[:0], ran: ran[:0], blocks: blocks[:0],
	}
	j.hash = traces.HashName(string(j.name))
	if x.AMStartMs > 0 {
		j.amStartMs = x.AMStartMs
	}
	if x.FinishMs > 0 {
		j.finishMs = x.FinishMs
	}
	for k, q := range x.Spread {
		j.spread[k] = append(spread[k][:0], q...)
	}
	j.work[0], j.work[1] = append(work[0][:0], x.MapWork...), append(work[1][:0], x.ReduceWork...)
	if x.Reduces > 0 {
		j.out = resized(out, int(b.racks))
	}
	for sum, i := int64(0), 0; i < len(x.ReduceShares); i++ {
		sum += x.ReduceShares[i]
		j.division = append(j.division, sum)
	}
	if b.losesNodes && x.Reduces > 0 {
		j.ran = resized(ran, int(x.Maps))
		for t := range j.ran {
			j.ran[t].node = state.None
		}
	}
	if j.pasts = append(pasts[:0], x.Pasts...); len(j.pasts) > 0 {
		j.tries = resized(tries, int(x.Maps+x.Reduces))
	}
	b.live++
	b.tasks += int64(x.Maps) + int64(x.Reduces)
	return slot
}

// remove takes a job that has ended out of the table.
func (b *jobs) remove(slot int32) {
	j := &b.list[slot]
	b.live--
	b.tasks -= int64(j.total[0]) + int64(j.total[1])
	j.gen++
	b.spare = append(b.spare, slot)
}

// has reports whether a job with this id is in the table.
func (b *jobs) has(id traces.JobID) bool {
	return slices.ContainsFunc(b.view.Active(), func(j state.JobID) bool { return b.of(j).name == id })
}

// replicas returns the nodes that store map t's input on disk.
func (b *jobs) replicas(j *job, t state.TaskID) []state.NodeID {
	if j.replicas != nil {
		return of(j.replicas, int32(t))
	}
	return b.view.Replicas(j.id, t)
}

// resized returns a slice of n zeroes. It reuses the memory of the slice s if
// this memory is large enough.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}
