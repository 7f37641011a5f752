package experiment

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/harness/lab/labtest"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/traces"
)

// computing is a job of two maps, each of which computes for some 12 s.
const computing = `
name: computing
workloads:
  - {name: streaming, size: 8MiB, maps: 2, reduces: 1, cpu: 3s, mapOutput: 0.01}
models: [test-listener]
actuator: labels
coldReads: false
timeout: 10m
`

// TestModelHearsLab has a model hear of a lab's nodes what their agents measure, while
// it is not 2 s old. A map that computes raises the load of its node.
func TestModelHearsLab(t *testing.T) {
	c, _ := lab(t)
	made := schedtest.RegisterListener(t, 1000)
	program, err := labtest.Binary()
	if err != nil {
		t.Fatal(err)
	}
	e, source := parse(t, computing)
	run, err := Run(t.Context(), Options{Experiment: e, Source: source, Cluster: c, Root: t.TempDir(), Name: "run", Program: program, Progress: logSteps(t)})
	if err != nil {
		t.Fatal(err)
	}
	m := (*made)[len(*made)-1]
	_, events := readTrace(t, run)
	nodes := map[traces.Node]traces.Time{}
	var gap time.Duration
	for _, x := range m.Samples {
		if last, ok := nodes[x.Node]; ok {
			gap = max(gap, time.Duration(x.T-last))
		}
		nodes[x.Node] = x.T
	}
	t.Logf("%d samples of %d nodes, heard for the first time up to %d ms after they were taken, and until %d ms; agents took none for up to %v", len(m.Samples), len(nodes), m.SlowestMs, m.OldestMs, gap)
	t.Logf("heard %v; %d reports of full and %d of idle nodes", m.Heard, m.Full, m.Idle)
	if data, err := os.ReadFile(filepath.Join(run.TrialDir(run.Manifest().Trials[0].Name), "result.json")); err == nil {
		t.Logf("%s", data)
	}
	if len(nodes) < 4 || m.OldestMs >= 2000 || m.Heard["tick"] < 10 || m.Idle == 0 {
		t.Errorf("want samples of 4 nodes, at most 2 s old, 10 ticks, and reports of idle nodes")
	}
	maps := 0
	for id, a := range attemptsIn(events) {
		if id.Task.Kind != state.Map || a.took() < 8*time.Second {
			continue
		}
		maps++
		before, after := loadAt(m.Samples, a.node, a.start), loadAt(m.Samples, a.node, a.end)
		// One task that always computes adds 1 - e^(-t/60), while what was there decays.
		decay := math.Exp(-a.took().Seconds() / 60)
		t.Logf("%v on %s: load %.2f before, %.2f after %v; one more task makes it %.2f", id, a.node, before, after, a.took(), before*decay+1-decay)
		if after < before*decay+(1-decay)/2 {
			t.Errorf("%v computed for %v, and the load heard of %s rose from %.2f to %.2f only", id, a.took(), a.node, before, after)
		}
	}
	if maps != 2 {
		t.Errorf("%d maps computed for 8 s or more, want 2", maps)
	}
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
