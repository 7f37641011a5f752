// Package tracefile keeps a run's events in a file: a stream of zstd frames,
// each with whole records and a checksum, and a footer with counts and digests
// (FORMAT.md, one folder up). A file that was cut off is readable up to its last
// whole block. Traces in JSON Lines are read and written too.
//
// It does not interpret events; package summary does.
package tracefile

import (
	"fmt"
)

// DamageError says that a file is not, or no longer, what its writer wrote.
type DamageError struct {
	Path   string
	Offset int64 // byte at which reading ended
	Line   int64 // for JSON Lines, from 1
	Events int64 // read before it
	// CutOff is true where nothing but the end is missing: what was read is
	// the beginning of the trace, unchanged.
	CutOff bool
	Reason string
}

func (e *DamageError) Error() string {
	what := "damaged"
	if e.CutOff {
		what = "cut off"
	}
	where := fmt.Sprintf("byte %d", e.Offset)
	if e.Line > 0 {
		where = fmt.Sprintf("line %d", e.Line)
	}
	return fmt.Sprintf("read trace %s: %s at %s, after %d events: %s; \"heddle trace repair\" keeps what is whole",
		e.Path, what, where, e.Events, e.Reason)
}

// WriteError says that a trace could not be written, and what became of it.
type WriteError struct {
	Path string
	// Live is true for a trace that Create began: Saved events are in it, in
	// whole blocks. A trace written at once is whole or not there.
	Live  bool
	Saved int64
	Lost  int64 // of the block that failed
	Err   error
}

func (e *WriteError) Error() string {
	if !e.Live {
		return fmt.Sprintf("write trace %s: %v; no file is left: make room or choose another folder", e.Path, e.Err)
	}
	return fmt.Sprintf("write trace %s: %v; %d events are saved in whole blocks, %d are lost: make room, then \"heddle trace repair\" gives the file its end",
		e.Path, e.Err, e.Saved, e.Lost)
}

func (e *WriteError) Unwrap() error { return e.Err }
