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

	"heddle/traces/mend"
)

// Defects that the Reader finds in a file, and what it does about each.
var (
	WrongType = mend.Kind{Wrong: "a value of another type", Done: "taken as unknown"}
	Damaged   = mend.Kind{Wrong: "a record that is not JSON", Done: "left out", Loses: mend.Job}
	CutOff    = mend.Kind{Wrong: "a file that ends inside a record", Done: "read without that record", Loses: mend.Job}
)

// Reader reads the JSON objects of one file.
type Reader struct {
	// Aside is true while the Reader reads values that the caller will not keep.
	// Defects of such values are not recorded.
	Aside bool

	scanner
	log     *mend.Log
	objects int64             // read so far
	begin   int64             // offset in the file at which the object that is being read begins
	comma   bool              // true if the last token outside of objects was a comma in a list
	value   bool              // true if it was the end of an object or of a list
	names   map[string]string // strings that the method Keep returned so far, so that equal strings share memory
}

// New returns a Reader of a file. If log is nil, the first defect is an error.
func New(in io.Reader, log *mend.Log) *Reader {
	return &Reader{log: log, scanner: scanner{in: in, buf: make([]byte, guardBytes)}, names: map[string]string{}}
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
			r.begin = r.offset()
			err = read()
			r.value, r.comma = true, false
		}
		r.Aside = false
		var syntax *syntaxError
		if !errors.As(err, &syntax) {
			r.objects++
			return err
		}
		began := r.begin
		kind := Damaged
		if syntax.cutOff {
			kind = CutOff
		}
		if err := r.mendAt(syntax.offset, kind, syntax.wrong); err != nil {
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
		c := r.next()
		begins := r.depth == 0 || !r.value // whether an object or a list may begin here
		switch {
		case c == '{' && begins:
			return nil
		case c == '[' && begins:
			if err := r.enter(); err != nil {
				return err
			}
			r.comma, r.value = false, false
			continue
		case r.depth == 0 && (c == ',' || c == ']'):
			// After a damaged object inside a list, it is not known that it was in
			// a list. The list's commas and its closing bracket are skipped here.
			r.at++
			continue
		case c == ',' && r.value:
			r.at++
			r.comma, r.value = true, false
			continue
		case c == ']' && !r.comma:
			r.at++
			r.depth--
			r.value = true
			continue
		case r.depth == 0 && r.at == r.end && errors.Is(r.err, io.EOF):
			return io.EOF
		}
		return r.fail(0, "an object")
	}
}

// resync goes on after a damaged object: at the next line of the file that
// begins with an opening brace.
func (r *Reader) resync() {
	r.depth, r.comma, r.value = 0, false, false
	if r.at > 0 && r.buf[r.at-1] == '\n' {
		r.at-- // the damage may be that another object begins here
	}
	for {
		ahead := r.buf[r.at:r.end]
		if i := bytes.Index(ahead, []byte("\n{")); i >= 0 {
			r.at += i + 1
			return
		}
		r.at += max(len(ahead)-1, 0)
		if !r.fill() {
			r.at = r.end // a read error is not lost: whoever reads on meets it
			return
		}
	}
}

// is reports whether the next JSON value begins with the given byte, such as the
// bracket of a list. A value of another kind is skipped, and recorded as a defect
// unless it is null.
func (r *Reader) is(kind byte, want string) (bool, error) {
	at := r.next()
	if at == kind {
		return true, nil
	}
	if err := r.skip(); err != nil || at == 'n' {
		return false, err
	}
	return false, r.MendHere(WrongType, "want "+want)
}

// List reads a JSON list. For each element it calls a function, which must read
// the element.
func (r *Reader) List(element func() error) error {
	ok, err := r.is('[', "a list")
	if !ok {
		return err
	}
	if err := r.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := r.more(']', first)
		if !more || err != nil {
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// Object reads a JSON object. For each key it calls a function, which must read
// the value of the key. The key is valid until the value is read. A value that is not
// an object is skipped.
func (r *Reader) Object(member func(key []byte) error) error {
	ok, err := r.is('{', "an object")
	if !ok {
		return err
	}
	if err := r.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := r.more('}', first)
		if !more || err != nil {
			return err
		}
		key, err := r.key()
		if err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
	}
}

// Another adds an element to a list and returns a pointer to it. The element may
// still have the content of an earlier object, so that its lists can be reused.
func Another[T any](list *[]T) *T {
	n := len(*list)
	*list = slices.Grow(*list, 1)[:n+1]
	return &(*list)[n]
}

// Skip skips the next JSON value.
func (r *Reader) Skip() error { return r.skip() }

// Text reads a JSON string. A number, true or false is returned as it is
// written. The result ok is false for null, lists and objects. The text is
// valid until the next call.
func (r *Reader) Text() (text []byte, ok bool, err error) {
	switch r.next() {
	case '"':
		text, err = r.unquoted()
	case 'n', '{', '[':
		_, err := r.is('"', "a text")
		return nil, false, err
	default:
		text, err = r.scalar()
	}
	return text, err == nil, err
}

func (r *Reader) unquoted() ([]byte, error) {
	raw, escaped, err := r.quoted()
	if escaped && err == nil {
		return r.unescape(raw), nil
	}
	return raw, err
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
	c := r.next()
	if n, ok := r.whole(); ok {
		return n, true, nil
	}
	var text []byte
	switch {
	case c == '"':
		text, err = r.unquoted()
	case c == '-' || c >= '0' && c <= '9':
		text, err = r.number()
	default:
		_, err := r.is('0', "a number")
		return 0, false, err
	}
	if err != nil {
		return 0, false, err
	}
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
