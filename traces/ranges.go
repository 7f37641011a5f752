package traces

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"unsafe"
)

// Greatest values of the fields of events. They are far above the values of real
// clusters. They are small enough that sums and differences of two values fit
// into 64 bits.
const (
	MostBytes = 1 << 60 // greatest number of bytes, of records, of milliseconds and of bytes per second
	MostCores = 1 << 20
	mostTasks = 1 << 24  // greatest number of tasks of a job, greatest task index and greatest attempt number
	mostText  = 64 << 20 // in bytes
	// Times are from 30 years before to 250 years after Time 0. They may be
	// negative, since a job may have been submitted before the trace began.
	leastTime = -1e18
	MostTime  = 8e18
)

// limits are the least and the greatest value of a number, or length of a text or list.
type limits struct{ least, most int64 }

// classes has the range for each name in the range tag of an event field. "some"
// is a text that is not empty, "id" a number from 1. "signed" allows the range
// of the field's type and the same range below 0, for differences and for free
// resources of a node on which YARN has allocated too much.
var classes = map[string]limits{
	"some": {1, mostText}, "id": {1, math.MaxInt64}, "any": {math.MinInt64, math.MaxInt64}, "tasks": {0, mostTasks}, "cores": {0, MostCores},
	"share": {0, 1}, "percent": {0, 100}, "age": {0, MostTime}, "ms": {0, MostTime / 1e6}, "hint": {0, MaxHint}, "few": {0, 256},
}

// types has the ranges of fields whose range tag names none, by their type or else by its kind.
var types = map[any]limits{
	reflect.TypeFor[Time](): {leastTime, MostTime}, reflect.TypeFor[TaskKind](): {0, int64(Reduce)},
	reflect.TypeFor[Outcome](): {0, int64(Killed)}, reflect.TypeFor[Level](): {0, int64(LevelOff)},
	reflect.TypeFor[Room](): {0, int64(RoomSlots)}, reflect.TypeFor[SparkLocality](): {0, int64(SparkAny)},
	reflect.TypeFor[PassedWhy](): {0, int64(PassedWaits)}, reflect.TypeFor[WaitUnit](): {0, int64(WaitOffers)},

	reflect.String: {0, mostText}, reflect.Slice: {0, mostTasks}, reflect.Pointer: {0, 1}, reflect.Bool: {0, 1},
	reflect.Int32: {0, math.MaxInt32}, reflect.Int64: {0, MostBytes}, reflect.Float64: {0, MostBytes},
	reflect.Uint64: {math.MinInt64, math.MaxInt64},
}

// rangeOf returns the range of a field, from its range tag and its type. ",-1" in a tag also
// allows -1, which means "not known". maybe is for an attempt that may be missing: it allows
// an empty job id, a task index of -1 and an attempt number of -1.
func rangeOf(f reflect.StructField, maybe bool) limits {
	class, unknown, _ := strings.Cut(f.Tag.Get("range"), ",")
	r, ok := classes[class]
	if !ok {
		r, ok = types[f.Type]
	}
	if !ok {
		r = types[f.Type.Kind()]
	}
	switch {
	case class == "signed":
		r.least = -r.most
	case maybe && class == "some":
		r.least = 0
	case maybe && class == "tasks", unknown == "-1":
		r.least = -1
	}
	return r
}

// Want says in words which numbers are from least to most.
func Want(least, most int64) string {
	if most == math.MaxInt64 {
		return fmt.Sprintf("%d or more", least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// OutOfRange calls the function wrong for each field of an event whose value is out of its
// range, and says whether the field is a text.
func OutOfRange(e Event, wrong func(what string, text bool)) {
	outOfRange(plans[e.Kind()], structOf(e), wrong)
}

func outOfRange(fields []field, at unsafe.Pointer, wrong func(what string, text bool)) {
	for i := range fields {
		f := &fields[i]
		p, n, length := unsafe.Add(at, f.offset), int64(0), ""
		var list unsafe.Pointer
		count := 0
		switch f.form {
		case formWhen, formTime, formInt64:
			n = *(*int64)(p)
		case formInt32:
			n = int64(*(*int32)(p))
		case formUint8:
			n = int64(*(*uint8)(p))
		case formFloat:
			if x := *(*float64)(p); !(x >= float64(f.least) && x <= float64(f.most)) { // NaN is in no range
				wrong(fmt.Sprintf("%s is %v, want %s", f.name, x, Want(f.least, f.most)), false)
			}
			continue
		case formName, formText:
			n, length = int64(len(*(*string)(p))), "'s length"
		case formList, formMaybe:
			list, count = f.list(p)
			n = int64(count)
		default:
			continue
		}
		if n < f.least || n > f.most {
			wrong(fmt.Sprintf("%s%s is %d, want %s", f.name, length, n, Want(f.least, f.most)), length != "")
		}
		for i := range count {
			outOfRange(f.elements, unsafe.Add(list, i*f.size), wrong)
		}
	}
}
