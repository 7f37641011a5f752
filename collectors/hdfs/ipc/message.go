package ipc

import (
	"errors"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Message is a protobuf message that is written and read by the numbers of its fields,
// without generated code.
type Message []byte

// Int appends a field that is a number or, by 0 and 1, a truth.
func (m Message) Int(field protowire.Number, v int64) Message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(v)) //nolint:gosec // as protobuf does
}

// Float appends a field of 32 bits.
func (m Message) Float(field protowire.Number, bits uint32) Message {
	return protowire.AppendFixed32(protowire.AppendTag(m, field, protowire.Fixed32Type), bits)
}

// Put appends a field that is a message.
func (m Message) Put(field protowire.Number, v []byte) Message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), v)
}

// Text appends a field that is a text.
func (m Message) Text(field protowire.Number, v string) Message { return m.Put(field, []byte(v)) }

// Field is one field of a message: a number, or bytes.
type Field struct {
	Int   int64
	Bytes []byte
}

// Fields yields the fields of a message, by number, up to one that is malformed.
func (m Message) Fields() iter.Seq2[protowire.Number, Field] {
	return func(yield func(protowire.Number, Field) bool) {
		for rest := m; len(rest) > 0; {
			number, kind, n := protowire.ConsumeTag(rest)
			if n < 0 {
				return
			}
			rest = rest[n:]
			var f Field
			switch kind {
			case protowire.VarintType:
				var v uint64
				v, n = protowire.ConsumeVarint(rest)
				f.Int = int64(v) //nolint:gosec // as protobuf does
			case protowire.BytesType:
				f.Bytes, n = protowire.ConsumeBytes(rest)
			default:
				n = protowire.ConsumeFieldValue(number, kind, rest)
			}
			if n < 0 || !yield(number, f) {
				return
			}
			rest = rest[n:]
		}
	}
}

// Get returns the message that a path of field numbers leads to; nil if there is none.
func (m Message) Get(path ...protowire.Number) Message {
	for _, want := range path {
		var found Message
		for number, f := range m.Fields() {
			if number == want {
				found = f.Bytes
			}
		}
		m = found
	}
	return m
}

// Number returns a field that is a number; 0 if there is none.
func (m Message) Number(want protowire.Number) (v int64) {
	for number, f := range m.Fields() {
		if number == want {
			v = f.Int
		}
	}
	return v
}

var errMessage = errors.New("malformed message")

// delimited returns a message after its length.
func delimited(m []byte) []byte { return protowire.AppendBytes(nil, m) }

// Next decodes the message at the beginning of a frame, and returns what follows it.
func Next(frame []byte, m proto.Message) ([]byte, error) {
	message, n := protowire.ConsumeBytes(frame)
	if n < 0 || proto.Unmarshal(message, m) != nil {
		return nil, errMessage
	}
	return frame[n:], nil
}
