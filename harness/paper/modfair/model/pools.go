package model

import (
	"cmp"
	"slices"

	"heddle/harness/state"
)

// This file has the pools of fair1, and the order of pools and of the jobs in them.

// pool is a group of jobs that get slots together.
type pool struct {
	name             string
	id               state.PoolID
	minimum, maximum [2]int32 // slots by kind of task
	weight           float64
	patience         // with modfair's owner=pool

	jobs    []state.JobID // that had not ended at the last update
	most    [2]int32      // how many tasks the pool may run
	demand  [2]int32      // unfinished tasks at the last update, at most as many as may run
	running [2]int32
	pending [2]int32
	ratchet [2]int32 // minimum as modfair's m3Min=ratchet has lowered it
	draw    uint64   // random number that breaks ties
}

func (m *fair1) newPool(name string, id state.PoolID) *pool {
	const noLimit = 1 << 30
	of := func(table map[string]float64, otherwise float64) float64 {
		if x, ok := table[name]; ok {
			return x
		}
		if x, ok := table["*"]; ok {
			return x
		}
		return otherwise
	}
	p := &pool{name: name, id: id, weight: of(m.Weights, 1)}
	for k, tables := range [2][2]map[string]float64{{m.MinMaps, m.MaxMaps}, {m.MinReduces, m.MaxReduces}} {
		p.minimum[k], p.maximum[k] = int32(min(of(tables[0], 0), noLimit)), int32(min(of(tables[1], noLimit), noLimit))
	}
	p.ratchet = p.minimum
	return p
}

// allPools returns the pools, and sharedPool if there is one.
func (m *fair1) allPools() []*pool {
	m.poolOrder = append(m.poolOrder[:0], m.pools...)
	if m.shared != nil {
		m.poolOrder = append(m.poolOrder, m.shared)
	}
	return m.poolOrder
}

func (m *fair1) poolOf(v *state.View, id state.JobID) *pool {
	if m.jobs.Of(id).shared {
		return m.shared
	}
	return m.pools[v.Pool(id)]
}

// count counts the running and the waiting tasks of the pools.
func (m *fair1) count(v *state.View) {
	for _, p := range m.allPools() {
		p.running, p.pending = [2]int32{}, [2]int32{}
		for _, id := range p.jobs {
			for _, k := range kinds {
				p.running[k] += v.Running(id, k)
				p.pending[k] += v.Waiting(id, k)
			}
		}
	}
}

// sortPools returns the pools in the order in which they are served.
func (m *fair1) sortPools(k state.Kind) []*pool {
	list := append(m.poolOrder[:0], m.pools...)
	m.poolOrder = list
	if m.changed != nil {
		return m.changed.sortPools(m, k)
	}
	slices.SortStableFunc(list, func(a, b *pool) int { return byShare(a, b, k) })
	return list
}

// byShare compares pools by how little they run of what is due to them.
func byShare(a, b *pool, k state.Kind) int {
	minA, minB := min(a.minimum[k], a.demand[k]), min(b.minimum[k], b.demand[k])
	switch needyA, needyB := a.running[k] < minA, b.running[k] < minB; {
	case needyA && !needyB:
		return -1
	case needyB && !needyA:
		return 1
	case needyA:
		// running/minimum, without a division
		if c := cmp.Compare(int64(a.running[k])*int64(minB), int64(b.running[k])*int64(minA)); c != 0 {
			return c
		}
	default:
		if c := cmp.Compare(float64(a.running[k])/a.weight, float64(b.running[k])/b.weight); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.name, b.name)
}

// sortJobs returns a pool's jobs in the order in which they are served. Jobs
// that came at the same time go by their ids.
func (m *fair1) sortJobs(v *state.View, k state.Kind, p *pool) []state.JobID {
	m.jobOrder = append(m.jobOrder[:0], p.jobs...)
	compare := m.byWeight
	switch {
	case p == m.shared && m.changed.SharedOrder == "fifo", p != m.shared && m.InPool == "fifo":
		compare = m.byPriority
	case m.changed != nil && m.changed.has[m3]:
		compare = m.byPending
	}
	slices.SortStableFunc(m.jobOrder, func(a, b state.JobID) int { return compare(v, k, a, b) })
	return m.jobOrder
}

func (m *fair1) byWeight(v *state.View, k state.Kind, a, b state.JobID) int {
	return cmp.Compare(m.runningByWeight(v, k, a), m.runningByWeight(v, k, b))
}

func (m *fair1) runningByWeight(v *state.View, k state.Kind, id state.JobID) float64 {
	return float64(v.Running(id, k)) / (v.Weight(id) * m.priority(v, id).weight())
}

func (m *fair1) byPriority(v *state.View, _ state.Kind, a, b state.JobID) int {
	return cmp.Compare(m.priority(v, b), m.priority(v, a))
}

// priority returns a job's priority, which modfair's M5 changes while the job
// runs.
func (m *fair1) priority(v *state.View, id state.JobID) jobPriority {
	if j := m.jobs.Of(id); j.prioritySet {
		return j.priority
	}
	return submittedPriority(v, id)
}
