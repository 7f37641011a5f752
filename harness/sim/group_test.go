package sim

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// grouping is a model that places maps by fifo and a job's reduces as a group on
// given nodes, once. It notes which events of decisions it hears.
type grouping struct {
	fifo    sched.Model
	on      []state.NodeID
	limitMs int64
	asked   bool
	heard   []string
}

func (m *grouping) Name() string        { return "grouping" }
func (m *grouping) GroupLimitMs() int64 { return m.limitMs }

func (m *grouping) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	if id := state.JobID(0); !m.asked && v.Jobs() > 0 && int(v.Waiting(id, state.Reduce)) >= len(m.on) {
		m.asked = true
		for _, n := range m.on {
			out = append(out, sched.Decision{Job: id, Kind: state.Reduce, Node: n, Task: state.None, Group: 1})
		}
		return out
	}
	if m.asked && len(v.WaitingJobs(state.Reduce)) > 0 {
		return m.fifo.Round(v, free[:1], out)
	}
	return m.fifo.Round(v.Only(state.Map), free[:1], out)
}

func (m *grouping) Observe(_ *state.View, e sched.Event) {
	switch {
	case e.Decision.Group == 0:
	case e.What == sched.Confirmed:
		m.heard = append(m.heard, "confirmed")
	case e.What == sched.Cancelled:
		m.heard = append(m.heard, "cancelled")
	}
}

// TestGroups has a job's two reduces placed as a group. Both start or none does: what
// has begun is killed, and the model hears of each member.
func TestGroups(t *testing.T) {
	type nodes = []state.NodeID
	for _, x := range []struct {
		name     string
		actuator Actuator
		on       nodes
		labelMs  int32
		limitMs  int64
		faults   []Fault
		heard    []string
		killed   int64
		refused  int64
	}{
		{"at once", Ideal, nodes{1, 2}, 0, 1000, nil, []string{"confirmed", "confirmed"}, 0, 0},
		{"no room for the second", Ideal, nodes{1, 1}, 0, 1000, nil, nil, 0, 2},
		{"by the cluster's scheduler", Native, nodes{1, 2}, 0, 1000, nil, []string{"confirmed", "confirmed"}, 0, 0},
		{"by labels", Labels, nodes{1, 2}, 100, 1000, nil, []string{"confirmed", "confirmed"}, 0, 0},
		{"two on a node, one after the other", Labels, nodes{3, 3}, 100, 1000, nil, []string{"confirmed", "confirmed"}, 0, 0},
		{"no container within the time", Labels, nodes{1, 2}, 2000, 1000, nil, []string{"cancelled", "cancelled"}, 0, 0},
		{"the second on a node comes too late", Labels, nodes{3, 3}, 800, 1000, nil, []string{"confirmed", "cancelled", "cancelled"}, 1, 0},
		{
			"a node is lost, and noticed at once", Labels,
			nodes{3, 3},
			500, 3000,
			[]Fault{{AtMs: 3200, What: NodeDown, Node: 3}},
			[]string{"confirmed", "cancelled", "cancelled"},
			1, 0,
		},
	} {
		c := slots(4, 1)
		c.Nodes[3].Capacity = c.Nodes[3].Capacity.Times(2)
		j := shuffle(2)
		j.Maps = 1 // on n0: other nodes are free when it ends, a second after its start
		j.MapWork[0].ComputeMs = 2000
		m := &grouping{fifo: newModel(t, "fifo"), on: x.on, limitMs: x.limitMs}
		costs := NoCosts()
		costs.LabelMs = []int32{x.labelMs}
		outcomes := map[string]int{}
		groups := map[int64]int{}
		r, err := Run(&Config{
			Cluster: c, Source: &Jobs{List: []Job{j}}, Model: m, Actuator: x.actuator, Costs: costs, Faults: x.faults,
			Record: func(e traces.Event) {
				switch e := e.(type) {
				case *traces.Decision:
					if e.Group > 0 {
						groups[e.Group]++
					}
				case *traces.Actuation:
					outcomes[e.Outcome]++
				}
			},
		})
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if !slices.Equal(m.heard, x.heard) {
			t.Errorf("%s: the model heard %v, want %v", x.name, m.heard, x.heard)
		}
		if r.Attempts.Killed != x.killed || r.Decisions.Refused < x.refused || x.refused == 0 && r.Decisions.Refused > 0 {
			t.Errorf("%s: %d attempts killed and %d decisions refused, want %d and %d", x.name, r.Attempts.Killed, r.Decisions.Refused, x.killed,
				x.refused)
		}
		if want := min(1, len(x.heard)); len(groups) != want || want > 0 && groups[slices.Collect(keys(groups))[0]] != 2 {
			t.Errorf("%s: groups in the trace %v, want %d of two members", x.name, groups, want)
		}
		if d := r.Decisions; d.Made != d.AsExpected+d.Otherwise+d.Unused {
			t.Errorf("%s: outcomes of decisions %+v do not add up", x.name, d)
		}
		if want := len(x.heard) / 2; slices.Contains(x.heard, "cancelled") != (outcomes["cancelled"] == 2) && want > 0 {
			t.Errorf("%s: outcomes %v", x.name, outcomes)
		}
	}
}

func keys(m map[int64]int) func(func(int64) bool) {
	return func(yield func(int64) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestGroupsEnd: whatever happens on the cluster, runs with groups end, and nobody
// keeps room or a group.
func TestGroupsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		m := must(sched.New("delay", sched.Params{
			"reduces": rapid.SampledFrom([]string{
				"reduce-random", "reduce-greedy", "rhc",
				"reduce-optimal",
			}).Draw(t, "reduces"), "reduces.groups": "true",
			"reduces.groupLimit": rapid.SampledFrom([]string{"1ms", "30ms", "30s"}).Draw(t, "limit"),
		}))
		c.Model = m
		var s Sim
		var r Result
		if err := s.Run(c, &r); err != nil {
			t.Fatal(err)
		}
		for n := range s.nodes.list {
			if id := state.NodeID(n); s.view.Up(id) && s.view.Free(id) != s.view.Capacity(id) {
				t.Fatalf("node %d has %v free of %v at the end", n, s.view.Free(id), s.view.Capacity(id))
			}
		}
		for i := range s.containers.groups {
			if g := &s.containers.groups[i]; g.open > 0 && s.events.Next() == kernel.Never {
				t.Fatalf("group %d is open at the end: %+v", i, fmt.Sprint(*g))
			}
		}
	})
}
