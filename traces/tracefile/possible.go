package tracefile

import (
	"fmt"

	"heddle/traces"
)

// Possible finds the values in a trace that no cluster has, as Check does, for
// commands that use the trace. Its memory does not depend on the trace.
type Possible struct {
	// Spark accepts applications of Spark. Without it they are an error.
	Spark bool

	n     int64 // number of the event that is being checked, counted from 1
	count int64
	first Finding
	err   error
}

// NewPossible checks the header of a trace. It returns an error as the method Add
// does.
func NewPossible(h traces.Header) (*Possible, error) {
	p := &Possible{}
	checkHeader(h, func(what string, text bool) { p.found("header: "+what, text) })
	return p, p.err
}

// Add checks an event. It returns an error if a number is impossible from which
// results are computed: sums and differences of such numbers mean nothing. Nor does what is
// computed of a cluster on which Spark ran, too. It counts
// what else is impossible.
func (p *Possible) Add(e traces.Event) error {
	p.n++
	if e.Kind().IsSpark() && !p.Spark && p.err == nil {
		p.err = traces.ErrSpark
	}
	traces.OutOfRange(e, func(what string, text bool) {
		p.found(fmt.Sprintf("%v: %s", e.Kind(), what), text || !computed(e.Kind()))
	})
	return p.err
}

func (p *Possible) found(what string, harmless bool) {
	at := Finding{Event: p.n, What: what}
	if p.count++; p.count == 1 {
		p.first = at
	}
	if !harmless && p.err == nil {
		p.err = fmt.Errorf("%v; no cluster has such a value, and no result can be computed from it: heddle trace check lists all", at)
	}
}

// Warning says how many values are impossible, and which is the first. It is empty
// if there are none.
func (p *Possible) Warning() string {
	if p.count == 0 {
		return ""
	}
	return fmt.Sprintf("%d values are such as no cluster has, the first in %v: heddle trace check lists all", p.count, p.first)
}

// computed reports whether results are computed from the numbers in events of a
// kind. They are not computed from what a run only observed besides.
func computed(k traces.Kind) bool {
	switch k {
	case traces.KindNodeSample, traces.KindNodeLabel, traces.KindNote, traces.KindHeartbeat, traces.KindDecision, traces.KindActuation:
		return false
	}
	return true
}
