package tracefile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"heddle/traces"
)

// Reader reads a trace, one event after the other:
//
//	for r.Next() {
//		switch e := r.Event().(type) { … }
//	}
//	err := r.Err()
//
// It stops at the first damaged place. Err then returns a *DamageError. If its
// CutOff is true, only the end of the file is missing, and the events that were
// read are the beginning of the trace.
type Reader struct {
	header traces.Header
	src    source
	closer io.Closer
	events int64
	event  traces.Event
	err    error
}

// source is what a Reader reads events from: a trace file in heddle's binary
// format, or a trace in JSON Lines.
type source interface {
	// header reads the header of the trace. It is called once, before the first
	// call of the method next.
	header() (traces.Header, error)
	// next returns the next event. The caller may use the event until it calls
	// next again. At the end of the trace the error is io.EOF.
	next() (traces.Event, error)
	// skip makes next pass over the events of a kind, without decoding them.
	skip(traces.Kind)
	// footer returns the footer. It is nil until the end of the trace was read,
	// and if the trace has no footer.
	footer() *Footer
	// digest returns the trace digest, or "" if it is not known. It is called after the
	// end of the trace.
	digest() string
	// foreign is the number of events read so far whose kind or fields this
	// program does not know.
	foreign() int64
}

// Open opens a trace file, or a trace in JSON Lines, for reading.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	r, err := NewReader(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closer = f
	return r, nil
}

// NewReader returns a Reader of the trace that the argument in contains. The
// argument name is used in error messages.
func NewReader(in io.Reader, name string) (*Reader, error) {
	buf := bufio.NewReaderSize(in, 1<<18)
	if _, err := buf.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read trace %s: %w", name, err)
	}
	r, err := &Reader{}, error(nil)
	if isLines(buf) {
		head, _ := buf.Peek(headBytes)
		text := bytes.TrimSpace(head)
		if !bytes.Contains(head, []byte(`"kind"`)) && (Foreign(head) != "" || len(text) > 0 && text[0] != '{') {
			return nil, notATrace(buf, name)
		}
		r.src = newLines(buf, name)
	} else {
		scan, err := newScanner(buf, name)
		if err != nil {
			return nil, err
		}
		r.src = &records{scan: scan}
	}
	r.header, err = r.src.header()
	if err != nil {
		return nil, err
	}
	if r.header.Format > traces.ListFormatVersion {
		return nil, fmt.Errorf("read trace %s: it has format %d, this program reads up to %d: use a newer heddle",
			name, r.header.Format, traces.ListFormatVersion)
	}
	if r.header.List != nil {
		if err := r.header.List.Validate(); err != nil {
			return nil, fmt.Errorf("read trace %s: header: %w", name, err)
		}
	}
	return r, nil
}

// headBytes is enough of a file to see what it is.
const headBytes = 1 << 16

// notATrace returns the error for a file that is no trace of heddle.
func notATrace(in *bufio.Reader, name string) error {
	head, _ := in.Peek(headBytes) // what could not be read is no part of the message
	if is := Foreign(head); is != "" && is != OwnTrace {
		return fmt.Errorf("read trace %s: it is %s", name, is)
	}
	return fmt.Errorf("read trace %s: neither a heddle trace nor one in JSON Lines, nor what 'heddle trace import' reads: job histories of "+
		"Hadoop (.jhist), traces of Rumen and SLS, lists of jobs (SWIM); what is wrong with one of these, 'heddle trace import --from "+
		"FORMAT' says", name)
}

// isLines reports whether the trace is in JSON Lines. It skips a byte order mark
// at the start.
func isLines(in *bufio.Reader) bool {
	if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = in.Discard(3) // Discard cannot fail: Peek has already read these 3 bytes into the buffer
	}
	first, _ := in.Peek(1)
	return len(first) == 1 && strings.IndexByte("{ \t\r\n", first[0]) >= 0
}

// Header returns the header of the trace.
func (r *Reader) Header() traces.Header { return r.header }

// Next reads the next event. It returns false at the end of the trace and at a
// damaged place.
func (r *Reader) Next() bool {
	if r.err != nil {
		return false
	}
	r.event, r.err = r.src.next()
	if r.err == nil {
		r.events++
		return true
	}
	r.event = nil
	if damage, ok := errors.AsType[*DamageError](r.err); ok {
		damage.Events = r.events
	}
	return false
}

// Event returns the event that Next has just read. The next call of Next
// overwrites the event and the lists in it, but not its strings.
func (r *Reader) Event() traces.Event { return r.event }

// KeepEvents makes Next return a new event at each call, so that the caller may
// keep all events.
func (r *Reader) KeepEvents() {
	if src, ok := r.src.(*records); ok {
		src.keep = true
	}
}

// Skip makes Next pass over the events of some kinds, in a fraction of the time that it
// takes to decode them.
func (r *Reader) Skip(kinds ...traces.Kind) {
	for _, k := range kinds {
		r.src.skip(k)
	}
}

// All returns all events of the trace as a sequence. Call Err afterwards: an
// error may have ended the sequence early.
func (r *Reader) All() iter.Seq[traces.Event] {
	return func(yield func(traces.Event) bool) {
		for r.Next() {
			if !yield(r.Event()) {
				return
			}
		}
	}
}

// Err returns the error at which Next stopped. It is nil at the end of the
// trace.
func (r *Reader) Err() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

// Footer returns the footer of the trace. It is nil until Next has returned
// false, and for traces without a footer.
func (r *Reader) Footer() *Footer { return r.src.footer() }

// TraceDigest returns the digest of the whole trace, as its footer says. Of a trace in JSON
// Lines it is that of the events read. It is empty until Next has returned false, and if the
// end of the trace is missing.
func (r *Reader) TraceDigest() string { return r.src.digest() }

// Foreign returns the number of events read so far whose kind or fields this
// program does not know. Next skips events of unknown kinds.
func (r *Reader) Foreign() int64 { return r.src.foreign() }

// Close closes the file that Open opened. After NewReader it does nothing.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// ReadFile reads a whole trace into memory. If the file is damaged, it returns a
// *DamageError and the events before the damaged place.
func ReadFile(path string) (traces.Header, []traces.Event, error) {
	r, err := Open(path)
	if err != nil {
		return traces.Header{}, nil, err
	}
	defer r.Close()
	r.KeepEvents()
	var events []traces.Event
	for e := range r.All() {
		events = append(events, e)
	}
	return r.header, events, r.Err()
}

// records reads the events of a trace file in heddle's binary format, for a
// Reader.
type records struct {
	scan    *scanner
	dec     decoder
	started bool // true from the moment the decoder got a block until its records are used up
	block   block
	blocks  int64
	reused  [traces.Kinds]traces.Event
	skipped [traces.Kinds]bool
	keep    bool // true if next must return a new event at each call and not overwrite an earlier one
	unknown int64
	// unknownKinds has the number of events of each kind that this program does
	// not know.
	unknownKinds [256]int64
}

func (s *records) header() (traces.Header, error) {
	var h traces.Header
	kind, body, err := s.record()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = s.scan.damage(true, "there is no header")
		}
		return h, err
	}
	if kind != recordHeader {
		return h, s.scan.damage(false, "the first record is not the header")
	}
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		return h, s.scan.damage(false, fmt.Sprintf("header: %v", err))
	}
	return h, nil
}

func (s *records) next() (traces.Event, error) {
	for {
		kind, _, err := s.record()
		if err != nil {
			return nil, err
		}
		if kind == recordHeader {
			continue
		}
		if k := traces.Kind(kind); k.Known() && s.skipped[k] {
			if !s.dec.skip() {
				return nil, s.damaged()
			}
			continue
		}
		e := s.make(traces.Kind(kind))
		if e == nil {
			s.unknown++
			s.unknownKinds[kind]++
			if !s.dec.skip() {
				return nil, s.damaged()
			}
			continue
		}
		whole, ok := s.dec.event(e)
		if !ok {
			return nil, s.damaged()
		}
		if !whole {
			s.unknown++
		}
		return e, nil
	}
}

func (s *records) make(k traces.Kind) traces.Event {
	if s.keep || !k.Known() {
		return traces.New(k)
	}
	if s.reused[k] == nil {
		s.reused[k] = traces.New(k)
	}
	return s.reused[k]
}

// record returns the next record that is not a name. If the current block has no
// more records, it reads the next block.
func (s *records) record() (byte, string, error) {
	for {
		if s.started {
			if kind, body, ok := s.dec.record(); ok {
				return kind, body, nil
			}
			if s.dec.Bad {
				return 0, "", s.damaged()
			}
		}
		var err error
		if s.block, err = s.scan.next(); err != nil {
			s.started = false
			return 0, "", err
		}
		s.dec.reset(s.block.records)
		s.started = true
		s.blocks++
	}
}

// damaged returns the error for a bad record in the current block, and leaves
// the block. Its checksum was right, so the program that wrote the record has a
// fault.
func (s *records) damaged() error {
	s.started = false
	return &DamageError{
		Path: s.scan.path, Offset: s.block.offset,
		Reason: fmt.Sprintf("bad record at byte %d of the block", s.dec.At),
	}
}

func (s *records) skip(k traces.Kind) { s.skipped[k] = true }
func (s *records) footer() *Footer    { return s.scan.footer }
func (s *records) foreign() int64     { return s.unknown }

func (s *records) digest() string {
	if s.scan.footer == nil {
		return ""
	}
	return s.scan.footer.TraceDigest
}
