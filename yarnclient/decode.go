package yarnclient

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// decode fills v, a pointer to a struct or slice of plain Go values, from an
// answer. Hadoop writes the same data in several ways: with or without the root
// name, scalars with or without quotes, a list of one element without brackets,
// an empty list as {}, null, "" or not at all, a JSON key several times, and as
// XML. decode accepts them all, since the target type says what is meant.
//
// path is the list of names that lead to the value, such as {"nodes", "node"}.
// The first one, the root, may be missing in the answer. Struct fields have
// wire tags with their name in the answer; "a>b" means b inside a. A form tag
// names the form that a text must have; see forms. Unknown names are skipped.
// An answer whose names are all unknown is an error.
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
		return fmt.Errorf("it has no %q", strings.Join(path, "."))
	}
	return err
}

// walk follows the names of path and decodes the value there into v.
func (s *scanner) walk(v reflect.Value, path []string) error {
	if len(path) == 0 {
		return s.value(v)
	}
	if s.peek() == '[' { // some answers have a list in place of an outer object
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
				return s.errorf("several values of %s; want one", v.Type().Name())
			}
			return s.structure(v)
		})
	}
	return s.empty("object")
}

// fields stores the next JSON value, or parts of it, in all struct fields that
// want them.
func (s *scanner) fields(v reflect.Value, fields []field) error {
	start := s.pos
	for _, f := range fields {
		s.pos = start
		to := v.FieldByIndex(f.index)
		if err := s.walk(to, f.rest); err != nil {
			return err
		}
		if f.form != "" && to.String() != "" && !forms[f.form].MatchString(to.String()) {
			return s.errorf("%.80q: want the form of an id or name of kind %s", to.String(), f.form)
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

// element decodes the next value and appends it to v, unless it is empty.
func (s *scanner) element(v reflect.Value) error {
	s.peek()
	if n := s.nothing(); n > 0 {
		s.pos += n
		return nil
	}
	if s.listBytes += int(v.Type().Elem().Size()); s.listBytes > maxBodyBytes {
		return s.errorf("its lists take more than %d MiB of memory; request less", maxBodyBytes>>20)
	}
	v.Grow(1)
	v.SetLen(v.Len() + 1)
	last := v.Index(v.Len() - 1)
	last.SetZero()
	return s.value(last)
}

// nothing returns the length of the empty value at the current position, or 0
// if there is none.
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

// blank returns the length of a quoted string of spaces, which indented XML
// gives, or 0.
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
		if c == '[' { // a list of one element stands for a single value
			n := 0
			return s.array(func() error {
				if n++; n > 1 {
					return s.errorf("several values; want one")
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

// set parses a scalar into v. NaN and Infinity, which Hadoop writes for what it
// cannot compute, become 0, and so does an empty text.
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

// field is a struct field, found by a JSON name and further names inside it.
type field struct {
	index []int
	rest  []string
	form  string // the form that the text must have, a key of forms; empty means any
}

type plan map[string][]field

var plans sync.Map // known plans of struct types, by reflect.Type

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
			p[names[0]] = append(p[names[0]], field{index, names[1:], f.Tag.Get("form")})
		}
	}
}
