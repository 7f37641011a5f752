package tracefile

import (
	"errors"
	"fmt"
	"maps"

	"heddle/traces"
)

// Report is the result of checking a trace file with Check.
type Report struct {
	Path   string `json:"path"`
	Events int64  `json:"events"`
	Blocks int64  `json:"blocks"`
	// Foreign is the number of events whose kind, or some of whose fields, only
	// other versions of heddle know. If there are any, the digests cannot be
	// checked.
	Foreign int64 `json:"foreign"`
	// Complete and Reason are copied from the footer of the trace: whether the
	// trace is complete, and if not, why.
	Complete bool   `json:"complete"`
	Reason   string `json:"reason,omitempty"`
	// Damage lists the places in the file whose bytes are not as a writer of
	// traces would have written them.
	Damage []Finding `json:"damage"`
	// Impossible lists values that no cluster has, such as a negative number of
	// maps. The length of the list is limited; DroppedImpossible is the number of
	// values that did not get into it.
	Impossible        []Finding `json:"impossible"`
	DroppedImpossible int64     `json:"droppedImpossible,omitempty"`
	// Warnings lists events that contradict each other. The length of the list is
	// limited; DroppedWarnings is the number of warnings that did not get into
	// it.
	Warnings        []Finding `json:"warnings"`
	DroppedWarnings int64     `json:"droppedWarnings,omitempty"`
}

// Finding is a fault that a check found, and its place: a byte of the file, a
// line, or an event's number in the trace. Lines and events count from 1. All
// three are 0 if the fault is one of the whole trace.
type Finding struct {
	Offset int64  `json:"offset,omitempty"`
	Line   int64  `json:"line,omitempty"`
	Event  int64  `json:"event,omitempty"`
	What   string `json:"what"`
}

func (f Finding) String() string {
	switch {
	case f.Event > 0:
		return fmt.Sprintf("event %d: %s", f.Event, f.What)
	case f.Line > 0:
		return fmt.Sprintf("line %d: %s", f.Line, f.What)
	case f.Offset > 0:
		return fmt.Sprintf("byte %d: %s", f.Offset, f.What)
	}
	return f.What
}

// maxFindings limits each list of a Report, except the list Damage, so that the
// report of a bad trace stays short.
const maxFindings = 100

// Check reads a whole trace and checks its checksums, records, counts, digests,
// the order of events and the ranges of their fields. It also finds events that
// contradict each other. The error is for a file that is not a trace or cannot
// be read; damage of a trace is in the Report.
func Check(path string) (Report, error) {
	r := Report{Path: path, Damage: []Finding{}, Impossible: []Finding{}, Warnings: []Finding{}}
	in, err := Open(path)
	var damage *DamageError
	if errors.As(err, &damage) {
		r.Damage = append(r.Damage, damage.finding())
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer in.Close()

	tally, sane := newTally(), newSanity(in.Header(), &r)
	for {
		for e := range in.All() {
			tally.add(e)
			sane.add(e)
		}
		err := in.Err()
		if err == nil {
			break
		}
		if !errors.As(err, &damage) {
			return r, err
		}
		r.Damage = append(r.Damage, damage.finding())
		in.err = nil // the error is cleared, so that the reader goes on behind the damaged place
	}
	if src, ok := in.src.(*records); ok {
		r.Blocks = src.blocks
		tally.addForeign(src)
	}
	r.Events, r.Foreign = tally.footer.Events, in.Foreign()
	sane.claims()
	f := in.Footer()
	if f == nil {
		sane.end(false)
		return r, nil
	}
	r.Complete, r.Reason = f.Complete, f.Reason
	sane.end(f.Complete)
	if len(r.Damage) == 0 {
		r.compare(*f, tally.result(f.Complete, f.Reason))
	}
	return r, nil
}

// compare adds to the report each difference between the footer in the file and
// the footer that was computed from the file's events.
func (r *Report) compare(footer, found Footer) {
	wrong := func(what string, has, want any) {
		r.Damage = append(r.Damage, Finding{What: fmt.Sprintf("the footer has %s %v, the events have %v", what, has, want)})
	}
	if footer.Events != found.Events {
		wrong("events", footer.Events, found.Events)
	}
	if !maps.Equal(footer.Kinds, found.Kinds) {
		wrong("kinds", footer.Kinds, found.Kinds)
	}
	if r.Foreign > 0 {
		return // this program does not know all events and fields of the trace, so it cannot compute the times and digests
	}
	if footer.FirstT != found.FirstT || footer.LastT != found.LastT {
		wrong("times", []traces.Time{footer.FirstT, footer.LastT}, []traces.Time{found.FirstT, found.LastT})
	}
	if footer.TraceDigest != "" && footer.TraceDigest != found.TraceDigest {
		wrong("trace digest", footer.TraceDigest, found.TraceDigest)
	}
	if footer.ScheduleDigest != "" && footer.ScheduleDigest != found.ScheduleDigest {
		wrong("schedule digest", footer.ScheduleDigest, found.ScheduleDigest)
	}
}

func (e *DamageError) finding() Finding {
	return Finding{Offset: e.Offset, Line: e.Line, What: e.Reason}
}
