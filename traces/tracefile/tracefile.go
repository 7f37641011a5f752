// Package tracefile reads and writes the files of traces, checks and repairs them,
// and cuts pieces out of them. It also reads and writes traces in JSON Lines.
//
// A file has blocks of compressed records, each with a checksum, and a footer with
// counts and digests. FORMAT.md, one folder up, describes the bytes. A file that
// was cut off can be read up to its last complete block.
package tracefile

import (
	"fmt"
)

// DamageError is the error for a place in a file that is not as a writer wrote it.
type DamageError struct {
	Path   string
	Offset int64 // byte at which reading ended
	Line   int64 // for JSON Lines, from 1
	Events int64 // read before it
	// CutOff is true if only the end of the file is missing, so that the events
	// that were read are the beginning of the trace.
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

// WriteError is the error for a trace that could not be written.
type WriteError struct {
	Path string
	// Live is true for a trace that Create began. It has Saved events in complete
	// blocks. Other traces are written completely or not at all.
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
