package jsonstream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// chunkBytes is the number of bytes that are read from a file at a time.
	chunkBytes = 64 << 10
	// guardBytes is the number of zeros after the bytes that were read. A zero ends
	// every token, so that the loops below need not look for the end of the bytes.
	guardBytes = 8
	// maxDepth is the greatest number of objects and lists inside each other.
	maxDepth = 10_000
)

// scanner reads the tokens of a JSON text. It checks the whole grammar, but allows
// texts that are not UTF-8.
type scanner struct {
	in    io.Reader
	buf   []byte // bytes of the file, followed by guardBytes zeros; all of its capacity may be used
	end   int    // number of bytes of the file in buf
	at    int    // position in buf of the next byte
	base  int64  // offset in the file of the first byte of buf
	depth int    // number of objects and lists that the next byte is in
	err   error  // error of the last read of the file, such as io.EOF
	text  []byte // the last text with escapes; its memory is used again for the next one
}

// syntaxError says at which offset of a file its text is not JSON.
type syntaxError struct {
	offset int64
	wrong  string
	cutOff bool // true if the file ended there
}

func (e *syntaxError) Error() string { return e.wrong }

func (s *scanner) offset() int64 { return s.base + int64(s.at) }

// fill reads more of the file and reports whether there was more. Bytes that were
// returned before stay valid: fill writes behind them, or to other memory.
func (s *scanner) fill() bool {
	if s.err != nil {
		return false
	}
	if s.end+guardBytes == cap(s.buf) {
		back := min(s.at, 1) // resync looks at the byte before the next one
		rest := s.buf[s.at-back : s.end]
		s.buf = make([]byte, len(rest)+max(chunkBytes, len(rest))+guardBytes) // a long token doubles, so it is copied a few times only
		copy(s.buf, rest)
		s.base, s.at, s.end = s.base+int64(s.at-back), back, len(rest)
	}
	n := 0
	for tries := 0; n == 0 && s.err == nil; tries++ {
		if n, s.err = s.in.Read(s.buf[s.end : cap(s.buf)-guardBytes]); tries == 100 {
			s.err = io.ErrNoProgress
		}
	}
	s.end += n
	s.buf = s.buf[:s.end+guardBytes]
	clear(s.buf[s.end:])
	return n > 0
}

// has reports whether at least n more bytes can be read.
func (s *scanner) has(n int) bool {
	for s.end-s.at < n {
		if !s.fill() {
			return false
		}
	}
	return true
}

// fail returns the error for a byte, i places after the next one, that JSON does not
// allow there.
func (s *scanner) fail(i int, want string) error {
	if s.has(i + 1) {
		return &syntaxError{offset: s.offset() + int64(i), wrong: fmt.Sprintf("found %q where %s should be", s.buf[s.at+i], want)}
	}
	if !errors.Is(s.err, io.EOF) {
		return fmt.Errorf("byte %d: %w", s.base+int64(s.end), s.err)
	}
	return &syntaxError{offset: s.base + int64(s.end), wrong: "the file ends where " + want + " should be", cutOff: true}
}

// next skips spaces and returns the first byte after them, without reading it. It
// returns a byte that begins no token if the file ends.
func (s *scanner) next() byte {
	if c := s.buf[s.at]; c > ' ' {
		return c
	}
	return s.afterSpace()
}

func (s *scanner) afterSpace() byte {
	for {
		switch c := s.buf[s.at]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			s.at++
			for binary.LittleEndian.Uint64(s.buf[s.at:]) == 0x2020202020202020 { // eight spaces, as indented files have many
				s.at += 8
			}
		case c != 0 || s.at < s.end || !s.fill():
			return c
		}
	}
}

// enter reads the opening bracket of an object or a list.
func (s *scanner) enter() error {
	if s.depth == maxDepth {
		return &syntaxError{offset: s.offset(), wrong: fmt.Sprintf("more than %d objects and lists are inside each other", maxDepth)}
	}
	s.depth++
	s.at++
	return nil
}

// more reports whether an object or a list that ends with the given byte has another
// part, and reads the comma before that part.
func (s *scanner) more(end byte, first bool) (bool, error) {
	c := s.next()
	if c == end {
		s.at++
		s.depth--
		return false, nil
	}
	if first {
		return true, nil
	}
	if c != ',' {
		return false, s.fail(0, "a comma or "+string(rune(end)))
	}
	s.at++
	s.next()
	return true, nil
}

// key reads the key of an object's member and the colon after it.
func (s *scanner) key() ([]byte, error) {
	if s.next() != '"' {
		return nil, s.fail(0, "a key")
	}
	raw, escaped, err := s.quoted()
	if err != nil {
		return nil, err
	}
	if s.next() != ':' {
		return nil, s.fail(0, "a colon")
	}
	s.at++
	s.next()
	if escaped {
		return s.unescape(raw), nil
	}
	return raw, nil
}

// quoted reads a text and returns what is between its quotes. The result escaped says
// whether it has backslashes.
func (s *scanner) quoted() (raw []byte, escaped bool, err error) {
	for i := 1; ; {
		i += plain(s.buf[s.at+i:])
		switch c := s.buf[s.at+i]; {
		case c == '"':
			raw = s.buf[s.at+1 : s.at+i]
			s.at += i + 1
			return raw, escaped, nil
		case s.at+i == s.end:
			if !s.fill() {
				return nil, false, s.fail(i, "the end of a text")
			}
		case c == '\\':
			n, err := s.escape(i)
			if err != nil {
				return nil, false, err
			}
			i += n
			escaped = true
		default:
			return nil, false, s.fail(i, "a byte of a text")
		}
	}
}

// plain returns the number of bytes at the beginning of a text that need no care: all
// but quotes, backslashes and control characters. The text ends with guardBytes zeros.
func plain(text []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for i := 0; ; i += 8 {
		// For each byte of x, its top bit in found is set if the byte is one of those
		// sought. Above such a byte, a subtraction may carry and set more of them.
		x := binary.LittleEndian.Uint64(text[i:])
		quote, slash := x^ones*'"', x^ones*'\\'
		found := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*' ')&^x) & tops
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
}

// escape checks the escape that begins i bytes after the next one, and returns its
// length.
func (s *scanner) escape(i int) (int, error) {
	if !s.has(i + 2) {
		return 0, s.fail(i+1, "an escape")
	}
	switch s.buf[s.at+i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
		for k := i + 2; k < i+6; k++ {
			if !s.has(k+1) || !isHex(s.buf[s.at+k]) {
				return 0, s.fail(k, "a hexadecimal digit")
			}
		}
		return 6, nil
	}
	return 0, s.fail(i+1, "an escape")
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// escapes are the bytes that escapes of one letter stand for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape returns what a text that was read between quotes stands for. The result is
// valid until the next call.
func (s *scanner) unescape(raw []byte) []byte {
	out := s.text[:0]
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '\\' {
			i++
			c = escapes[raw[i]]
		}
		if c == 0 || c >= 0x80 { // the JSON package knows about the rest: surrogates, and bytes that are not UTF-8
			out, _ = jsontext.AppendUnquote(s.text[:0], append(append([]byte{'"'}, raw...), '"')) // the error only says that some of these became U+FFFD
			break
		}
		out = append(out, c)
	}
	s.text = out
	return out
}

// whole reads a number of at most 18 digits without a fraction or an exponent. If the
// next value is something else, ok is false and nothing is read.
func (s *scanner) whole() (n int64, ok bool) {
	i := s.at
	negative := s.buf[i] == '-'
	if negative {
		i++
	}
	first := i
	for d := s.buf[i] - '0'; d <= 9; d = s.buf[i] - '0' {
		n = n*10 + int64(d) // wrong over 18 digits, and then not used
		i++
	}
	digits := i - first
	if c := s.buf[i]; digits == 0 || digits > 18 || digits > 1 && s.buf[first] == '0' || c == '.' || c|0x20 == 'e' || i == s.end {
		return 0, false
	}
	s.at = i
	if negative {
		n = -n
	}
	return n, true
}

// number reads a number and returns it as it is written.
func (s *scanner) number() ([]byte, error) {
	i := 0
	peek := func() byte {
		if s.at+i == s.end {
			s.fill()
		}
		return s.buf[s.at+i]
	}
	digits := func() error {
		from := i
		for c := peek(); c >= '0' && c <= '9'; c = peek() {
			i++
		}
		if i == from {
			return s.fail(i, "a digit")
		}
		return nil
	}
	if peek() == '-' {
		i++
	}
	if peek() == '0' {
		i++
	} else if err := digits(); err != nil {
		return nil, err
	}
	if peek() == '.' {
		i++
		if err := digits(); err != nil {
			return nil, err
		}
	}
	if peek()|0x20 == 'e' {
		i++
		if c := peek(); c == '+' || c == '-' {
			i++
		}
		if err := digits(); err != nil {
			return nil, err
		}
	}
	s.at += i
	return s.buf[s.at-i : s.at], nil
}

// literal reads one of the words true, false and null.
func (s *scanner) literal(word string) ([]byte, error) {
	for i := range len(word) {
		if !s.has(i+1) || s.buf[s.at+i] != word[i] {
			return nil, s.fail(i, word)
		}
	}
	s.at += len(word)
	return s.buf[s.at-len(word) : s.at], nil
}

// scalar reads a number, true, false or null and returns it as it is written.
func (s *scanner) scalar() ([]byte, error) {
	switch c := s.next(); c {
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.number()
	}
	return nil, s.fail(0, "a value")
}

// skip reads the next value, whatever it is.
func (s *scanner) skip() error {
	var end byte
	switch s.next() {
	case '"':
		_, _, err := s.quoted()
		return err
	case '{':
		end = '}'
	case '[':
		end = ']'
	default:
		if _, ok := s.whole(); ok {
			return nil
		}
		_, err := s.scalar()
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.more(end, first)
		if !more || err != nil {
			return err
		}
		if end == '}' {
			if _, err := s.key(); err != nil {
				return err
			}
		}
		if err := s.skip(); err != nil {
			return err
		}
	}
}
