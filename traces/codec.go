package traces

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// Encoder appends the fields of events to Stored, as a trace file stores them: an event's T as
// the difference to Since, and names by the numbers that Number gives them. If Number is nil,
// a name is stored as a text.
type Encoder struct {
	Stored []byte
	Since  Time
	Number func(string) uint64

	// plain, unless it is nil, gets the fields as a trace digest takes them: T is stored as the
	// difference to 0, and names as texts. All else is the same, and is copied from Stored.
	plain []byte
	from  int // start of what has to be copied
}

// Event appends the fields of an event.
func (w *Encoder) Event(e Event) {
	w.from = len(w.Stored)
	w.fields(plans[e.Kind()], structOf(e))
	w.copy()
}

func (w *Encoder) copy() {
	if w.plain != nil {
		w.plain = append(w.plain, w.Stored[w.from:]...)
	}
}

func (w *Encoder) fields(fields []field, at unsafe.Pointer) {
	for i := range fields {
		f := &fields[i]
		if f.later && !anySet(fields[i:], at) { // so events of older traces keep their bytes and digests
			break
		}
		p := unsafe.Add(at, f.offset)
		switch f.form {
		case formWhen:
			t := *(*Time)(p)
			w.Stored = binary.AppendVarint(w.Stored, int64(t-w.Since))
			if w.plain != nil {
				w.plain = binary.AppendVarint(w.plain, int64(t))
				w.from = len(w.Stored)
			}
		case formTime, formInt64:
			w.Stored = binary.AppendVarint(w.Stored, *(*int64)(p))
		case formInt32:
			w.Stored = binary.AppendVarint(w.Stored, int64(*(*int32)(p)))
		case formUint64:
			w.Stored = binary.AppendUvarint(w.Stored, *(*uint64)(p))
		case formUint8, formBool:
			w.Stored = append(w.Stored, *(*uint8)(p))
		case formFloat:
			w.Stored = binary.LittleEndian.AppendUint64(w.Stored, *(*uint64)(p))
		case formName, formText:
			s := *(*string)(p)
			if f.form == formText || w.Number == nil {
				w.Stored = appendText(w.Stored, s)
				continue
			}
			w.copy()
			w.Stored = binary.AppendUvarint(w.Stored, w.Number(s))
			if w.plain != nil {
				w.plain = appendText(w.plain, s)
				w.from = len(w.Stored)
			}
		case formList, formMaybe:
			list, n := f.list(p)
			w.Stored = binary.AppendUvarint(w.Stored, uint64(n))
			for i := range n {
				w.fields(f.elements, unsafe.Add(list, i*f.size))
			}
		}
	}
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Decoder reads events from the text Text[At:End], as an Encoder writes them. A field that
// is not there becomes zero. Strings in events share the memory of the text, so nothing is
// copied.
type Decoder struct {
	Text    string
	At, End int
	Bad     bool // whether something was read that an Encoder does not write
	Since   Time // T of the event before
	// Names are the names by their numbers, which count from 1.
	Names []string
}

// Event sets the fields of an event.
func (d *Decoder) Event(e Event) { d.fields(plans[e.Kind()], structOf(e)) }

// Skip reads the T of an event, and nothing else.
func (d *Decoder) Skip() { d.Since += Time(d.int()) }

func (d *Decoder) fields(fields []field, at unsafe.Pointer) {
	for i := range fields {
		f := &fields[i]
		p := unsafe.Add(at, f.offset)
		switch f.form {
		case formWhen:
			d.Skip()
			*(*Time)(p) = d.Since
		case formTime, formInt64:
			*(*int64)(p) = d.int()
		case formInt32:
			n := d.int()
			*(*int32)(p) = int32(n)
			d.Bad = d.Bad || int64(int32(n)) != n
		case formUint64:
			*(*uint64)(p) = d.Uint()
		case formUint8:
			*(*uint8)(p) = d.byte()
		case formBool:
			*(*bool)(p) = d.byte() != 0
		case formFloat:
			*(*float64)(p) = d.float()
		case formName:
			*(*string)(p) = d.name()
		case formText:
			n := d.count(1)
			*(*string)(p) = d.Text[d.At : d.At+n]
			d.At += n
		case formList, formMaybe:
			n := d.count(f.needed)
			list, has := f.list(p)
			if f.form == formMaybe {
				n = min(n, 1)
			}
			if n != has {
				list = f.resize(p, n)
			}
			for i := range n {
				d.fields(f.elements, unsafe.Add(list, i*f.size))
			}
		}
	}
}

func (d *Decoder) name() string {
	n := d.Uint()
	switch {
	case n == 0:
		return ""
	case n > uint64(len(d.Names)):
		d.Bad = true
		return ""
	}
	return d.Names[n-1]
}

func (d *Decoder) byte() byte {
	if d.At == d.End {
		return 0
	}
	d.At++
	return d.Text[d.At-1]
}

func (d *Decoder) float() float64 {
	if d.At == d.End {
		return 0
	}
	if d.End-d.At < 8 {
		d.Bad = true
		return 0
	}
	d.At += 8
	return math.Float64frombits(binary.LittleEndian.Uint64([]byte(d.Text[d.At-8 : d.At])))
}

// count reads the length of a list or text whose elements have so many fields. There must be
// a byte for each, so that a damaged length cannot take much memory.
func (d *Decoder) count(fields int) int {
	n := d.Uint()
	if n > uint64(d.End-d.At)/uint64(fields) {
		d.Bad = true
		return 0
	}
	return int(n)
}

func (d *Decoder) int() int64 {
	u := d.Uint()
	return int64(u>>1) ^ -int64(u&1)
}

// Uint reads an unsigned number of variable length. At the end of the record it
// returns 0.
func (d *Decoder) Uint() uint64 {
	if d.At == d.End {
		return 0
	}
	if c := d.Text[d.At]; c < 0x80 {
		d.At++
		return uint64(c)
	}
	var n uint64
	for shift := 0; shift < 64 && d.At < d.End; shift += 7 {
		c := d.Text[d.At]
		d.At++
		if shift == 63 && c > 1 {
			break
		}
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n
		}
	}
	d.Bad = true
	return 0
}
