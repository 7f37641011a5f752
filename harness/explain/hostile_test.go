package explain

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

// sound explains a trace, whatever it says, and checks that the pieces add up.
func sound(t *testing.T, h traces.Header, events []traces.Event) {
	t.Helper()
	r := New(&h)
	for _, e := range events {
		r.Add(e)
	}
	x, ok := r.Explain()
	if !ok {
		return
	}
	check := func(whole Ns, steps []Step, lines []Line) {
		sum, named := Ns(0), Ns(0)
		for _, s := range steps {
			if s.From >= s.To {
				t.Errorf("a piece from %d to %d", s.From, s.To)
			}
			sum += Ns(s.To - s.From)
		}
		for _, l := range lines {
			named += l.Seconds
		}
		if sum != whole || named != whole || whole < 0 {
			t.Errorf("pieces of %v and lines of %v; want %v", sum, named, whole)
		}
	}
	check(x.Makespan, x.Steps, x.Lines)
	if x.All != nil {
		check(x.All.Completion, x.All.Steps, x.All.Lines)
	}
	for _, j := range x.Jobs {
		check(j.Completion, j.Steps, j.Lines)
	}
}

// TestHostile changes numbers and texts of events, repeats events and leaves some out.
func TestHostile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for seed := range uint64(150) {
		r := drawn(t, seed%30)
		r.events = append(r.events, sparkEvents(t, drawnLog(seed))...)
		traces.Sort(r.events)
		for range 1 + rng.IntN(60) {
			i := rng.IntN(len(r.events))
			switch rng.IntN(3) {
			case 0:
				r.events = slices.Delete(r.events, i, i+1)
			case 1:
				r.events = slices.Insert(r.events, i, r.events[rng.IntN(len(r.events))])
			default:
				spoil(rng, reflect.ValueOf(r.events[i]).Elem())
			}
		}
		for range rng.IntN(4) {
			spoil(rng, reflect.ValueOf(&r.header.Cluster.Nodes[rng.IntN(len(r.header.Cluster.Nodes))]).Elem())
		}
		sound(t, r.header, r.events)
	}
}

// spoil changes a field of a struct.
func spoil(rng *rand.Rand, v reflect.Value) {
	f := v.Field(rng.IntN(v.NumField()))
	switch f.Kind() {
	case reflect.Int64:
		f.SetInt(pick(rng, 0, -1, math.MaxInt64, math.MinInt64, f.Int()+1e9, f.Int()-1e9))
	case reflect.Int32:
		f.SetInt(pick[int64](rng, 0, -1, math.MaxInt32, math.MinInt32))
	case reflect.Uint8:
		f.SetUint(pick[uint64](rng, 0, 1, 4, 255))
	case reflect.Float64:
		f.SetFloat(pick(rng, 0, math.NaN(), math.Inf(1), -1, 1e300))
	case reflect.Bool:
		f.SetBool(!f.Bool())
	case reflect.String:
		f.SetString(pick(rng, "", "x", f.String()+"x"))
	case reflect.Struct:
		spoil(rng, f)
	}
}

// FuzzExplain explains what can be read of any bytes.
func FuzzExplain(f *testing.F) {
	for seed := range uint64(6) {
		r := drawn(f, seed)
		r.events = append(r.events[:40:40], r.events[len(r.events)-20:]...) // short ones are changed faster
		var lines bytes.Buffer
		errtest.None(f, tracefile.WriteLines(&lines, r.header, slices.Values(r.events)))
		f.Add(lines.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := tracefile.NewReader(bytes.NewReader(data), "x.jsonl")
		if err != nil {
			return
		}
		r.KeepEvents()
		sound(t, r.Header(), slices.Collect(r.All()))
	})
}
