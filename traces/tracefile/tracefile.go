// Package tracefile reads, writes, checks and repairs trace files, and copies
// parts of them. It also reads and writes traces in JSON Lines.
//
// A trace file has blocks of compressed records, each with a checksum. The
// footer has counts and digests. FORMAT.md in the folder traces describes the
// bytes. A file whose end is missing can be read up to its last complete block.
package tracefile

import (
	"fmt"
)

// DamageError is the error for a place in a trace file whose bytes are not as a
// writer of traces would have written them.
type DamageError struct {
	Path   string
	Offset int64 // offset in bytes of the place in the file at which reading ended
	Line   int64 // number of the damaged line, from 1, if the trace is in JSON Lines
	Events int64 // number of events read before the damage
	// CutOff is true if only the end of the file is missing. The events that
	// were read are then the beginning of the trace.
	CutOff bool
	Reason string
}

func (e *DamageError) Error() string {
	what := "damaged"
	if e.CutOff {
		what = "cut off"
	}
	if e.Line > 0 {
		return fmt.Sprintf("read trace %s: damaged at line %d: %s; \"heddle trace check\" names all lines to delete", e.Path, e.Line, e.Reason)
	}
	return fmt.Sprintf("read trace %s: %s at byte %d, after %d events: %s; \"heddle trace repair\" keeps what is whole",
		e.Path, what, e.Offset, e.Events, e.Reason)
}

// WriteError is the error for a trace that could not be written completely.
type WriteError struct {
	Path string
	// Live is true for a trace that was written during a run, by a Writer from
	// Create. The complete blocks stay in its file; Saved is the number of events
	// in them. Any other trace is written completely or not at all.
	Live  bool
	Saved int64
	Lost  int64 // number of events in the block that could not be written
	Err   error
}

func (e *WriteError) Error() string {
	if !e.Live {
		return fmt.Sprintf("write trace %s: %v; no file is left: make room or choose another folder", e.Path, e.Err)
	}
	return fmt.Sprintf("write trace %s: %v; %d events are saved in whole blocks, %d are lost: make room, "+
		"then \"heddle trace repair\" gives the file its end",
		e.Path, e.Err, e.Saved, e.Lost)
}

func (e *WriteError) Unwrap() error { return e.Err }
