package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// mapsJob is a job of some maps of a time each, which is due so many seconds after its
// submission; 0 means never.
func mapsJob(name string, submit, maps, each, due int64) sim.Job {
	j := sim.Job{SubmitMs: 1000 * submit, MapWork: []sim.Work{{FixedMs: int32(1000 * each)}}}
	j.Name, j.Maps, j.MapSize, j.DeadlineMs = name, int32(maps), slot, 1000*due
	return j
}

// simulated simulates jobs on one node, with what other load leaves of it. It returns
// the model's notes, of each job the time in seconds and the values of its first
// decision that has any, and when jobs are predicted to end, as "AT JOB PERCENT END".
func simulated(t *testing.T, info sched.Info, slots int32, capacity state.Timetable, jobs ...sim.Job) (notes map[string]float64, said,
	ends []string,
) {
	t.Helper()
	c := sim.Config{
		Actuator: sim.Ideal, Costs: sim.NoCosts(), MinAllocation: slot, Capacity: capacity, Model: made(t, info, nil),
		Source:  &sim.Jobs{List: jobs},
		Cluster: sim.Machines{Nodes: []sim.Node{{Name: "n0", Rack: "rack", Capacity: slot.Times(slots)}}},
	}
	seen := map[traces.JobID]bool{}
	c.Record = func(e traces.Event) {
		if d, ok := e.(*traces.Decision); ok && d.Values != "" && !seen[d.Job] {
			seen[d.Job] = true
			said = append(said, fmt.Sprintf("%d %s %s", d.T/1e9, d.Job, d.Values))
		}
		if p, ok := e.(*traces.JobPredicted); ok {
			ends = append(ends, fmt.Sprint(int64(p.T/1e9), " ", p.Job, " ", p.DonePct, " ", math.Round(float64(p.End)/1e9)))
		}
	}
	r, err := sim.Run(&c)
	mustDo(t, err)
	return r.Notes, said, ends
}

// TestNamedLate has one slot, and maps of 10 s, as a first job shows. The second job
// comes at 11 s with 3 maps, the third with 2 maps, due 24 s later. At 20 s, 41 s of work
// are left: one map of the third job has run for 9 s. The others test as their names say.
func TestNamedLate(t *testing.T) {
	first, third := mapsJob("a", 0, 1, 10, 0), mapsJob("c", 11, 2, 10, 24)
	for _, x := range []struct {
		name string
		jobs []sim.Job
		want string // jobs that each model names, and how many of them were late
		said string // by edf
	}{
		// What adaptive and reverse start makes the third job late, which is known one map later.
		{"all can be met", []sim.Job{first, mapsJob("b", 11, 3, 10, 51), third}, "edf 0, adaptive 1 of 1, reverse 1 of 1", "[]"},
		// Here they name the second job first, which they then finish in time, and so the third.
		{
			"10 s are missing",
			[]sim.Job{first, mapsJob("b", 11, 3, 10, 40), third},
			"edf 1 of 1, adaptive 1 of 2, reverse 1 of 2",
			"[31 b lateSeconds=10.0]",
		},
		{
			"a false alarm: the first map is slow",
			[]sim.Job{mapsJob("a", 0, 1, 30, 0), mapsJob("b", 1, 3, 10, 80)},
			"edf 0 of 1, adaptive 0 of 1, reverse 0 of 1", "[30 b lateSeconds=39.0]",
		},
		{"no time of a map is known", []sim.Job{mapsJob("a", 0, 2, 100, 30)}, "edf 0, adaptive 0, reverse 0", "[]"},
		{"a job without a deadline", []sim.Job{first, mapsJob("b", 11, 30, 10, 0), third}, "edf 0, adaptive 1 of 1, reverse 1 of 1", "[]"},
		{"the goal has passed before a look", []sim.Job{first, mapsJob("b", 11, 3, 10, 5)}, "edf 0, adaptive 0, reverse 0", "[]"},
	} {
		var got []string
		for _, info := range []sched.Info{EDFInfo, AdaptiveInfo, ReverseInfo} {
			notes, said, _ := simulated(t, info, 1, state.Timetable{}, slices.Clone(x.jobs)...)
			text := fmt.Sprint(info.Name, " ", notes["namedLate"])
			if pct, ok := notes["namedLateRightPct"]; ok {
				text = fmt.Sprint(info.Name, " ", pct*notes["namedLate"]/100, " of ", notes["namedLate"])
			}
			got = append(got, text)
			if info.Name == "edf" && fmt.Sprint(said) != x.said {
				t.Errorf("%s: decisions say %q, want %s", x.name, said, x.said)
			}
		}
		if got := strings.Join(got, ", "); got != x.want {
			t.Errorf("%s: named late: %s, want %s", x.name, got, x.want)
		}
	}
}

// TestNamedByForecast takes both slots away from 30 s to 100 s. A job of 6 maps that is due
// at 60 s is known to be late at 20 s by who is told, and at 30 s by who is not.
func TestNamedByForecast(t *testing.T) {
	table := state.Timetable{Changes: []state.CapacityChange{{AtMs: 30_000, Node: "n0"}, {AtMs: 100_000, Node: "n0", Left: slot.Times(2)}}}
	for _, x := range []struct {
		info sched.Info
		told bool
		want string
	}{
		// Of 60 s of work, 36 can be done until 30 s. The rest is done 12 s after 100 s; 52 s late.
		{ReverseInfo, true, "[21 b lateSeconds=51.0]"},
		{ReverseInfo, false, "[]"},
		{AdaptiveInfo, true, "[]"},
	} {
		table.Telling.None = !x.told
		notes, said, _ := simulated(t, x.info, 2, table, mapsJob("a", 0, 1, 10, 0), mapsJob("b", 11, 6, 10, 49))
		if notes["namedLate"] != 1 || notes["namedLateRightPct"] != 100 || fmt.Sprint(said) != x.want {
			t.Errorf("%s, told %v: %v and %q, want one job named, rightly, and %s", x.info.Name, x.told, notes, said, x.want)
		}
	}
}

// TestPredictEnd has jobs of 4 and 2 maps of 10 s on one slot, which come at 11 s. With edf
// they end at 51 and 71 s, as predicted all along; of a first job nothing is known. The others
// give a new job an equal share: all of the slot to the one that comes first, half of it to
// the next. Before any map has ended, they take one to last 60 s.
func TestPredictEnd(t *testing.T) {
	for _, x := range []struct {
		info sched.Info
		want string
	}{
		{EDFInfo, "[11 b 0 51 11 c 0 71 31 b 50 51 61 c 50 71]"},
		{AdaptiveInfo, "[0 a 0 60 11 b 0 51 11 c 0 51 "},
		{ReverseInfo, "[0 a 0 60 11 b 0 51 11 c 0 51 "},
	} {
		_, _, got := simulated(t, x.info, 1, state.Timetable{}, mapsJob("a", 0, 1, 10, 0), mapsJob("b", 11, 4, 10, 100),
			mapsJob("c", 11, 2, 10, 200))
		if text := fmt.Sprint(got); !strings.HasPrefix(text, x.want) {
			t.Errorf("%s predicts %s, want %s", x.info.Name, text, x.want)
		}
	}
}

// TestEnd inverts a forecast: 4 slots for 10 s, then 1 for 5 s, again and again.
func TestEnd(t *testing.T) {
	f := &forecast{starts: []float64{0, 10}, slots: []float64{4, 1}, sums: []float64{0, 40}, period: 15, whole: 45}
	for _, x := range []struct{ a, work, want float64 }{{0, 40, 10}, {0, 42, 12}, {12, 11, 17}, {3, 0, 3}, {0, 450, 150}, {0, 4.5e6, 1.5e6}} {
		if got := f.end(x.a, x.work); math.Abs(got-x.want) > sameGoal {
			t.Errorf("%v slot-seconds from %v s are done at %v, want %v", x.work, x.a, got, x.want)
		}
	}
	if got := constant(0).end(5, 1); !math.IsInf(got, 1) {
		t.Errorf("no slots have done something at %v", got)
	}
}
