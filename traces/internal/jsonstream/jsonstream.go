// Package jsonstream reads files of JSON objects of any number and size, one
// object at a time: objects one after the other, in lists, or both.
//
// Defects are noted in a mend.Log. A value of another type than its member has
// is left out, and the object around it is read. Of an object that is not JSON
// nothing is read; the reading goes on with the next object that begins a line.
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

// Mends.
var (
	WrongType = mend.Kind{Wrong: "a value of another type", Done: "taken as unknown"}
	Damaged   = mend.Kind{Wrong: "a record that is not JSON", Done: "left out"}
	CutOff    = mend.Kind{Wrong: "a file that ends inside a record", Done: "read without that record"}
)

// Reader reads the objects of one file.
type Reader struct {
	// Aside is true for values of which no defect matters.
	Aside bool

	log     *mend.Log
	in      source
	decode  *jsontext.Decoder
	options json.Options
	base    int64             // offset in the file of the decoder's first byte
	begin   int64             // of the object at hand
	text    []byte            // a text without its escapes
	names   map[string]string // texts that are kept
}

// source is a file of which bytes were read ahead and given back.
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

// New reads from in. Members read values of their Go types. Without a log the
// first defect ends the reading.
func New(in io.Reader, log *mend.Log, members ...*json.Unmarshalers) *Reader {
	r := &Reader{log: log, in: source{in: in}, options: json.WithUnmarshalers(json.JoinUnmarshalers(members...)), names: map[string]string{}}
	r.decode = jsontext.NewDecoder(&r.in, lenient)
	return r
}

// Member reads values of type T, by the function or, where that says so, by its
// fields.
func Member[T any](read func(*T) error) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(_ *jsontext.Decoder, to *T) error { return read(to) })
}

// Mend notes a defect of the object at hand.
func (r *Reader) Mend(kind mend.Kind, about string) error { return r.mendAt(r.begin, kind, about) }

// MendHere notes a defect of the value that was read last.
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

// offset is the number of bytes read of the file.
func (r *Reader) offset() int64 { return r.base + r.decode.InputOffset() }

// Next reads the next object that is whole into what fresh gives, a pointer to a
// struct. The error is io.EOF at the end of the file.
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

// value reads an object, and the brackets and commas before it.
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
			// Behind damage in a list the decoder knows of no list.
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

// cause is what a decoder's error is about.
func (r *Reader) cause(err error) error {
	var semantic *json.SemanticError
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return err
	case r.log != nil && errors.As(err, &semantic) && semantic.Err != nil:
		return semantic.Err // from a member
	}
	return fmt.Errorf("byte %d: %w", r.offset(), err)
}

// restart begins a new decoder at an offset; ahead was read of what comes there.
func (r *Reader) restart(offset int64, ahead []byte) {
	r.in.back = slices.Concat(ahead, r.in.back)
	r.base = offset
	r.decode.Reset(&r.in, lenient)
}

// resync goes to the next opening brace that begins a line.
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
			r.restart(offset+int64(len(ahead)), nil) // the decoder meets the error again
			return
		}
	}
}

// Is is true if the value at hand is of a kind. One that is not is stepped over,
// and reported unless it is null.
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

// List reads the elements of a list, one with each call of element.
func (r *Reader) List(element func() error) error {
	return r.each(jsontext.KindBeginArray, jsontext.KindEndArray, "a list", element)
}

// Object reads the members of an object, one with each call of member, which
// reads the value; the key is valid until then.
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

// ByFields is what a Member returns for an object that is to be read field by
// field. Another value is stepped over.
func (r *Reader) ByFields() error {
	ok, err := r.Is(jsontext.KindBeginObject, "an object")
	if ok {
		return errors.ErrUnsupported
	}
	return err
}

// Another is one more element of a list. It may hold what an earlier object left
// there, so that lists within it are used again.
func Another[T any](list *[]T) *T {
	n := len(*list)
	*list = slices.Grow(*list, 1)[:n+1]
	return &(*list)[n]
}

// Into reads the value at hand into v.
func (r *Reader) Into(v any) error { return json.UnmarshalDecode(r.decode, v) }

// Skip steps over the value at hand.
func (r *Reader) Skip() error { return r.decode.SkipValue() }

// Text is a text, valid until the next call; ok is false for null and for what
// is none. A number or truth value is taken as it is written.
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

// maxNames bounds the texts that Keep has at a time.
const maxNames = 1 << 16

// Keep makes a string of a text, the same one for texts that come again.
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

// String is a Member's reader of texts; what is none stays as it is.
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
	r.text, _ = jsontext.AppendUnquote(r.text[:0], value) // half a surrogate pair becomes U+FFFD
	return r.text
}

// Int is a whole number; ok is false for null and for what is none. A number may
// be in quotes, and have a fraction of 0 or an exponent.
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

// HasKey is true if an object at the top of a file that begins with head has one
// of the keys.
func HasKey(head []byte, keys ...string) bool {
	d := jsontext.NewDecoder(bytes.NewReader(head), lenient)
	for {
		key, err := d.ReadToken()
		switch {
		case err != nil:
			return false
		case key.Kind() != jsontext.KindString: // a bracket
		case slices.Contains(keys, key.String()):
			return true
		case d.SkipValue() != nil:
			return false
		}
	}
}
