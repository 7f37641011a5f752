package yarnclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads JSON text once and stores only what the target needs. A general
// decoder would first build maps of everything; the node list of a big cluster
// has megabytes, of which a tenth is needed.
type scanner struct {
	*jsontext.Decoder
	// listBytes is the memory taken by the elements of all lists.
	listBytes *int
}

// maxDepth bounds the nesting of XML; that of JSON is bounded by its package.
const maxDepth = 200

func newScanner(data []byte, listBytes *int) scanner {
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return scanner{d, listBytes}
}

// object reads an object and calls each with every name. each must read the
// value; the name is valid until then.
func (s scanner) object(each func(name []byte) error) error {
	return s.members('}', func() error {
		quoted, err := s.ReadValue()
		if err != nil {
			return err
		}
		name, _, err := unquote(quoted)
		if err != nil {
			return err
		}
		return each(name)
	})
}

func (s scanner) array(each func() error) error { return s.members(']', each) }

func (s scanner) members(end jsontext.Kind, each func() error) error {
	if _, err := s.ReadToken(); err != nil {
		return err
	}
	for s.PeekKind() != end {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := s.ReadToken()
	return err
}

// rest returns the text from the next value on.
func (s scanner) rest() []byte {
	s.PeekKind() // so that the value is there
	return bytes.TrimLeft(s.UnreadBuffer(), " \t\r\n:,")
}

// unquote returns the text of a scalar; ok is false for one without quotes.
func unquote(value jsontext.Value) (text []byte, ok bool, err error) {
	switch {
	case value[0] != '"':
		return value, false, nil
	case bytes.IndexByte(value, '\\') < 0:
		return value[1 : len(value)-1], true, nil
	}
	text, err = jsontext.AppendUnquote(nil, value)
	if err != nil {
		err = fmt.Errorf("bad escape in text: %w", err)
	}
	return text, true, err
}

func (s scanner) errorf(format string, args ...any) error {
	if len(s.rest()) == 0 {
		return fmt.Errorf("answer cut off after %d bytes: %s", s.InputOffset(), fmt.Sprintf(format, args...))
	}
	return fmt.Errorf("at byte %d: %s", s.InputOffset(), fmt.Sprintf(format, args...))
}

// cutOff says of an answer that ends inside a value that it was cut off.
func cutOff(err error, bytes int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("answer cut off after %d bytes: %w", bytes, err)
	}
	return err
}
