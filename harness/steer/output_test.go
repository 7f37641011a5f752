package steer_test

import (
	"maps"
	"testing"

	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/harness/steer"
)

// seesOutput is a model that notes the map output that it sees when it first may place a
// reduce.
type seesOutput struct {
	sched.Model
	first map[string]int64 // bytes by node
}

func (m *seesOutput) Unwrap() sched.Model { return m.Model }
func (m *seesOutput) UsesMapOutput()      {}

func (m *seesOutput) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	if jobs := v.WaitingJobs(state.Reduce); m.first == nil && len(jobs) > 0 {
		m.first = map[string]int64{}
		for n, bytes := range v.MapOutput(jobs[0]) {
			if bytes != 0 {
				m.first[v.NodeName(state.NodeID(n))] = bytes
			}
		}
	}
	return m.Model.Round(v, free, out)
}

// TestMapOutput has a model see the output of all maps, by node, when it is asked to
// place the reduce, though what the counters say is late. There is one call for each map
// that finishes, and none for other models. A map that fails at first is counted once,
// where it succeeded. If the calls fail, the reduce starts all the same.
func TestMapOutput(t *testing.T) {
	for _, fails := range [][]int{nil, {1, 3}} {
		for _, calls := range []fate{"", answersLate, toldFailed} {
			fifo := must(sched.New("fifo", nil))
			m := &seesOutput{Model: fifo}
			s := runMaps(t, m, fails, calls)
			want := map[string]int64{}
			for _, a := range s.cluster.Attempts(s.jobs[0].id) {
				if a.Kind == "MAP" && a.State == "SUCCEEDED" && calls != toldFailed {
					want[a.Host] += int64(1000 * (a.Task + 1))
				}
			}
			if !maps.Equal(m.first, want) {
				t.Errorf("maps %v fail, calls %q: the model sees %v, want %v", fails, calls, m.first, want)
			}
			if most := 5 + len(fails); calls == "" && (s.counters < 5 || s.counters > most) {
				t.Errorf("maps %v fail: %d calls for counters, want one for each of 5 maps", fails, s.counters)
			}
			if s := runMaps(t, fifo, fails, calls); s.counters > 0 {
				t.Errorf("%d calls for counters that the model does not use", s.counters)
			}
		}
	}
}

// runMaps runs a job of 5 maps and a reduce, while calls for counters go as fate says.
func runMaps(t *testing.T, m sched.Model, fails []int, calls fate) *shell {
	plan := schedule{
		Racks: 1, PerRack: 3, Slots: 1, Triples: 1, Splits: config.SplitsAsSubmitted, model: m, Seed: 1,
		Jobs: []jobPlan{{At: 0, Reduces: 1, Runs: 400, Maps: [][]int{{0}, {1}, {2}, {0}, {1}}, Fails: fails}},
	}
	if calls != "" {
		plan.Troubles = []trouble{{For: 60_000, Class: string(steer.AskTaskCounters), Fate: calls, Delay: 2000}}
	}
	s := must(newShell(plan))
	defer s.rm.Close()
	mustDo(t, s.run())
	return s
}
