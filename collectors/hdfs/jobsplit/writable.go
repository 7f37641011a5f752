package jobsplit

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// decoder decodes values in Hadoop's Writable format. The first error is kept
// in the field err, and all values decoded after that error are zero.
type decoder struct {
	data []byte
	n    int // number of bytes decoded so far
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

func (d *decoder) bytes(n int) []byte {
	if d.err == nil && n > len(d.data)-d.n {
		d.err = io.ErrUnexpectedEOF
	}
	if d.err != nil {
		return nil
	}
	d.n += n
	return d.data[d.n-n : d.n]
}

// number decodes a big-endian number of n bytes.
func (d *decoder) number(n int) (v uint64) {
	for _, b := range d.bytes(n) {
		v = v<<8 | uint64(b)
	}
	return v
}

// vlong decodes an integer of variable length. A first byte from -112 to 127 is
// the value itself. A lower first byte gives the sign and the number of the
// bytes that follow. These are big-endian; a negative value is stored as its
// bitwise complement.
func (d *decoder) vlong() int64 {
	first := int8(d.number(1))
	if first >= -112 {
		return int64(first)
	}
	n, negative := -112-int(first), false
	if first < -120 {
		n, negative = -120-int(first), true
	}
	v := d.number(n)
	if negative {
		v = ^v
	}
	return int64(v)
}

func (d *decoder) long() int64 { return int64(d.number(8)) }

func (d *decoder) count(what string, limit int64) int64 {
	n := d.vlong()
	if d.err == nil && (n < 0 || n > limit) {
		d.fail("%d %s: want 0 to %d", n, what, limit)
	}
	if d.err != nil {
		return 0
	}
	return n
}

func (d *decoder) text() string {
	b := d.bytes(int(d.count("bytes of text", maxText)))
	if d.err == nil && !utf8.Valid(b) {
		d.fail("text %.40q is not UTF-8", b)
	}
	return string(b)
}

// utf decodes a text in the format of java.io.DataOutput.writeUTF: its length in
// two bytes, then its bytes. Only ASCII, in which names of classes are, is the
// same in that format and in UTF-8.
func (d *decoder) utf() string {
	b := d.bytes(int(d.number(2)))
	if i := bytes.IndexFunc(b, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		d.fail("text %.40q is not ASCII", b)
	}
	return string(b)
}

func (d *decoder) magic(want string) {
	if got := d.bytes(len(want)); d.err == nil && string(got) != want {
		d.fail("starts with %q; want %q", got, want)
	}
}

func (d *decoder) end() {
	if d.n < len(d.data) {
		d.fail("more bytes after the last map")
	}
}

func appendVlong(b []byte, v int64) []byte {
	if v >= -112 && v <= 127 {
		return append(b, byte(v))
	}
	tag, u := -112, uint64(v)
	if v < 0 {
		tag, u = -120, ^u
	}
	n := 0
	for x := u; x != 0; x >>= 8 {
		n++
	}
	b = append(b, byte(tag-n))
	for i := n - 1; i >= 0; i-- {
		b = append(b, byte(u>>(8*i)))
	}
	return b
}

// AppendText appends a text, or other bytes, after its length.
func AppendText(b []byte, s string) []byte { return append(appendVlong(b, int64(len(s))), s...) }
