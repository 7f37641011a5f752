package state

import (
	"fmt"
	"math"
	"slices"

	"heddle/harness/sim/draw"
	"heddle/traces"
)

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
	// Telling says what models are told of the timetable. It changes nothing of what
	// happens.
	Telling traces.Telling
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
	if x := t.Telling; x.LagMs < 0 || x.LagMs > maxLagMs || !(x.Noise >= 0 && x.Noise <= 1) {
		return fmt.Errorf(
			"the capacity timetable is told %d ms late, with errors of %v: want 0 to %d ms, and 0 to 1",
			x.LagMs,
			x.Noise,
			int64(maxLagMs),
		)
	}
	return nil
}

const maxLagMs = 365 * 24 * 3600 * 1000 // a year

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

// Told returns the timetable that models are told, nil if they are told nothing. The
// errors are drawn from the seed, evenly between -Noise and Noise; each repetition
// has them again. The argument full returns the size of a node without other load.
func (t *Timetable) Told(seed uint64, full func(node string) Resource) *Timetable {
	if t.Telling.None || len(t.Changes) == 0 {
		return nil
	}
	told := *t
	told.Telling = traces.Telling{}
	told.FromMs += t.Telling.LagMs
	if t.Telling.Noise == 0 {
		return &told
	}
	key := draw.Stream(seed, "capacity told")
	told.Changes = slices.Clone(t.Changes)
	for i := range told.Changes {
		c := &told.Changes[i]
		wrong := 1 + float64(t.Telling.Noise*(2*key.At(uint64(c.AtMs)).Fraction()-1))
		size := full(c.Node)
		c.Left = Resource{MemoryMB: leftOf(size.MemoryMB, c.Left.MemoryMB, wrong), VCores: leftOf(size.VCores, c.Left.VCores, wrong)}
	}
	return &told
}

// leftOf returns what is left if the load, which is what left lacks of full, is
// larger or smaller by a factor.
func leftOf(full, left int32, factor float64) int32 {
	load := math.Round(float64(full-left) * factor)
	return int32(max(0, float64(full)-max(0, load)))
}
