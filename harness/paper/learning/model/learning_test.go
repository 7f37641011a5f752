package model

import (
	"maps"
	"math"
	"strings"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/errtest"
)

func TestRules(t *testing.T) {
	// with choose=all and mapsUntil=ended, as coded, reduces may wait for ever behind maps that nobody asks for
	coded := sched.Params{"gate": "1", "escape": "forced", "trainOn": "all", "boost": "2", "label": "margin", "unseen": "one", "cap": "10000"}
	schedtest.Check(t, Info, nil, coded, sched.Params{"classifier": "perceptron", "utility": "sjf"},
		sched.Params{"classifier": "perceptronCoded", "utility": "fair", "trainOn": "all"},
		sched.Params{"overload": "any", "bins": "1", "score": "posterior", "unseen": "zero"}, sched.Params{"utility": "budget", "budgets": "*=5"})
	schedtest.Check(t, RuleInfo, nil, sched.Params{"gate": "0", "chance": "0.9"})
}

func made(t *testing.T, p sched.Params) *learner {
	t.Helper()
	m := errtest.Must(Info.New(p))
	l, _ := sched.As[kept](m)
	return l.learner
}

// of has a CPU hint and a load in bins; other features do not vary.
func of(cpu, bin int32) vector { return vector{jobCPU: cpu, load: bin} }

// taught has the samples of the specification's example.
func taught(rule bayesRule) *bayes {
	b := newBayes(rule)
	b.train(of(5, 20), good, 2)
	b.train(of(5, 30), good, 2)
	b.train(of(5, 45), bad, 2)
	return b
}

// The worked examples of a histogram classifier: 4 good samples at loads 2.0 and 3.0,
// 2 bad ones at 4.5, all with hint 5.
func TestBayes(t *testing.T) {
	for _, c := range []struct {
		x           vector
		unseen      string
		pGood, pBad float64
		class       class
	}{
		{of(5, 20), "one", 1. / 3, 1. / 6, good},                    // 4/6 · 1 · 2/4; 2/6 · 1 · 1/2
		{of(5, 45), "one", 1. / 6, 1. / 3, bad},                     // 4/6 · 1 · 1/4; 2/6 · 1 · 1
		{of(5, 99), "one", 1. / 6, 1. / 6, good},                    // 4/6 · 1/4; 2/6 · 1/2
		{of(9, 45), "one", 1. / 24, 1. / 6, bad},                    // 4/6 · 1/4 · 1/4; 2/6 · 1/2 · 1
		{of(5, 45), "zero", 0, 1. / 3, bad},                         // 4/6 · 0
		{of(5, 99), "zero", 0, 0, good},                             // a tie
		{of(5, 20), "addOne", 2. / 3 * 3 / 7, 1. / 3 * 1 / 5, good}, // of 4 and of 2 samples, and 3 kinds of loads; 1 for what does not vary
		{of(5, 99), "addOne", 2. / 3 * 1 / 7, 1. / 3 * 1 / 5, good}, // new to both: no tie
	} {
		b := taught(bayesRule{Unseen: c.unseen, Label: "larger"})
		pGood, pBad, class := b.classify(c.x)
		if math.Abs(pGood-c.pGood) > 1e-12 || math.Abs(pBad-c.pBad) > 1e-12 || class != c.class {
			t.Errorf("%v, unseen %s: %v, %v, class %d; want %v, %v, class %d", c.x, c.unseen, pGood, pBad, class, c.pGood, c.pBad, c.class)
		}
	}
	for _, c := range []struct {
		label string
		tie   string
		ratio float64
		want  class
	}{
		{"larger", "good", 1, good},
		{"larger", "bad", 1, bad},
		{"larger", "good", .99, bad},
		{"margin", "good", .95, good},
		{"margin", "good", .85, bad},
		{"log", "good", .37, good},
		{"log", "good", .36, bad},
	} {
		r := bayesRule{Label: c.label, Tie: c.tie}
		if got := r.of(c.ratio/4, 1./4); got != c.want {
			t.Errorf("label %s, ratio %v: class %d, want %d", c.label, c.ratio, got, c.want)
		}
	}
}

func TestPerceptron(t *testing.T) {
	p := perceptron{}
	x := vector{2, -1}
	if p.margin(x) > 0 {
		t.Error("with weights of 0 it says good")
	}
	p.train(x, good)
	if p.w[0] != 2 || p.w[1] != -1 || p.sum(x) != 5 {
		t.Errorf("weights %v, W·F %v after one miss; want 2, -1 and 5", p.w, p.sum(x))
	}
	p.train(x, good) // it was right: nothing changes
	if p.sum(x) != 5 {
		t.Errorf("W·F %v after a hit", p.sum(x))
	}
	// As coded: inputs .2, .01 and so on, step .5; b counts in use only.
	c := perceptron{coded: true, bias: .2}
	if !(c.margin(x) > 0) || c.sum(x) > 0 {
		t.Error("as coded, the first decision is good, and no hit in training")
	}
	c.train(vector{jobCPU: 5}, good)
	if got, want := c.w[jobCPU], .25; math.Abs(got-want) > 1e-12 || math.Abs(c.w[features]-.5) > 1e-12 {
		t.Errorf("weight of the CPU hint %v, want %v; of the constant %v, want .5", got, want, c.w[features])
	}
}

// On 4 CPUs at target 1, ceil(10·4.00) = 40 is no overload and ceil(10·4.01) = 41 is.
func TestOverload(t *testing.T) {
	for _, c := range []struct {
		load float64
		p    sched.Params
		want bool
	}{
		{4, nil, false},
		{4.01, nil, true},
		{4.01, sched.Params{"target": "1.5"}, false},
		{4.01, sched.Params{"bins": "1"}, true},
		{4.01, sched.Params{"overload": "all"}, false},
		{1, sched.Params{"overload": "any", "netLimit": "0"}, false},
		{4.01, sched.Params{"overload": "any"}, true},
	} {
		m := made(t, c.p)
		if got := m.overloaded(&sample{load1: c.load, cpus: 4}, 1); got != c.want {
			t.Errorf("load %v, %v: overloaded %t", c.load, c.p, got)
		}
	}
}

// world is a node of 4 CPUs with jobs, whose load the test says.
type world struct {
	*testing.T
	s    *state.State
	m    *learner
	node state.NodeID
	atMs int64
}

func newWorld(t *testing.T, p sched.Params, jobs ...state.JobSpec) *world {
	s := state.New()
	n := errtest.Must(s.AddNode("n1", "r", state.Resource{MemoryMB: 100 << 10, VCores: 100}))
	if p == nil {
		p = sched.Params{}
	}
	p["cpus"] = "4"
	w := &world{T: t, s: s, m: made(t, p), node: n}
	for i := range jobs {
		w.submit(&jobs[i])
	}
	return w
}

func (w *world) submit(j *state.JobSpec) state.JobID {
	j.MapSize, j.ReduceSize = state.Resource{MemoryMB: 100, VCores: 1}, state.Resource{MemoryMB: 100, VCores: 1}
	id := errtest.Must(w.s.Submit(j))
	w.s.Ask(id, state.Map, j.Maps)
	w.m.Observe(w.s.View(), sched.Event{What: sched.JobSubmitted, Job: id})
	return id
}

// beat reports a load five seconds later, and returns what starts.
func (w *world) beat(load1 float64) (sched.Pick, bool) {
	w.atMs += 5000
	w.s.SetNow(w.atMs * 1e6)
	w.m.Observe(w.s.View(), sched.Event{What: sched.NodeReported, Node: w.node, Sample: &traces.NodeSample{Load1: load1}})
	return w.m.Choose(w.s.View(), w.node)
}

// What an agent does not measure is -1, and is no load below 0.
func TestUnmeasured(t *testing.T) {
	w := newWorld(t, nil)
	x := w.m.sampleOf(w.s.View(), w.node, &traces.NodeSample{
		Load1: -1, MemoryUsedBytes: -1, CPUUser: -1, DiskReadBytesPerSec: -1,
		NetSentBytesPerSec: -1,
	})
	if x != (sample{cpus: 4}) {
		t.Errorf("%+v: want nothing but the CPUs", x)
	}
}

// As printed: a decision is judged at the next beat; 3 samples are free; a value that
// only bad decisions had is refused, and then nothing is learnt any more.
func TestAsPrinted(t *testing.T) {
	w := newWorld(t, sched.Params{"unseen": "zero"}, state.JobSpec{Name: "a", Maps: 50, Hints: [2]state.Hints{{CPU: 5}}})
	for i, c := range []struct {
		load      float64
		starts    bool
		good, bad int64
	}{
		{1, true, 0, 0}, {1, true, 1, 0}, {5, true, 1, 1}, {5, true, 1, 2}, // 3 samples: still free
		{5, false, 1, 3}, // 4 samples: load 5 was bad twice, and good never
		{5, false, 1, 3}, {1, true, 1, 3}, {1, true, 2, 3},
	} {
		_, starts := w.beat(c.load)
		if n := w.m.bayes.n; starts != c.starts || n[good] != c.good || n[bad] != c.bad {
			t.Fatalf("beat %d: starts %t, %d good, %d bad; want %+v", i, starts, n[good], n[bad], c)
		}
	}
	if _, again := w.m.Choose(w.s.View(), w.node); again {
		t.Error("two tasks at one beat")
	}
}

// As coded: after one bad and one good judgement, which counts twice, P(good) is 2/3,
// and at 3 samples everything is still good. An overloaded node gets nothing, and
// nothing is recorded of it.
func TestAsCoded(t *testing.T) {
	w := newWorld(t, sched.Params{
		"gate": "1", "escape": "forced", "trainOn": "all", "boost": "2", "label": "margin", "unseen": "one",
		"choose": "all", "mapsUntil": "ended",
	}, state.JobSpec{Name: "a", Maps: 50})
	w.beat(1)
	if _, starts := w.beat(4.01); starts || w.m.bayes.n != [2]int64{1, 0} {
		t.Errorf("overloaded: starts %t, samples %v", starts, w.m.bayes.n)
	}
	if _, starts := w.beat(1); !starts || w.m.samples != 1 {
		t.Errorf("below the limit: starts %t, %d samples: nothing was recorded before", starts, w.m.samples)
	}
	if _, starts := w.beat(1); !starts || w.m.bayes.n != [2]int64{1, 2} {
		t.Errorf("starts %t, samples %v, want 1 bad and 2 good", starts, w.m.bayes.n)
	}
}

// An idle node, all jobs bad and none with reduces: the code assigns one all the same.
// With a reduce, whose utility is 0, its candidate goes before the bad map, and nothing
// starts.
func TestEscape(t *testing.T) {
	for _, c := range []struct {
		reduces int32
		starts  bool
	}{{0, true}, {1, false}} {
		w := newWorld(t, sched.Params{"escape": "forced", "choose": "all", "mapsUntil": "ended", "unseen": "one"},
			state.JobSpec{Name: "a", Maps: 50, Reduces: c.reduces})
		x := w.m.jobVector(w.m.vectorOf(&sample{load1: 1, cpus: 4}, 0), state.Hints{})
		w.m.bayes.train(x, bad, 10)
		w.m.bayes.train(of(1, 1), good, 1)
		w.m.samples = 11
		if _, starts := w.beat(1); starts != c.starts {
			t.Errorf("%d reduces: starts %t", c.reduces, starts)
		}
	}
}

// FIFO utility: a job aged 20 s with P(good) .2 has 4000 and goes before one aged 5 s
// with .7, which has 3500.
func TestUtility(t *testing.T) {
	w := newWorld(t, sched.Params{"utility": "fifo"}, state.JobSpec{Name: "old", Maps: 5, Price: 3, DeadlineMs: 30_000, Pool: "p"})
	w.s.SetNow(15e9)
	young := w.submit(&state.JobSpec{Name: "young", Maps: 10, Pool: "p"})
	w.s.SetNow(20e9)
	v := w.s.View()
	old := .2 * w.m.utilityOf(v, 0, state.Map)
	if new := .7 * w.m.utilityOf(v, young, state.Map); math.Abs(old-4000) > 1e-9 || math.Abs(new-3500) > 1e-9 {
		t.Errorf("expected utilities %v and %v, want 4000 and 3500", old, new)
	}
	for _, c := range []struct {
		utility string
		p       sched.Params
		want    float64
	}{
		{"constant", nil, 1000},
		{"sjf", nil, 200_000},
		{"revenue", nil, 3},
		{"fair", nil, 1000},
		{"priority", nil, 1000},
		{"deadline", nil, 100},
		{"dedicated", sched.Params{"shares": "p=0.25"}, 4},
		{"dedicated", sched.Params{"shares": "*=0.25", "deficit": "proportional"}, 250},
		{"dedicated", nil, 0},
	} {
		p := sched.Params{"utility": c.utility}
		maps.Copy(p, c.p)
		if got := made(t, p).utilityOf(v, 0, state.Map); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s %v: %v, want %v", c.utility, c.p, got, c.want)
		}
	}
	if u := w.m.utilityOf(v, 0, state.Reduce); u != 0 {
		t.Errorf("a reduce before the end of the maps has utility %v", u)
	}
}

// A pool's utility is 0 once its tasks have cost what it had; a task without a price costs 1.
func TestBudget(t *testing.T) {
	w := newWorld(t, sched.Params{"utility": "budget", "budgets": "poor=5,*=2"}, state.JobSpec{Name: "a", Maps: 5, Price: 3, Pool: "poor"},
		state.JobSpec{Name: "b", Maps: 5, Pool: "other"})
	for started, want := range [][2]float64{{1000, 1000}, {1000, 1000}, {0, 0}} {
		v := w.s.View()
		if a, b := w.m.utilityOf(v, 0, state.Map), w.m.utilityOf(v, 1, state.Map); a != want[0] || b != want[1] {
			t.Errorf("after %d tasks of each: utilities %v and %v, want %v", started, a, b, want)
		}
		for job := range state.JobID(2) {
			w.m.Observe(v, sched.Event{What: sched.TaskStarted, Job: job})
		}
	}
}

// A state is for its target: judged for another one it is refused.
func TestStateIsForItsTarget(t *testing.T) {
	m := made(t, nil)
	m.train(of(5, 20), good)
	data, err := sched.SaveState(sched.PerNode{NodeModel: kept{m}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = sched.LoadState(sched.PerNode{NodeModel: kept{made(t, sched.Params{"target": "2"})}}, data)
	if err == nil || !strings.Contains(err.Error(), "it was learnt for target=1 bins=10") {
		t.Errorf("loaded for another target: %v", err)
	}
	again := kept{made(t, sched.Params{"gate": "1"})}
	if err := sched.LoadState(sched.PerNode{NodeModel: again}, data); err != nil || again.bayes.n[good] != 1 ||
		again.bayes.kinds != m.bayes.kinds {
		t.Errorf("loaded for the same target: %v, %v, kinds of values %v", err, again.bayes.n, again.bayes.kinds)
	}
	rows := again.Learnt()[0].Rows
	if got := strings.Join(rows[load], " "); got != "load 20 all all 100 100 never varies" {
		t.Errorf("row of the load: %q", got)
	}
}

// Hints tell a heavy job from a light one: what was bad for heavy tasks at a load is
// refused to a heavy job and not to a light one. If hints were mixed up while it learnt,
// it cannot tell, and starts the heavy job too.
func TestHintsMatter(t *testing.T) {
	light, heavy := state.Hints{CPU: 1}, state.Hints{CPU: 10}
	for _, c := range []struct {
		mixedUp, heavyStarts bool
	}{{false, false}, {true, true}} {
		for _, job := range []state.Hints{light, heavy} {
			w := newWorld(t, nil, state.JobSpec{Name: "a", Maps: 50, Hints: [2]state.Hints{job}})
			node := w.m.vectorOf(&sample{load1: 3, cpus: 4}, 0)
			for i := range 20 {
				h, class := light, good
				if i%2 == 0 {
					h, class = heavy, bad
				}
				if c.mixedUp && i%4 < 2 {
					h = state.Hints{CPU: 11 - h.CPU}
				}
				w.m.train(w.m.jobVector(node, h), class)
			}
			_, starts := w.beat(3)
			if want := job == light || c.heavyStarts; starts != want {
				t.Errorf("hints mixed up: %t; job of CPU hint %d starts: %t, want %t", c.mixedUp, job.CPU, starts, want)
			}
		}
	}
}
