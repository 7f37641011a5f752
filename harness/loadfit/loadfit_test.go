package loadfit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"heddle/harness/doc"
	"heddle/traces"
)

// loadTrace makes the events of nodes on which tasks of two workloads run at random for
// an hour, and samples of the load average each second. The kernel looks every 5 s; a
// task of "waits" then counts as 0.3, one of "computes" as 1.4, and the daemons as 0.2.
func loadTrace(nodes int) []traces.Event {
	random := rand.New(rand.NewPCG(1, 2))
	var events []traces.Event
	for _, job := range []string{"waits", "computes"} {
		events = append(events, &traces.JobSubmitted{Job: traces.JobID(job), Name: job, Maps: 1e4})
	}
	number := int32(0)
	type running struct {
		id          traces.Attempt
		load        float64
		from, until int
	}
	for n := range nodes {
		name, average, list := traces.Node(fmt.Sprint("n", n)), 0.5, []running{}
		for second := range 3600 {
			at := traces.Time(second) * 1e9
			list = slices.DeleteFunc(list, func(r running) bool {
				if r.until == second {
					events = append(events, &traces.AttemptFinished{
						T: at, Attempt: r.id, Outcome: traces.Succeeded,
						Counters: traces.Counters{CPUMs: int64(float64(second-r.from) * 1000 * r.load)},
					})
				}
				return r.until == second
			})
			if second > 0 && random.IntN(20) == 0 {
				r := running{load: .3, from: second, until: second + 20 + random.IntN(60)}
				r.id = traces.Attempt{Task: traces.Task{Job: "waits", Index: number}}
				if random.IntN(2) == 0 {
					r.load, r.id.Job = 1.4, "computes"
				}
				number++
				list = append(list, r)
				events = append(events, &traces.AttemptStarted{T: at, Attempt: r.id, Node: name})
			}
			if second%5 == 0 {
				active := .2
				for _, r := range list {
					active += r.load
				}
				average = average*math.Exp(-5./60) + active*(1-math.Exp(-5./60))
			}
			events = append(events, &traces.NodeSample{T: at, Node: name, Load1: average, CPUUser: -1, CPUSystem: -1})
		}
	}
	traces.Sort(events)
	return events
}

// fitOf takes the events of a trace in.
func fitOf(events []traces.Event) *Fit {
	var f Fit
	running := map[traces.Attempt]*traces.AttemptStarted{}
	columns := map[traces.Attempt]int8{}
	for _, e := range events {
		switch e := e.(type) {
		case *traces.NodeSample:
			f.Sampled(e.Node, e.T, e.Load1)
		case *traces.AttemptStarted:
			running[e.Attempt], columns[e.Attempt] = e, f.Started(e.Node, e.T, string(e.Attempt.Job), e.Attempt.Kind)
		case *traces.AttemptFinished:
			f.Ended(running[e.Attempt].Node, columns[e.Attempt], running[e.Attempt].T, e.T, e.Counters.CPUMs)
		}
	}
	return &f
}

// The fit finds what tasks add to the load of their node, and its error is far below that
// of the control, which knows no average and no workloads.
func TestLoad(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		l := fitOf(loadTrace(nodes)).Loads()
		if l == nil || len(l.Tasks) != 2 || l.Nodes != nodes || l.Samples != nodes*3599 {
			t.Fatalf("%+v", l)
		}
		for _, x := range l.Tasks {
			want := map[string]float64{"waits": .3, "computes": 1.4}[x.Workload]
			if math.Abs(x.Load-want) > .03 || math.Abs(x.Cores-want) > .01 || x.Attempts < 50 {
				t.Errorf("%+v, want a load of %v", x, want)
			}
		}
		e := l.Errors
		if math.Abs(l.Idle-.2) > .05 || e.Fitted > .1 || e.Constant < 4*e.Fitted || e.Counters == nil || *e.Counters > .3 ||
			*e.Counters < e.Fitted {
			t.Errorf("%d nodes: idle %.2f, errors %.3f fitted, %.3f constant, %v by counters", nodes, l.Idle, e.Fitted, e.Constant, *e.Counters)
		}
		var text strings.Builder
		if err := doc.WriteText(&text, l.Doc(), false); err != nil || !strings.Contains(text.String(), "tasks that load their node") {
			t.Errorf("%v: %s", err, text.String())
		}
	}
}

// Where the load has nothing to do with the tasks, tasks add about none of it, and the
// model is hardly better than the control.
func TestLoadOfOthers(t *testing.T) {
	events := loadTrace(2)
	random := rand.New(rand.NewPCG(3, 4))
	for _, e := range events {
		if x, ok := e.(*traces.NodeSample); ok {
			x.Load1 = 2 + random.Float64()
		}
	}
	l := fitOf(events).Loads()
	for _, x := range l.Tasks {
		if x.Load > .05 {
			t.Errorf("%+v, want no load", x)
		}
	}
	if l.Errors.Fitted < .9*l.Errors.Constant || math.Abs(l.Idle-2.5) > .1 {
		t.Errorf("idle %.2f, errors %.3f fitted and %.3f constant", l.Idle, l.Errors.Fitted, l.Errors.Constant)
	}
	if few := fitOf(events[:20]).Loads(); few != nil {
		t.Errorf("from 20 events: %+v", few)
	}
}

// TestAdd: two traces of other workloads in another order give what each gives alone, and
// a node on which no task ran tells nothing.
func TestAdd(t *testing.T) {
	one, other := loadTrace(1), loadTrace(2)
	names := map[traces.JobID]traces.JobID{"waits": "sleeps", "computes": "halves"}
	for _, e := range other { // other workloads, that load nodes half as much
		switch e := e.(type) {
		case *traces.AttemptStarted:
			e.Attempt.Job = names[e.Attempt.Job]
		case *traces.AttemptFinished:
			e.Attempt.Job = names[e.Attempt.Job]
		case *traces.NodeSample:
			e.Load1 /= 2
		}
	}
	var sum Fit
	sum.Add(fitOf(other))
	for second := range 100 {
		sum.Sampled("idle", traces.Time(second)*1e9, 50)
	}
	alone := sum.Loads()
	sum.Add(fitOf(one))
	both := sum.Loads()
	if alone.Nodes != 2 || both.Nodes != 3 || both.Samples != 3*3599 {
		t.Fatalf("%d and %d nodes, %d samples", alone.Nodes, both.Nodes, both.Samples)
	}
	for _, x := range []struct {
		loads       *Loads
		name        string
		least, most float64
	}{
		{alone, "sleeps", .12, .18},
		{alone, "halves", .65, .75},
		{both, "waits", .25, .38},
		{both, "computes", 1.3, 1.5},
		{both, "halves", .65, .75},
	} {
		if got := x.loads.Of(x.name, traces.Map); got < x.least || got > x.most {
			t.Errorf("%s has a load of %v, want %v to %v", x.name, got, x.least, x.most)
		}
	}
	if both.Of("none", traces.Map) != 0 || both.Of("waits", traces.Reduce) != 0 || (*Loads)(nil).Of("waits", traces.Map) != 0 {
		t.Error("tasks that never ran have a load")
	}
}
