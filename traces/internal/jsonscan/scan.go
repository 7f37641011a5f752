// Package jsonscan reads JSON as it comes, without a tree and without
// reflection: the caller asks for the next member or element and takes its value
// as the number, text, list or object that it wants.
//
//	for s.Value() { // of a file of values one after the other
//		if s.Object() {
//			for first := true; s.More(&first, '}'); {
//				switch key := s.Key(); string(key) {
//				case "count":
//					n, known = s.Int()
//				default:
//					s.Skip()
//				}
//			}
//		}
//	}
//	err := s.Err()
//
// Bytes that are not JSON end the reading, and Resync goes on behind them. A
// value of another type than the caller wants is told to Wrong and stepped over.
// Memory is bounded: by the longest text and by what Raw keeps.
package jsonscan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxTokenBytes bounds a text, a number, and a value that is kept raw.
const maxTokenBytes = 64 << 20

// maxDepth bounds nesting.
const maxDepth = 512

// Scanner reads values from an io.Reader.
type Scanner struct {
	// Wrong, where set, is told of a value that is not what the caller wants;
	// an error from it ends the reading.
	Wrong func(offset int64, want string) error

	in io.Reader
	// buf[pos:end] is not read yet; buf[end] is 0, so that loops end there. keep
	// is the first byte that must stay in buf, over a token or a raw value.
	buf            []byte
	pos, end, keep int
	base           int64 // offset of buf[0]
	eof            bool
	scratch        []byte // a text whose escapes are undone
	inArray        bool   // at the top level, between values
	err            error
	failed         int // pos where err was found; buf does not move after it
}

// NewScanner reads from in.
func NewScanner(in io.Reader) *Scanner {
	return &Scanner{in: in, buf: make([]byte, 1<<16), keep: -1}
}

// SyntaxError says where the bytes are not JSON.
type SyntaxError struct {
	Offset int64 // in the file, after decompression
	// CutOff is true where the file ends inside a value.
	CutOff bool
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

// Offset is the number of bytes read.
func (s *Scanner) Offset() int64 { return s.base + int64(s.pos) }

// Err is what ended the reading, nil at the end of the input.
func (s *Scanner) Err() error { return s.err }

// Fail ends the reading with an error, unless there is one.
func (s *Scanner) Fail(err error) {
	if s.err == nil {
		s.err, s.failed = err, s.pos
	}
}

// fill gets more bytes behind end; false when there are none. It moves what
// must stay to the front of buf.
func (s *Scanner) fill() bool {
	if s.eof || s.err != nil {
		return false
	}
	from := s.pos
	if s.keep >= 0 {
		from = s.keep
	}
	if from > 0 {
		copy(s.buf, s.buf[from:s.end])
		s.base += int64(from)
		s.pos -= from
		s.end -= from
		if s.keep >= 0 {
			s.keep = 0
		}
	}
	if s.end >= len(s.buf)-1 {
		if len(s.buf) >= maxTokenBytes {
			s.fail(s.pos, false, fmt.Sprintf("a value of over %d bytes", maxTokenBytes))
			return false
		}
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	for range 100 {
		n, err := s.in.Read(s.buf[s.end : len(s.buf)-1])
		s.end += n
		s.buf[s.end] = 0
		if err != nil {
			s.eof = true
			if !errors.Is(err, io.EOF) {
				s.Fail(fmt.Errorf("byte %d: %w", s.base+int64(s.end), err))
			}
		}
		if n > 0 || s.eof {
			return n > 0
		}
	}
	s.Fail(io.ErrNoProgress)
	return false
}

func (s *Scanner) fail(at int, cut bool, reason string) {
	s.Fail(&SyntaxError{Offset: s.base + int64(at), CutOff: cut, Reason: reason})
}

// unexpected fails on the byte at pos.
func (s *Scanner) unexpected(want string) {
	if s.pos == s.end && s.eof {
		s.fail(s.pos, true, "the file ends where "+want+" should be")
		return
	}
	s.fail(s.pos, false, fmt.Sprintf("found %q where %s should be", s.buf[s.pos], want))
}

// peek steps over white space and gives the next byte, 0 at the end.
func (s *Scanner) peek() byte {
	if c := s.buf[s.pos]; c > ' ' {
		return c
	}
	return s.space()
}

const eightSpaces = 0x2020202020202020

func (s *Scanner) space() byte {
	for {
		pos, buf := s.pos, s.buf
		c := buf[pos]
		for c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			pos++
			for pos+8 <= len(buf) && binary.LittleEndian.Uint64(buf[pos:]) == eightSpaces {
				pos += 8
			}
			c = buf[pos]
		}
		s.pos = pos
		if pos < s.end {
			return c
		}
		// White space behind the end is from earlier bytes.
		s.pos = s.end
		if !s.fill() {
			return 0
		}
	}
}

// Value goes to the next value of a sequence: values one after the other, as
// lists, or both. False at the end and after an error.
func (s *Scanner) Value() bool {
	for s.err == nil {
		switch c := s.peek(); {
		case s.pos == s.end:
			if s.inArray && s.err == nil {
				s.inArray = false
				s.unexpected("the list's end")
			}
			return false
		case c == '[' && !s.inArray:
			s.pos++
			s.inArray = true
		case c == ']' && s.inArray:
			s.pos++
			s.inArray = false
		case c == ',':
			s.pos++ // some tools put commas between values
		case c == '{':
			return true
		default:
			s.unexpected("an object")
		}
	}
	return false
}

// Resync goes on after a *SyntaxError: behind the next newline that an opening
// brace follows directly, as it does where objects begin. False where there is
// none, and after other errors.
func (s *Scanner) Resync() bool {
	var syntax *SyntaxError
	if !errors.As(s.err, &syntax) {
		return false
	}
	s.err, s.keep, s.pos = nil, -1, s.failed
	for {
		for s.pos+1 < s.end {
			if s.buf[s.pos] == '\n' && s.buf[s.pos+1] == '{' {
				s.pos++
				return true
			}
			s.pos++
		}
		if !s.fill() {
			s.pos = s.end
			return false
		}
	}
}

// Object enters an object; false where the value is null or something else.
func (s *Scanner) Object() bool { return s.enter('{', "an object") }

// Array enters a list; false where the value is null or something else.
func (s *Scanner) Array() bool { return s.enter('[', "a list") }

func (s *Scanner) enter(open byte, want string) bool {
	switch c := s.peek(); c {
	case open:
		s.pos++
		return true
	case 'n':
		s.Skip()
	default:
		s.other(want)
	}
	return false
}

// other steps over a value that is not what the caller wants.
func (s *Scanner) other(want string) {
	at := s.Offset()
	s.Skip()
	if s.err == nil && s.Wrong != nil {
		if err := s.Wrong(at, want); err != nil {
			s.Fail(err)
		}
	}
}

// More goes to the next member or element, up to the closing bracket. first is
// true before the first call.
func (s *Scanner) More(first *bool, closing byte) bool {
	if s.err != nil {
		return false
	}
	c := s.peek()
	if c == closing {
		s.pos++
		return false
	}
	if *first {
		*first = false
		return true
	}
	if c != ',' {
		s.unexpected(fmt.Sprintf("a comma or %q", closing))
		return false
	}
	s.pos++
	return s.err == nil
}

// Key is the next member's key, valid until the next call.
func (s *Scanner) Key() []byte {
	if s.peek() != '"' {
		s.unexpected("a key in quotes")
		return nil
	}
	key := s.text()
	if s.err != nil {
		return nil
	}
	pos := s.pos
	for s.buf[pos] == ' ' {
		pos++
	}
	if s.buf[pos] == ':' {
		s.pos = pos + 1
		return key
	}
	// The key may lie in buf, which the next bytes' arrival would move.
	s.scratch = append(s.scratch[:0], key...)
	if s.peek() != ':' {
		s.unexpected("a colon")
		return nil
	}
	s.pos++
	return s.scratch
}

// String is a text, valid until the next call; ok is false for null and for
// anything else. A number or truth value is taken as it is written.
func (s *Scanner) String() (text []byte, ok bool) {
	switch c := s.peek(); {
	case c == '"':
		text = s.text()
		return text, s.err == nil
	case c == 'n':
		s.Skip()
		return nil, false
	case c == '-' || '0' <= c && c <= '9' || c == 't' || c == 'f':
		text = s.Raw()
		return text, s.err == nil
	}
	s.other("a text")
	return nil, false
}
