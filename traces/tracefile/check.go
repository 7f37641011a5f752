package tracefile

import (
	"errors"
	"fmt"
	"maps"

	"heddle/traces"
)

// Report is the result of Check.
type Report struct {
	Path   string `json:"path"`
	Events int64  `json:"events"`
	Blocks int64  `json:"blocks"`
	// Foreign counts events that only another version knows wholly; digests
	// cannot be checked where there are any.
	Foreign int64 `json:"foreign"`
	// Complete and Reason are the footer's.
	Complete bool   `json:"complete"`
	Reason   string `json:"reason,omitempty"`
	// Damage is what is not as its writer wrote it.
	Damage []Finding `json:"damage"`
	// Impossible are values that no cluster has, such as a negative number of
	// maps. A program wrote them wrongly, or the file was changed by hand.
	Impossible        []Finding `json:"impossible"`
	DroppedImpossible int64     `json:"droppedImpossible,omitempty"`
	// Warnings are events that contradict each other. DroppedWarnings counts
	// those beyond the first few.
	Warnings        []Finding `json:"warnings"`
	DroppedWarnings int64     `json:"droppedWarnings,omitempty"`
}

// Finding is something wrong and where: the byte or line (damage) or the number
// of the event, from 1 (warnings); none for the trace as a whole.
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

// maxFindings bounds each list of a Report but Damage.
const maxFindings = 100

// Check reads a whole trace: every checksum and record, counts, digests, order,
// whether each field is in its range, and whether events fit each other. The error is for files that are no trace
// or cannot be read; damage is in the report.
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
		in.err = nil // the source goes on behind the damage
	}
	if src, ok := in.src.(*records); ok {
		r.Blocks = src.blocks
		for kind, n := range src.unknownKinds {
			tally.addForeign(byte(kind), n)
		}
	}
	r.Events, r.Foreign = tally.footer.Events, in.Foreign()
	sane.claims()
	tally.foreign = r.Foreign
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

// compare holds the footer against what was read.
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
		return // T and digests take fields that this program does not know
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
