package traces

import (
	"testing"

	"pgregory.net/rapid"
)

// TestListRules: maps read the whole input, of blocks that are full but the last,
// and times are at least what bytes take at the rates.
func TestListRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 1<<45)
		j := &JobListed{InputBytes: size.Draw(t, "input"), ShuffleBytes: size.Draw(t, "shuffle"), OutputBytes: size.Draw(t, "output")}
		r := DefaultListRules
		r.BlockBytes = rapid.Int64Range(1<<25, 1<<40).Draw(t, "block")
		maps, reduces, last := r.Maps(j), r.Reduces(j), r.LastSplitBytes(j)
		if (maps-1)*r.BlockBytes+last != j.InputBytes || last < 0 || last > r.BlockBytes || last == 0 && maps > 1 {
			t.Fatalf("%d maps of %d bytes and one of %d for %d", maps-1, r.BlockBytes, last, j.InputBytes)
		}
		if (reduces == 0) != (j.ShuffleBytes == 0) || reduces > r.MaxReduces {
			t.Fatalf("%d reduces of %d bytes", reduces, j.ShuffleBytes)
		}
		if ms := int64(r.MapMs(last)); ms != r.StartMs+last*1000/r.MapRate && ms < 1<<29 {
			t.Fatalf("a map of %d bytes takes %d ms", last, ms)
		}
		if ms := int64(r.ReduceMs(j.ShuffleBytes, 0)); ms != r.StartMs+j.ShuffleBytes*1000/r.ShuffleRate && ms < 1<<29 {
			t.Fatalf("a reduce of %d bytes takes %d ms", j.ShuffleBytes, ms)
		}
	})
}

// TestListLimits: rules and jobs that would make too much are refused.
func TestListLimits(t *testing.T) {
	r := DefaultListRules
	for _, j := range []JobListed{{InputBytes: 1 << 60}, {T: 1 << 60}, {T: -1e9}, {OutputBytes: -1}, {ShuffleBytes: 1<<60 + 1}} {
		if r.Check(&j) == nil {
			t.Errorf("%+v is taken", j)
		}
	}
	if err := r.Check(&JobListed{InputBytes: 1 << 40}); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*ListRules){
		func(r *ListRules) { r.BlockBytes = 0 }, func(r *ListRules) { r.Replication = 1000 }, func(r *ListRules) { r.MapRate = -1 },
		func(r *ListRules) { r.SpreadPercent = 101 }, func(r *ListRules) { r.StartMs = 1 << 60 },
	} {
		r := DefaultListRules
		if change(&r); r.Validate() == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}
