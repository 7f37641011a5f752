package tracefile

import (
	"encoding/binary"
	"math"

	"heddle/traces"
)

// Types of records that are not events.
const (
	recordName   = 0   // record with a name; events of the block refer to the name by its position among the block's names
	recordHeader = 255 // record with the header of the trace as JSON
)

// encoder writes the records of a block. It is a traces.Visitor that appends the
// fields of an event to body. A name that the block does not have yet gets a
// record of its own before the event's record.
type encoder struct {
	block []byte
	body  []byte
	names map[string]uint64
	lastT traces.Time
}

func (e *encoder) reset() {
	e.block = e.block[:0]
	clear(e.names)
	e.lastT = 0
}

func (e *encoder) event(ev traces.Event) {
	e.body = e.body[:0]
	ev.Fields(e)
	e.block = appendRecord(e.block, byte(ev.Kind()), e.body)
}

func appendRecord[T string | []byte](dst []byte, kind byte, body T) []byte {
	dst = append(dst, kind)
	dst = binary.AppendUvarint(dst, uint64(len(body)))
	return append(dst, body...)
}

func (e *encoder) When(t *traces.Time) {
	e.int(int64(*t - e.lastT))
	e.lastT = *t
}

func (e *encoder) Time(t *traces.Time) { e.int(int64(*t)) }
func (e *encoder) Int64(n *int64)      { e.int(*n) }
func (e *encoder) Int32(n *int32)      { e.int(int64(*n)) }
func (e *encoder) Uint64(n *uint64)    { e.uint(*n) }
func (e *encoder) Uint8(n *uint8)      { e.body = append(e.body, *n) }
func (e *encoder) int(n int64)         { e.body = binary.AppendVarint(e.body, n) }
func (e *encoder) uint(n uint64)       { e.body = binary.AppendUvarint(e.body, n) }

func (e *encoder) Float64(f *float64) {
	e.body = binary.LittleEndian.AppendUint64(e.body, math.Float64bits(*f))
}

func (e *encoder) Bool(b *bool) {
	if *b {
		e.body = append(e.body, 1)
	} else {
		e.body = append(e.body, 0)
	}
}

func (*encoder) More(set bool) bool { return set }

func (e *encoder) Name(s *string) {
	if *s == "" {
		e.uint(0)
		return
	}
	n, ok := e.names[*s]
	if !ok {
		n = uint64(len(e.names)) + 1
		e.names[*s] = n
		e.block = appendRecord(e.block, recordName, *s)
	}
	e.uint(n)
}

func (e *encoder) Text(s *string) {
	e.uint(uint64(len(*s)))
	e.body = append(e.body, *s...)
}

func (e *encoder) Nodes(nodes *[]traces.Node) {
	e.uint(uint64(len(*nodes)))
	for i := range *nodes {
		e.Name((*string)(&(*nodes)[i]))
	}
}

func (e *encoder) Blocks(blocks *[]traces.Block) {
	e.uint(uint64(len(*blocks)))
	for _, b := range *blocks {
		e.uint(uint64(b))
	}
}

func (e *encoder) Count(n, _ int) int {
	e.uint(uint64(n))
	return n
}

// decoder reads the records of a block. It is a traces.Visitor that sets the
// fields of an event from the bytes block[at:end]. A field that the record does
// not have becomes zero.
type decoder struct {
	block   string // records of the block; strings in events share the memory of this text, so nothing is copied
	at, end int
	bad     bool
	names   []string
	lastT   traces.Time
	known   map[string]string // names that occurred in the blocks read so far, so that equal names share memory
}

// maxKnownNames limits the names that a decoder remembers from one block to the
// next, so that they do not fill the memory.
const maxKnownNames = 1 << 20

func (d *decoder) reset(block string) {
	d.block, d.at, d.end, d.bad, d.lastT = block, 0, 0, false, 0
	d.names = d.names[:0]
}

// record returns the type and the body of the block's next record that is not a
// name. It remembers the names before that record, since events refer to names
// by their position. The result ok is false at the end of the block and at a
// damaged record; a damaged record also sets d.bad.
func (d *decoder) record() (kind byte, body string, ok bool) {
	for {
		d.at = d.end
		if d.at == len(d.block) {
			return 0, "", false
		}
		kind = d.block[d.at]
		d.at++
		d.end = len(d.block)
		n := d.uint()
		if d.bad || n > uint64(len(d.block)-d.at) {
			d.bad = true
			return 0, "", false
		}
		d.end = d.at + int(n)
		body = d.block[d.at:d.end]
		if kind != recordName {
			return kind, body, true
		}
		d.define(body)
	}
}

func (d *decoder) define(name string) {
	kept, ok := d.known[name]
	if !ok {
		if d.known == nil || len(d.known) == maxKnownNames {
			d.known = map[string]string{}
		}
		kept = string([]byte(name)) // the name is copied, since a substring of the block would keep the whole block in memory
		d.known[kept] = kept
	}
	d.names = append(d.names, kept)
}

// The method event sets the fields of the event ev from the current record. The
// result whole is false if the record has more fields than this program knows.
func (d *decoder) event(ev traces.Event) (whole, ok bool) {
	ev.Fields(d)
	return d.at == d.end, !d.bad
}

// skip skips a record of an unknown kind. It still decodes the record's time,
// since the time in the next record is stored as the difference to this one.
func (d *decoder) skip() bool {
	var t traces.Time
	d.When(&t)
	return !d.bad
}

func (d *decoder) When(t *traces.Time) {
	d.lastT += traces.Time(d.int())
	*t = d.lastT
}

func (d *decoder) Time(t *traces.Time) { *t = traces.Time(d.int()) }
func (d *decoder) Int64(n *int64)      { *n = d.int() }
func (d *decoder) Uint64(n *uint64)    { *n = d.uint() }

func (d *decoder) Int32(n *int32) {
	v := d.int()
	*n = int32(v)
	d.bad = d.bad || int64(*n) != v
}

func (d *decoder) Uint8(n *uint8) {
	*n = 0
	if d.at < d.end {
		*n = d.block[d.at]
		d.at++
	}
}

func (d *decoder) Bool(b *bool) {
	var n uint8
	d.Uint8(&n)
	*b = n != 0
}

func (d *decoder) Float64(f *float64) {
	*f = 0
	if d.at == d.end {
		return
	}
	if d.end-d.at < 8 {
		d.bad = true
		return
	}
	var n uint64
	for i := range 8 {
		n |= uint64(d.block[d.at+i]) << (8 * i)
	}
	d.at += 8
	*f = math.Float64frombits(n)
}

func (*decoder) More(bool) bool { return true }

func (d *decoder) Name(s *string) {
	n := d.uint()
	switch {
	case n == 0:
		*s = ""
	case n > uint64(len(d.names)):
		*s, d.bad = "", true
	default:
		*s = d.names[n-1]
	}
}

func (d *decoder) Text(s *string) {
	n := d.count()
	*s = d.block[d.at : d.at+n]
	d.at += n
}

func (d *decoder) Count(_, fields int) int {
	n := d.uint()
	if n > uint64(d.end-d.at)/uint64(fields) { // each field has a byte at least, so a damaged number cannot take much memory
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) Nodes(nodes *[]traces.Node) {
	n := d.count()
	*nodes = (*nodes)[:0]
	for range n {
		var s string
		d.Name(&s)
		*nodes = append(*nodes, traces.Node(s))
	}
}

func (d *decoder) Blocks(blocks *[]traces.Block) {
	n := d.count()
	*blocks = (*blocks)[:0]
	for range n {
		*blocks = append(*blocks, traces.Block(d.uint()))
	}
}

// count reads the length of a list or text. It checks that the record has at
// least one byte for each element, so that a damaged length cannot take much
// memory.
func (d *decoder) count() int {
	return d.Count(0, 1)
}

func (d *decoder) int() int64 {
	u := d.uint()
	return int64(u>>1) ^ -int64(u&1)
}

// uint reads an unsigned number of variable length. At the end of the record it
// returns 0.
func (d *decoder) uint() uint64 {
	if d.at == d.end {
		return 0
	}
	if c := d.block[d.at]; c < 0x80 {
		d.at++
		return uint64(c)
	}
	var n uint64
	for shift := 0; shift < 64 && d.at < d.end; shift += 7 {
		c := d.block[d.at]
		d.at++
		if shift == 63 && c > 1 {
			break
		}
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n
		}
	}
	d.bad = true
	return 0
}
