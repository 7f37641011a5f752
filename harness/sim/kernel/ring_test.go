package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sim/draw"
)

// beat is a heartbeat of a member of a ring.
type beat struct {
	member int32
	at     int64
}

// beatsUntil returns the heartbeats of a ring up to a time, and handles them.
func beatsUntil(r *Ring, end int64) (list []beat) {
	for i, at := r.Next(0); at < end; i, at = r.Next(at) {
		list = append(list, beat{i, at})
		r.Passed()
	}
	return list
}

// Each member has one heartbeat in an interval, always at the same offset, in order of
// time. The offsets are spread over the interval, and differ by seed.
func TestRingIsRegular(t *testing.T) {
	const members, interval = 200, 1000
	var r, other Ring
	r.Reset(members, interval, false, false, draw.Stream(1, "ring"))
	other.Reset(members, interval, false, false, draw.Stream(2, "ring"))
	for i := range int32(members) {
		r.Set(i, true)
		other.Set(i, true)
	}
	list := beatsUntil(&r, 5*interval)
	if len(list) != 5*members || !slices.IsSortedFunc(list, func(a, b beat) int { return int(a.at - b.at) }) {
		t.Fatalf("%d heartbeats, want %d in order of time", len(list), 5*members)
	}
	sum := int64(0)
	for i, b := range list[members:] {
		if before := list[i]; before.member != b.member || before.at != b.at-interval {
			t.Fatalf("%+v, and %+v an interval before", b, before)
		}
		sum += b.at % interval
	}
	if mean := sum / int64(len(list)-members); mean < interval*2/5 || mean > interval*3/5 {
		t.Errorf("the mean offset is %d ms of %d", mean, interval)
	}
	if slices.Equal(list, beatsUntil(&other, 5*interval)) {
		t.Error("two seeds have the same heartbeats")
	}
}

// Together, all members have their heartbeats at the interval's start: in order of their
// numbers, or shuffled.
func TestRingTogether(t *testing.T) {
	for _, shuffled := range []bool{false, true} {
		var r Ring
		r.Reset(50, 20, true, shuffled, draw.Stream(1, "ring"))
		for i := range int32(50) {
			r.Set(i, true)
		}
		var order []int32
		for _, b := range beatsUntil(&r, 20) {
			if b.at != 0 {
				t.Fatalf("%+v, want it at 0", b)
			}
			order = append(order, b.member)
		}
		sorted := slices.IsSorted(order)
		slices.Sort(order)
		if sorted == shuffled || len(slices.Compact(order)) != 50 {
			t.Errorf("shuffled %t: sorted %t, members %v", shuffled, sorted, order)
		}
	}
}

// A ring in which few members matter has the heartbeats of one in which all do, less
// those that did not matter at their time.
func TestRingSkips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.Int32Range(1, 20).Draw(t, "members")
		interval := rapid.Int64Range(1, 50).Draw(t, "interval")
		key := draw.Stream(rapid.Uint64().Draw(t, "seed"), "ring")
		together := rapid.Bool().Draw(t, "together")
		var all, some Ring
		all.Reset(int(members), interval, together, false, key)
		some.Reset(int(members), interval, together, false, key)
		matter := make([]bool, members)
		for i := range members {
			all.Set(i, true)
		}
		var got, want []beat
		now, last := int64(0), int64(0)
		for i, at := all.Next(0); at < 20*interval; i, at = all.Next(at) {
			if at > last && rapid.IntRange(0, 4).Draw(t, "change") == 0 { // before the first heartbeat of this time
				now = at
				some.Next(at)
				k := rapid.Int32Range(0, members-1).Draw(t, "which")
				matter[k] = !matter[k]
				some.Set(k, matter[k])
			}
			last = at
			if matter[i] {
				want = append(want, beat{i, at})
				k, its := some.Next(now)
				got = append(got, beat{k, its})
				if k >= 0 {
					now = its
					some.Passed()
				}
			}
			all.Passed()
		}
		if !slices.Equal(got, want) {
			t.Fatalf("heartbeats %v, want %v", got, want)
		}
		if some.Reset(int(members), interval, together, false, key); members > 0 {
			if i, at := some.Next(0); i != -1 || at != Never {
				t.Fatalf("no member matters, and the next heartbeat is %d at %d", i, at)
			}
		}
	})
}
