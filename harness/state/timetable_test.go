package state

import (
	"fmt"
	"strings"
	"testing"

	"heddle/traces"
)

// loaded is a timetable of two nodes of 100 MB and 10 cores: all of n0 from 0 s on, half
// of both from 10 s on, nothing of n1 from 20 s on, and again every minute.
func loaded() *Timetable {
	half := Resource{MemoryMB: 50, VCores: 5}
	return &Timetable{FromMs: 3000, EveryMs: 60_000, Changes: []CapacityChange{
		{AtMs: 0, Node: "n0", Left: fullNode},
		{AtMs: 10_000, Node: "n0", Left: half},
		{AtMs: 10_000, Node: "n1", Left: half},
		{AtMs: 20_000, Node: "n1"},
	}}
}

var fullNode = Resource{MemoryMB: 100, VCores: 10}

func full(string) Resource { return fullNode }

// inWords is a timetable in words: when it begins, and each change as "seconds node MB/cores".
func inWords(t *Timetable) string {
	if t == nil {
		return "nothing"
	}
	list := []string{fmt.Sprintf("from %d every %d", t.FromMs, t.EveryMs)}
	for _, c := range t.Changes {
		list = append(list, fmt.Sprintf("%d %s %d/%d", c.AtMs/1000, c.Node, c.Left.MemoryMB, c.Left.VCores))
	}
	return strings.Join(list, ", ")
}

// TestTold has what models are told of a timetable.
func TestTold(t *testing.T) {
	const exact = "0 n0 100/10, 10 n0 50/5, 10 n1 50/5, 20 n1 0/0"
	for _, x := range []struct {
		telling traces.Telling
		want    string
	}{
		{traces.Telling{}, "from 3000 every 60000, " + exact},
		{traces.Telling{LagMs: 5000}, "from 8000 every 60000, " + exact},
		{traces.Telling{None: true}, "nothing"},
		{traces.Telling{None: true, LagMs: 5000, Noise: 1}, "nothing"},
	} {
		a := loaded()
		a.Telling = x.telling
		if got := inWords(a.Told(1, full)); got != x.want {
			t.Errorf("%+v: told %s\nwant %s", x.telling, got, x.want)
		}
		if got := inWords(a); got != "from 3000 every 60000, "+exact {
			t.Errorf("%+v: the timetable became %s", x.telling, got)
		}
	}
	if told := (&Timetable{}).Told(1, full); told != nil {
		t.Errorf("of a timetable without changes is told %s", inWords(told))
	}
}

// TestToldInError has errors of the load: none where there is no load, the same on all
// nodes at one time, within the noise, on both sides, and the same from the same seed.
func TestToldInError(t *testing.T) {
	more, less := 0, 0
	seen := map[string]bool{}
	for seed := range uint64(200) {
		a := loaded()
		a.Telling = traces.Telling{Noise: 0.4, LagMs: 1000}
		told := a.Told(seed, full)
		if again := a.Told(seed, full); inWords(again) != inWords(told) {
			t.Fatalf("seed %d: told %s, then %s", seed, inWords(told), inWords(again))
		}
		if err := told.Check(); err != nil || told.FromMs != 4000 {
			t.Fatalf("seed %d: told %s: %v", seed, inWords(told), err)
		}
		seen[inWords(told)] = true
		c := told.Changes
		if c[0].Left != fullNode || c[1].Left != c[2].Left {
			t.Fatalf("seed %d: told %s", seed, inWords(told))
		}
		// Half is left, and the load is up to 40 % of the other half too high or too low.
		if mb := c[1].Left.MemoryMB; mb < 30 || mb > 70 {
			t.Fatalf("seed %d: %d MB left, want 30 to 70", seed, mb)
		} else if mb < 50 {
			less++
		} else if mb > 50 {
			more++
		}
		// No load is larger than the node.
		if mb := c[3].Left.MemoryMB; mb < 0 || mb > 40 {
			t.Fatalf("seed %d: %d MB left, want 0 to 40", seed, mb)
		}
	}
	if more < 70 || less < 70 || len(seen) < 100 {
		t.Errorf("of 200 seeds %d are told of more, %d of less, with %d different timetables", more, less, len(seen))
	}
}

// TestLeft has what is left of 100 with loads in error.
func TestLeft(t *testing.T) {
	for _, x := range []struct {
		left   int32
		factor float64
		want   int32
	}{{50, 1, 50}, {50, 1.5, 25}, {50, 0.5, 75}, {100, 1.9, 100}, {20, 1.5, 0}, {0, 0, 100}, {70, 1.25, 62}} {
		if got := leftOf(100, x.left, x.factor); got != x.want {
			t.Errorf("%d left, the load times %v: %d, want %d", x.left, x.factor, got, x.want)
		}
	}
}

// TestWrongTelling refuses what cannot be told.
func TestWrongTelling(t *testing.T) {
	for _, x := range []traces.Telling{{LagMs: -1}, {LagMs: 1 << 60}, {Noise: 1.5}, {Noise: -0.1}} {
		a := loaded()
		if a.Telling = x; a.Check() == nil {
			t.Errorf("%+v is no error", x)
		}
	}
}
