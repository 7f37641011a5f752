package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/harness/lab/labtest"
	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// TestModelHearsLab has a model hear what the agents of a lab's nodes measure, before it
// is 2 s old. Tasks that compute raise the load of their node, about as much as the
// simulator's model of the load says. A machine that is busy with other things spoils
// such a measurement, so one of three has to be right.
func TestModelHearsLab(t *testing.T) {
	c, _ := lab(t)
	program := labtest.Binary(t)
	const most = 3
	for n := range most {
		made := schedtest.RegisterListener(t, 1000)
		run := must(runText(t, c, computing, program))
		found := &findings{T: t}
		compareHeard(found, (*made)[len(*made)-1], lastTrace(t, run))
		if len(found.errors) == 0 {
			return
		}
		t.Logf("measurement %d of %d:\n%s", n+1, most, strings.Join(found.errors, "\n"))
	}
	t.Errorf("%d measurements, none without an error", most)
}

// findings collects the errors of one measurement.
type findings struct {
	*testing.T
	errors []string
}

func (f *findings) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

// compareHeard compares what a model heard with what ran.
func compareHeard(t *findings, m *schedtest.Listener, events []traces.Event) {
	// An agent's answer may be late once, or it takes no samples for a while.
	stalls, longest := stallsOf(events)
	t.Logf("%d of %d samples were heard for the first time when 2 s old or more: %v; agents took none for 2 s or more %d times, up to %v",
		m.Late, len(m.Samples), m.LateAges, stalls, longest)
	checkHeard(t, m, stalls+len(m.Samples)/30)
	maps := 0
	for id, a := range attemptsIn(events) {
		if id.Task.Kind != state.Map || a.took() < 5*time.Second {
			continue
		}
		maps++
		before, after := loadAt(m.Samples, a.node, a.start), loadAt(m.Samples, a.node, a.end)
		// One task that always computes adds 1 - e^(-t/60), while what was there decays.
		decay := math.Exp(-a.took().Seconds() / 60)
		if after < before*decay+(1-decay)/2 {
			t.Errorf("%v computed on %s for %v, and the load that was heard went from %.2f to %.2f: one more task makes it %.2f", id, a.node,
				a.took(), before, after, before*decay+1-decay)
		}
	}
	if maps != 4 {
		t.Errorf("%d maps computed for 5 s or more, want 4", maps)
	}
	compareLoad(t, events)
}

// stallsOf counts how often the agents of a trace took no sample for 2 s or more.
func stallsOf(events []traces.Event) (stalls int, longest time.Duration) {
	last := map[traces.Node]traces.Time{}
	for _, e := range events {
		if x, ok := e.(*traces.NodeSample); ok && x.Load1 >= 0 {
			if at, ok := last[x.Node]; ok {
				gap := time.Duration(x.T - at)
				if longest = max(longest, gap); gap >= 2*time.Second {
					stalls++
				}
			}
			last[x.Node] = x.T
		}
	}
	return stalls, longest
}

// compareLoad compares the loads that agents measured with those of the simulator's
// load model, which gets the same attempts, and with a control: each task that runs
// adds 1 to the load as long as it runs. Both begin from the load that was there.
func compareLoad(t *findings, events []traces.Event) {
	attempts := map[traces.Node][]ranOn{}
	for _, a := range attemptsIn(events) {
		attempts[a.node] = append(attempts[a.node], a)
	}
	var ours, control float64
	samples := 0
	for n, list := range attempts {
		slices.SortFunc(list, func(a, b ranOn) int { return int(a.start - b.start) })
		model := modelledLoad(t.T, list)
		before := loadAt(samplesOf(events), n, list[0].start)
		for _, x := range samplesOf(events) {
			if second := int(int64(x.T) / 1e9); x.Node == n && x.T >= list[0].start && second < len(model) {
				running := 0.0
				for _, a := range list {
					if a.start <= x.T && x.T < a.end {
						running++
					}
				}
				far := before + model[second] - x.Load1
				ours += far * far
				far = before + running - x.Load1
				control += far * far
				samples++
				if second%10 == 0 {
					t.Logf("%s after %d s: load %.2f measured, %.2f modelled, %.2f by the control", n, second, x.Load1, before+model[second],
						before+running)
				}
			}
		}
	}
	ours, control = math.Sqrt(ours/float64(samples)), math.Sqrt(control/float64(samples))
	t.Logf("load over %d samples: the model is off by %.2f, the control by %.2f (root mean square)", samples, ours, control)
	if samples < 20 || ours > control/2 {
		t.Errorf("%d samples, want 20 or more; an error of the load of %.2f, want at most half of the control's %.2f", samples, ours, control)
	}
}

func samplesOf(events []traces.Event) (list []traces.NodeSample) {
	for _, e := range events {
		if x, ok := e.(*traces.NodeSample); ok && x.Load1 >= 0 {
			list = append(list, *x)
		}
	}
	return list
}

// modelledLoad returns the load, by the second, of a node on which these attempts ran
// and always computed.
func modelledLoad(t *testing.T, list []ranOn) []float64 {
	size := state.Resource{MemoryMB: 1, VCores: 1}
	job := func(name string, start traces.Time, w sim.Work) sim.Job {
		return sim.Job{
			JobSpec: state.JobSpec{Name: name, Queue: "q", Maps: 1, MapSize: size, ReduceSize: size}, SubmitMs: int64(start) / 1e6,
			MapWork: []sim.Work{w},
		}
	}
	end := list[0].end
	for _, a := range list {
		end = max(end, a.end)
	}
	jobs := []sim.Job{job("sleeps", 0, sim.Work{FixedMs: int32(end/1e6) + 1000})} // samples are made while a job is alive
	for _, a := range list {
		jobs = append(jobs, job("computes", a.start, sim.Work{ComputeMs: int32(a.took().Milliseconds())}))
	}
	fifo := must(sched.New("fifo", nil))
	loads := []float64{0}
	must(sim.Run(&sim.Config{
		Cluster: sim.Machines{Nodes: []sim.Node{{Name: "n", Rack: "r", Capacity: size.Times(100)}}}, Source: &sim.Jobs{List: jobs},
		Model: fifo, Actuator: sim.Ideal, Costs: sim.NoCosts(), SampleMs: 1000,
		Record: func(e traces.Event) {
			if x, ok := e.(*traces.NodeSample); ok {
				loads = append(loads, x.Load1)
			}
		},
	}))
	return loads
}

// loadAt is the load of a node by its last sample before a time.
func loadAt(samples []traces.NodeSample, n traces.Node, at traces.Time) float64 {
	load := math.NaN()
	for _, x := range samples {
		if x.Node == n && x.T <= at {
			load = x.Load1
		}
	}
	return load
}

type ranOn struct {
	node       traces.Node
	start, end traces.Time
}

func (r ranOn) took() time.Duration { return time.Duration(r.end - r.start) }

// attemptsIn returns the attempts of a trace that have started and ended.
func attemptsIn(events []traces.Event) map[traces.Attempt]ranOn {
	all := map[traces.Attempt]ranOn{}
	for _, e := range events {
		switch e := e.(type) {
		case *traces.AttemptStarted:
			all[e.Attempt] = ranOn{node: e.Node, start: e.T}
		case *traces.AttemptFinished:
			if a, ok := all[e.Attempt]; ok {
				a.end = e.T
				all[e.Attempt] = a
			}
		}
	}
	return all
}
