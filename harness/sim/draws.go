package sim

import (
	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// draws are the keys from which random numbers are drawn, one for each purpose. A
// number depends on its key and on what it is for, and not on other draws.
type draws struct{ compute, spread, label, read, fetch, fail draw.Key }

func drawsOf(seed uint64) draws {
	return draws{
		compute: draw.Stream(seed, "compute time"), spread: draw.Stream(seed, "task compute"), label: draw.Stream(seed, "label latency"),
		read: draw.Stream(seed, "replica read"), fetch: draw.Stream(seed, "rack fetched from"), fail: draw.Stream(seed, "attempt fails"),
	}
}

// computeMs returns how long, in milliseconds, an attempt would compute on a
// node of speed 1.
func (d *draws) computeMs(j *job, a *attempt, w *Work) int64 {
	ms := int64(w.ComputeMs)
	if q := j.spread[a.kind]; len(q) > 0 && ms > 0 {
		key := d.spread.At(j.hash).At(uint64(a.kind)).At(uint64(j.index(a.kind, a.task)))
		if a.number > 0 {
			key = key.At(uint64(a.number))
		}
		ms = max(1, (ms*ratioAt(q, key)+int64(RatioOne)/2)/int64(RatioOne))
	}
	return spreadOf(ms, w.SpreadPercent, d.compute.At(j.hash).At(uint64(a.task)).At(uint64(a.number)))
}

// labelMs returns the time, in milliseconds, from a decision until its
// container comes, when a node label gives the node to the job. The time is
// drawn at random between two neighbouring quantiles, as in Costs.LabelMs.
func (d *draws) labelMs(quantiles []int32, j *job, t state.TaskID) int64 {
	q := quantiles
	if len(q) == 0 {
		return 0
	}
	// between two neighbouring quantiles of the time from a node's label to its container, the random time takes one of so many values
	const parts = 1 << 10
	x := d.label.At(j.hash).At(uint64(t)).At(uint64(j.try(t))).Below((len(q)-1)*parts + 1)
	i, part := x/parts, int64(x%parts)
	if part == 0 {
		return int64(q[i])
	}
	return int64(q[i]) + (int64(q[i+1]-q[i])*part+parts/2)/parts
}
