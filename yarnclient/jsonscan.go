package yarnclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// scanner reads JSON text once and stores only what the target needs. A general
// decoder would first build maps of everything; the node list of a big cluster
// has megabytes, of which a tenth is needed.
type scanner struct {
	data  []byte
	pos   int
	depth int
	// listBytes is the memory taken by the elements of all lists.
	listBytes int
}

const maxDepth = 200

// object reads an object and calls each with every name. each must read the
// value.
func (s *scanner) object(each func(name string) error) error {
	return s.members('}', func() error {
		if s.peek() != '"' {
			return s.errorf("name expected")
		}
		raw, escaped, err := s.text()
		if err != nil {
			return err
		}
		name := string(raw)
		if escaped {
			if name, err = unescape(raw); err != nil {
				return s.errorf("%v", err)
			}
		}
		if s.peek() != ':' {
			return s.errorf("colon expected")
		}
		s.pos++
		return each(name)
	})
}

func (s *scanner) array(each func() error) error { return s.members(']', each) }

func (s *scanner) members(end byte, each func() error) error {
	s.pos++
	if s.depth++; s.depth > maxDepth {
		return s.errorf("nested too deeply")
	}
	defer func() { s.depth-- }()
	if s.peek() == end {
		s.pos++
		return nil
	}
	for {
		if err := each(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case end:
			s.pos++
			return nil
		default:
			return s.errorf("comma or %q expected", end)
		}
	}
}

// skip skips the next JSON value. It checks only where the value ends.
func (s *scanner) skip() error {
	switch s.peek() {
	case '{', '[':
	case '"':
		_, _, err := s.text()
		return err
	default:
		if len(s.word()) == 0 {
			return s.errorf("value expected")
		}
		return nil
	}
	depth := 0
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '"':
			if _, _, err := s.text(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.pos++
				return nil
			}
		}
		s.pos++
	}
	return s.errorf("value without end")
}

// peek returns the next byte that is not a space, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos >= len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\n', '\r', '\t':
			s.pos++
		default:
			return
		}
	}
}

// text reads a quoted string and returns what is between the quotes.
func (s *scanner) text() (raw []byte, escaped bool, err error) {
	start := s.pos + 1
	for i := start; ; i++ {
		n := bytes.IndexByte(s.data[i:], '"')
		if n < 0 {
			s.pos = len(s.data)
			return nil, false, s.errorf("text without end")
		}
		if i += n; !escapedAt(s.data[start:i]) {
			s.pos = i + 1
			return s.data[start:i], bytes.IndexByte(s.data[start:i], '\\') >= 0, nil
		}
	}
}

// escapedAt reports whether the backslashes at the end of before escape the
// next character.
func escapedAt(before []byte) bool {
	n := 0
	for n < len(before) && before[len(before)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// word reads a scalar without quotes: a number, true, false or null.
func (s *scanner) word() []byte {
	start := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '+', c == '.':
			s.pos++
		default:
			return s.data[start:s.pos]
		}
	}
	return s.data[start:s.pos]
}

func unescape(raw []byte) (string, error) {
	var str string
	quoted := append(append([]byte{'"'}, raw...), '"')
	if err := json.Unmarshal(quoted, &str); err != nil {
		return "", errors.New("bad escape in text")
	}
	return str, nil
}

func (s *scanner) errorf(format string, args ...any) error {
	if s.pos >= len(s.data) {
		return fmt.Errorf("answer cut off after %d bytes: %s", len(s.data), fmt.Sprintf(format, args...))
	}
	return fmt.Errorf("at byte %d: %s", s.pos, fmt.Sprintf(format, args...))
}
