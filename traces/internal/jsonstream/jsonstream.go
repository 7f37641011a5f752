// Package jsonstream reads files with many JSON objects, one object at a time.
// The objects may stand one after the other, in lists, or both.
//
// It records the defects of a file in a mend.Log and goes on. A value of a wrong
// type is left out, and the rest of its object is read. An object that is not
// valid JSON is left out; the next object is then the next line that begins with
// an opening brace.
package jsonstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"heddle/traces/mend"
)

// Defects that the Reader finds in a file, and what it does about each.
var (
	WrongType mend.Kind = "a value of another type: taken as unknown"
	Damaged   mend.Kind = "a record that is not JSON: left out (job)"
	CutOff    mend.Kind = "a file that ends inside a record: read without that record (job)"
)

// Reader reads the JSON objects of one file.
type Reader struct {
	// Aside is true while the Reader reads values that the caller will not keep.
	// Defects of such values are not recorded.
	Aside bool

	log     *mend.Log
	in      source
	decode  *jsontext.Decoder
	base    int64             // offset in the file at which decode began; a new one begins after a damaged object
	begin   int64             // offset in the file at which the object that is being read begins
	objects int64             // read so far
	text    []byte            // the last text with escapes; its memory is used again for the next one
	names   map[string]string // strings that the method Keep returned so far, so that equal strings share memory
}

// source is a file of which some bytes are read again.
type source struct {
	back []byte // read too early, and read again before the rest of the file
	in   io.Reader
	err  error // of the file
}

func (s *source) Read(p []byte) (n int, err error) {
	if len(s.back) > 0 {
		n = copy(p, s.back)
		s.back = s.back[n:]
		return n, nil
	}
	n, err = s.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// New returns a Reader of a file. If log is nil, the first defect is an error.
func New(in io.Reader, log *mend.Log) *Reader {
	r := &Reader{log: log, in: source{in: in}, names: map[string]string{}}
	r.restart(0, nil)
	return r
}

// restart begins to decode at an offset of the file. The bytes ahead, which follow it, were
// read before.
func (r *Reader) restart(offset int64, ahead []byte) {
	r.in.back = slices.Concat(ahead, r.in.back)
	r.base = offset
	r.decode = jsontext.NewDecoder(&r.in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// offset returns the number of bytes of the file that were decoded.
func (r *Reader) offset() int64 { return r.base + r.decode.InputOffset() }

// Mend records a defect of the object that is being read.
func (r *Reader) Mend(kind mend.Kind, about string) error { return r.mendAt(r.begin, kind, about) }

// MendHere records a defect of the value that was just read.
func (r *Reader) MendHere(kind mend.Kind, about string) error {
	return r.mendAt(r.offset(), kind, about)
}

func (r *Reader) mendAt(offset int64, kind mend.Kind, about string) error {
	if r.Aside {
		return nil
	}
	place := "byte " + strconv.FormatInt(offset, 10)
	if r.log == nil {
		wrong, _, _ := kind.Parts()
		return fmt.Errorf("%s: %s: %s", place, wrong, about)
	}
	return r.log.Add(kind, place, about)
}

// Each calls the function read for each JSON object of a file. It fails at the first
// damaged place of the file.
func Each(in io.Reader, read func(*Reader) error) error {
	for file := New(in, nil); ; {
		err := file.Next(func() error { return read(file) })
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Next reads the next valid JSON object. The function read reads it, with Object; it
// is called again after an object that is not valid. At the end of the file the error
// is io.EOF.
func (r *Reader) Next(read func() error) error {
	for {
		err := r.find()
		if err == nil {
			err = read()
		}
		r.Aside = false
		if r.in.err != nil && err != nil {
			return fmt.Errorf("byte %d: %w", r.offset(), r.in.err)
		}
		var syntax *jsontext.SyntacticError
		if !errors.As(err, &syntax) {
			r.objects++
			return err
		}
		began := r.begin
		kind := Damaged
		if errors.Is(syntax.Err, io.ErrUnexpectedEOF) {
			kind = CutOff
		}
		if err := r.mendAt(r.base+syntax.ByteOffset, kind, syntax.Err.Error()); err != nil {
			return err
		}
		r.resync()
		if r.objects > 0 && began > 0 && r.log != nil { // objects of usual length may be among what was skipped
			r.log.LostJobs += int(max(0, (r.offset()-began)*r.objects/began-1))
		}
	}
}

// find goes on to the opening brace of the next object, through the brackets and
// commas of lists before it.
func (r *Reader) find() error {
	for {
		kind := r.decode.PeekKind()
		unread := r.decode.UnreadBuffer()
		ahead := bytes.TrimLeft(unread, " \t\r\n")
		at := r.offset() + int64(len(unread)-len(ahead))
		switch {
		case kind == jsontext.KindBeginObject:
			r.begin = at + int64(len(ahead)-len(bytes.TrimLeft(ahead, ", \t\r\n")))
			return nil
		case r.decode.StackDepth() == 0 && len(ahead) > 0 && (ahead[0] == ',' || ahead[0] == ']'):
			// After a damaged object inside a list, it is not known that it was in
			// a list. The list's commas and its closing bracket are skipped here.
			r.restart(at+1, bytes.Clone(ahead[1:]))
		case kind == jsontext.KindInvalid, kind == jsontext.KindBeginArray, kind == jsontext.KindEndArray:
			if _, err := r.decode.ReadToken(); err != nil {
				return err
			}
		default:
			return &jsontext.SyntacticError{ByteOffset: at - r.base, Err: fmt.Errorf("a %v where an object should be", kind)}
		}
	}
}

// resync goes on after a damaged object: at the next line of the file that
// begins with an opening brace.
func (r *Reader) resync() {
	offset, ahead := r.offset(), slices.Concat(r.decode.UnreadBuffer(), r.in.back)
	r.in.back = nil
	for {
		if i := bytes.Index(ahead, []byte("\n{")); i >= 0 {
			r.restart(offset+int64(i+1), ahead[i+1:])
			return
		}
		skip := max(len(ahead)-1, 0)
		more := make([]byte, 1<<15)
		n, err := r.in.Read(more)
		offset, ahead = offset+int64(skip), append(bytes.Clone(ahead[skip:]), more[:n]...)
		if err != nil && !bytes.Contains(ahead, []byte("\n{")) {
			r.restart(offset+int64(len(ahead)), nil) // a read error is not lost: whoever reads on meets it
			return
		}
	}
}

// is reports whether the next JSON value is of the given kind, such as a list. A value
// of another kind is skipped, and recorded as a defect unless it is null.
func (r *Reader) is(kind jsontext.Kind, want string) (bool, error) {
	at := r.decode.PeekKind()
	if at == kind {
		return true, nil
	}
	if err := r.decode.SkipValue(); err != nil || at == jsontext.KindNull {
		return false, err
	}
	return false, r.MendHere(WrongType, "want "+want)
}

// List reads a JSON list. For each element it calls a function, which must read
// the element.
func (r *Reader) List(element func() error) error {
	return r.each(jsontext.KindBeginArray, jsontext.KindEndArray, "a list", element)
}

// Object reads a JSON object. For each key it calls a function, which must read
// the value of the key. The key is valid until the value is read. A value that is not
// an object is skipped.
func (r *Reader) Object(member func(key []byte) error) error {
	return r.each(jsontext.KindBeginObject, jsontext.KindEndObject, "an object", func() error {
		key, err := r.decode.ReadValue()
		if err != nil {
			return err
		}
		return member(r.unquoted(key))
	})
}

// Fields reads a JSON object into the fields of the struct that to points to, by their names
// in JSON. The function value gets a pointer to each field that is no text, and must read
// the value of it.
func (r *Reader) Fields(to any, value func(field any) error) error {
	into := reflect.ValueOf(to).Elem()
	fields := fieldsOf(into.Type())
	return r.Object(func(key []byte) error {
		i, ok := fields[string(key)]
		if !ok {
			return r.Skip()
		}
		field := into.Field(i).Addr().Interface()
		if text, ok := field.(*string); ok {
			return r.String(text)
		}
		return value(field)
	})
}

// structs has the fields of structs by their names in JSON, by the type of the struct.
var structs sync.Map

func fieldsOf(t reflect.Type) map[string]int {
	if known, ok := structs.Load(t); ok {
		return known.(map[string]int)
	}
	fields := map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	structs.Store(t, fields)
	return fields
}

func (r *Reader) each(open, end jsontext.Kind, want string, part func() error) error {
	ok, err := r.is(open, want)
	if !ok {
		return err
	}
	if _, err := r.decode.ReadToken(); err != nil {
		return err
	}
	for r.decode.PeekKind() != end {
		if err := part(); err != nil {
			return err
		}
	}
	_, err = r.decode.ReadToken()
	return err
}

// Another adds an element to a list and returns a pointer to it. The element may
// still have the content of an earlier object, so that its lists can be reused.
func Another[T any](list *[]T) *T {
	n := len(*list)
	*list = slices.Grow(*list, 1)[:n+1]
	return &(*list)[n]
}

// Skip skips the next JSON value.
func (r *Reader) Skip() error { return r.decode.SkipValue() }

// Text reads a JSON string. A number, true or false is returned as it is
// written. The result ok is false for null, lists and objects. The text is
// valid until the next call.
func (r *Reader) Text() (text []byte, ok bool, err error) {
	switch r.decode.PeekKind() {
	case jsontext.KindNull, jsontext.KindBeginObject, jsontext.KindBeginArray:
		_, err := r.is(jsontext.KindString, "a text")
		return nil, false, err
	}
	value, err := r.decode.ReadValue()
	if err != nil {
		return nil, false, err
	}
	return r.unquoted(value), true, nil
}

// unquoted returns what a JSON string stands for, and any other value as it is.
func (r *Reader) unquoted(value []byte) []byte {
	switch {
	case value[0] != '"':
		return value
	case bytes.IndexByte(value, '\\') < 0:
		return value[1 : len(value)-1]
	}
	r.text, _ = jsontext.AppendUnquote(r.text[:0], value) // the error only says that something became U+FFFD
	return r.text
}

// maxNames limits the strings that the method Keep remembers, so that they do
// not fill the memory.
const maxNames = 1 << 16

// Keep converts a text to a string. Equal texts get the same string, to save
// memory.
func (r *Reader) Keep(text []byte) string {
	kept, ok := r.names[string(text)]
	if !ok {
		if len(r.names) == maxNames {
			clear(r.names)
		}
		kept = string(text)
		r.names[kept] = kept
	}
	return kept
}

// String reads a JSON string into *to. A value that is not a string, number,
// true or false leaves *to unchanged.
func (r *Reader) String(to *string) error {
	text, ok, err := r.Text()
	if ok {
		*to = r.Keep(text)
	}
	return err
}

// Int reads a number and rounds it. The number may be in quotes, and may be written as
// "5.0" or "1e3". The result ok is false for null and for values that are no numbers.
func (r *Reader) Int() (n int64, ok bool, err error) {
	kind := r.decode.PeekKind()
	if kind != jsontext.KindNumber && kind != jsontext.KindString {
		_, err := r.is(jsontext.KindNumber, "a number")
		return 0, false, err
	}
	value, err := r.decode.ReadValue()
	if err != nil {
		return 0, false, err
	}
	text := r.unquoted(value)
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n, true, nil
	}
	if f, err := strconv.ParseFloat(string(text), 64); err == nil && math.Abs(f) < 1<<62 {
		return int64(math.Round(f)), true, nil
	}
	return 0, false, r.MendHere(WrongType, "want a number of 64 bits")
}

// HasKey helps to detect the format of a JSON file. It reports whether an
// object has one of the keys; the object is at the top level of the file, or in
// a list there. The argument head is the beginning of the file.
func HasKey(head []byte, keys ...string) bool {
	found := errors.New("found")
	return errors.Is(Each(bytes.NewReader(head), func(r *Reader) error {
		return r.Object(func(key []byte) error {
			if slices.Contains(keys, string(key)) {
				return found
			}
			return r.Skip()
		})
	}), found)
}
