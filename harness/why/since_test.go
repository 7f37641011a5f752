package why

import (
	"reflect"
	"testing"

	"heddle/traces"
)

// TestSinceMovesEveryTime sets every time of an explanation, and finds each moved.
func TestSinceMovesEveryTime(t *testing.T) {
	x := &Explanation{Nearer: []Nearer{{}, {}}, Before: &Before{}, Decision: &Decision{}}
	each := func(x *Explanation, visit func(*Ms)) (count int) {
		var walk func(v reflect.Value)
		walk = func(v reflect.Value) {
			if v.Type() == reflect.TypeFor[*Ms]() && v.IsNil() {
				v.Set(reflect.ValueOf(new(Ms)))
			}
			switch v.Kind() {
			case reflect.Pointer:
				if !v.IsNil() {
					walk(v.Elem())
				}
			case reflect.Slice:
				for i := range v.Len() {
					walk(v.Index(i))
				}
			case reflect.Struct:
				for i := range v.NumField() {
					if v.Field(i).CanSet() {
						walk(v.Field(i))
					}
				}
			case reflect.Int64:
				if v.CanSet() && v.Type() == reflect.TypeFor[Ms]() {
					visit(v.Addr().Interface().(*Ms))
					count++
				}
			}
		}
		walk(reflect.ValueOf(x).Elem())
		return count
	}
	each(x, func(m *Ms) { *m = 7e9 })
	y := x.Since(traces.Time(2e9))
	if n := each(y, func(m *Ms) {
		if *m != 5e9 {
			t.Errorf("a time of 7 s is %v 2 s later", *m)
		}
	}); n < 7 {
		t.Errorf("%d times were seen", n)
	}
	each(x, func(m *Ms) {
		if *m != 7e9 {
			t.Errorf("Since changed a time of the explanation itself to %v", *m)
		}
	})
}
