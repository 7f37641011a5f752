package yarnclient

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// decode fills v, a pointer to a struct or slice of plain Go values, from
// Hadoop's answer in JSON or XML. Hadoop writes the same data in several ways:
// with or without the root name, scalars with or without quotes, a list of one
// element without brackets, an empty list as {}, null, "" or not at all, a JSON
// key several times. decode accepts them all, since the type of v says what is
// meant.
//
// path is the list of names that lead to the value, such as {"nodes", "node"}.
// The answer may lack the first name, the root. A struct field's wire tag has
// its name in the answer; "a>b" means b inside a. A field's form tag names the
// pattern that its text, or each text of a list, must match; see forms. decode skips unknown names. An
// answer whose names are all unknown is an error.
func decode(body []byte, v any, path ...string) error {
	if isXML(body) {
		var err error
		if body, err = xmlToJSON(body); err != nil {
			return err
		}
	}
	err := decodeJSON(body, v, path)
	if err == nil {
		return nil
	}
	finite := withoutBare(body)
	if bytes.Equal(finite, body) {
		return err
	}
	reflect.ValueOf(v).Elem().SetZero()
	return decodeJSON(finite, v, path)
}

func decodeJSON(body []byte, v any, path []string) error {
	s := newScanner(body, new(int))
	if err := s.root(reflect.ValueOf(v).Elem(), path); err != nil {
		return cutOff(err, len(body))
	}
	if len(s.rest()) > 0 {
		return s.errorf("text after the end of the answer")
	}
	return nil
}

var bare = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"|-?(?:NaN|INF|Infinity)`)

// withoutBare puts null in place of each NaN or INF without quotes, which JSON does
// not have. Hadoop writes them for figures that it cannot compute, such as a queue's
// part of a node label that no node has.
func withoutBare(body []byte) []byte {
	return bare.ReplaceAllFunc(body, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte("null")
	})
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
		return fmt.Errorf("it has no %q", strings.Join(path, "."))
	}
	return err
}

// walk looks up a value inside the JSON text of an answer, by the list path of
// nested member names, and decodes the value into v.
func (s scanner) walk(v reflect.Value, path []string) error {
	if len(path) == 0 {
		return s.value(v)
	}
	if s.PeekKind() == '[' { // some of Hadoop's answers have a list of objects in place of a single object
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
		return s.single(" of "+v.Type().Name(), func() error { return s.structure(v) })
	}
	return s.empty("object")
}

// fields is a function that decodes the next JSON value of an answer. It
// stores the value, or parts of the value, in all struct fields whose tags
// name it.
func (s scanner) fields(v reflect.Value, fields []field) error {
	var value jsontext.Value // the JSON value that is being decoded; kept while several struct fields take parts of this value
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
		if text, bad := f.misformed(to); bad {
			return s.errorf("%.80q: want the form of an id or name of kind %s", text, f.form)
		}
	}
	return nil
}

func (s scanner) list(v reflect.Value) error {
	if s.PeekKind() != '[' {
		return s.element(v)
	}
	return s.flat(func() error { return s.element(v) })
}

// flat reads a list that has no list in it.
func (s scanner) flat(each func() error) error {
	return s.array(func() error {
		if s.PeekKind() == '[' {
			return s.errorf("a list in a list")
		}
		return each()
	})
}

// single reads a list with one element at most, as Hadoop may write a single value. The
// text what follows "several values" in the error of a longer one.
func (s scanner) single(what string, read func() error) error {
	n := 0
	return s.flat(func() error {
		if n++; n > 1 {
			return s.errorf("several values%s; want one", what)
		}
		return read()
	})
}

// element decodes the next JSON value and appends it to the list v, unless the
// value is empty.
func (s scanner) element(v reflect.Value) error {
	if s.nothing() {
		return s.SkipValue()
	}
	if *s.listBytes += int(v.Type().Elem().Size()); *s.listBytes > maxBodyBytes {
		return s.errorf("its lists take more than %d MiB of memory; request less", maxBodyBytes>>20)
	}
	v.Grow(1)
	v.SetLen(v.Len() + 1)
	last := v.Index(v.Len() - 1)
	last.SetZero()
	return s.value(last)
}

// blank matches the JSON values that count as empty: null, {} and a string of
// white space. Indented XML gives such strings.
var blank = regexp.MustCompile(`^(null|\{\}|"( |\\[ntr])*")`)

// nothing is a function that reports whether the next JSON value is empty.
func (s scanner) nothing() bool { return blank.Match(s.rest()) }

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
	case '[':
		return s.single("", func() error { return s.scalar(v) })
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

// set parses the text of a JSON scalar into v. An empty text becomes 0. So do
// NaN and Infinity, which Hadoop writes for values that it cannot compute.
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

// field is a field of a Go struct with its place in an answer: a JSON name, and
// further names inside that object.
type field struct {
	index []int
	rest  []string
	form  string // name of the pattern that the field's text must match, see the variable forms; empty means any text
}

// misformed returns the text of the field, or of one of its elements if it is a
// list, that does not match the field's pattern.
func (f field) misformed(v reflect.Value) (string, bool) {
	if f.form == "" {
		return "", false
	}
	if v.Kind() != reflect.Slice {
		return v.String(), v.String() != "" && !forms[f.form].MatchString(v.String())
	}
	for i := range v.Len() {
		if text := v.Index(i).String(); text != "" && !forms[f.form].MatchString(text) {
			return text, true
		}
	}
	return "", false
}

type plan map[string][]field

var plans sync.Map // cache of the decoding plan of each Go type: reflect.Type -> plan

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
