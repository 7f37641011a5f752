package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"heddle/harness/paper/clqlmrs/model/qlearn"
	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// setup is a cluster in two racks, by turns, and a job whose blocks lie at random.
type setup struct {
	nodes, slots, maps, replicas int
	cached                       float64 // share of maps, on one of the replicas
}

func (x setup) make(tb testing.TB, seed uint64) (*state.State, state.JobID) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	s := state.New()
	for n := range x.nodes {
		addNode(tb, s, n, n%2, slot.Times(int32(x.slots)))
	}
	return s, x.submit(tb, s, rng)
}

// submit submits a job and asks for its maps.
func (x setup) submit(tb testing.TB, s *state.State, rng *rand.Rand) state.JobID {
	tb.Helper()
	return submit(tb, s, x.job(rng))
}

func (x setup) job(rng *rand.Rand) *state.JobSpec {
	spec := &state.JobSpec{Name: "job", Maps: int32(x.maps), MapSize: slot}
	withCache := rng.Perm(x.maps)
	for i := range x.maps {
		var hosts []state.NodeID
		for _, n := range rng.Perm(x.nodes)[:x.replicas] {
			hosts = append(hosts, state.NodeID(n))
		}
		spec.Replicas.Add(hosts...)
		if float64(withCache[i]) < x.cached*float64(x.maps) {
			spec.Cached.Add(hosts[0])
		} else {
			spec.Cached.Add()
		}
	}
	return spec
}

// rates has a model place all maps of all jobs, wave by wave: nodes report in a
// random order, and all maps end when no slot is free. It returns the shares of
// cache-local and of cache- or node-local maps.
func rates(tb testing.TB, s *state.State, m sched.Model) (cache, local float64) {
	tb.Helper()
	v := s.View()
	rng := rand.New(rand.NewPCG(5, 6))
	var offers sched.Offers
	placed := 0.0
	for now := int64(1); len(v.WaitingJobs(state.Map)) > 0; now++ {
		s.SetNow(now * 1e9)
		var wave []sched.Decision
		for _, n := range rng.Perm(v.Nodes()) {
			offers.Heartbeat(m, v, state.NodeID(n), func(d sched.Decision) bool {
				mustDo(tb, sched.Possible(v, d))
				switch v.Level(d.Job, d.Task, d.Node) {
				case state.LevelCache:
					cache++
					local++
				case state.LevelNode:
					local++
				}
				placed++
				wave = append(wave, d)
				return s.Start(d.Job, d.Task, d.Node) == nil
			})
		}
		for _, d := range wave {
			mustDo(tb, s.Finish(d.Job, d.Task))
		}
		if len(wave) == 0 {
			tb.Fatalf("nothing started, %d maps wait", v.Waiting(v.WaitingJobs(state.Map)[0], state.Map))
		}
	}
	return cache / placed, local / placed
}

// mustNew makes a model of package sched or this package's.
func mustNew(tb testing.TB, name string, p sched.Params) sched.Model {
	tb.Helper()
	make := func(p sched.Params) (sched.Model, error) { return sched.New(name, p) }
	if name == Info.Name {
		make = Info.New
	}
	m := errtest.Must(make(p))
	return m
}

// TestDefaultsArePapers has the model's defaults be the paper's rule.
func TestDefaultsArePapers(t *testing.T) {
	want := qlearn.Rule{
		Alpha: 0.1, Gamma: 0.95, Epsilon: 1, Decay: 0.999, DecayEvery: 10, Episodes: 50_000, MinEpsilon: 0.01,
		Steps: 12_000_000,
	}
	if got := mustNew(t, "clqlmrs", nil).(*cacheLearner).Rule; got != want {
		t.Errorf("by default %+v, want %+v", got, want)
	}
}

// mean is rates over 20 layouts.
func (x setup) mean(tb testing.TB, model string, p sched.Params) (cache, local float64) {
	const layouts = 20
	for seed := range uint64(layouts) {
		s, _ := x.make(tb, seed)
		c, l := rates(tb, s, mustNew(tb, model, p))
		cache += c / layouts
		local += l / layouts
	}
	return cache, local
}

// TestTrainingStudy has the training study: on 20 layouts the reward per step
// comes near to matching, the cumulative reward gives cache hits up. What an
// independent model of the same rules had on other layouts is matched within a
// tenth.
func TestTrainingStudy(t *testing.T) {
	few := func(p sched.Params) sched.Params { // all of training's episodes change little
		if testing.Short() {
			p["episodes"] = "5000"
		}
		return p
	}
	for _, x := range []struct {
		setup
		step, cumulative, qCumulative, matching [2]float64 // cache and local rate
	}{
		{setup{8, 1, 8, 3, 0.5}, [2]float64{0.417, 0.875}, [2]float64{0.188, 0.854}, [2]float64{0.146, 0.958}, [2]float64{0.354, 0.958}},
		{setup{8, 1, 8, 1, 0.5}, [2]float64{0.375, 0.625}, [2]float64{0.375, 0.604}, [2]float64{0.375, 0.625}, [2]float64{0.375, 0.625}},
		{setup{6, 3, 20, 3, 0.6}, [2]float64{0.556, 0.944}, [2]float64{0.019, 0.926}, [2]float64{}, [2]float64{0.593, 1}},
	} {
		got := func(model string, p sched.Params, want [2]float64) (cache, local float64) {
			cache, local = x.mean(t, model, p)
			t.Logf("%+v, %s %v: cache rate %.3f, local rate %.3f", x.setup, model, p, cache, local)
			if want != ([2]float64{}) && (math.Abs(cache-want[0]) > 0.1 || math.Abs(local-want[1]) > 0.1) {
				t.Errorf("%+v, %s %v: cache rate %.3f, local rate %.3f, want about %v", x.setup, model, p, cache, local, want)
			}
			return cache, local
		}
		bestCache, bestLocal := got("matching", nil, x.matching)
		cache, local := got("clqlmrs", few(sched.Params{}), x.step)
		if cache < 0.8*bestCache || local < 0.9*bestLocal {
			t.Errorf("%+v: below 0.8 and 0.9 of matching's", x.setup)
		}
		less, _ := got("clqlmrs", few(sched.Params{"reward": "cumulative"}), x.cumulative)
		if x.replicas > 1 && less >= cache || x.maps >= 18 && less >= bestCache/2 {
			t.Errorf("%+v: cumulative reward has cache rate %.3f, the reward per step %.3f, matching %.3f", x.setup, less, cache, bestCache)
		}
		if !testing.Short() { // it changes for long
			got("clqlmrs", sched.Params{"reward": "cumulative", "update": "q"}, x.qCumulative)
		}
		if cache, _ := got("clqlmrs", few(sched.Params{"table": "class"}), [2]float64{}); cache < 0.8*bestCache {
			t.Errorf("%+v: by class, cache rate %.3f, matching %.3f", x.setup, cache, bestCache)
		}
	}
}

// TestOddJobs has jobs and clusters at the edge of what there is. All maps
// start, and nearly as near to their data as matching has them.
func TestOddJobs(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup setup
		none  bool // nothing to learn
	}{
		{"more slots than maps", setup{8, 4, 3, 3, 1}, false},
		{"no cached block", setup{4, 2, 12, 2, 0}, false},
		{"all cached", setup{4, 2, 12, 2, 1}, false},
		{"one node", setup{1, 2, 5, 1, 0.5}, false},
		{"one node, all cached", setup{1, 2, 5, 1, 1}, true},
		{"a job without block locations", setup{3, 2, 7, 0, 0}, true},
		{"one map", setup{3, 1, 1, 1, 1}, false},
	} {
		for seed := range uint64(3) {
			s, _ := c.setup.make(t, seed)
			bestCache, bestLocal := rates(t, s, mustNew(t, "matching", nil))
			for _, p := range []sched.Params{{}, {"episode": "wave"}, {"table": "class"}, {"pairs": "0"}, {"update": "q", "reward": "cumulative"}} {
				p["episodes"] = "5000"
				s, id := c.setup.make(t, seed)
				m := mustNew(t, "clqlmrs", p)
				plan, planned := m.(sched.JobPlanner).PlanJob(s.View(), id)
				if planned == (p["pairs"] == "0") || planned && len(plan) != c.setup.maps {
					t.Errorf("%s, %v: a plan of %d of %d maps, %t", c.name, p, len(plan), c.setup.maps, planned)
				}
				cache, local := rates(t, s, m)
				ofTasks := p["table"] == "" && p["pairs"] == ""
				if p["reward"] == "" && (cache < 0.8*bestCache || ofTasks && local < 0.9*bestLocal) {
					t.Errorf("%s, layout %d, %v: cache rate %.2f, local rate %.2f; matching %.2f, %.2f", c.name, seed, p, cache, local, bestCache,
						bestLocal)
				}
				training := m.(sched.Warmup).Training(id)
				if ofTasks && (len(training.Episodes) == 0) != c.none {
					t.Errorf("%s, %v: %d episodes", c.name, p, len(training.Episodes))
				}
			}
		}
	}
	// No node at all is up when the job comes, and its containers take nothing.
	s := state.New()
	addNode(t, s, 0, 0, slot)
	s.NodeDown(0)
	id := submit(t, s, &state.JobSpec{Name: "job", Maps: 3})
	m := mustNew(t, "clqlmrs", nil)
	if plan, ok := m.(sched.JobPlanner).PlanJob(s.View(), id); ok {
		t.Errorf("a plan without a node: %v", plan)
	}
	s.NodeUp(0)
	rates(t, s, m)
}

// TestLateBinding has the model choose among what the ApplicationMaster would
// start, and nothing else.
func TestLateBinding(t *testing.T) {
	for _, p := range []sched.Params{{"episodes": "500"}, {"table": "class", "episodes": "500"}} {
		s, _ := setup{4, 2, 20, 2, 0.5}.make(t, 1)
		s.SetLateBinding(true)
		v := s.View()
		m := &bound{Model: mustNew(t, "clqlmrs", p), t: t}
		rates(t, s, m)
		if m.rounds < 20 || v.Done(0, state.Map) != 20 {
			t.Errorf("%d decisions, %d maps done", m.rounds, v.Done(0, state.Map))
		}
	}
}

type bound struct {
	sched.Model
	t      *testing.T
	rounds int
}

func (m *bound) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	for _, d := range m.Model.Round(v, free, out) {
		if t, _ := v.WouldBind(d.Job, d.Node); t != d.Task {
			m.t.Errorf("map %d on %s, the ApplicationMaster would start %d", d.Task, v.NodeName(d.Node), t)
		}
		m.rounds++
		out = append(out, d)
	}
	return out
}

// TestPlanIsFollowed has a job's splits rewritten as planned, and its maps run
// where the plan says, in its order, under late binding; nodes that are lost do
// not hold it up; reduces wait for its maps.
func TestPlanIsFollowed(t *testing.T) {
	for _, lost := range []bool{false, true} {
		s, id := setup{4, 2, 20, 2, 0.5}.make(t, 1)
		s.EndJob(id)
		s.SetLateBinding(true)
		v := s.View()
		spec := state.JobSpec{Name: "planned", Maps: 12, Reduces: 8, MapSize: slot, ReduceSize: slot}
		rng := rand.New(rand.NewPCG(3, 4))
		for range spec.Maps {
			a := state.NodeID(rng.IntN(4))
			spec.Replicas.Add(a, (a+1)%4)
			spec.Cached.Add(a)
		}
		id = errtest.Must(s.Submit(&spec))
		m := mustNew(t, "clqlmrs", sched.Params{"episodes": "500"})
		plan, ok := m.(sched.JobPlanner).PlanJob(v, id)
		if !ok {
			t.Fatal("no plan")
		}
		training := m.(sched.Warmup).Training(id)
		planned := spec
		planned.Replicas, planned.Cached, planned.SplitHosts = state.Hosts{}, state.Hosts{}, &state.Hosts{}
		for _, p := range plan {
			planned.Replicas.Add(v.Replicas(id, p.Split)...)
			planned.Cached.Add(v.CachedOn(id, p.Split, nil)...)
			planned.SplitHosts.Add(p.Node)
		}
		mustDo(t, s.Resplit(id, &planned))
		s.Ask(id, state.Map, spec.Maps)
		s.Ask(id, state.Reduce, spec.Reduces)
		if lost {
			s.NodeDown(2)
		}
		var offers sched.Offers
		last := map[state.NodeID]state.TaskID{}
		for beat := 0; v.Done(id, state.Reduce) < spec.Reduces; beat++ {
			if beat > 100 {
				t.Fatalf("lost %t: after %d heartbeats %d maps and %d reduces are done", lost, beat, v.Done(id, state.Map), v.Done(id, state.Reduce))
			}
			n := state.NodeID(rng.IntN(4))
			var wave []sched.Decision
			offers.Heartbeat(m, v, n, func(d sched.Decision) bool {
				if d.Kind == state.Reduce && v.Waiting(id, state.Map) > 0 {
					t.Error("a reduce starts before the maps")
				}
				if d.Kind == state.Map && plan[d.Task].Node != d.Node && (!lost || plan[d.Task].Node != 2) {
					t.Errorf("map %d on node %d, planned on %d", d.Task, d.Node, plan[d.Task].Node)
				}
				if before, ok := last[d.Node]; ok && d.Kind == state.Map && before > d.Task && !lost {
					t.Errorf("on node %d map %d after %d", d.Node, d.Task, before)
				}
				last[d.Node] = d.Task
				wave = append(wave, d)
				return s.Start(d.Job, d.Task, d.Node) == nil
			})
			for _, d := range wave {
				mustDo(t, s.Finish(d.Job, d.Task))
			}
		}
		if m.(sched.Warmup).Training(id) != training {
			t.Error("trained again when its splits were rewritten as planned")
		}
	}
}

var slot = state.Resource{MemoryMB: 512, VCores: 1}

func addNode(tb testing.TB, s *state.State, n, rack int, size state.Resource) {
	tb.Helper()
	errtest.Must(s.AddNode(fmt.Sprint("n", n), fmt.Sprint("rack", rack), size))
}

// submit submits a job and asks for its maps.
func submit(tb testing.TB, s *state.State, spec *state.JobSpec) state.JobID {
	tb.Helper()
	id := errtest.Must(s.Submit(spec))
	s.Ask(id, state.Map, spec.Maps)
	return id
}

// TestModel has the model keep what schedtest asks of all.
func TestModel(t *testing.T) {
	schedtest.Check(t, Info,
		sched.Params{"episodes": "20"},
		sched.Params{"episodes": "20", "update": "q", "reward": "cumulative", "episode": "wave", "retrain": "0"},
		sched.Params{"episodes": "20", "table": "class"},
		sched.Params{"episodes": "20", "pairs": "12"},
	)
}

// BenchmarkModel leaves the training of each job out.
func BenchmarkModel(b *testing.B) { schedtest.Benchmark(b, Info, sched.Params{"table": "class"}) }
