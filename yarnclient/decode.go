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

// decode fills v, a pointer to a struct or slice of plain Go values, from one
// answer. Hadoop writes the same thing in several dialects: with or without
// the root name, scalars bare or quoted, a list of one as the bare element, an
// empty list as {}, null, "" or nothing, one JSON key several times, and XML.
// What the target type says settles all of them.
//
// path leads to the value, {"nodes", "node"}; its first name, the root, may be
// missing from the answer. Struct fields are matched by their wire tag, where
// "a>b" means b inside a; a form tag names the form (see forms) that a text must
// have. Names that nobody asked for are skipped; an answer
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
		to := v.FieldByIndex(f.index)
		if err := s.walk(to, f.rest); err != nil {
			return err
		}
		if f.form != "" && to.String() != "" && !forms[f.form].MatchString(to.String()) {
			return s.errorf("%.80q has not the form of %s", to.String(), f.form)
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
	if s.listBytes += int(v.Type().Elem().Size()); s.listBytes > maxBodyBytes {
		return s.errorf("lists are limited to %d MiB; ask for less", maxBodyBytes>>20)
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
	form  string // key of forms; empty: any
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
			p[names[0]] = append(p[names[0]], field{index, names[1:], f.Tag.Get("form")})
		}
	}
}
