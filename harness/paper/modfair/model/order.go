package model

import (
	"cmp"
	"slices"

	"heddle/harness/state"
)

// This file has M3, M4 and M5 of modfair: the order of pools and jobs, the
// delays, and the priorities of jobs.

// sortPools sorts m.poolOrder, the pools without sharedPool, and adds sharedPool
// at its place.
func (c *mechanisms) sortPools(m *fair1, k state.Kind) []*pool {
	list := append(c.list[:0], m.poolOrder...)
	s := m.shared
	if s != nil && s.most[k] == 0 {
		s = nil
	}
	if s != nil && c.SharedPlace == "sorted" {
		s.minimum = s.most
		list = append(list, s)
	}
	if c.has[m3] {
		list = c.byOccupation(list, k)
	} else {
		slices.SortStableFunc(list, func(a, b *pool) int { return byShare(a, b, k) })
	}
	switch {
	case s != nil && c.SharedPlace == "first":
		list = slices.Insert(list, 0, s)
	case s != nil && c.SharedPlace == "last":
		list = append(list, s)
	}
	c.list = list
	return list
}

// byOccupation sorts pools by M3, and leaves out those with nothing waiting.
func (c *mechanisms) byOccupation(list []*pool, k state.Kind) []*pool {
	list = slices.DeleteFunc(list, func(p *pool) bool { return p.pending[k] == 0 })
	slices.SortFunc(list, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
	for _, p := range list {
		p.draw = c.rng.Uint64()
		if c.Minimum == "ratchet" {
			p.ratchet[k] = min(p.ratchet[k], p.pending[k])
		}
	}
	slices.SortStableFunc(list, func(a, b *pool) int {
		minA, minB := c.minimumOf(a, k), c.minimumOf(b, k)
		runA, runB := a.running[k], b.running[k]
		switch enoughA, enoughB := runA <= minA, runB <= minB; {
		case enoughA != enoughB && enoughA:
			return -1
		case enoughA != enoughB:
			return 1
		case enoughA:
			// running/minimum, without a division
			if by := cmp.Compare(int64(runA)*int64(max(1, minB)), int64(runB)*int64(max(1, minA))); by != 0 {
				return by
			}
		default:
			if by := cmp.Compare(float64(runA)/a.weight, float64(runB)/b.weight); by != 0 {
				return by
			}
		}
		return cmp.Compare(a.draw, b.draw)
	})
	return list
}

// minimumOf returns the slots that a pool is to have first: its minimum, but no
// more than its waiting tasks.
func (c *mechanisms) minimumOf(p *pool, k state.Kind) int32 {
	if c.Minimum == "ratchet" && p.id != state.None {
		return p.ratchet[k]
	}
	return min(p.minimum[k], p.pending[k])
}

// byPending compares jobs of a pool by M3. The paper divides the waiting and the
// running tasks of a job by numbers that are the same for all jobs of the pool,
// which changes nothing in the order.
func (m *fair1) byPending(v *state.View, k state.Kind, a, b state.JobID) int {
	pending := cmp.Compare(v.Waiting(b, k), v.Waiting(a, k))
	if m.changed.MostPending == "last" {
		pending = -pending
	}
	return cmp.Or(m.byPriority(v, k, a, b), pending, cmp.Compare(v.Running(a, k), v.Running(b, k)))
}

// meanWait is the mean of the waits of maps that started at one level.
type meanWait struct{ ns, count float64 }

// add counts a wait of ns. If fades is true, all earlier waits then count a
// little less, so that a wait counts for about window launches.
func (w *meanWait) add(ns int64, fades bool, window float64) {
	if fades {
		keep := 1 - 1/window
		// The conversions keep compilers from fusing the operations, which would
		// give other results on other machines.
		w.ns, w.count = float64(w.ns*keep), float64(w.count*keep)
	}
	w.ns += float64(ns)
	w.count++
}

// delays returns M4's delays in ns.
func (c *mechanisms) delays() (node, rack int64) {
	of := func(w meanWait) int64 {
		if w.count == 0 {
			return c.EmptyDelayMs * 1e6
		}
		return int64(w.ns / w.count)
	}
	return of(c.waits[0]), of(c.waits[1])
}

// reprioritize changes a job's priority by M5, as it starts a map.
func (c *mechanisms) reprioritize(v *state.View, id state.JobID, j *fairJob, level state.Level) {
	if !j.prioritySet {
		j.priority, j.prioritySet = submittedPriority(v, id), true
		j.mapLevel = level
		return
	}
	before := j.priority
	j.priority = c.nextPriority(before, j.mapLevel, level)
	if j.mapLevel = level; j.priority != before {
		c.notes.priorityChanges++
	}
}

// nextPriority returns the priority after a map at level now that follows one at
// level last (Table 3).
func (c *mechanisms) nextPriority(p jobPriority, last, now state.Level) jobPriority {
	nearer := jobPriority(last) - jobPriority(now) // levels by which the map is nearer than the one before
	if c.Table3 == "printed" && last == state.LevelOff && now == state.LevelNode {
		nearer = -1
	}
	switch prose := c.EndLevel == "prose"; {
	case prose && nearer == 0 && p == veryHigh, !prose && nearer > 0 && p == veryHigh:
		return high
	case prose && nearer == 0 && p == veryLow, !prose && nearer < 0 && p == veryLow:
		return low
	}
	return min(max(p+nearer, veryLow), veryHigh)
}
