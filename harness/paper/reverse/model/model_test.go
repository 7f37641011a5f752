package model

import (
	"fmt"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// TestModels has the models keep what schedtest asks of all.
func TestModels(t *testing.T) {
	schedtest.Check(t, EDFInfo)
	schedtest.Check(t, AdaptiveInfo, nil, sched.Params{"need": "forecast", "from": "anew"}, sched.Params{"need": "none", "cycle": "1s"},
		sched.Params{"need": "random", "replan": "jobs", "past": "none"})
	schedtest.Check(t, ReverseInfo, nil, sched.Params{"share": "ldf", "first": "cycle", "from": "anew"}, sched.Params{"forecast": "mean"},
		sched.Params{"forecast": "now"},
		sched.Params{"tasks": "half", "horizon": "next", "pending": "waiting"},
		sched.Params{"tasks": "whole", "horizon": "one", "pending": "elapsed", "replan": "jobs", "past": "none"})
}

// TestScenarios has what the models do step by step when other load takes more than is
// free.
func TestScenarios(t *testing.T) {
	schedtest.Scenarios(t, "testdata/scenarios", EDFInfo, AdaptiveInfo, ReverseInfo)
}

var slot = state.Resource{MemoryMB: 512, VCores: 1}

// cluster is a cluster with jobs that all have submitted their maps. due has the
// seconds to each job's deadline, 0 for none.
func cluster(tb testing.TB, nodes int, slots int32, maps int32, due ...int64) *state.State {
	tb.Helper()
	s := state.New()
	for n := range nodes {
		errtest.Must(s.AddNode(fmt.Sprint("n", n), "rack", slot.Times(slots)))
	}
	s.SetSmallest(slot)
	for i, seconds := range due {
		id, err := s.Submit(&state.JobSpec{Name: fmt.Sprint("job", i), Maps: maps, MapSize: slot, DeadlineMs: 1000 * seconds})
		mustDo(tb, err)
		s.Ask(id, state.Map, maps)
	}
	return s
}

func made(tb testing.TB, i sched.Info, p sched.Params) sched.Model {
	tb.Helper()
	m, err := i.New(p)
	mustDo(tb, err)
	return m
}

// startAll starts what a model decides until it decides nothing, and returns how
// many maps of each job run.
func startAll(tb testing.TB, s *state.State, m sched.Model) []int32 {
	tb.Helper()
	v := s.View()
	for n := range state.NodeID(v.Nodes()) {
		for v.HasRoom(n) {
			out := m.Round(v, []state.NodeID{n}, nil)
			if len(out) == 0 {
				break
			}
			mustDo(tb, s.Start(out[0].Job, out[0].Task, out[0].Node))
		}
	}
	var runs []int32
	for id := range state.JobID(v.Jobs()) {
		runs = append(runs, v.Running(id, state.Map))
	}
	return runs
}

// TestOrderOfDeadlines has the job with the earliest deadline take all slots with
// edf, and jobs without one none.
func TestOrderOfDeadlines(t *testing.T) {
	s := cluster(t, 2, 3, 5, 0, 90, 60)
	if got := fmt.Sprint(startAll(t, s, made(t, EDFInfo, nil))); got != "[0 1 5]" {
		t.Errorf("maps running by job: %s, want 5 of the job due first, 1 of the next, none without a deadline", got)
	}
}

// TestTargets has the slots that a plan gives: at 60 s a map, six jobs of 4 maps
// have a work of 240 slot-seconds. The first is due in 120 s and needs 2 slots, the
// second in 240 s. Without look-ahead it needs 1; walked back, (120,240) has 6 slots
// and takes all of it, so that it needs none now.
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		info sched.Info
		need []float64
	}{
		{AdaptiveInfo, []float64{2, 1, 0}},
		{ReverseInfo, []float64{2, 0, 0}},
	} {
		s := cluster(t, 3, 2, 4, 120, 240, 0)
		m := made(t, c.info, nil)
		p, ok := sched.As[*planner](m)
		if !ok {
			t.Fatalf("%s is no planner", c.info.Name)
		}
		p.Tick(s.View())
		for id, want := range c.need {
			if got := p.targets.Of(state.JobID(id)).need; !near(got, want) {
				t.Errorf("%s: job %d needs %v slots, want %v", c.info.Name, id, got, want)
			}
		}
		runs := startAll(t, s, m)
		if sum := runs[0] + runs[1] + runs[2]; sum != 6 {
			t.Errorf("%s: %v maps run on 6 slots", c.info.Name, runs)
		}
		if runs[0] < 2 {
			t.Errorf("%s: %v maps run, want 2 or more of the job that is due first", c.info.Name, runs)
		}
	}
}

// TestPredictUnplanned predicts the end of a job that no plan has, after a plan of no job.
func TestPredictUnplanned(t *testing.T) {
	for _, info := range []sched.Info{AdaptiveInfo, ReverseInfo} {
		s := cluster(t, 1, 2, 4, 600)
		m, _ := sched.As[*planner](made(t, info, nil))
		m.ahead = constant(2)
		if m.predict(s.View(), 0); !m.targets.Of(0).hasPredicted {
			t.Errorf("%s: nothing is predicted", info.Name)
		}
	}
}

// TestForeseen plans by a timetable in which all slots go from 100 s to 240 s: all
// work of the second job must be done before the first is due.
func TestForeseen(t *testing.T) {
	s := cluster(t, 3, 2, 4, 100, 240)
	table := state.Timetable{}
	for n := range 3 {
		table.Changes = append(table.Changes, state.CapacityChange{AtMs: 100_000, Node: fmt.Sprint("n", n)})
	}
	for forecast, want := range map[string]float64{"exact": 2.4, "now": 0} {
		p, _ := sched.As[*planner](made(t, ReverseInfo, sched.Params{"forecast": forecast}))
		p.Foresee(&table)
		p.Tick(s.View())
		if got := p.targets.Of(1).need; !near(got, want) {
			t.Errorf("forecast %s: the job due after the outage needs %v slots, want %v", forecast, got, want)
		}
	}
}

// TestBegin has a forecast of a timetable that begins at 50 s: until then the slots are
// those of now, 6, then none for 20 s of each 40, else 3.
func TestBegin(t *testing.T) {
	table := state.Timetable{FromMs: 50_000, EveryMs: 40_000}
	for n := range 3 {
		table.Changes = append(table.Changes, state.CapacityChange{Node: fmt.Sprint("n", n)})
	}
	for n := range 3 {
		table.Changes = append(table.Changes, state.CapacityChange{AtMs: 20_000, Node: fmt.Sprint("n", n), Left: slot})
	}
	f := foresee(cluster(t, 3, 2, 1, 10).View(), &table, slot)
	for at, want := range map[float64]float64{0: 6, 49: 6, 50: 0, 69: 0, 70: 3, 89: 3, 90: 0, 110: 3} {
		if got := f.at(at); got != want {
			t.Errorf("at %v s: %v slots, want %v", at, got, want)
		}
	}
	for _, x := range []struct{ a, b, want float64 }{{0, 10, 60}, {40, 50, 60}, {40, 60, 60}, {40, 80, 90}, {50, 130, 120}, {75, 115, 60}} {
		if got := f.avail(x.a, x.b); !near(got, x.want) {
			t.Errorf("from %v to %v s: %v slot-seconds, want %v", x.a, x.b, got, x.want)
		}
	}
}

// TestBegins has a node keep, until its first change, what it had at the end of the timetable before.
func TestBegins(t *testing.T) {
	table := state.Timetable{EveryMs: 40_000, Changes: []state.CapacityChange{{AtMs: 20_000, Node: "n0", Left: slot}}}
	if f := foresee(cluster(t, 2, 3, 1, 10).View(), &table, slot); f.at(10) != 4 || f.at(30) != 4 || f.avail(0, 80) != 320 {
		t.Errorf("%v slots at 10 s, %v at 30, want 4 always", f.at(10), f.at(30))
	}
}

// TestRerunOrReduce has the reduce go first of the job whose reduces run least, in logarithms, and
// before it a map that failed.
func TestRerunOrReduce(t *testing.T) {
	s := cluster(t, 1, 40, 1)
	v := s.View()
	start := func(id state.JobID, k state.Kind, n int32) {
		for i := range n {
			mustDo(t, s.Start(id, v.Task(id, k, i), 0))
		}
	}
	for i, reduces := range []int32{20, 8} {
		id, err := s.Submit(&state.JobSpec{Name: fmt.Sprint("job", i), Maps: 1, Reduces: reduces, MapSize: slot, ReduceSize: slot})
		mustDo(t, err)
		s.Ask(id, state.Map, 1)
		s.Ask(id, state.Reduce, reduces)
	}
	start(0, state.Reduce, 3)
	start(1, state.Reduce, 2)
	if p, ok := rerunOrReduce(v, 0); !ok || p.Job != 1 || p.Kind != state.Reduce {
		t.Errorf("picks %+v, want a reduce of the job with 2 of 8, ln 2/ln 8, before 3 of 20", p)
	}
	start(0, state.Map, 1)
	mustDo(t, s.Retry(0, v.Task(0, state.Map, 0), true))
	if p, ok := rerunOrReduce(v, 0); !ok || p.Job != 0 || p.Reason != sched.Rerun {
		t.Errorf("picks %+v, want the map that failed", p)
	}
}

// TestCarried: of the slots that a plan gives a job, those count as carried out that it has at
// the next plan, if it has maps for them.
func TestCarried(t *testing.T) {
	for _, info := range []sched.Info{AdaptiveInfo, ReverseInfo} {
		s := cluster(t, 2, 2, 9, 60)
		m := made(t, info, nil)
		p, _ := sched.As[*planner](m)
		p.Tick(s.View()) // four free slots
		v := s.View()
		for i := range 3 {
			mustDo(t, s.Start(0, v.Task(0, state.Map, int32(i)), state.NodeID(i/2)))
		}
		p.Tick(s.View())
		if got := p.Notes()["planCarriedPct"]; got != 75 {
			t.Errorf("%s: %v %% of the plan were carried out, want 3 of 4 slots", info.Name, got)
		}
		startAll(t, s, m)
		p.Tick(s.View())
		if got := p.Notes()["planCarriedPct"]; got != 87.5 {
			t.Errorf("%s: %v %% of both plans were carried out, want 7 of 8 slots", info.Name, got)
		}
	}
}

// TestLessThanUsed plans on a cluster that lost slots that are in use: nothing
// starts, nothing is dealt twice, and the plan is known to be too small.
func TestLessThanUsed(t *testing.T) {
	for _, info := range []sched.Info{AdaptiveInfo, ReverseInfo} {
		s := cluster(t, 2, 3, 9, 60, 70)
		m := made(t, info, nil)
		p, _ := sched.As[*planner](m)
		p.Tick(s.View())
		before := startAll(t, s, m)
		s.SetCapacity(0, slot)
		s.SetCapacity(1, state.Resource{})
		p.Tick(s.View())
		if after := startAll(t, s, m); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: %v maps run after the loss, %v before", info.Name, after, before)
		}
		if n := m.(sched.PerNode).NodeModel.(*planner).Notes(); n["plans"] != 2 || n["infeasiblePlans"] < 1 {
			t.Errorf("%s: notes %v, want 2 plans, the last without enough slots", info.Name, n)
		}
	}
}

// BenchmarkPlan plans 1000 jobs with 200 distinct deadlines on 10,000 nodes of two
// slots.
func BenchmarkPlan(b *testing.B) {
	for _, info := range []sched.Info{AdaptiveInfo, ReverseInfo} {
		b.Run(info.Name, func(b *testing.B) {
			var due []int64
			for i := range 1000 {
				due = append(due, 600+60*int64(i%200))
			}
			v := cluster(b, 10_000, 2, 100, due...).View()
			p, _ := sched.As[*planner](made(b, info, nil))
			for b.Loop() {
				p.Tick(v)
			}
		})
	}
}

var mustDo = errtest.None
