package jsonscan

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// plain is the end of the bytes from pos on that stand for themselves in a text:
// neither quote nor backslash nor control character. Eight bytes at a time: a
// byte of x is 0 where (x - 0x01…) &^ x has its top bit, up to the first such.
func plain(buf []byte, pos int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for pos+8 <= len(buf) {
		w := binary.LittleEndian.Uint64(buf[pos:])
		quote, slash := w^'"'*ones, w^'\\'*ones
		if m := ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w) & tops; m != 0 {
			return pos + bits.TrailingZeros64(m)>>3
		}
		pos += 8
	}
	for c := buf[pos]; c >= ' ' && c != '"' && c != '\\'; c = buf[pos] {
		pos++
	}
	return pos
}

// text reads the text at pos. It lies in buf or, with escapes, in scratch.
func (s *Scanner) text() []byte {
	s.keep = s.pos
	s.pos++
	escaped := false
	for {
		buf := s.buf
		pos := plain(buf, s.pos)
		s.pos = pos
		switch {
		case buf[pos] == '"':
			text := buf[s.keep+1 : pos]
			s.pos++
			s.keep = -1
			if escaped {
				s.scratch = unescape(s.scratch[:0], text)
				return s.scratch
			}
			return text
		case pos == s.end || buf[pos] == '\\' && pos+1 == s.end:
			if !s.fill() {
				s.pos = s.end
				s.unexpected("a text's closing quote")
				s.keep = -1
				return nil
			}
		case buf[pos] == '\\' && buf[pos+1] >= 0x20:
			escaped = true
			s.pos += 2
		default:
			s.unexpected("a text's next letter")
			s.keep = -1
			return nil
		}
	}
}

// unescape undoes escapes; what is no escape stays as it is, as does half a
// surrogate pair, as U+FFFD.
func unescape(to, text []byte) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			to = append(to, c)
			continue
		}
		i++
		switch text[i] {
		case 'n':
			to = append(to, '\n')
		case 't':
			to = append(to, '\t')
		case 'r':
			to = append(to, '\r')
		case 'b':
			to = append(to, '\b')
		case 'f':
			to = append(to, '\f')
		case 'u':
			r := hex4(text[i+1:])
			if r < 0 {
				to = append(to, '\\', 'u')
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+2 < len(text) && text[i+1] == '\\' && text[i+2] == 'u' {
					low = hex4(text[i+3:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			to = utf8.AppendRune(to, r)
		default:
			to = append(to, text[i])
		}
	}
	return to
}

func hex4(text []byte) rune {
	if len(text) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(text[:4]), 16, 32)
	if err != nil {
		return -1
	}
	return rune(n)
}

// Int is a whole number; ok is false for null and for anything else. Numbers in
// quotes, with a fraction of 0 or an exponent are numbers too.
func (s *Scanner) Int() (n int64, ok bool) {
	c := s.peek()
	if c == '-' || '0' <= c && c <= '9' {
		// Most numbers end inside buf and have fewer than 19 digits.
		pos, buf := s.pos, s.buf
		if c == '-' {
			pos++
		}
		begin := pos
		var v uint64
		for d := buf[pos] - '0'; d <= 9; d = buf[pos] - '0' {
			v = v*10 + uint64(d)
			pos++
		}
		if e := buf[pos]; pos < s.end && pos > begin && pos-begin < 19 && e != '.' && e != 'e' && e != 'E' {
			s.pos = pos
			if c == '-' {
				return -int64(v), true
			}
			return int64(v), true
		}
		return s.slowInt(s.Raw)
	}
	switch c {
	case '"':
		return s.slowInt(s.text)
	case 'n':
		s.Skip()
		return 0, false
	}
	s.other("a whole number")
	return 0, false
}

func (s *Scanner) slowInt(read func() []byte) (int64, bool) {
	at := s.Offset()
	text := string(read())
	if s.err != nil {
		return 0, false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<62 {
		return int64(f), true
	}
	if s.Wrong != nil {
		if err := s.Wrong(at, "a whole number of 64 bits"); err != nil {
			s.Fail(err)
		}
	}
	return 0, false
}

// Raw is the next value's bytes as they are, valid until the next call.
func (s *Scanner) Raw() []byte {
	s.peek()
	s.keep = s.pos
	s.Skip()
	from := s.keep
	s.keep = -1
	if s.err != nil {
		return nil
	}
	return s.buf[from:s.pos]
}

// Skip steps over the next value.
func (s *Scanner) Skip() {
	switch c := s.peek(); {
	case c == '"':
		s.skipText()
	case c == '-' || '0' <= c && c <= '9':
		s.word()
	case c == 't' || c == 'f' || c == 'n':
		s.literal()
	case c == '{' || c == '[':
		s.skipNested()
	default:
		s.unexpected("a value")
	}
}

func (s *Scanner) skipNested() {
	var open [maxDepth]bool // true: an object
	depth := 0
	for s.err == nil {
		switch c := s.peek(); {
		case c == '{' || c == '[':
			if depth == maxDepth {
				s.fail(s.pos, false, "nested too deeply")
				return
			}
			open[depth] = c == '{'
			depth++
			s.pos++
			if n := s.peek(); n == closing(open[depth-1]) {
				s.pos++
				depth--
				break
			}
			if open[depth-1] {
				s.skipKey()
			}
			continue
		case c == '"':
			s.skipText()
		case c == '-' || '0' <= c && c <= '9':
			s.word()
		case c == 't' || c == 'f' || c == 'n':
			s.literal()
		default:
			s.unexpected("a value")
		}
		// Behind a value: close what ends here, or go to the next.
		for depth > 0 && s.err == nil {
			c := s.peek()
			if c == closing(open[depth-1]) {
				s.pos++
				depth--
				continue
			}
			if c != ',' {
				s.unexpected("a comma or a closing bracket")
				return
			}
			s.pos++
			if open[depth-1] {
				s.skipKey()
			}
			break
		}
		if depth == 0 {
			return
		}
	}
}

func closing(object bool) byte {
	if object {
		return '}'
	}
	return ']'
}

func (s *Scanner) skipKey() {
	if s.peek() != '"' {
		s.unexpected("a key in quotes")
		return
	}
	s.skipText()
	if s.err == nil && s.peek() != ':' {
		s.unexpected("a colon")
		return
	}
	s.pos++
}

// skipText steps over the text at pos.
func (s *Scanner) skipText() {
	s.pos++
	for {
		buf := s.buf
		pos := plain(buf, s.pos)
		s.pos = pos
		switch {
		case buf[pos] == '"':
			s.pos++
			return
		case pos == s.end || buf[pos] == '\\' && pos+1 == s.end:
			if !s.fill() {
				s.pos = s.end
				s.unexpected("a text's closing quote")
				return
			}
		case buf[pos] == '\\' && buf[pos+1] >= 0x20:
			s.pos += 2
		default:
			s.unexpected("a text's next letter")
			return
		}
	}
}

// word steps over a number.
func (s *Scanner) word() {
	begin := s.Offset()
	digits := false
	for {
		pos, buf := s.pos, s.buf
		for c := buf[pos]; '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; c = buf[pos] {
			digits = digits || '0' <= c && c <= '9'
			pos++
		}
		s.pos = pos
		if pos < s.end || !s.fill() {
			break
		}
	}
	if !digits || s.Offset()-begin > 1000 {
		s.unexpected("a number")
	}
}

// literal steps over true, false or null.
func (s *Scanner) literal() {
	want := "null"
	switch s.buf[s.pos] {
	case 't':
		want = "true"
	case 'f':
		want = "false"
	}
	for i := range len(want) {
		if s.pos == s.end && !s.fill() || s.buf[s.pos] != want[i] {
			s.unexpected(want)
			return
		}
		s.pos++
	}
}
