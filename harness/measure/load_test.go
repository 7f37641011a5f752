package measure

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
					events = append(events, &traces.AttemptFinished{T: at, Attempt: r.id, Outcome: traces.Succeeded, Counters: traces.Counters{CPUMs: int64(float64(second-r.from) * 1000 * r.load)}})
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

// The fit finds what tasks add to the load of their node, and its error is far below that
// of the control, which knows no average and no workloads.
func TestLoad(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		f := Of(traces.Header{}, slices.Values(loadTrace(nodes)))
		l := f.Load
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
		if math.Abs(l.Idle-.2) > .05 || e.Fitted > .1 || e.Constant < 4*e.Fitted || e.Counters == nil || *e.Counters > .3 || *e.Counters < e.Fitted {
			t.Errorf("%d nodes: idle %.2f, errors %.3f fitted, %.3f constant, %v by counters", nodes, l.Idle, e.Fitted, e.Constant, *e.Counters)
		}
		var text strings.Builder
		if err := doc.WriteText(&text, f.Doc(), false); err != nil || !strings.Contains(text.String(), "tasks that load their node") {
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
	l := Of(traces.Header{}, slices.Values(events)).Load
	for _, x := range l.Tasks {
		if x.Load > .05 {
			t.Errorf("%+v, want no load", x)
		}
	}
	if l.Errors.Fitted < .9*l.Errors.Constant || math.Abs(l.Idle-2.5) > .1 {
		t.Errorf("idle %.2f, errors %.3f fitted and %.3f constant", l.Idle, l.Errors.Fitted, l.Errors.Constant)
	}
	if few := Of(traces.Header{}, slices.Values(events[:20])).Load; few != nil {
		t.Errorf("from 20 events: %+v", few)
	}
}

// TestPerNode has a task on a worker for 4 s from the start of the run on, and one on
// another for the last 2 s of these: 0.75 tasks on a worker in the mean. What loads were
// measured before the first does not count.
func TestPerNode(t *testing.T) {
	var h traces.Header
	for _, n := range []traces.Node{"n0", "n1"} {
		h.Cluster.Nodes = append(h.Cluster.Nodes, traces.NodeFacts{Node: n, Worker: true})
	}
	attempt := func(i int32) traces.Attempt { return traces.Attempt{Task: traces.Task{Job: "j", Index: i}} }
	sample := func(at traces.Time, n traces.Node, load float64) traces.Event {
		return &traces.NodeSample{T: at, Node: n, Load1: load, CPUUser: -1, CPUSystem: -1}
	}
	f := Of(h, slices.Values([]traces.Event{
		&traces.JobSubmitted{Job: "j", Name: "j", Maps: 2}, sample(0, "n0", 9),
		&traces.AttemptStarted{Attempt: attempt(0), Node: "n0"}, sample(1e9, "n0", 2),
		&traces.AttemptStarted{T: 2e9, Attempt: attempt(1), Node: "n1"}, sample(3e9, "n1", 4),
		&traces.AttemptFinished{T: 4e9, Attempt: attempt(0), Outcome: traces.Succeeded},
		&traces.AttemptFinished{T: 4e9, Attempt: attempt(1), Outcome: traces.Succeeded},
	}))
	if f.nodeTasks != 0.75 || f.nodeLoad != 3 {
		t.Errorf("%v tasks on a worker and a load of %v, want 0.75 and 3", f.nodeTasks, f.nodeLoad)
	}
}
