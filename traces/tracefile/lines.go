package tracefile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"heddle/traces"
)

// maxLineBytes is the greatest length of a line in a trace in JSON Lines.
const maxLineBytes = maxBlockBytes

// WriteLines writes a trace in JSON Lines. The first line is the header; each
// event has a line. The first member of each JSON object is "kind".
func WriteLines(out io.Writer, h traces.Header, events iter.Seq[traces.Event]) error {
	buf := bufio.NewWriterSize(out, 1<<16)
	if err := writeLine(buf, "header", h); err != nil {
		return fmt.Errorf("write header: %w", err)
	}
	n := 0
	for e := range events {
		n++
		if err := writeLine(buf, e.Kind().String(), e); err != nil {
			return fmt.Errorf("write event %d: %w", n, err)
		}
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

func writeLine(buf *bufio.Writer, kind string, v any) error {
	text, err := json.Marshal(v)
	if err != nil { // such as NaN, which JSON does not have
		return fmt.Errorf("%w; \"heddle trace check\" lists the values that cannot be", err)
	}
	buf.WriteString(`{"kind":"`)
	buf.WriteString(kind)
	buf.WriteString(`",`)
	buf.Write(text[1:])
	return buf.WriteByte('\n')
}

// lines reads the events of a trace in JSON Lines, for a Reader.
type lines struct {
	name    string
	in      *bufio.Scanner
	line    int64
	unknown int64
	skipped [traces.Kinds]bool
	sum     *traces.TraceDigest
}

func newLines(in io.Reader, name string) *lines {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 1<<16), maxLineBytes)
	return &lines{name: name, in: s, sum: traces.NewTraceDigest()}
}

func (s *lines) header() (traces.Header, error) {
	var h traces.Header
	text, kind, err := s.read()
	if err == nil && kind != "header" {
		err = s.damage(`the first line is not the header ({"kind":"header",…})`)
	}
	if err == nil {
		if bad := json.Unmarshal(text, &h); bad != nil {
			err = s.damage(bad.Error())
		}
	}
	if errors.Is(err, io.EOF) {
		err = s.damage("there is no header")
	}
	return h, err
}

func (s *lines) next() (traces.Event, error) {
	for {
		text, name, err := s.read()
		if err != nil {
			return nil, err
		}
		if e, err := s.event(text, name); e != nil || err != nil {
			return e, err
		}
	}
}

// The method event decodes the event in a line, or returns nil if this program
// does not know its kind or skips it.
func (s *lines) event(text []byte, name string) (traces.Event, error) {
	kind, err := traces.ParseKind(name)
	if err != nil {
		s.unknown++
		return nil, nil
	}
	if s.skipped[kind] {
		return nil, nil
	}
	e := traces.New(kind)
	if err := json.Unmarshal(text, e); err != nil {
		return nil, s.damage(err.Error())
	}
	s.sum.Add(e)
	return e, nil
}

// read returns the next line that is not empty, and the value of its member
// "kind".
func (s *lines) read() (text []byte, kind string, err error) {
	for s.in.Scan() {
		s.line++
		text = bytes.TrimSpace(s.in.Bytes())
		if len(text) == 0 {
			continue
		}
		var head struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(text, &head); err != nil {
			return nil, "", s.damage(err.Error())
		}
		if head.Kind == "" {
			return nil, "", s.damage(`no "kind"`)
		}
		return text, head.Kind, nil
	}
	if err := s.in.Err(); err != nil {
		return nil, "", fmt.Errorf("read trace %s: line %d: %w", s.name, s.line+1, err)
	}
	return nil, "", io.EOF
}

func (s *lines) damage(reason string) error {
	return &DamageError{Path: s.name, Line: s.line, Reason: reason}
}

func (s *lines) skip(k traces.Kind) { s.skipped[k] = true }
func (s *lines) footer() *Footer    { return nil }
func (s *lines) foreign() int64     { return s.unknown }
func (s *lines) digest() string     { return s.sum.String() }
