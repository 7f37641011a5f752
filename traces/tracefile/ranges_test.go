package tracefile

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"heddle/traces"
)

// TestRanges puts a number far out of any range into each field of each kind in
// turn: the check must name that field, so that the table of ranges has every
// field in its place.
func TestRanges(t *testing.T) {
	anyNumber := []string{"blockReplica.block", "blockCached.block", "decision.group"}
	for kind := traces.Kind(1); kind < traces.Kinds; kind++ {
		if !kind.Known() {
			continue
		}
		if wrong := outOfRange(validEvent(kind)); len(wrong) > 0 {
			t.Errorf("a good %v has %v out of range", kind, wrong)
		}
		fields := 0
		for i := range namedFields(reflect.ValueOf(validEvent(kind)).Elem(), "") {
			fields++
			e := validEvent(kind)
			f := namedFields(reflect.ValueOf(e).Elem(), "")[i]
			switch f.value.Kind() {
			case reflect.Int64:
				f.value.SetInt(math.MinInt64)
			case reflect.Int32:
				f.value.SetInt(math.MinInt32)
			case reflect.Float64:
				f.value.SetFloat(math.NaN())
			case reflect.Uint8:
				f.value.SetUint(math.MaxUint8)
			default:
				continue
			}
			if slices.Contains(anyNumber, kind.String()+"."+f.name) {
				continue
			}
			if got := outOfRange(e); !slices.Equal(got, []string{f.name}) {
				t.Errorf("%v with %s = %v: out of range are %v", kind, f.name, f.value, got)
			}
		}
		if fields != len(ranges[kind]) {
			t.Errorf("%v has %d fields and %d ranges", kind, fields, len(ranges[kind]))
		}
	}
}

// TestRangesOfLists holds the check against lists of any length: the fields of each
// element and those after the list are found.
func TestRangesOfLists(t *testing.T) {
	for n := range 4 {
		e := &traces.Decision{ID: 1, Job: "j", Seen: &traces.Seen{Candidates: make([]traces.Candidate, n), MoreCandidates: -1}}
		want := []string{}
		for i := range n {
			e.Seen.Candidates[i].Node = "n"
		}
		if n > 0 {
			e.Seen.Candidates[n-1].Room = 9
			want = append(want, "seen.candidates[].room")
		}
		if got := outOfRange(e); !slices.Equal(got, append(want, "seen.moreCandidates")) {
			t.Errorf("%d candidates: out of range are %v", n, got)
		}
	}
	e := &traces.Decision{ID: 1, Job: "j", Seen: &traces.Seen{Passed: make([]traces.PassedJob, 257)}}
	if got := outOfRange(e); len(got) == 0 || got[0] != "seen.passed" {
		t.Errorf("257 jobs: out of range are %v", got)
	}
	if got := outOfRange(&traces.Decision{ID: 1, Job: "j"}); len(got) > 0 {
		t.Errorf("a decision of which it is not known what was seen: out of range are %v", got)
	}
}

func outOfRange(e traces.Event) (names []string) {
	c := rangeCheck{wrong: func(_ traces.Kind, f field, _ string) { names = append(names, f.name) }}
	c.event(e)
	return names
}

// validEvent is an event whose fields are all in their ranges.
func validEvent(kind traces.Kind) traces.Event {
	e := traces.New(kind)
	fill(reflect.ValueOf(e).Elem())
	for _, f := range namedFields(reflect.ValueOf(e).Elem(), "") {
		switch f.value.Kind() {
		case reflect.String:
			f.value.SetString("x")
		case reflect.Int64, reflect.Int32:
			f.value.SetInt(1)
		case reflect.Uint8:
			f.value.SetUint(1)
		}
	}
	return e
}

// fill gives each list of structs in a struct an element, and makes the structs that may be
// missing.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case f.Kind() == reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			fill(f.Elem())
		}
	}
}

type namedField struct {
	name  string
	value reflect.Value
}

// namedFields are a struct's fields that hold values, by their names in JSON.
func namedFields(v reflect.Value, prefix string) (all []namedField) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			all = append(all, namedFields(v.Field(i), prefix)...)
		case v.Field(i).Kind() == reflect.Struct:
			all = append(all, namedFields(v.Field(i), prefix+name+".")...)
		case v.Field(i).Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			all = append(all, namedField{prefix + name, v.Field(i)})
			for n := range v.Field(i).Len() {
				all = append(all, namedFields(v.Field(i).Index(n), prefix+name+"[].")...)
			}
		case v.Field(i).Kind() == reflect.Pointer:
			all = append(all, namedField{prefix + name, v.Field(i)})
			if !v.Field(i).IsNil() {
				all = append(all, namedFields(v.Field(i).Elem(), prefix+name+".")...)
			}
		default:
			all = append(all, namedField{prefix + name, v.Field(i)})
		}
	}
	return all
}
