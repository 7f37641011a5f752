package model

import "math"

// utility says how well a job is served: 0 if it has just the slots that it needs
// (fit), 1 if it has one for each pending task, below 0 if its goal is in danger.
// The form is from memory of Polo et al.; the cases of small needs are ours.
func utility(alloc, fit, pending float64) float64 {
	switch {
	case fit <= 0:
		return alloc / pending
	case alloc <= 0:
		return math.Inf(-1)
	case alloc < fit && fit <= 1:
		return alloc/fit - 1
	case alloc < fit:
		return math.Log(alloc)/math.Log(fit) - 1
	case pending <= fit:
		return 1
	}
	return (alloc - fit) / (pending - fit)
}

// before says whether a job gets the next slot before another.
func (c *Demand) before(d *Demand) bool {
	switch {
	case c.utility != d.utility:
		return c.utility < d.utility
	case c.need != d.need:
		return c.need > d.need
	}
	return c.age < d.age
}

func (c *Demand) rate() { c.utility = utility(c.alloc, c.need, c.pending) }

// deal gives out slots one by one, each to the job with the lowest utility. No
// job gets more than it has pending tasks.
func deal(jobs []Demand, slots int) {
	var h []*Demand // a heap
	for i := range jobs {
		if c := &jobs[i]; c.alloc < c.pending {
			c.rate()
			h = append(h, c)
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		sink(h, i)
	}
	for ; slots > 0 && len(h) > 0; slots-- {
		c := h[0]
		c.alloc++
		c.rate()
		if c.alloc >= c.pending {
			h[0], h = h[len(h)-1], h[:len(h)-1]
		}
		sink(h, 0)
	}
}

// sink restores the order of a heap after the job at index i has changed. It is
// written out, since plans for thousands of nodes spend most of their time here.
func sink(h []*Demand, i int) {
	for {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if right := least + 1; right < len(h) && h[right].before(h[least]) {
			least = right
		}
		if !h[least].before(h[i]) {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
