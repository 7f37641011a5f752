package sched

import (
	"math"

	"heddle/harness/state"
)

// amounts compares memory and cores as a resource calculator of Hadoop does: by memory alone, or
// by the larger share of the cluster. It rounds to whole smallest containers.
type amounts struct {
	dominant bool
	total    state.Resource // of the cluster
	step     state.Resource // the smallest container
}

// shares returns the larger and the smaller share of the cluster.
func (c *amounts) shares(r state.Resource) (larger, smaller float64) {
	memory, cores := float64(r.MemoryMB)/float64(max(1, c.total.MemoryMB)), float64(r.VCores)/float64(max(1, c.total.VCores))
	return max(memory, cores), min(memory, cores)
}

// less reports whether a is less than b.
func (c *amounts) less(a, b state.Resource) bool {
	if !c.dominant {
		return a.MemoryMB < b.MemoryMB
	}
	larger, smaller := c.shares(a)
	largerB, smallerB := c.shares(b)
	return larger < largerB || larger == largerB && smaller < smallerB
}

func (c *amounts) min(a, b state.Resource) state.Resource {
	if c.less(b, a) {
		return b
	}
	return a
}

func (c *amounts) max(a, b state.Resource) state.Resource {
	if c.less(a, b) {
		return b
	}
	return a
}

// fits reports whether b has room for a.
func (c *amounts) fits(a, b state.Resource) bool {
	return a.MemoryMB <= b.MemoryMB && (!c.dominant || a.VCores <= b.VCores)
}

// ratio returns a in parts of b.
func (c *amounts) ratio(a, b state.Resource) float32 {
	if !c.dominant {
		if b.MemoryMB == 0 {
			return 0
		}
		return float32(a.MemoryMB) / float32(b.MemoryMB)
	}
	larger, _ := c.shares(a)
	largerB, _ := c.shares(b)
	return float32(larger / largerB)
}

// none reports whether r is nothing.
func (c *amounts) none(r state.Resource) bool {
	return r.MemoryMB <= 0 && (!c.dominant || r.VCores <= 0)
}

// lacks reports whether r has no memory left or, where they count, no cores.
func (c *amounts) lacks(r state.Resource) bool {
	return r.MemoryMB <= 0 || c.dominant && r.VCores <= 0
}

func (c *amounts) down(r state.Resource) state.Resource {
	step := func(n, by int32) int32 { return n - n%max(1, by) }
	return state.Resource{MemoryMB: step(r.MemoryMB, c.step.MemoryMB), VCores: step(r.VCores, c.step.VCores)}
}

func (c *amounts) up(r state.Resource) state.Resource {
	return c.down(r.Add(state.Resource{MemoryMB: max(1, c.step.MemoryMB) - 1, VCores: max(1, c.step.VCores) - 1}))
}

// upTimes returns so many parts of r, rounded up to smallest containers.
func (c *amounts) upTimes(r state.Resource, by float32) state.Resource { return c.up(c.part(r, by)) }

// part returns so many parts of r, rounded to whole MB and cores.
func (c *amounts) part(r state.Resource, by float32) state.Resource {
	part := func(n int32) int32 {
		if c.dominant {
			return int32(math.Ceil(float64(float32(float64(n) * float64(by)))))
		}
		return int32(float64(n)*float64(by) + 0.5)
	}
	return state.Resource{MemoryMB: part(r.MemoryMB), VCores: part(r.VCores)}
}

// over returns r divided by a number, rounded up to whole MB and cores; nothing if it is 0.
func over(r state.Resource, by float32) state.Resource {
	if by == 0 {
		return state.Resource{}
	}
	part := func(n int32) int32 { return int32(math.Ceil(float64(float32(n) / by))) }
	return state.Resource{MemoryMB: part(r.MemoryMB), VCores: part(r.VCores)}
}

// positive returns r with 0 for what is below.
func positive(r state.Resource) state.Resource {
	return state.Resource{MemoryMB: max(0, r.MemoryMB), VCores: max(0, r.VCores)}
}

func smallest(a, b state.Resource) state.Resource {
	return state.Resource{MemoryMB: min(a.MemoryMB, b.MemoryMB), VCores: min(a.VCores, b.VCores)}
}
