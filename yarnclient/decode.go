package yarnclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// decode fills v, a pointer to a struct or slice of plain Go values, from one
// answer. Hadoop writes the same thing in several dialects: with or without
// the root name, scalars bare or quoted, a list of one as the bare element, an
// empty list as {}, null, "" or nothing, one JSON key several times, and XML.
// What the target type says settles all of them.
//
// path leads to the value, {"nodes", "node"}; its first name, the root, may be
// missing from the answer. Struct fields are matched by their wire tag, where
// "a>b" means b inside a. Names that nobody asked for are skipped; an answer
// that has names but none of the expected ones is an error.
func decode(body []byte, v any, path ...string) error {
	if isXML(body) {
		var err error
		if body, err = xmlToJSON(body); err != nil {
			return err
		}
	}
	s := scanner{data: body}
	if err := s.root(reflect.ValueOf(v).Elem(), path); err != nil {
		return err
	}
	if s.space(); s.pos < len(s.data) {
		return s.errorf("text after the end of the answer")
	}
	return nil
}

// scanner walks JSON text once and stores what the target asks for. A generic
// decoder would first build maps of everything; a node list of a big cluster
// is megabytes of which a tenth is wanted.
type scanner struct {
	data  []byte
	pos   int
	depth int
}

const maxDepth = 200

func (s *scanner) root(v reflect.Value, path []string) error {
	if c := s.peek(); c != '{' || len(path) == 0 {
		return s.value(v)
	}
	known, names := false, 0
	err := s.object(func(name string) error {
		names++
		switch {
		case name == path[0]:
			known = true
			return s.walk(v, path[1:])
		case len(path) > 1 && name == path[1]:
			known = true
			return s.walk(v, path[2:])
		case len(path) == 1 && v.Kind() == reflect.Struct:
			if fields := planOf(v.Type())[name]; fields != nil {
				known = true
				return s.fields(v, fields)
			}
		}
		return s.skip()
	})
	if err == nil && names > 0 && !known {
		return fmt.Errorf("no %q in it", strings.Join(path, "."))
	}
	return err
}

// walk descends to the names of path and decodes what is there into v.
func (s *scanner) walk(v reflect.Value, path []string) error {
	if len(path) == 0 {
		return s.value(v)
	}
	if s.peek() == '[' { // a wrapper that became a list
		return s.array(func() error { return s.walk(v, path) })
	}
	if s.peek() != '{' {
		return s.empty("object")
	}
	return s.object(func(name string) error {
		if name != path[0] {
			return s.skip()
		}
		return s.walk(v, path[1:])
	})
}

func (s *scanner) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Struct:
		return s.structure(v)
	case reflect.Slice:
		return s.list(v)
	}
	return s.scalar(v)
}

func (s *scanner) structure(v reflect.Value) error {
	switch s.peek() {
	case '{':
		plan := planOf(v.Type())
		return s.object(func(name string) error {
			if fields := plan[name]; fields != nil {
				return s.fields(v, fields)
			}
			return s.skip()
		})
	case '[':
		n := 0
		return s.array(func() error {
			if n++; n > 1 {
				return s.errorf("several %s where one belongs", v.Type().Name())
			}
			return s.structure(v)
		})
	}
	return s.empty("object")
}

// fields stores one JSON value in every field that wants a part of it.
func (s *scanner) fields(v reflect.Value, fields []field) error {
	start := s.pos
	for _, f := range fields {
		s.pos = start
		if err := s.walk(v.FieldByIndex(f.index), f.rest); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) list(v reflect.Value) error {
	if s.peek() != '[' {
		return s.element(v)
	}
	return s.array(func() error {
		if s.peek() == '[' {
			return s.errorf("a list in a list")
		}
		return s.element(v)
	})
}

// element appends the value at hand to v, unless it stands for nothing.
func (s *scanner) element(v reflect.Value) error {
	s.peek()
	if n := s.nothing(); n > 0 {
		s.pos += n
		return nil
	}
	v.Grow(1)
	v.SetLen(v.Len() + 1)
	last := v.Index(v.Len() - 1)
	last.SetZero()
	return s.value(last)
}

// nothing returns the length of an empty value at the current place, or 0.
func (s *scanner) nothing() int {
	rest := s.data[s.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("null")):
		return len("null")
	case bytes.HasPrefix(rest, []byte("{}")):
		return len("{}")
	case bytes.HasPrefix(rest, []byte{'"'}):
		return blank(rest)
	}
	return 0
}

// blank returns the length of a string of nothing but space, as indented XML
// has it, or 0.
func blank(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case ' ':
		case '\\':
			if i++; i < len(text) && !bytes.ContainsRune([]byte("ntr"), rune(text[i])) {
				return 0
			}
		default:
			return 0
		}
	}
	return 0
}

func (s *scanner) empty(want string) error {
	s.peek()
	if n := s.nothing(); n > 0 {
		s.pos += n
		return nil
	}
	return s.errorf("%s expected", want)
}

func (s *scanner) scalar(v reflect.Value) error {
	switch c := s.peek(); c {
	case '{', '[':
		if c == '{' && s.nothing() > 0 {
			return s.skip()
		}
		if c == '[' { // a list of one
			n := 0
			return s.array(func() error {
				if n++; n > 1 {
					return s.errorf("several values where one belongs")
				}
				if s.peek() == '[' {
					return s.errorf("a list in a list")
				}
				return s.scalar(v)
			})
		}
		return s.errorf("%s expected, found an object", v.Kind())
	case '"':
		raw, escaped, err := s.text()
		if err != nil {
			return err
		}
		if v.Kind() == reflect.String {
			str := string(raw)
			if escaped {
				if str, err = unescape(raw); err != nil {
					return s.errorf("%v", err)
				}
			}
			v.SetString(str)
			return nil
		}
		return s.set(v, bytes.TrimSpace(raw))
	}
	word := s.word()
	if len(word) == 0 {
		return s.errorf("value expected")
	}
	if string(word) == "null" {
		return nil
	}
	return s.set(v, word)
}

// set parses a scalar. A number that Hadoop could not compute (NaN, Infinity)
// becomes 0, as an empty one does.
func (s *scanner) set(v reflect.Value, text []byte) error {
	if v.Kind() == reflect.String {
		v.SetString(string(text))
		return nil
	}
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	switch v.Kind() {
	case reflect.Bool:
		b, err := strconv.ParseBool(string(text))
		if err != nil {
			return s.errorf("bool expected, found %.40q", text)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			f, ferr := strconv.ParseFloat(string(text), 64)
			if ferr != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<62 {
				return s.errorf("whole number expected, found %.40q", text)
			}
			n = int64(f)
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return s.errorf("number expected, found %.40q", text)
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			f = 0
		}
		v.SetFloat(f)
	default:
		return s.errorf("cannot store in %s", v.Type())
	}
	return nil
}

// field is a struct field that a JSON name leads to, over further names.
type field struct {
	index []int
	rest  []string
}

type plan map[string][]field

var plans sync.Map // reflect.Type -> plan

func planOf(t reflect.Type) plan {
	if p, ok := plans.Load(t); ok {
		return p.(plan)
	}
	p := plan{}
	p.add(t, nil)
	plans.Store(t, p)
	return p
}

func (p plan) add(t reflect.Type, outer []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(outer), i)
		if f.Anonymous {
			p.add(f.Type, index)
		} else if tag := f.Tag.Get("wire"); tag != "" {
			names := strings.Split(tag, ">")
			p[names[0]] = append(p[names[0]], field{index, names[1:]})
		}
	}
}

// object calls each with every name; each must consume the value.
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
	s.pos++ // the opening bracket
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

// skip passes over one value, of which it checks only where it ends.
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

// peek returns the next byte that is not space, 0 at the end.
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

// escapedAt says whether what follows before is escaped by it.
func escapedAt(before []byte) bool {
	n := 0
	for n < len(before) && before[len(before)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// word reads a bare scalar: a number, true, false, null.
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
