package model

import (
	"math"

	"heddle/harness/state"
)

// constant is the utility of every task, where all are equal.
const constant = 1000

// utilityOf returns the utility of a task of a job: 0 for a map once there is none,
// and for a reduce until all maps have ended.
func (m *learner) utilityOf(v *state.View, job state.JobID, kind state.Kind) float64 {
	maps := v.Tasks(job, state.Map)
	mapsLeft := maps - v.Done(job, state.Map)
	if m.MapsUntil == "started" && kind == state.Map {
		mapsLeft = v.Waiting(job, state.Map)
	}
	if kind == state.Map && mapsLeft == 0 || kind == state.Reduce && v.Done(job, state.Map) < maps {
		return 0
	}
	ageMs := float64(v.Now()-v.Submitted(job)) / 1e6
	switch m.Utility {
	case "fifo":
		return ageMs
	case "sjf":
		left := maps - v.Done(job, state.Map) + v.Tasks(job, state.Reduce) - v.Done(job, state.Reduce)
		return 1e6 / float64(max(left, 1))
	case "fair": // halves with each task that runs
		return math.Ldexp(constant, int(v.Priority(job))-int(min(v.Running(job, state.Map)+v.Running(job, state.Reduce), 1000)))
	case "priority":
		return constant * math.Max(float64(v.Priority(job))+1, 0)
	case "deadline": // the less time is left, the more
		if v.Deadline(job) == state.NoDeadline {
			return 1
		}
		return 1e6 / math.Max(float64(v.Deadline(job)-v.Now())/1e6, 1)
	case "revenue":
		return v.Price(job)
	case "dedicated":
		return m.dedicated(v, job)
	case "budget": // 0 once the balance is spent
		if m.spent[v.PoolName(v.Pool(job))] >= m.of(m.Budgets, v, job) {
			return 0
		}
	}
	return constant
}

// of returns what a table says of the job's pool, or of all pools.
func (m *learner) of(table map[string]float64, v *state.View, job state.JobID) float64 {
	if x, ok := table[v.PoolName(v.Pool(job))]; ok {
		return x
	}
	return table["*"]
}

// dedicated returns the utility of a job whose pool was promised a share of the
// cluster's memory: 0 above the share, and below it the inverse of what it lacks, or
// in proportion to it.
func (m *learner) dedicated(v *state.View, job state.JobID) float64 {
	used := 0.0
	for _, other := range v.Active() {
		if v.Pool(other) == v.Pool(job) {
			used += float64(v.Used(other).MemoryMB)
		}
	}
	lacks := m.of(m.Shares, v, job) - used/math.Max(float64(v.Total().MemoryMB), 1)
	switch {
	case lacks <= 0:
		return 0
	case m.Deficit == "proportional":
		return constant * lacks
	}
	return 1 / lacks
}
