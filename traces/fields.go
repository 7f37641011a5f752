package traces

import (
	"math"
	"reflect"
	"strings"
	"unsafe"
)

// field is a field of an event: where it is in the event's struct, and how a trace file
// stores it. Files store the fields of an event in the order of its struct.
//
// To keep old files readable, a new field is added at the end of its event, with the tag
// file:"later", and its zero value must mean "not reported". Structs that several events
// contain (Task, Attempt, Counters, NodeFacts) must never get a new field.
type field struct {
	name string // in JSON Lines, such as "task.index"
	form form
	limits
	// elements are the fields of each element of a list, size is the bytes of an element in
	// memory, and needed is how many of the fields stand in every element.
	elements     []field
	size, needed int

	later  bool // whether the field, and those after it, are left out where none has a value
	offset uintptr
	typ    reflect.Type
}

// form is how a field is stored.
type form uint8

const (
	formWhen   form = iota // T, the time of the event itself
	formTime               // any other time
	formInt64              //
	formInt32              //
	formUint64             // any number
	formUint8              // such as a level
	formBool               //
	formFloat              //
	formName               // a text that many events share, such as a host or a queue
	formText               // a text that is rarely the same in two events
	formList               //
	formMaybe              // a pointer to a struct that may be missing: a list of one element or none
)

// forms has the form of each type that is stored otherwise than its kind says, and of kinds.
var forms = map[any]form{
	reflect.TypeFor[Time](): formTime, reflect.Int64: formInt64, reflect.Int32: formInt32, reflect.Uint64: formUint64,
	reflect.Uint8: formUint8, reflect.Bool: formBool, reflect.Float64: formFloat,
	reflect.String: formName, reflect.Slice: formList, reflect.Pointer: formMaybe,
}

// plans has the fields of each kind of event.
var plans = func() (all [Kinds][]field) {
	for k := range all {
		if e := New(Kind(k)); e != nil {
			all[k] = fieldsOf(reflect.TypeOf(e).Elem(), 0, "", false)
			all[k][0].form = formWhen
		}
	}
	return all
}()

// fieldsOf returns the fields of a struct, those of structs in it among them. maybe says
// that the struct may be missing.
func fieldsOf(t reflect.Type, offset uintptr, place string, maybe bool) (all []field) {
	for i := range t.NumField() {
		s := t.Field(i)
		name, _, _ := strings.Cut(s.Tag.Get("json"), ",")
		stored := s.Tag.Get("file")
		f := field{
			name: place + name, form: formOf(s.Type), limits: rangeOf(s, maybe),
			later: strings.HasSuffix(stored, "later"), offset: offset + s.Offset, typ: s.Type,
		}
		if s.Type.Kind() == reflect.Struct {
			below := f.name + "."
			if s.Anonymous {
				below = place
			}
			inner := fieldsOf(s.Type, f.offset, below, maybe || s.Tag.Get("range") == "maybe")
			inner[0].later = f.later
			all = append(all, inner...)
			continue
		}
		if strings.HasPrefix(stored, "text") {
			f.form = formText
		}
		if f.form == formList || f.form == formMaybe {
			f.elementsOf(s.Type.Elem())
		}
		all = append(all, f)
	}
	return all
}

// elementsOf sets what the elements of a list are.
func (f *field) elementsOf(t reflect.Type) {
	f.size = int(t.Size())
	switch {
	case t.Kind() != reflect.Struct:
		f.elements = []field{{form: formOf(t), limits: limits{math.MinInt64, math.MaxInt64}, typ: t}}
	case f.form == formMaybe:
		f.elements = fieldsOf(t, 0, f.name+".", false)
	default:
		f.elements = fieldsOf(t, 0, f.name+"[].", false)
	}
	for f.needed < len(f.elements) && !f.elements[f.needed].later {
		f.needed++
	}
}

func formOf(t reflect.Type) form {
	if form, ok := forms[t]; ok {
		return form
	}
	return forms[t.Kind()]
}

// structOf returns where the struct of an event is.
func structOf(e Event) unsafe.Pointer { return reflect.ValueOf(e).UnsafePointer() }

// list returns where the elements of a list are, and how many.
func (f *field) list(p unsafe.Pointer) (unsafe.Pointer, int) {
	if f.form == formList {
		list := *(*[]byte)(p) // of elements of any size
		return unsafe.Pointer(unsafe.SliceData(list)), len(list)
	}
	if one := *(*unsafe.Pointer)(p); one != nil {
		return one, 1
	}
	return nil, 0
}

// resize gives a list n elements, and returns where they are.
func (f *field) resize(p unsafe.Pointer, n int) unsafe.Pointer {
	list := reflect.NewAt(f.typ, p).Elem()
	switch {
	case f.form == formList:
		list.Grow(max(0, n-list.Len()))
		list.SetLen(n)
	case n == 0:
		list.SetZero()
	default:
		list.Set(reflect.New(f.typ.Elem()))
	}
	return list.UnsafePointer()
}

// anySet reports whether any of the fields of a struct has a value.
func anySet(fields []field, at unsafe.Pointer) bool {
	for i := range fields {
		f := &fields[i]
		v := reflect.NewAt(f.typ, unsafe.Add(at, f.offset)).Elem()
		if f.form == formList && v.Len() > 0 || f.form != formList && !v.IsZero() {
			return true
		}
	}
	return false
}

// ShiftTimes moves all times of an event by so much. Except for T, the time of the event
// itself, a time of 0 means "not reported" and stays 0.
func ShiftTimes(e Event, by Time) {
	at := structOf(e)
	for _, f := range plans[e.Kind()] {
		t := (*Time)(unsafe.Add(at, f.offset))
		if f.form == formWhen || f.form == formTime && *t != 0 {
			*t += by
		}
	}
}
