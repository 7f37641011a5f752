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

	"github.com/go-json-experiment/json/jsontext"
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
	s := newScanner(body, new(int))
	if err := s.root(reflect.ValueOf(v).Elem(), path); err != nil {
		return cutOff(err, len(body))
	}
	if len(s.rest()) > 0 {
		return s.errorf("text after the end of the answer")
	}
	return nil
}

func (s scanner) root(v reflect.Value, path []string) error {
	if c := s.PeekKind(); c != '{' || len(path) == 0 {
		return s.value(v)
	}
	known, names := false, 0
	err := s.object(func(name []byte) error {
		names++
		switch {
		case string(name) == path[0]:
			known = true
			return s.walk(v, path[1:])
		case len(path) > 1 && string(name) == path[1]:
			known = true
			return s.walk(v, path[2:])
		case len(path) == 1 && v.Kind() == reflect.Struct:
			if fields := planOf(v.Type())[string(name)]; fields != nil {
				known = true
				return s.fields(v, fields)
			}
		}
		return s.SkipValue()
	})
	if err == nil && names > 0 && !known {
		return fmt.Errorf("no %q in it", strings.Join(path, "."))
	}
	return err
}

// walk descends to the names of path and decodes what is there into v.
func (s scanner) walk(v reflect.Value, path []string) error {
	if len(path) == 0 {
		return s.value(v)
	}
	if s.PeekKind() == '[' { // a wrapper that became a list
		return s.array(func() error { return s.walk(v, path) })
	}
	if s.PeekKind() != '{' {
		return s.empty("object")
	}
	return s.object(func(name []byte) error {
		if string(name) != path[0] {
			return s.SkipValue()
		}
		return s.walk(v, path[1:])
	})
}

func (s scanner) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Struct:
		return s.structure(v)
	case reflect.Slice:
		return s.list(v)
	}
	return s.scalar(v)
}

func (s scanner) structure(v reflect.Value) error {
	switch s.PeekKind() {
	case '{':
		plan := planOf(v.Type())
		return s.object(func(name []byte) error {
			if fields := plan[string(name)]; fields != nil {
				return s.fields(v, fields)
			}
			return s.SkipValue()
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
func (s scanner) fields(v reflect.Value, fields []field) error {
	var value jsontext.Value // for fields that want parts of the same
	if len(fields) > 1 {
		read, err := s.ReadValue()
		if err != nil {
			return err
		}
		value = read.Clone()
	}
	for _, f := range fields {
		if len(fields) > 1 {
			s = newScanner(value, s.listBytes)
		}
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

func (s scanner) list(v reflect.Value) error {
	if s.PeekKind() != '[' {
		return s.element(v)
	}
	return s.array(func() error {
		if s.PeekKind() == '[' {
			return s.errorf("a list in a list")
		}
		return s.element(v)
	})
}

// element appends the value at hand to v, unless it stands for nothing.
func (s scanner) element(v reflect.Value) error {
	if s.nothing() {
		return s.SkipValue()
	}
	if *s.listBytes += int(v.Type().Elem().Size()); *s.listBytes > maxBodyBytes {
		return s.errorf("lists are limited to %d MiB; ask for less", maxBodyBytes>>20)
	}
	v.Grow(1)
	v.SetLen(v.Len() + 1)
	last := v.Index(v.Len() - 1)
	last.SetZero()
	return s.value(last)
}

// nothing is true for a value that stands for none: null, an empty object, or a
// text of nothing but space, as indented XML has it.
func (s scanner) nothing() bool {
	rest := s.rest()
	switch {
	case bytes.HasPrefix(rest, []byte("null")), bytes.HasPrefix(rest, []byte("{}")):
		return true
	case bytes.HasPrefix(rest, []byte{'"'}):
		return blank(rest)
	}
	return false
}

// blank is true for a text of nothing but space.
func blank(text []byte) bool {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return true
		case ' ':
		case '\\':
			if i++; i < len(text) && !bytes.ContainsRune([]byte("ntr"), rune(text[i])) {
				return false
			}
		default:
			return false
		}
	}
	return false
}

func (s scanner) empty(want string) error {
	if s.nothing() {
		return s.SkipValue()
	}
	return s.errorf("%s expected", want)
}

func (s scanner) scalar(v reflect.Value) error {
	switch s.PeekKind() {
	case '{':
		if s.nothing() {
			return s.SkipValue()
		}
		return s.errorf("%s expected, found an object", v.Kind())
	case '[': // a list of one
		n := 0
		return s.array(func() error {
			if n++; n > 1 {
				return s.errorf("several values where one belongs")
			}
			if s.PeekKind() == '[' {
				return s.errorf("a list in a list")
			}
			return s.scalar(v)
		})
	}
	value, err := s.ReadValue()
	if err != nil || string(value) == "null" {
		return err
	}
	text, quoted, err := unquote(value)
	if err != nil {
		return err
	}
	if quoted && v.Kind() != reflect.String {
		text = bytes.TrimSpace(text)
	}
	return s.set(v, text)
}

// set parses a scalar. A number that Hadoop could not compute (NaN, Infinity)
// becomes 0, as an empty one does.
func (s scanner) set(v reflect.Value, text []byte) error {
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
