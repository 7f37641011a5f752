package state

import "fmt"

// Timetable says how the capacity of nodes changes as time goes on. The zero
// value changes nothing.
type Timetable struct {
	// FromMs is the time at which the timetable begins. The times of Changes count
	// from it.
	FromMs int64
	// Changes are sorted by AtMs.
	Changes []CapacityChange
	// EveryMs, if above 0, is the time after which Changes happen again, and
	// again. It is above the times of all Changes.
	EveryMs int64
}

// CapacityChange says what memory and cores a node has for containers from a
// given time on.
type CapacityChange struct {
	AtMs int64
	Node string // the node's name
	Left Resource
}

// Check returns an error if the changes are not in order, or impossible.
func (t *Timetable) Check() error {
	at := int64(0)
	for i, c := range t.Changes {
		switch {
		case c.AtMs < at && i > 0:
			return fmt.Errorf("capacity change %d: its time, %d ms, is before that of change %d, %d ms", i, c.AtMs, i-1, at)
		case c.AtMs < 0:
			return fmt.Errorf("capacity change %d: its time, %d ms, is negative", i, c.AtMs)
		case c.Left.MemoryMB < 0 || c.Left.VCores < 0:
			return fmt.Errorf("capacity change %d: node %s has %v left: neither may be negative", i, c.Node, c.Left)
		case t.EveryMs != 0 && c.AtMs >= t.EveryMs:
			return fmt.Errorf("capacity change %d: its time, %d ms, is not before the timetable begins again at %d ms", i, c.AtMs, t.EveryMs)
		}
		at = c.AtMs
	}
	if t.FromMs < 0 {
		return fmt.Errorf("the capacity timetable begins at %d ms: it must be 0 or more", t.FromMs)
	}
	if t.EveryMs < 0 {
		return fmt.Errorf("the capacity timetable begins again every %d ms: it must be 0 or more", t.EveryMs)
	}
	return nil
}

// Change returns change number i, counted from 0 over all repetitions. The
// result ok is false if there are not so many.
func (t *Timetable) Change(i int) (c CapacityChange, ok bool) {
	n := len(t.Changes)
	if n == 0 || i >= n && t.EveryMs == 0 {
		return c, false
	}
	c = t.Changes[i%n]
	c.AtMs += t.FromMs + int64(i/n)*t.EveryMs
	return c, true
}
