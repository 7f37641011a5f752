package experiment

import (
	"testing"

	"heddle/harness/state"
	"heddle/traces"
)

const groupedReduces = `
name: grouped
workloads:
  - {` + oneFile + `, reduces: 2,
     settings: {mapreduce.input.fileinputformat.split.maxsize: 1048576, mapreduce.job.reduce.slowstart.completedmaps: "1.0"}}
models: [{model: fifo, reduces: reduce-greedy, params: {reduces.groups: true}}]
speculation: none
`

// TestReducesAsGroup has a job's two reduces placed as one group on real Hadoop: both
// decisions get their container, and the trace tells which reduce came in each. One of
// them at least is where a map has left output, as the ApplicationMaster's counters say.
func TestReducesAsGroup(t *testing.T) {
	c, _ := lab(t)
	run := must(runText(t, c, groupedReduces))
	_, events := readTrace(t, run)
	ranMaps, near := map[traces.Node]bool{}, false
	groups := map[int64][]*traces.Decision{}
	outcome := map[int64]*traces.Actuation{}
	for _, e := range events {
		switch e := e.(type) {
		case *traces.Decision:
			if e.Group > 0 {
				groups[e.Group] = append(groups[e.Group], e)
			}
		case *traces.Actuation:
			outcome[e.Decision] = e
		case *traces.AttemptStarted:
			if e.Attempt.Kind == state.Map {
				ranMaps[e.Node] = true
			}
		}
	}
	came := map[traces.Attempt]bool{}
	for g, members := range groups {
		for _, d := range members {
			o := outcome[d.ID]
			if o == nil {
				t.Fatalf("group %d: decision %d has no outcome", g, d.ID)
			}
			t.Logf("group %d: %s on %s at %v: %s after %v, %v", g, d.What, d.Node, d.T, o.Outcome, o.GrantedAt-d.T, o.Bound)
			near = near || ranMaps[d.Node]
			if o.Outcome == "honoured" {
				came[o.Bound] = true
			}
		}
		if len(members) != 2 {
			t.Errorf("group %d has %d members, want 2", g, len(members))
		}
	}
	if !near {
		t.Errorf("no reduce is on a node that ran a map: %v", ranMaps)
	}
	for i := range int32(2) {
		found := false
		for a := range came {
			found = found || a.Kind == state.Reduce && a.Index == i
		}
		if !found {
			t.Errorf("no group brought reduce %d: %v", i, came)
		}
	}
}
