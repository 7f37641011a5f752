package sched

import "heddle/harness/state"

// booking is a node that is reserved for a container of a job until it has room.
type booking struct {
	made bool
	job  state.JobID
	kind int
	size state.Resource
}

// waitsFor returns how many containers of a kind a job waits for.
func (m *tree) waitsFor(j *treeJob, v *state.View, id state.JobID, kind int) int32 {
	switch {
	case kind != bookMaster:
		return m.wants(v, id, state.Kind(kind))
	case j.waits:
		return 1
	}
	return 0
}

// mayBook reports whether a job asks for more containers of a kind than nodes are reserved for. The
// longer these have no room, the more nodes it may have.
//
// Source: Hadoop 3.4 RegularContainerAllocator.shouldAllocOrReserveNewContainer, with the node's
// capacity for the largest container.
func (m *tree) mayBook(j *treeJob, v *state.View, id state.JobID, n state.NodeID, kind int, size state.Resource) bool {
	starved := int32(0)
	if has := j.nodes[kind]; has > 0 {
		most := v.Capacity(n)
		factor := min(m.ratio(size, most), m.ratio(most.Sub(m.step), most))
		starved = int32(float32(j.again[kind]) / float32(has) * (1 - factor))
	}
	return starved+m.waitsFor(j, v, id, kind) > j.nodes[kind]
}

// book reserves a node.
func (m *tree) book(id state.JobID, n state.NodeID, kind int, size state.Resource) {
	for int(n) >= len(m.booked) {
		m.booked = append(m.booked, booking{})
	}
	m.booked[n] = booking{true, id, kind, size}
	j := m.jobs.Of(id)
	j.nodes[kind]++
	j.again[kind] = 0
	m.hold(j, size)
}

// unbook gives a reserved node free.
func (m *tree) unbook(n int) {
	b := m.booked[n]
	m.booked[n] = booking{}
	j := m.jobs.Of(b.job)
	j.nodes[b.kind]--
	j.again[b.kind] = 0
	m.hold(j, state.Resource{}.Sub(b.size))
}

// hold notes that so much more is reserved for a job.
func (m *tree) hold(j *treeJob, more state.Resource) {
	j.booked = j.booked.Add(more)
	for b := j.leaf; b != nil; b = b.parent {
		b.booked = b.booked.Add(more)
	}
	m.use(j, j.used.Add(more))
}

// offerBooked offers a node to the job for which it is reserved, whatever the limits are now. Nobody
// else gets it meanwhile.
func (m *tree) offerBooked(v *state.View, n state.NodeID) (Pick, outcome) {
	if int(n) >= len(m.booked) || !m.booked[n].made {
		return Pick{}, passed
	}
	b := m.booked[n]
	j := m.jobs.Of(b.job)
	if m.waitsFor(j, v, b.job, b.kind) == 0 {
		m.unbook(int(n))
		return Pick{}, booked
	}
	if b.kind == bookMap {
		*m.missed.Of(b.job)++
	}
	if !v.Free(n).Holds(b.size) || b.kind != bookMaster && !v.Fits(n, b.job, state.Kind(b.kind)) {
		j.again[b.kind]++
		return Pick{}, booked
	}
	m.unbook(int(n))
	switch b.kind {
	case bookMaster:
		return Pick{Job: b.job, Task: state.None, Reason: Master}, picked
	case bookReduce:
		return Pick{b.job, orSurplus(v.NextReduce(b.job)), state.Reduce, Reduces}, picked
	}
	if t := v.NextRerun(b.job); t != state.None {
		return Pick{b.job, t, state.Map, Rerun}, picked
	}
	t, level := v.Nearest(b.job, n, state.LevelNode, state.LevelOff)
	return MapPick(b.job, orSurplus(t), level), picked
}
