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
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"heddle/traces/mend"
)

// Defects that the Reader finds in a file, and what it does about each.
var (
	WrongType = mend.Kind{Wrong: "a value of another type", Done: "taken as unknown"}
	Damaged   = mend.Kind{Wrong: "a record that is not JSON", Done: "left out"}
	CutOff    = mend.Kind{Wrong: "a file that ends inside a record", Done: "read without that record"}
)

// Reader reads the JSON objects of one file.
type Reader struct {
	// Aside is true while the Reader reads values that the caller will not keep.
	// Defects of such values are not recorded.
	Aside bool

	log     *mend.Log
	in      source
	decode  *jsontext.Decoder
	options json.Options
	base    int64             // offset in the file at which the current JSON decoder began; a new one begins after a damaged object
	begin   int64             // offset in the file at which the object that is being read begins
	text    []byte            // the last decoded JSON string; its memory is reused for the next one
	names   map[string]string // strings that the method Keep returned so far, so that equal strings share memory
}

// source is a reader that first returns the bytes in back, which were read from
// the file too early, and then the rest of the file.
type source struct {
	back []byte
	in   io.Reader
}

func (s *source) Read(p []byte) (int, error) {
	if len(s.back) == 0 {
		return s.in.Read(p)
	}
	n := copy(p, s.back)
	s.back = s.back[n:]
	return n, nil
}

var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// New returns a Reader of a file. Each of the options members, made by Member,
// reads the JSON values of one Go type; Go's JSON package reads values of all
// other types. If log is nil, the first defect is an error.
func New(in io.Reader, log *mend.Log, members ...*json.Unmarshalers) *Reader {
	r := &Reader{log: log, in: source{in: in}, options: json.WithUnmarshalers(json.JoinUnmarshalers(members...)), names: map[string]string{}}
	r.decode = jsontext.NewDecoder(&r.in, lenient)
	return r
}

// Member returns an option for New, so that the given function reads all JSON
// values of the Go type T. If that function returns the result of ByFields, the
// JSON package reads the value.
func Member[T any](read func(*T) error) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(_ *jsontext.Decoder, to *T) error { return read(to) })
}

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
		return fmt.Errorf("%s: %s: %s", place, kind.Wrong, about)
	}
	return r.log.Add(kind, place, about)
}

// offset returns the number of bytes of the file that the decoder has used so
// far.
func (r *Reader) offset() int64 { return r.base + r.decode.InputOffset() }

// Each calls the function use for each JSON object of a file. It fails at the first
// damaged place of the file.
func Each[T any](in io.Reader, use func(*T)) error {
	for file := New(in, nil); ; {
		var object T
		err := file.Next(func() any { return &object })
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		use(&object)
	}
}

// Next reads the next valid JSON object. The function fresh returns a pointer to
// the struct to read into; it is called again after an object that is not valid.
// At the end of the file the error is io.EOF.
func (r *Reader) Next(fresh func() any) error {
	for {
		err := r.value(fresh)
		r.Aside = false
		var syntax *jsontext.SyntacticError
		if !errors.As(err, &syntax) {
			return r.cause(err)
		}
		kind := Damaged
		if errors.Is(syntax.Err, io.ErrUnexpectedEOF) {
			kind = CutOff
		}
		if err := r.mendAt(r.base+syntax.ByteOffset, kind, syntax.Err.Error()); err != nil {
			return err
		}
		r.resync()
	}
}

// value reads the next JSON object of the file, after any brackets and commas of
// lists before it.
func (r *Reader) value(fresh func() any) error {
	for {
		kind := r.decode.PeekKind()
		unread := r.decode.UnreadBuffer()
		ahead := bytes.TrimLeft(unread, " \t\r\n")
		at := r.offset() + int64(len(unread)-len(ahead))
		switch {
		case kind == jsontext.KindBeginObject:
			r.begin = at + int64(len(ahead)-len(bytes.TrimLeft(ahead, ", \t\r\n")))
			return json.UnmarshalDecode(r.decode, fresh(), r.options)
		case r.decode.StackDepth() == 0 && len(ahead) > 0 && (ahead[0] == ',' || ahead[0] == ']'):
			// A new decoder, begun after a damaged object inside a list, does not
			// know that it is in a list. The list's comma or closing bracket is
			// skipped here.
			r.restart(at+1, ahead[1:])
		case kind == jsontext.KindInvalid, kind == jsontext.KindBeginArray, kind == jsontext.KindEndArray:
			if _, err := r.decode.ReadToken(); err != nil {
				return err
			}
		default:
			return &jsontext.SyntacticError{ByteOffset: at - r.base, Err: fmt.Errorf("found a %v where an object should be", kind)}
		}
	}
}

// cause returns the error of a function given to Member, without the text that
// the JSON package adds.
func (r *Reader) cause(err error) error {
	var semantic *json.SemanticError
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return err
	case r.log != nil && errors.As(err, &semantic) && semantic.Err != nil:
		return semantic.Err // the error that the function given to Member returned
	}
	return fmt.Errorf("byte %d: %w", r.offset(), err)
}

// restart begins a new JSON decoder at an offset of the file. The argument
// ahead has the bytes after that offset that were already read.
func (r *Reader) restart(offset int64, ahead []byte) {
	r.in.back = slices.Concat(ahead, r.in.back)
	r.base = offset
	r.decode.Reset(&r.in, lenient)
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
		offset, ahead = offset+int64(skip), ahead[skip:]
		more := make([]byte, 1<<15)
		n, err := r.in.Read(more)
		ahead = slices.Concat(ahead, more[:n])
		if err != nil && !bytes.Contains(ahead, []byte("\n{")) {
			r.restart(offset+int64(len(ahead)), nil) // the read error is not lost: the new decoder meets it again
			return
		}
	}
}

// Is reports whether the next JSON value is of the given kind, such as a list.
// A value of another kind is skipped, and recorded as a defect unless it is
// null.
func (r *Reader) Is(kind jsontext.Kind, want string) (bool, error) {
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
// the value of the key. The key is valid until the value is read.
func (r *Reader) Object(member func(key []byte) error) error {
	return r.each(jsontext.KindBeginObject, jsontext.KindEndObject, "an object", func() error {
		key, err := r.decode.ReadValue()
		if err != nil {
			return err
		}
		return member(r.unquote(key))
	})
}

func (r *Reader) each(open, end jsontext.Kind, want string, part func() error) error {
	ok, err := r.Is(open, want)
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

// ByFields lets the JSON package read an object into the fields of a struct. The
// function given to Member calls ByFields and returns its result. A value that
// is not an object is skipped.
func (r *Reader) ByFields() error {
	ok, err := r.Is(jsontext.KindBeginObject, "an object")
	if ok {
		return errors.ErrUnsupported
	}
	return err
}

// Another adds an element to a list and returns a pointer to it. The element may
// still have the content of an earlier object, so that its lists can be reused.
func Another[T any](list *[]T) *T {
	n := len(*list)
	*list = slices.Grow(*list, 1)[:n+1]
	return &(*list)[n]
}

// Into reads the next JSON value into the variable that v points to.
func (r *Reader) Into(v any) error { return json.UnmarshalDecode(r.decode, v) }

// Skip skips the next JSON value.
func (r *Reader) Skip() error { return r.decode.SkipValue() }

// Text reads a JSON string. A number, true or false is returned as it is
// written. The result ok is false for null, lists and objects. The text is
// valid until the next call.
func (r *Reader) Text() (text []byte, ok bool, err error) {
	switch kind := r.decode.PeekKind(); kind {
	case jsontext.KindNull, jsontext.KindBeginObject, jsontext.KindBeginArray:
		_, err := r.Is(jsontext.KindString, "a text")
		return nil, false, err
	}
	value, err := r.decode.ReadValue()
	if err != nil {
		return nil, false, err
	}
	return r.unquote(value), true, nil
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

func (r *Reader) unquote(value []byte) []byte {
	switch {
	case value[0] != '"':
		return value
	case bytes.IndexByte(value, '\\') < 0:
		return value[1 : len(value)-1]
	}
	r.text, _ = jsontext.AppendUnquote(r.text[:0], value) // the error can be ignored: it only says that an invalid surrogate was replaced by U+FFFD
	return r.text
}

// Int reads a whole number. The number may be in quotes, and may be written as
// "5.0" or "1e3". The result ok is false for null and for values that are not
// whole numbers.
func (r *Reader) Int() (n int64, ok bool, err error) {
	kind := r.decode.PeekKind()
	if kind != jsontext.KindNumber && kind != jsontext.KindString {
		_, err := r.Is(jsontext.KindNumber, "a whole number")
		return 0, false, err
	}
	value, err := r.decode.ReadValue()
	if err != nil {
		return 0, false, err
	}
	text := string(r.unquote(value))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<62 {
		return int64(f), true, nil
	}
	return 0, false, r.MendHere(WrongType, "want a whole number of 64 bits")
}

// HasKey helps to detect the format of a JSON file. It reports whether an
// object has one of the keys; the object is at the top level of the file, or in
// a list there. The argument head is the beginning of the file.
func HasKey(head []byte, keys ...string) bool {
	d := jsontext.NewDecoder(bytes.NewReader(head), lenient)
	for {
		key, err := d.ReadToken()
		switch {
		case err != nil:
			return false
		case key.Kind() != jsontext.KindString: // a bracket or brace is no key: go on with the next token
		case slices.Contains(keys, key.String()):
			return true
		case d.SkipValue() != nil:
			return false
		}
	}
}
