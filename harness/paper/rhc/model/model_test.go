package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/harness/measure"
	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/errtest"
)

// TestModels has the models keep what schedtest asks of all.
func TestModels(t *testing.T) {
	schedtest.Check(t, Info, nil, sched.Params{"groups": "false", "window": "2"},
		sched.Params{"p": "1", "costs": "links", "links": "n0=100,n1=1"}, sched.Params{"costs": "learned"})
	schedtest.Check(t, OptimalInfo, nil, sched.Params{"jobs": "2", "form": "printed", "reduces": "3", "data": "1"})
}

var size = state.Resource{MemoryMB: 1024, VCores: 1}

// cluster has nodes with room for one task each, three in a rack.
func cluster(t *testing.T, nodes int) *state.State {
	t.Helper()
	s := state.New()
	for n := range nodes {
		errtest.Must(s.AddNode(fmt.Sprint("n", n), fmt.Sprint("r", n/3), size))
	}
	return s
}

// job is a job of ten maps, of which the first has put out so many bytes on n0.
func submit(t *testing.T, s *state.State, m sched.Model, reduces int32, bytes int64) state.JobID {
	t.Helper()
	id := errtest.Must(s.Submit(&state.JobSpec{Maps: 10, Reduces: reduces, MapSize: size, ReduceSize: size}))
	o, _ := sched.As[sched.Observer](m)
	o.Observe(s.View(), sched.Event{What: sched.JobSubmitted, Job: id})
	s.Ask(id, state.Reduce, reduces)
	s.AddMapOutput(id, 0, bytes)
	return id
}

// place returns the nodes on which the model places the first job, and starts it there.
func place(t *testing.T, s *state.State, m sched.Model) (on []state.NodeID) {
	t.Helper()
	for _, d := range m.Round(s.View(), s.View().WithRoom(0, nil), nil) {
		on = append(on, d.Node)
		errtest.None(t, s.Start(d.Job, s.View().NextReduce(d.Job), d.Node))
		if (d.Group > 0) != (s.View().Tasks(d.Job, state.Reduce) > 1) {
			t.Errorf("decision %+v: groups are of jobs with several reduces", d)
		}
	}
	return on
}

func made(t *testing.T, i sched.Info, p sched.Params) sched.Model {
	t.Helper()
	m := errtest.Must(i.New(p))
	return m
}

// TestByHand places two reduces on six nodes, all output on n0: it costs 0 there, 2 hops in
// its rack, 4 in the other. The job before, of 1000 bytes a map, is alone, so p is 0 and it
// gets the cheapest slots; it ends. The next one meets so many others that N is 1/2, p is
// N/(2N+1) = 1/4. Its bytes a reduce are those of a map times 10 maps over 2 reduces: x. The
// mean of both is (5000+x)/2, so that x is below a quarter of that if it is below 5000/7 =
// 714.3, which are 142.9 bytes a map.
func TestByHand(t *testing.T) {
	for _, c := range []struct {
		name  string
		info  sched.Info
		set   sched.Params
		bytes int64
		want  []state.NodeID
	}{
		{"little data is deferred", Info, nil, 142, []state.NodeID{2, 3}},
		{"enough data is not", Info, nil, 143, []state.NodeID{0, 1}},
		{"with p 0.1 the same little data is not", Info, sched.Params{"p": "0.1"}, 142, []state.NodeID{0, 1}},
		{"unknown data gets the cheapest", Info, nil, 0, []state.NodeID{0, 1}},
		{
			"by links n5 is as near as n0's own", Info,
			sched.Params{"costs": "links", "links": "n0=50,n5=50,n1=1,n2=2,n3=3,n4=4"},
			143,
			[]state.NodeID{0, 5},
		},
		{
			"and a deferred job has the next", Info,
			sched.Params{"costs": "links", "links": "n0=50,n5=50,n1=1,n2=2,n3=3,n4=4"},
			142,
			[]state.NodeID{4, 3},
		},
	} {
		s, m := cluster(t, 6), made(t, c.info, c.set)
		before := submit(t, s, m, 2, 1000)
		if on := place(t, s, m); on[0] != 0 {
			t.Errorf("%s: the first job is on %v", c.name, on)
		}
		s.EndJob(before)
		idle, err := s.Submit(&state.JobSpec{Maps: 1, MapSize: size}) // is there, and asks for nothing
		if err != nil {
			t.Fatal(err)
		}
		submit(t, s, m, 2, c.bytes)
		if on := place(t, s, m); !slices.Equal(on, c.want) {
			t.Errorf("%s: reduces on %v, want %v; job %d is idle", c.name, on, c.want, idle)
		}
	}
}

// TestOptimalByHand has two jobs of one reduce and 1 to 100 MB: the first leaves the best slot
// alone if it has less than the mean of the next one, 50.5 MB; the last does not.
func TestOptimalByHand(t *testing.T) {
	for mb, want := range map[int64]string{50: "[1] [0]", 51: "[0] [1]"} {
		s, m := cluster(t, 3), made(t, OptimalInfo, sched.Params{"jobs": "2", "reduces": "1", "data": "100"})
		submit(t, s, m, 1, mb*megabyte/10)
		first := place(t, s, m)
		submit(t, s, m, 1, megabyte/10)
		if got := fmt.Sprint(first, " ", place(t, s, m)); strings.ReplaceAll(got, "  ", " ") != want {
			t.Errorf("a first job of %d MB: slots %s, want %s", mb, got, want)
		}
	}
}

// simulated runs jobs with fetches from nodes under rhc, and returns the model's figures.
// Each job's first map puts out so many times as much as each of the other nine.
func simulated(t *testing.T, first int64) (map[string]float64, *measure.Figures) {
	t.Helper()
	c := sim.Config{Actuator: sim.Ideal, Costs: sim.DefaultCosts(), NodeFetches: true}
	for n := range 6 {
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{
			Name: fmt.Sprint("n", n), Rack: fmt.Sprint("r", n/3),
			Capacity: size.Times(3), LinkBytesPerSec: 50e6,
		})
	}
	source := &sim.Jobs{}
	for i := range 12 {
		bytes := []int64{40e6, 1e6}[i%2]
		j := sim.Job{
			SubmitMs: int64(i) * 8000, SlowStart: 0.05, MapWork: []sim.Work{{OutputBytes: bytes, ComputeMs: 4000}},
			ReduceWork: []sim.Work{{ComputeMs: 1000}},
		}
		j.MapWork = append([]sim.Work{{OutputBytes: first * bytes, ComputeMs: 1000}}, slices.Repeat(j.MapWork, 9)...)
		j.Name, j.Maps, j.Reduces, j.MapSize, j.ReduceSize = fmt.Sprint("job", i), 10, 2, size, size
		source.List = append(source.List, j)
	}
	c.Source, c.Model = source, made(t, Info, nil)
	figures := measure.New(traces.Header{})
	c.Record = func(e traces.Event) {
		figures.Add(e)
		if d, ok := e.(*traces.Decision); ok && (d.Values != "") != (d.What == traces.Reduce) {
			t.Errorf("decision %+v: values are of reduces", d)
		}
	}
	r := errtest.Must(sim.Run(&c))
	return r.Notes, figures.Figures()
}

// TestEstimates: the estimate from the first map is right if maps are alike. If it puts out
// three times as much as the other nine, 30 are estimated where there are 12: 150 % too much.
func TestEstimates(t *testing.T) {
	for first, want := range map[int64]float64{1: 0, 3: 150} {
		n, f := simulated(t, first)
		for _, e := range f.Estimates {
			if e.ErrorPct == nil || math.Abs(*e.ErrorPct-want) > 1e-9 {
				t.Errorf("estimate %+v from a first map %d times the others, want one wrong by %v %%", e, first, want)
			}
		}
		if len(f.Estimates) != 12 {
			t.Errorf("%d jobs have an estimate, want 12", len(f.Estimates))
		}
		if n["jobsPlaced"] != 12 || n["estimates"] != 12 || n["estimateErrorMedianPercent"] != want {
			t.Errorf("first map %d times the others: notes %v, want 12 jobs and estimates, the median wrong by %v %%", first, n, want)
		}
		if n["jobsDeferred"] == 0 || n["jobsDeferred"] > 6 {
			t.Errorf("first map %d times the others: %v jobs deferred, want some of the six small ones", first, n["jobsDeferred"])
		}
	}
}

// skewed runs a job of four maps, all on n0, whose 1000 MB go to two reduces by these shares.
// A reduce on n0 fetches nothing over a link, which has 50 MB/s. There is room for one.
func skewed(t *testing.T, i sched.Info, p sched.Params, shares ...int64) (on [2]state.NodeID, took int64) {
	t.Helper()
	c := sim.Config{Actuator: sim.Ideal, Costs: sim.NoCosts(), NodeFetches: true, MapSlots: 4, ReduceSlots: 1, Model: made(t, i, p)}
	for n := range 3 {
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{Name: fmt.Sprint("n", n), Rack: "r", Capacity: size.Times(5), LinkBytesPerSec: 50e6})
	}
	j := sim.Job{SlowStart: 1, MapWork: []sim.Work{{OutputBytes: 250e6, ComputeMs: 1000}}, ReduceWork: []sim.Work{{}}}
	j.Name, j.Maps, j.Reduces, j.MapSize, j.ReduceSize, j.ReduceShares = "job", 4, 2, size, size, shares
	for range j.Maps {
		j.Replicas.Add(0)
	}
	c.Source = &sim.Jobs{List: []sim.Job{j}}
	c.Ended = func(e sim.AttemptEnd) { took = max(took, e.EndMs) }
	c.Record = func(e traces.Event) {
		if a, ok := e.(*traces.AttemptStarted); ok && a.Attempt.Kind == traces.Reduce {
			fmt.Sscanf(string(a.Node), "n%d", &on[a.Attempt.Index])
		}
	}
	errtest.Must(sim.Run(&c))
	return on, took
}

// TestLargerPartition has the larger partition on the cheapest slot, on n0, whichever reduce it
// is of. So 100 MB cross a link, in 2 s, and not 900 MB, in 18 s.
func TestLargerPartition(t *testing.T) {
	for _, c := range []struct {
		shares []int64
		on     [2]state.NodeID
		tookMs int64
	}{{[]int64{9, 1}, [2]state.NodeID{0, 1}, 3000}, {[]int64{1, 9}, [2]state.NodeID{1, 0}, 3000}, {nil, [2]state.NodeID{0, 1}, 11_000}} {
		for _, groups := range []string{"true", "false"} {
			on, took := skewed(t, Info, sched.Params{"groups": groups}, c.shares...)
			if on != c.on || took < c.tookMs-100 || took > c.tookMs+100 {
				t.Errorf("shares %v, groups %s: reduces on %v, done after %d ms; want %v and %d ms", c.shares, groups, on, took, c.on, c.tookMs)
			}
		}
	}
}

// onSlow runs ten jobs one after the other, each with 40 MB of map output on each of four nodes
// of a rack and one reduce, and returns which of them have it on n0, and how long reduces took.
// The link of n0 has 5 MB/s, others 50. By hops all nodes cost the same, and n0 comes first.
func onSlow(t *testing.T, model func(sched.Params) (sched.Model, error), costs string) (slow []int, meanMs int64) {
	t.Helper()
	m := errtest.Must(model(sched.Params{"costs": costs}))
	c := sim.Config{Actuator: sim.Ideal, Costs: sim.NoCosts(), NodeFetches: true, MapSlots: 1, ReduceSlots: 1, Model: m}
	for n := range 4 {
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{
			Name: fmt.Sprint("n", n), Rack: "r", Capacity: size.Times(2),
			LinkBytesPerSec: []int64{5e6, 50e6, 50e6, 50e6}[n],
		})
	}
	source := &sim.Jobs{}
	for k := range 10 {
		j := sim.Job{
			SubmitMs: int64(k) * 60_000, SlowStart: 1, MapWork: []sim.Work{{OutputBytes: 40e6, ComputeMs: 1000}},
			ReduceWork: []sim.Work{{ComputeMs: 500}},
		}
		j.Name, j.Maps, j.Reduces, j.MapSize, j.ReduceSize = fmt.Sprint("job", k), 4, 1, size, size
		source.List = append(source.List, j)
	}
	c.Source = source
	c.Ended = func(e sim.AttemptEnd) {
		if e.Kind == state.Reduce {
			meanMs += (e.EndMs - e.StartMs) / 10
			if e.Node == 0 {
				slow = append(slow, int(e.Job))
			}
		}
	}
	errtest.Must(sim.Run(&c))
	return slow, meanMs
}

// TestSlowLink: by hops all reduces are on the node with the slow link, where each fetches 120 MB
// at 5 MB/s. Learned costs put the first one there, and no other; costs by the rates of links
// none. Elsewhere a reduce fetches 40 MB from n0 at 5 MB/s.
func TestSlowLink(t *testing.T) {
	greedy := func(p sched.Params) (sched.Model, error) { return sched.New("reduce-greedy", p) }
	for name, model := range map[string]func(sched.Params) (sched.Model, error){"rhc": Info.New, "reduce-greedy": greedy} {
		for costs, want := range map[string]struct {
			slow   []int
			meanMs int64
		}{"hops": {[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 24_500}, "learned": {[]int{0}, 10_100}, "links": {nil, 8500}} {
			slow, meanMs := onSlow(t, model, costs)
			if !slices.Equal(slow, want.slow) || meanMs < want.meanMs-200 || meanMs > want.meanMs+200 {
				t.Errorf("%s, costs=%s: jobs %v have their reduce on the node with the slow link, and reduces take %d ms; want %v and %d ms", name,
					costs, slow, meanMs, want.slow, want.meanMs)
			}
		}
	}
}
