package model

import (
	"cmp"
	"slices"

	"heddle/harness/state"
)

// This file has M1 and M2 of modfair: which jobs are in sharedPool, and how many
// slots each pool may use.

// classify decides which jobs are in sharedPool (M1).
func (c *mechanisms) classify(v *state.View, m *fair1) {
	c.notes.updates++
	if !c.has[m1] {
		return
	}
	if m.shared == nil {
		m.shared = &pool{name: "sharedPool", id: state.None, weight: 1}
	}
	fewest, small, all := int32(0), int64(0), int64(0)
	for _, id := range v.Active() {
		if unfinished(v, id, state.Map)+unfinished(v, id, state.Reduce) == 0 {
			continue // the job only has to end, or its ApplicationMaster does not run
		}
		all++
		switch maps := v.Tasks(id, state.Map); {
		case all == 1 || maps < fewest:
			fewest, small = maps, 1
		case maps == fewest:
			small++
		}
	}
	on := all > 0 && small*m.slots[state.Map] <= all*int64(v.NodesUp())
	reduces := int32(0) // of the small job with the most
	for _, id := range v.Active() {
		j := m.jobs.Of(id)
		if j.shared = on && v.Tasks(id, state.Map) <= fewest; j.shared {
			j.wasShared = true
			reduces = max(reduces, v.Tasks(id, state.Reduce))
		}
	}
	for k, tasks := range [2]int32{fewest, reduces} {
		switch grant := &m.shared.maximum[k]; {
		case !on:
			*grant = 0
		case c.Grant == "each" || *grant == 0:
			*grant = (tasks + 1) / 2
		}
	}
	if on {
		c.notes.sharedUpdates++
	}
}

// divide gives each pool the slots that it may use (M2).
func (c *mechanisms) divide(m *fair1) {
	if !c.has[m2] {
		return
	}
	pools := slices.Clone(m.pools)
	slices.SortFunc(pools, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
	for _, k := range kinds {
		left := m.slots[k] // to be divided
		for _, p := range pools {
			if c.Share != "total" {
				left -= int64(p.running[k])
			}
		}
		switch s := m.shared; {
		case s != nil && c.Share == "total":
			left -= int64(s.most[k])
		case s != nil:
			left -= int64(max(s.most[k], s.running[k]))
		}
		shares := make([]slotShare, len(pools))
		for i, p := range pools {
			shares[i] = slotShare{pending: int64(p.pending[k]), most: int64(p.maximum[k])}
			if c.Share == "free" {
				shares[i].most = max(0, shares[i].most-int64(p.running[k]))
			}
		}
		divideSlots(max(0, left), shares, c.Round)
		for i, p := range pools {
			p.most[k] = int32(shares[i].slots)
			if c.Share != "total" {
				p.most[k] += p.running[k]
			}
			if p.most[k] == 0 && p.running[k] == 0 && p.pending[k] > 0 {
				c.notes.emptyGrants++
				if c.AtLeastOne {
					p.most[k] = 1
				}
			}
		}
	}
}

// slotShare is what a pool has waiting, the most slots that it may get, and the
// slots that it got.
type slotShare struct{ pending, most, slots int64 }

// divideSlots divides slots between pools in proportion to their waiting tasks.
// Shares are rounded down and cut at each pool's most. With round "remainder",
// the slots left over go one by one to the pools that are not at their most, the
// largest fraction first. With "ceil", shares are rounded up instead.
func divideSlots(slots int64, pools []slotShare, round string) {
	all := int64(0)
	for _, p := range pools {
		all += p.pending
	}
	if all == 0 {
		return
	}
	left := slots
	var order []int
	for i := range pools {
		p := &pools[i]
		p.slots = slots * p.pending / all
		if round == "ceil" {
			p.slots = (slots*p.pending + all - 1) / all
		}
		p.slots = min(p.slots, p.most)
		if left -= p.slots; p.pending > 0 {
			order = append(order, i)
		}
	}
	if round != "remainder" {
		return
	}
	fraction := func(i int) int64 { return slots * pools[i].pending % all }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(fraction(b), fraction(a)) })
	for given := true; given && left > 0; {
		given = false
		for _, i := range order {
			if p := &pools[i]; left > 0 && p.slots < p.most {
				p.slots++
				left--
				given = true
			}
		}
	}
}
