package kernel

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sim/draw"
	"heddle/harness/sim/fluid"
	"heddle/harness/state"
)

// source is the place of an event's source in the order within a millisecond.
func source(e Event) int {
	switch e.Kind() {
	case FlowEnd:
		return 0
	case Arrival:
		return 2
	}
	return 1
}

// each goes through the events of the present millisecond, and has those checked that come
// together.
func each(e *Events, check func([]Event)) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for list := e.Take(); len(list) > 0; list = e.Take() {
			check(list)
			for _, x := range list {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// early is the first of the kinds that come first within a millisecond.
const early = 2

// class is the place of what was pushed, by kind, in the order within a millisecond.
func class(e Event) int {
	return map[Kind]int{early: 0, early + 1: 1}[e.Kind()] + map[bool]int{true: 2}[e.Kind() < early]
}

// inOrder checks the order of events that were pushed, with numbers in order of the pushes.
func inOrder(t *rapid.T) func([]Event) {
	return func(list []Event) {
		if !slices.IsSortedFunc(list, func(a, b Event) int { return cmp.Or(cmp.Compare(class(a), class(b)), cmp.Compare(a.ID, b.ID)) }) {
			t.Fatalf("events of one millisecond come in the order %+v", list)
		}
	}
}

// Events come in order of time. Within a millisecond, flows that end come first, then
// what was pushed, then arrivals. Of what was pushed some kinds come first, by number, and
// the others in order of the pushes. What is pushed for the present comes after these.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flows := fluid.New(make([]state.RackID, 4))
		for n := range int32(4) {
			flows.SetRate(0, fluid.Disk, n, 1000, 0)
		}
		var e Events
		e.Reset(0, early)
		e.Flows = flows
		sequence, flow := uint32(0), uint32(0)
		began, pushed := map[uint32]int64{}, map[uint32]int64{}
		arrivals := rapid.SliceOfN(rapid.Int64Range(0, 2000), 0, 10).Draw(t, "arrivals")
		slices.Sort(arrivals)
		setArrival := func() {
			e.SetArrival(Never)
			if len(arrivals) > 0 {
				e.SetArrival(arrivals[0])
			}
		}
		setArrival()
		more := func() {
			if rapid.Bool().Draw(t, "flow") {
				flows.Read(e.Now, state.NodeID(flow%4), state.NodeID(flow%4), false, rapid.Int64Range(1, 300).Draw(t, "bytes"), flow)
				began[flow] = e.Now
				flow++
			} else {
				at := e.Now + rapid.Int64Range(0, 400).Draw(t, "ahead")
				e.Push(at, rapid.SampledFrom([]Kind{1, early, early + 1}).Draw(t, "kind"), sequence, 0)
				pushed[sequence] = at
				sequence++
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "begin") {
			more()
		}
		wantArrivals, gotArrivals, handled := len(arrivals), 0, int64(0)
		var last Event
		for next := e.Next(); next != Never; next = e.Next() {
			if next < e.Now {
				t.Fatalf("the next event is at %d, now it is %d", next, e.Now)
			}
			e.Advance(next)
			first := true
			for x := range each(&e, inOrder(t)) {
				handled++
				if !first && source(x) < source(last) {
					t.Fatalf("at %d, %+v comes after %+v", e.Now, x, last)
				}
				last, first = x, false
				switch source(x) {
				case 0:
					if _, ok := began[x.ID]; !ok {
						t.Fatalf("flow %d ends, and was not running", x.ID)
					}
					delete(began, x.ID)
				case 1:
					if pushed[x.ID] != e.Now {
						t.Fatalf("an event for %d comes at %d", pushed[x.ID], e.Now)
					}
					delete(pushed, x.ID)
				case 2:
					if arrivals[0] != e.Now {
						t.Fatalf("an arrival of %d comes at %d", arrivals[0], e.Now)
					}
					arrivals = arrivals[1:]
					gotArrivals++
					setArrival()
				}
				if sequence+flow < 100 && rapid.IntRange(0, 2).Draw(t, "more") == 0 {
					more()
				}
			}
		}
		if len(began)+len(pushed) > 0 || gotArrivals != wantArrivals || handled != e.Handled {
			t.Fatalf("%d flows and %d events never came, %d of %d arrivals did; %d events were handled, and %d counted", len(began), len(pushed),
				gotArrivals, wantArrivals, handled, e.Handled)
		}
	})
}

// An event is for the uses of its number with the generation that it was pushed with,
// modulo 2^24.
func TestGenerations(t *testing.T) {
	var e Events
	e.Reset(0, early)
	for _, gen := range []uint32{0, 1, 1<<24 - 1, 1 << 24, 1<<32 - 1} {
		e.Push(0, 200, 5, gen)
		list := e.Take()
		if x := list[0]; len(list) != 1 || x.Kind() != 200 || x.ID != 5 || !x.IsFor(gen) || x.IsFor(gen+1) || x.IsFor(gen-1) ||
			x.Generation() != gen%(1<<24) {
			t.Errorf("generation %d: %+v", gen, list)
		}
		e.Take()
	}
}

// Events stall when none but idle ones are to come, and idle ones are no progress.
func TestStalled(t *testing.T) {
	const idle, busy = Kind(0), Kind(1)
	var e Events
	e.Reset(busy, FlowEnd)
	step := func() {
		e.Advance(e.Next())
		for range each(&e, func([]Event) {}) {
		}
	}
	check := func(stalled bool, progressMs int64) {
		t.Helper()
		if e.Stalled() != stalled || e.ProgressMs != progressMs {
			t.Errorf("at %d: stalled %t, last progress at %d; want %t, %d", e.Now, e.Stalled(), e.ProgressMs, stalled, progressMs)
		}
	}
	check(true, 0)
	e.Push(10, idle, 0, 0)
	e.Push(20, busy, 0, 0)
	e.Push(30, idle, 0, 0)
	check(false, 0)
	step()
	check(false, 0)
	step()
	check(true, 20)
	e.SetArrival(40)
	check(false, 20)
	e.SetArrival(Never)
	step()
	check(true, 20)
	flows := fluid.New(make([]state.RackID, 1))
	flows.SetRate(0, fluid.Disk, 0, 1000, 0)
	flows.Read(30, 0, 0, false, 5, 0)
	e.Flows = flows
	check(false, 20)
	for e.Next() != Never {
		step()
	}
	check(true, 20)
}

// A queue of one or more servers, made of nothing but the kernel, has the mean waits of
// queueing theory: Erlang's formula for M/M/c, half the wait of M/M/1 for M/D/1.
func TestMeanWaits(t *testing.T) {
	const meanMs, customers = 10_000.0, 400_000
	for _, c := range []struct {
		name     string
		servers  int
		rho      float64
		constant bool
	}{{"M/M/1", 1, 0.7, false}, {"M/D/1", 1, 0.7, true}, {"M/M/2", 2, 0.8, false}, {"M/M/5", 5, 0.6, false}} {
		key := draw.Stream(5, c.name)
		gapMs := meanMs / c.rho / float64(c.servers)
		var e Events
		e.Reset(0, early)
		arrivesAt, came, busy := 0.0, uint64(0), 0
		var queue []int64
		waitedMs := 0.0
		serve := func(at int64) {
			waitedMs += float64(e.Now - at)
			ms := meanMs
			if !c.constant {
				ms *= key.At(came).At(uint64(e.Now)).Exponential()
			}
			e.Push(e.Now+int64(math.Round(ms)), 0, 0, 0)
		}
		arrive := func() {
			arrivesAt += gapMs * key.At(came).Exponential()
			e.SetArrival(int64(arrivesAt))
			if came++; came > customers {
				e.SetArrival(Never)
			}
		}
		arrive()
		for next := e.Next(); next != Never; next = e.Next() {
			e.Advance(next)
			for x := range each(&e, func([]Event) {}) {
				switch {
				case x.Kind() == Arrival:
					if arrive(); busy < c.servers {
						busy++
						serve(e.Now)
					} else {
						queue = append(queue, e.Now)
					}
				case len(queue) > 0:
					serve(queue[0])
					queue = queue[1:]
				default:
					busy--
				}
			}
		}
		want := waitMMc(c.servers, c.rho) * meanMs
		if c.constant {
			want /= 2
		}
		if got := waitedMs / customers; math.Abs(got-want) > 0.04*want {
			t.Errorf("%s: customers wait for %.0f ms in the mean, want %.0f", c.name, got, want)
		}
	}
}

// waitMMc is the mean wait in a queue of c servers, in mean times of service, by Erlang.
func waitMMc(c int, rho float64) float64 {
	a, term, sum := rho*float64(c), 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	wait := term / (1 - rho)
	return wait / (sum + wait) / (float64(c) * (1 - rho))
}

// Events that come in order of pushes for one millisecond need no sorting by anything
// else: a heap of (time, sequence) gives the same order.
func TestSameAsHeap(t *testing.T) {
	type item struct {
		at int64
		id uint32
	}
	key := draw.Stream(9, "heap")
	var e Events
	e.Reset(0, early)
	var want, got []item
	for i := range uint32(5000) {
		at := int64(key.At(uint64(i)).Below(3_000_000))
		e.Push(at, 0, i, 0)
		want = append(want, item{at, i})
	}
	for next := e.Next(); next != Never; next = e.Next() {
		e.Advance(next)
		for x := range each(&e, func([]Event) {}) {
			got = append(got, item{e.Now, x.ID})
		}
	}
	slices.SortStableFunc(want, func(a, b item) int { return cmp.Compare(a.at, b.at) })
	if !slices.Equal(got, want) {
		t.Errorf("%d events in another order than that of (time, sequence)", len(got))
	}
}
