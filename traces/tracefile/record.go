package tracefile

import (
	"encoding/binary"
	"unsafe"

	"heddle/traces"
)

// Types of records that are not events.
const (
	recordName   = 0   // record with a name; events of the block refer to the name by its position among the block's names
	recordHeader = 255 // record with the header of the trace as JSON
)

// encoder writes the records of a block. A name that the block does not have yet gets a
// record of its own before that of the event.
type encoder struct {
	traces.Encoder // of the body of a record
	block          []byte
	names          map[string]uint64
	// recent has some of names by where their texts are in memory: most events have the same.
	recent [1 << 10]struct {
		name   string
		number uint64
	}
}

func (e *encoder) reset() {
	e.block = e.block[:0]
	clear(e.names)
	clear(e.recent[:])
	e.Since = 0
}

// event writes an event, and adds it to the digest of the trace unless that is nil.
func (e *encoder) event(ev traces.Event, digest *traces.TraceDigest) {
	e.Stored = e.Stored[:0]
	if digest != nil {
		digest.Encode(ev, &e.Encoder)
	} else {
		e.Event(ev)
	}
	e.Since = ev.At()
	e.block = appendRecord(e.block, byte(ev.Kind()), e.Stored)
}

func (e *encoder) number(name string) uint64 {
	if name == "" {
		return 0
	}
	recent := &e.recent[uintptr(unsafe.Pointer(unsafe.StringData(name)))>>3%uintptr(len(e.recent))]
	if recent.name == name {
		return recent.number
	}
	n, ok := e.names[name]
	if !ok {
		n = uint64(len(e.names)) + 1
		e.names[name] = n
		e.block = appendRecord(e.block, recordName, name)
	}
	recent.name, recent.number = name, n
	return n
}

func appendRecord[T string | []byte](dst []byte, kind byte, body T) []byte {
	dst = append(dst, kind)
	dst = binary.AppendUvarint(dst, uint64(len(body)))
	return append(dst, body...)
}

// decoder reads the records of a block.
type decoder struct {
	traces.Decoder
	known map[string]string // names that occurred in the blocks read so far, so that equal names share memory
}

// maxKnownNames limits the names that a decoder remembers from one block to the
// next, so that they do not fill the memory.
const maxKnownNames = 1 << 20

func (d *decoder) reset(block string) { d.Decoder = traces.Decoder{Text: block, Names: d.Names[:0]} }

// record returns the type and the body of the block's next record that is not a
// name. It remembers the names before that record, since events refer to names
// by their position. The result ok is false at the end of the block and at a
// damaged record; a damaged record also sets d.Bad.
func (d *decoder) record() (kind byte, body string, ok bool) {
	for {
		d.At = d.End
		if d.At == len(d.Text) {
			return 0, "", false
		}
		kind = d.Text[d.At]
		d.At++
		d.End = len(d.Text)
		n := d.Uint()
		if d.Bad || n > uint64(len(d.Text)-d.At) {
			d.Bad = true
			return 0, "", false
		}
		d.End = d.At + int(n)
		body = d.Text[d.At:d.End]
		if kind != recordName {
			return kind, body, true
		}
		d.define(body)
	}
}

func (d *decoder) define(name string) {
	kept, ok := d.known[name]
	if !ok {
		if d.known == nil || len(d.known) == maxKnownNames {
			d.known = map[string]string{}
		}
		kept = string([]byte(name)) // the name is copied, since a substring of the block would keep the whole block in memory
		d.known[kept] = kept
	}
	d.Names = append(d.Names, kept)
}

// The method event sets the fields of the event ev from the current record. The
// result whole is false if the record has more fields than this program knows.
func (d *decoder) event(ev traces.Event) (whole, ok bool) {
	d.Event(ev)
	return d.At == d.End, !d.Bad
}

// skip skips a record of an unknown kind. It still decodes the record's time,
// since the time in the next record is stored as the difference to this one.
func (d *decoder) skip() bool {
	d.Skip()
	return !d.Bad
}
