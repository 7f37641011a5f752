package yarnclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads JSON text once and stores only the values that have a field in
// the target struct. A general decoder would first store everything: the node
// list of a big cluster has megabytes, of which a tenth is needed.
type scanner struct {
	*jsontext.Decoder
	// listBytes is the memory in bytes of all lists that were decoded so far, to
	// keep it below a limit.
	listBytes *int
}

// maxDepth limits how deep XML elements may be nested. For JSON, the decoding
// package has its own limit.
const maxDepth = 200

func newScanner(data []byte, listBytes *int) scanner {
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return scanner{d, listBytes}
}

// object reads a JSON object. For every member it calls the function that is
// its parameter, with the member's name. That function must read the member's
// value. The name is valid only until the value is read.
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

// rest returns the JSON text that has not been read yet, from the next value
// on.
func (s scanner) rest() []byte {
	s.PeekKind() // this call makes the decoder read the next value into its buffer, from which the text is returned
	return bytes.TrimLeft(s.UnreadBuffer(), " \t\r\n:,")
}

// unquote returns the text of a JSON scalar without quotes. ok is false if the
// scalar had none.
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

// cutOff makes the error of an incomplete answer clear: instead of "EOF" the
// error says after how many bytes the answer was cut off.
func cutOff(err error, bytes int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("answer cut off after %d bytes: %w", bytes, err)
	}
	return err
}
