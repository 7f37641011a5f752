package sched_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// TestCompositions has compositions of models keep the rules that a World checks,
// and start nothing of the kind that the other part places.
func TestCompositions(t *testing.T) {
	for _, maps := range []string{"fifo", "delay", "capacity", "fair", "matching", "random", "acl"} {
		for _, reduces := range []string{"reduce-random", "reduce-greedy", "fifo", "fair"} {
			t.Run(maps+"+"+reduces, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					m := errtest.Must(sched.New(maps, sched.Params{"reduces": reduces}))
					w := schedtest.NewWorld(t, m)
					for range 3 {
						w.Submit(t)
					}
					for range 40 {
						w.Step(t)
					}
				})
			})
		}
	}
}

// seeing is a model that notes what it sees, and decides what it is told to.
type seeing struct {
	name   string
	decide []sched.Decision
	saw    []string
	events int
}

func (m *seeing) Name() string { return m.name }

func (m *seeing) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	m.saw = append(m.saw, fmt.Sprint(v.Waiting(0, state.Map), v.Waiting(0, state.Reduce), len(v.WaitingJobs(state.Map)),
		len(v.WaitingJobs(state.Reduce)),
		v.NextReduce(0) != state.None, v.NextRerun(0) != state.None, v.AnyRerun(), v.IsWaiting(0, 0), v.IsWaiting(0, v.Task(0, state.Reduce, 0)),
		v.Running(0, state.Map)))
	return append(out, m.decide...)
}

func (m *seeing) Observe(*state.View, sched.Event) { m.events++ }

func (m *seeing) Notes() map[string]float64 { return map[string]float64{"events": float64(m.events)} }

func (m *seeing) EveryHeartbeat() {}

// TestWhatPartsSee: a job of three maps and two reduces, of which one map is to run
// again. Each part sees the waiting tasks of its kind alone, and both what runs.
func TestWhatPartsSee(t *testing.T) {
	s := state.New()
	errtest.Must(s.AddNode("n", "r", state.Resource{MemoryMB: 4096, VCores: 4}))
	errtest.Must(s.Submit(&state.JobSpec{
		Maps: 3, Reduces: 2, MapSize: state.Resource{MemoryMB: 1024, VCores: 1},
		ReduceSize: state.Resource{MemoryMB: 1024, VCores: 1},
	}))
	s.Ask(0, state.Map, 3)
	s.Ask(0, state.Reduce, 2)
	for _, task := range []state.TaskID{0, 1} {
		mustDo(t, s.Start(0, task, 0))
	}
	mustDo(t, s.Retry(0, 0, true))
	forMaps, forReduces := &seeing{name: "m"}, &seeing{name: "r"}
	m := sched.Compose(forMaps, forReduces)
	if m.Name() != "m+r" {
		t.Errorf("name %s", m.Name())
	}
	if out := m.Round(s.View(), []state.NodeID{0}, nil); len(out) != 0 {
		t.Errorf("decided %v", out)
	}
	if want := []string{"2 0 1 0 false true true true false 1"}; !slices.Equal(forMaps.saw, want) {
		t.Errorf("the model for maps saw %v, want %v", forMaps.saw, want)
	}
	if want := []string{"0 2 0 1 true false false false true 1"}; !slices.Equal(forReduces.saw, want) {
		t.Errorf("the model for reduces saw %v, want %v", forReduces.saw, want)
	}

	o, ok := sched.As[sched.Observer](m)
	if !ok {
		t.Fatal("no Observer")
	}
	o.Observe(s.View(), sched.Event{})
	if forMaps.events != 1 || forReduces.events != 1 {
		t.Errorf("events heard: %d and %d, want 1 each", forMaps.events, forReduces.events)
	}
	if n, ok := sched.As[sched.Noter](m); !ok || !reflect.DeepEqual(n.Notes(), map[string]float64{"events": 1, "reduces.events": 1}) {
		t.Errorf("notes are not of both parts")
	}
	if _, ok := sched.As[sched.EveryHeartbeat](sched.WithFIFOMaps(forReduces)); !ok {
		t.Error("a mark of the model for reduces is not found")
	}
	if _, ok := sched.As[sched.JobPlanner](m); ok {
		t.Error("a JobPlanner is found, and there is none")
	}
}

// clock is a model for tests that ticks.
type clock struct {
	seeing
	periodMs int64
	ticks    []int64
}

func (m *clock) PeriodMs() int64    { return m.periodMs }
func (m *clock) Tick(v *state.View) { m.ticks = append(m.ticks, v.Now()/1e6) }

// TestBothTick: parts with periods of 200 and 300 ms are ticked every 100 ms together,
// each at its own times, up to 100 ms late. A composition without a Ticker is none.
func TestBothTick(t *testing.T) {
	a, b := &clock{periodMs: 200}, &clock{periodMs: 300}
	m := sched.Compose(a, b)
	both, ok := sched.As[sched.Ticker](m)
	if !ok || both.PeriodMs() != 100 {
		t.Fatalf("no Ticker of 100 ms: %v", both)
	}
	s := state.New()
	for _, ms := range []int64{100, 200, 330, 400, 599, 600} {
		s.SetNow(ms * 1e6)
		both.Tick(s.View())
	}
	if want := []int64{200, 400, 600}; !slices.Equal(a.ticks, want) {
		t.Errorf("the model of 200 ms ticked at %v, want %v", a.ticks, want)
	}
	if want := []int64{330, 600}; !slices.Equal(b.ticks, want) {
		t.Errorf("the model of 300 ms ticked at %v, want %v", b.ticks, want)
	}
	if _, ok := sched.As[sched.EveryHeartbeat](m); !ok {
		t.Error("a mark is not found behind the clock")
	}
	if one, ok := sched.As[sched.Ticker](sched.Compose(&a.seeing, sched.WithFIFOMaps(b))); !ok || one.PeriodMs() != 300 {
		t.Error("the one part that ticks is not found")
	}
	if _, ok := sched.As[sched.Ticker](sched.Compose(&a.seeing, &b.seeing)); ok {
		t.Error("a Ticker is found, and there is none")
	}
}

// TestPassedOver: if nothing of the answer for reduces is carried out, the model
// for maps is asked in the same heartbeat, and in the next one the order is as ever.
func TestPassedOver(t *testing.T) {
	s := state.New()
	errtest.Must(s.AddNode("n", "r", state.Resource{MemoryMB: 2048, VCores: 2}))
	size := state.Resource{MemoryMB: 1024, VCores: 1}
	errtest.Must(s.Submit(&state.JobSpec{Maps: 2, Reduces: 1, MapSize: size, ReduceSize: size}))
	s.Ask(0, state.Map, 2)
	s.Ask(0, state.Reduce, 1)
	forMaps := &seeing{name: "m", decide: []sched.Decision{{Kind: state.Map, Task: state.None}}}
	forReduces := &seeing{name: "r", decide: []sched.Decision{{Kind: state.Reduce, Task: state.None}}}
	m := sched.Compose(forMaps, forReduces)
	var offers sched.Offers
	for beat := range 2 {
		var asked []state.Kind
		offers.Heartbeat(m, s.View(), 0, func(d sched.Decision) bool {
			asked = append(asked, d.Kind)
			return false
		})
		if want := []state.Kind{state.Reduce, state.Map}; !slices.Equal(asked, want) {
			t.Errorf("heartbeat %d: decisions of %v, want %v", beat, asked, want)
		}
	}
}

// TestComposedByName: parameters go to the part that they name, and what is wrong is
// said of that part.
func TestComposedByName(t *testing.T) {
	for want, p := range map[string]sched.Params{
		"":                             {"reduces": "reduce-random", "reduces.seed": "7", "nodeSkips": "3"},
		`no model "reduce-rondom"`:     {"reduces": "reduce-rondom"},
		`no parameter "seed"`:          {"reduces": "reduce-random", "seed": "7"},
		`reduces: model reduce-greedy`: {"reduces": "reduce-greedy", "reduces.seed": "7"},
		`no parameter "reduces.seed"`:  {"reduces.seed": "7"},
	} {
		_, err := sched.New("delay", p)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %s", p, err, want)
		}
	}
}

// TestReducesByHand: n0 and n1 are in one rack, n2 and n3 in another, with a slot for
// a reduce each. 30 MB of map output are on n0 and 10 MB on n2.
//
//	cost of n0:  4·10 = 40    of n2:  4·30 = 120
//	cost of n1:  2·30 + 4·10 = 100    of n3:  4·30 + 2·10 = 140
func TestReducesByHand(t *testing.T) {
	for _, groups := range []string{"false", "true"} {
		s := state.New()
		size := state.Resource{MemoryMB: 1024, VCores: 1}
		for n := range 4 {
			errtest.Must(s.AddNode(fmt.Sprint("n", n), fmt.Sprint("r", n/2), size))
		}
		errtest.Must(s.Submit(&state.JobSpec{Maps: 1, Reduces: 3, MapSize: size, ReduceSize: size}))
		s.Ask(0, state.Reduce, 3)
		s.AddMapOutput(0, 0, 30)
		s.AddMapOutput(0, 2, 10)
		for n, want := range []float64{40, 100, 120, 140} {
			if got := sched.FetchCost(s.View(), 0, state.NodeID(n)); got != want {
				t.Errorf("cost of n%d: %v, want %v", n, got, want)
			}
		}
		m, err := sched.New("reduce-greedy", sched.Params{"groups": groups})
		mustDo(t, err)
		var on []state.NodeID
		start := func(d sched.Decision) bool {
			on = append(on, d.Node)
			return s.Start(d.Job, s.View().NextReduce(0), d.Node) == nil
		}
		offers := sched.Offers{Group: func(group []sched.Decision) bool {
			for _, d := range group {
				start(d)
			}
			return len(group) == 3
		}}
		offers.Heartbeat(m, s.View(), 3, start)
		if want := []state.NodeID{0, 1, 2}; !slices.Equal(on, want) {
			t.Errorf("groups %s: reduces on %v, want %v", groups, on, want)
		}
	}
}

// TestGroupsWait: with room for two of three reduces, a group waits while a map runs,
// and is of two when nothing runs.
func TestGroupsWait(t *testing.T) {
	s := state.New()
	size := state.Resource{MemoryMB: 1024, VCores: 1}
	for n := range 3 {
		errtest.Must(s.AddNode(fmt.Sprint("n", n), "r", size))
	}
	errtest.Must(s.Submit(&state.JobSpec{Maps: 1, Reduces: 3, MapSize: size, ReduceSize: size}))
	s.Ask(0, state.Map, 1)
	s.Ask(0, state.Reduce, 3)
	mustDo(t, s.Start(0, 0, 0))
	m, err := sched.New("reduce-random", sched.Params{"groups": "true"})
	mustDo(t, err)
	round := func() []sched.Decision { return m.Round(s.View(), s.View().WithRoom(1, nil), nil) }
	if out := round(); len(out) != 0 {
		t.Errorf("decided %v with room for two while a map runs", out)
	}
	s.NodeDown(0)
	mustDo(t, s.Retry(0, 0, false))
	if out := round(); len(out) != 2 || out[0].Group == 0 || out[0].Group != out[1].Group || out[0].Node == out[1].Node {
		t.Errorf("decided %v when nothing runs, want a group of two", out)
	}
}

var mustDo = errtest.None
