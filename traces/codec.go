package traces

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// AppendFields appends the fields of an event as a trace file stores them. The event's T is
// stored as the difference to since. The function number gives the numbers of names; if it
// is nil, a name is stored as a text.
func AppendFields(dst []byte, e Event, since Time, number func(string) uint64) []byte {
	return appendFields(dst, plans[e.Kind()], structOf(e), since, number)
}

func appendFields(dst []byte, fields []field, at unsafe.Pointer, since Time, number func(string) uint64) []byte {
	for i := range fields {
		f := &fields[i]
		if f.later && !anySet(fields[i:], at) { // so events of older traces keep their bytes and digests
			break
		}
		p := unsafe.Add(at, f.offset)
		switch f.form {
		case formWhen:
			dst = binary.AppendVarint(dst, int64(*(*Time)(p)-since))
		case formTime, formInt64:
			dst = binary.AppendVarint(dst, *(*int64)(p))
		case formInt32:
			dst = binary.AppendVarint(dst, int64(*(*int32)(p)))
		case formUint64:
			dst = binary.AppendUvarint(dst, *(*uint64)(p))
		case formUint8, formBool:
			dst = append(dst, *(*uint8)(p))
		case formFloat:
			dst = binary.LittleEndian.AppendUint64(dst, *(*uint64)(p))
		case formName, formText:
			s := *(*string)(p)
			if f.form == formName && number != nil {
				dst = binary.AppendUvarint(dst, number(s))
				continue
			}
			dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
		case formList, formMaybe:
			list, n := f.list(p)
			dst = binary.AppendUvarint(dst, uint64(n))
			for i := range n {
				dst = appendFields(dst, f.elements, unsafe.Add(list, i*f.size), since, number)
			}
		}
	}
	return dst
}

// Decoder reads events from the text Text[At:End], as AppendFields writes them. A field that
// is not there becomes zero. Strings in events share the memory of the text, so nothing is
// copied.
type Decoder struct {
	Text    string
	At, End int
	Bad     bool // whether something was read that AppendFields does not write
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
	var n uint64
	for i := range 8 {
		n |= uint64(d.Text[d.At+i]) << (8 * i)
	}
	d.At += 8
	return math.Float64frombits(n)
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
