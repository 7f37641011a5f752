package sim

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/state"
)

// speculationOf returns speculation apart from the rest of a simulator, with attempts.
func speculationOf(t tester, c *Config) *speculation {
	at := attemptsOf(t, c)
	sp := new(speculation)
	sp.begin(at.base, at)
	return sp
}

// Moments that are kept up one by one are those of all numbers together.
func TestMoments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Float64Range(0, 1e7), 1, 100).Draw(t, "list")
		var m moments
		sum := 0.0
		for _, x := range list {
			m.add(x)
			sum += x
		}
		mean, square := sum/float64(len(list)), 0.0
		for _, x := range list {
			square += (x - mean) * (x - mean)
		}
		deviation := math.Sqrt(square / float64(len(list)))
		if m.n != float64(len(list)) || math.Abs(m.mean-mean) > 1e-6*(1+mean) || math.Abs(m.deviation()-deviation) > 1e-5*(1+deviation) {
			t.Fatalf("%v: mean %v, deviation %v; want %v, %v", list, m.mean, m.deviation(), mean, deviation)
		}
	})
	if (&moments{}).deviation() != 0 {
		t.Error("no numbers deviate")
	}
}

// An attempt of which no end is known makes progress from 0 to 1, and never goes back.
func TestProgressGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Config{
			Speculation: HadoopSpeculation, Cluster: slots(2, 4),
			Costs: Costs{LaunchMs: 50, TaskStartMs: 200, CommitMs: 100, Fetchers: 5},
		}
		if rapid.Bool().Draw(t, "disk") {
			c.Cluster.Nodes[0].DiskBytesPerSec = 20e6
		}
		if rapid.Bool().Draw(t, "cores") {
			c.Cluster.Nodes[0].Cores = 1
		}
		at := attemptsOf(t, c)
		j := simpleJob("a", 0, 3, 1, Work{
			ComputeMs:  rapid.Int32Range(0, 5000).Draw(t, "compute"),
			InputBytes: rapid.Int64Range(0, 1e8).Draw(t, "in"), OutputBytes: 1e7,
		})
		j.ReduceWork = []Work{{ComputeMs: 2000, OutputBytes: 1e7}}
		for range 3 {
			j.Replicas.Add(0)
		}
		slot := at.submit(t, &j)
		at.masters.up(slot)
		at.state.Ask(at.jobs.list[slot].id, state.Reduce, 1)
		at.start(t, slot, state.Reduce, 3, 0)
		for m := range state.TaskID(3) {
			at.start(t, slot, state.Map, m, 0)
		}
		last := make([]float64, len(at.list))
		for at.running > 0 {
			at.until(at.events.Now+rapid.Int64Range(1, 900).Draw(t, "later"), at.handle)
			for id := range at.list {
				if a := &at.list[id]; a.runs() {
					p := at.progress(int32(id))
					if p < last[id]-1e-9 || p > 1 {
						t.Fatalf("at %d ms, %v %d in phase %d has progress %v, before %v", at.events.Now, a.kind, a.task, a.phase, p, last[id])
					}
					last[id] = p
				}
			}
		}
		if at.events.Now > 0 && at.jobs.list[slot].done != [2]int32{3, 1} {
			t.Fatalf("%v tasks done", at.jobs.list[slot].done)
		}
	})
}

// Of a map that reads for 10 s and computes for 10 s, the reading is two fifths of the progress.
func TestProgressByHand(t *testing.T) {
	for _, cores := range []float64{0, 1} {
		c := &Config{Speculation: HadoopSpeculation, Cluster: slots(1, 1), Costs: NoCosts()}
		c.Cluster.Nodes[0].DiskBytesPerSec, c.Cluster.Nodes[0].Cores = 10e6, cores
		at := attemptsOf(t, c)
		j := simpleJob("a", 0, 1, 0, Work{InputBytes: 100e6, ComputeMs: 10_000})
		j.Replicas.Add(0)
		slot := at.submit(t, &j)
		at.masters.up(slot)
		id := at.start(t, slot, state.Map, 0, 0)
		for _, x := range []struct {
			ms   int64
			want float64
		}{{0, 0}, {1000, 0.04}, {5000, 0.2}, {9990, 0.4}, {15_000, 0.7}, {19_990, 1}} {
			at.until(x.ms, at.handle)
			if got := at.progress(id); math.Abs(got-x.want) > 0.002 {
				t.Errorf("%v cores, after %d ms: %.4f, want %v", cores, x.ms, got, x.want)
			}
		}
	}
}

// runningMaps starts maps whose times are given, all at once, and lets some ms pass.
func runningMaps(t tester, sp *speculation, ms []int32, passed int64) int32 {
	j := simpleJob("a", 0, int32(len(ms)), 0)
	for _, x := range ms {
		j.MapWork = append(j.MapWork, Work{FixedMs: x})
	}
	slot := sp.submit(t, &j)
	sp.attempts.masters.up(slot)
	for m := range ms {
		sp.attempts.start(t, slot, state.Map, state.TaskID(m), state.NodeID(m%sp.view.Nodes()))
	}
	sp.until(passed, sp.attempts.handle)
	return slot
}

// Hadoop's rule takes the attempt that would save the most: the time that it has left, less
// what an attempt takes in the mean. It takes none before one in twenty has succeeded, and none
// that has run for less than the mean and a deviation.
func TestSlowHadoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// of few, the mean and a deviation may be above all
		any, few := rapid.Int32Range(1000, 40_000), rapid.SampledFrom([]int32{1000, 20_000, 20_000, 40_000})
		ms := rapid.SliceOfN(rapid.OneOf(any, few), 1, 30).Draw(t, "times")
		passed := rapid.OneOf(rapid.Int64Range(1, 40_000), rapid.Just[int64](20_500)).Draw(t, "passed")
		sp := speculationOf(t, &Config{Cluster: slots(10, 4), Costs: NoCosts(), Speculation: HadoopSpeculation})
		slot := runningMaps(t, sp, ms, passed)
		var took moments
		for _, x := range ms {
			if int64(x) <= passed {
				took.add(float64(x))
			}
		}
		want, most := state.TaskID(state.None), 0.0
		for m, x := range ms {
			if saves := float64(int64(x)-passed) - took.mean; took.n*20 >= float64(len(ms)) && took.n > 0 &&
				float64(passed) >= took.mean+took.deviation()+1e-6 && saves > most+1e-6 {
				want, most = state.TaskID(m), saves
			}
		}
		got := state.TaskID(state.None)
		if id := sp.slowHadoop(slot, state.Map); id >= 0 {
			got = sp.attempts.list[id].task
		}
		near := math.Abs(float64(passed)-took.mean-took.deviation()) < 1e-3 // rounding decides
		if got != want && !near && (got == state.None || want == state.None || ms[got] != ms[want]) {
			t.Fatalf("%v after %d ms, mean %.0f: map %d is slow, want %d", ms, passed, took.mean, got, want)
		}
	})
}

// LATE takes, of attempts that have run for a minute, the one with the most time left among
// the slowest quarter, as long as no more than a tenth of all that run are speculative.
func TestSlowLATE(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.SliceOfN(rapid.Int32Range(70_000, 400_000), rapid.SampledFrom([]int{1, 40}).Draw(t, "least"), 80).Draw(t, "times")
		passed := rapid.Int64Range(50_000, 69_000).Draw(t, "passed")
		sp := speculationOf(t, &Config{Cluster: slots(20, 4), Costs: NoCosts(), Speculation: LATE})
		slot := runningMaps(t, sp, ms, passed)
		id := sp.slowLATE(slot, state.Map)
		if passed < 60_000 {
			if id != -1 {
				t.Fatalf("attempt %d is slow after %d ms", id, passed)
			}
			return
		}
		if id < 0 || sp.attempts.list[id].task != state.TaskID(slices.Index(ms, slices.Max(ms))) {
			t.Fatalf("%v: attempt %d is slow, want the longest", ms, id)
		}
		asks := 0
		for ; id >= 0; id = sp.slowLATE(slot, state.Map) {
			if sp.attempts.list[id].is(doubled) {
				t.Fatalf("attempt %d is to get a second one, and is asked for a third", id)
			}
			sp.ask(id)
			asks++
		}
		if most := max(1, len(ms)/10); asks != most {
			t.Fatalf("%d speculative attempts are asked for beside %d, want %d", asks, len(ms), most)
		}
	})
}

// A speculative attempt starts on the first node with room that is not the node of the slow
// attempt, and not at all if this one has ended before.
func TestPlaceSpeculative(t *testing.T) {
	sp := speculationOf(t, &Config{Cluster: slots(3, 2), Costs: NoCosts(), Speculation: HadoopSpeculation})
	slot := runningMaps(t, sp, []int32{90_000, 5000, 90_000}, 1000)
	sp.ask(0)
	sp.ask(1)
	sp.place(0) // the node of the first has room
	if a := sp.attempts.list[3]; len(sp.wanted) != 1 || sp.r.Attempts.Speculative != 1 || a.task != 1 || a.node != 0 {
		t.Fatalf("%v wait, %+v, %+v", sp.wanted, sp.r.Attempts, a)
	}
	sp.ask(2)
	sp.until(6000, sp.attempts.handle) // map 1 ends, and the attempt beside it
	sp.state.Hold(1, sp.jobs.list[slot].id, sp.jobs.list[slot].size[state.Map])
	sp.place(1)
	if len(sp.wanted) != 1 || sp.wanted[0].attempt != 2 || sp.r.Attempts.Speculative != 2 || sp.jobs.list[slot].speculative != 2 {
		t.Fatalf("%v wait, %+v, %d of the job; want that for the third map, since node 1 has room for one", sp.wanted, sp.r.Attempts,
			sp.jobs.list[slot].speculative)
	}
	if a := &sp.attempts.list[sp.attempts.rest[0].other]; a.marks != speculative|doubled || a.node != 1 ||
		sp.attempts.rest[sp.attempts.rest[0].other].other != 0 || a.number != 1 {
		t.Errorf("%+v", *a)
	}
	sp.attempts.kill(2, "", true)
	if sp.place(0); len(sp.wanted) != 0 || sp.r.Attempts.Speculative != 2 {
		t.Errorf("%v wait, %+v, after the slow attempt was killed", sp.wanted, sp.r.Attempts)
	}
}

// Scans of a job follow each other by a second, and by 15 s after one that has found a slow
// attempt. They end with the job, and leave kinds alone of which tasks wait.
func TestScans(t *testing.T) {
	sp := speculationOf(t, &Config{Cluster: slots(12, 1), Costs: NoCosts(), Speculation: HadoopSpeculation})
	times := []int32{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 90_000}
	slot := runningMaps(t, sp, times, 900)
	var scans []int64
	scan := func(until int64) {
		for next := sp.events.Next(); next <= until; next = sp.events.Next() {
			sp.events.Advance(next)
			for list := sp.events.Take(); len(list) > 0; list = sp.events.Take() {
				for _, e := range list {
					if e.Kind() == evSpeculate {
						scans = append(scans, sp.events.Now)
						sp.scan(slot)
					} else {
						sp.attempts.handle(e)
					}
				}
			}
		}
	}
	scan(20_000)
	if len(scans) < 3 || scans[0] != 1000 || scans[len(scans)-1]-scans[len(scans)-2] != 1000 &&
		scans[len(scans)-1]-scans[len(scans)-2] != foundMs {
		t.Fatalf("scans at %v", scans)
	}
	if len(sp.wanted) != 1 || sp.attempts.list[sp.wanted[0].attempt].task != 10 {
		t.Fatalf("wanted %v, want one for the last map", sp.wanted)
	}
	found := slices.IndexFunc(scans, func(at int64) bool { return at > 1000 })
	if i := slices.IndexFunc(scans[found:], func(int64) bool { return true }); i < 0 {
		t.Fatal("no scan after the first")
	}
	sp.jobs.list[slot].ended = true
	before := len(scans)
	scan(60_000)
	if len(scans) > before+1 {
		t.Errorf("scans at %v after the job has ended", scans[before:])
	}
}
