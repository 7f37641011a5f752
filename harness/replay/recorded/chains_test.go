package recorded

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/sim"
	"heddle/traces"
	"heddle/traces/errtest"
)

// TestChains: b began 4 s after a of the same user, c 11 s after b, d at once but of another user,
// e while a ran. A replay keeps b as long behind the end of a.
func TestChains(t *testing.T) {
	const second = traces.Time(1e9)
	h := traces.Header{
		Format: 1, Origin: traces.Measured,
		Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{{Node: "n", Worker: true, MemoryBytes: 8 << 30}}},
	}
	var events []traces.Event
	for _, j := range []struct {
		id, user string
		from, to traces.Time
	}{{"a", "u", 0, 100}, {"e", "u", 50, 60}, {"d", "v", 100, 110}, {"b", "u", 104, 200}, {"c", "u", 211, 220}} {
		m := traces.Task{Job: traces.JobID(j.id), Kind: traces.Map}
		events = append(
			events,
			&traces.JobSubmitted{T: j.from * second, Job: m.Job, User: j.user, Maps: 1},
			&traces.AttemptStarted{T: (j.from + 1) * second, Attempt: traces.Attempt{Task: m}, Node: "n"},
			&traces.AttemptFinished{
				T: (j.to - 1) * second, Attempt: traces.Attempt{Task: m}, Outcome: traces.Succeeded,
				Counters: traces.NoCounters,
			},
			&traces.JobFinished{T: j.to * second, Job: m.Job, Outcome: traces.Succeeded, Counters: traces.NoCounters},
		)
	}
	slices.SortStableFunc(events, traces.Compare)
	x := errtest.Must(New("by hand", h, slices.Values(events)))
	if d := cmp.Diff(map[traces.JobID]traces.JobID{"b": "a"}, x.Chains()); d != "" {
		t.Fatalf("chains (-want +got):\n%s", d)
	}
	machines := errtest.Must(x.Machines(&Change{}))
	s := NewSource(Settings{Trace: x, After: x.Chains()}, &machines)
	for j := (sim.Job{}); s.Next(&j); {
		if want := j.ID == "b"; want != (j.After == "a") || want && j.AfterMs != 4000 {
			t.Errorf("%s: after %q by %d ms, want b after a by 4000", j.ID, j.After, j.AfterMs)
		}
	}
	if d := cmp.Diff([]int{1}, x.NodesUsed(3600*second)); d != "" {
		t.Errorf("nodes used (-want +got):\n%s", d)
	}
}
