package steer_test

import (
	"maps"
	"testing"

	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/state"
)

// seesOutput is a model that notes what it sees of map output.
type seesOutput struct {
	sched.Model
	last map[string]int64 // bytes by node
}

func (m *seesOutput) Unwrap() sched.Model { return m.Model }
func (m *seesOutput) UsesMapOutput()      {}

func (m *seesOutput) Observe(v *state.View, e sched.Event) {
	if e.What != sched.TaskStarted {
		return
	}
	if k, _ := v.Index(e.Job, e.Task); k == state.Reduce {
		m.last = map[string]int64{}
		for n, bytes := range v.MapOutput(e.Job) {
			if bytes != 0 {
				m.last[v.NodeName(state.NodeID(n))] = bytes
			}
		}
	}
}

// TestMapOutput has a model see the output of all maps, by node, when the reduce
// starts. There is one call for each map that finishes, and none for other models. A map
// that fails at first is counted once, where it succeeded.
func TestMapOutput(t *testing.T) {
	for _, fails := range [][]int{nil, {1, 3}} {
		for _, uses := range []bool{true, false} {
			fifo, err := sched.New("fifo", nil)
			if err != nil {
				t.Fatal(err)
			}
			m := &seesOutput{Model: fifo}
			plan := schedule{
				Racks: 1, PerRack: 3, Slots: 1, Triples: 1, Splits: config.SplitsAsSubmitted, model: m, Seed: 1,
				Jobs: []jobPlan{{At: 0, Reduces: 1, Runs: 400, Maps: [][]int{{0}, {1}, {2}, {0}, {1}}, Fails: fails}},
			}
			if !uses {
				plan.model = fifo
			}
			s, err := newShell(plan)
			if err != nil {
				t.Fatal(err)
			}
			defer s.rm.Close()
			if err := s.run(); err != nil {
				t.Fatal(err)
			}
			if !uses {
				if s.counters > 0 {
					t.Errorf("%d calls for counters that the model does not use", s.counters)
				}
				continue
			}
			want := map[string]int64{}
			for _, a := range s.cluster.Attempts(s.jobs[0].id) {
				if a.Kind == "MAP" && a.State == "SUCCEEDED" {
					want[a.Host] += int64(1000 * (a.Task + 1))
				}
			}
			if !maps.Equal(m.last, want) {
				t.Errorf("maps %v fail: the model sees %v, want %v", fails, m.last, want)
			}
			if most := 5 + len(fails); s.counters < 5 || s.counters > most {
				t.Errorf("maps %v fail: %d calls for counters, want one for each of 5 maps", fails, s.counters)
			}
		}
	}
}
