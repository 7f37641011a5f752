package steer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/sched"
	"heddle/harness/state"
)

// TestPlannedSplits puts splits in a plan's order; what is no order of them is
// refused.
func TestPlannedSplits(t *testing.T) {
	s := state.New()
	for _, name := range []string{"x", "y"} {
		if _, err := s.AddNode(name, "/r", state.Resource{MemoryMB: 512, VCores: 1}); err != nil {
			t.Fatal(err)
		}
	}
	metas := []jobsplit.Meta{{Hosts: []string{"x", "y"}, Offset: 7, Length: 1}, {Hosts: []string{"z"}, Offset: 8, Length: 2}}
	got, order, err := planned(s.View(), metas, sched.SplitPlan{{Split: 1, Node: 0}, {Split: 0, Node: 1}})
	want := []jobsplit.Meta{{Hosts: []string{"x"}, Offset: 8, Length: 2}, {Hosts: []string{"y"}, Offset: 7, Length: 1}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || !slices.Equal(order, []state.TaskID{1, 0}) {
		t.Errorf("order %v, error %v, (-want +got):\n%s", order, err, diff)
	}
	if metas[0].Hosts[0] != "x" || len(metas[0].Hosts) != 2 {
		t.Errorf("the splits as submitted were changed: %v", metas)
	}
	for _, bad := range []sched.SplitPlan{
		nil, {{Split: 0}}, {{Split: 0}, {Split: 0}}, {{Split: 0}, {Split: 2}}, {{Split: -1}, {Split: 0}}, {{Split: 0}, {Split: 1, Node: 2}},
	} {
		if _, _, err := planned(s.View(), metas, bad); err == nil {
			t.Errorf("plan %v was taken", bad)
		}
	}
}
