package model

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

func TestMain(m *testing.M) {
	if err := sched.Register(Fair1Info, FIFO1Info, Info); err != nil {
		panic(err)
	}
	m.Run()
}

var slot = state.Resource{MemoryMB: 512, VCores: 1}

// addNodes adds nodes in two racks, by turns, each with room for so many slots.
func addNodes(tb testing.TB, s *state.State, nodes int, slots int32) {
	tb.Helper()
	for n := range nodes {
		errtest.Must(s.AddNode(fmt.Sprint("n", n), fmt.Sprint("rack", n%2), slot.Times(slots)))
	}
}

// submit submits a job and asks for its maps.
func submit(tb testing.TB, s *state.State, spec *state.JobSpec) state.JobID {
	tb.Helper()
	id := errtest.Must(s.Submit(spec))
	s.Ask(id, state.Map, spec.Maps)
	return id
}

// TestModels has the models keep what schedtest asks of all.
func TestModels(t *testing.T) {
	schedtest.Check(t, FIFO1Info)
	schedtest.Check(t, Fair1Info, nil,
		sched.Params{
			"inPool": "fifo", "nodeDelayMs": "3000", "rackDelayMs": "2000", "minMaps": "q0=2,*=1", "maxMaps": "*=3",
			"maxReduces": "q1=1", "weights": "q2=2",
		})
	schedtest.Check(t, Info, nil,
		sched.Params{
			"mechanisms": "m1,m2,m3,m5", "share": "total", "grant": "each", "sharedPlace": "sorted", "sharedOrder": "factors",
			"mostPending": "last", "minimum": "ratchet", "table3": "printed", "endLevel": "prose", "minMaps": "*=3", "maxMaps": "*=6",
		},
		sched.Params{
			"mechanisms": "m2,m4", "share": "freeOnly", "cap": "borrow", "round": "ceil", "wait": "pending", "delayMean": "recent",
			"rackTimer": "sameStart", "pick": "next",
		})
}

func TestScenarios(t *testing.T) { schedtest.Scenarios(t, "testdata/scenarios") }

// TestFair1Is has fair1 decide as modfair without a mechanism, and, without a wait,
// the same by pools of one job as by jobs.
func TestFair1Is(t *testing.T) {
	made := func(t *rapid.T, m sched.Info, p sched.Params) sched.Model {
		made := errtest.Must(m.New(p))
		return made
	}
	rapid.Check(t, func(t *rapid.T) {
		limits := sched.Params{"minMaps": "*=1", "maxMaps": "q1=2"}
		none := sched.Params{"mechanisms": "", "minMaps": "*=1", "maxMaps": "q1=2"}
		schedtest.Same(t, made(t, Fair1Info, limits), made(t, Info, none), func(t *rapid.T, w *schedtest.World) {
			for range 60 {
				w.Step(t)
			}
		})
		weighted := sched.Params{"nodeDelayMs": "0", "rackDelayMs": "0", "weights": "q=2"}
		plain := sched.Params{"nodeDelayMs": "0", "rackDelayMs": "0"}
		schedtest.Same(t, made(t, Fair1Info, weighted), made(t, Fair1Info, plain), func(t *rapid.T, w *schedtest.World) {
			for range 4 {
				w.SubmitEqual(t)
			}
			for range 60 {
				w.Heartbeat(t, state.NodeID(rapid.IntRange(0, w.View.Nodes()-1).Draw(t, "node")))
				w.FinishOne(t)
			}
		})
	})
}

// TestParams has values that are refused, and the words that say so.
func TestParams(t *testing.T) {
	for _, c := range []struct {
		model string
		p     sched.Params
		want  string
	}{
		{"modfair", sched.Params{"mechanisms": "m1+m6"}, `"m6" is not one of m1, m2, m3, m4, m5`},
		{"modfair", sched.Params{"mechanisms": "m1,m1"}, "m1 is given twice"},
		{"fair1", sched.Params{"nodeDelayMs": "-2"}, "-2 is outside -1 to"},
		{"fair1", sched.Params{"weights": "a=0"}, "is below 1e-06"},
	} {
		if _, err := sched.New(c.model, c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: error %v, want one with %q", c.model, c.p, err, c.want)
		}
	}
}

func BenchmarkModels(b *testing.B) {
	for _, m := range []sched.Info{FIFO1Info, Fair1Info, Info} {
		schedtest.Benchmark(b, m, nil)
	}
}
