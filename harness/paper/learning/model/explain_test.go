package model

import (
	"strings"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/errtest"
)

func TestMain(m *testing.M) {
	if err := sched.Register(Info, RuleInfo); err != nil {
		panic(err)
	}
	m.Run()
}

// TestDecisionsSayWhy: each decision in a simulated capture has the probabilities and the
// features that it was taken by; decisions of fifo have none.
func TestDecisionsSayWhy(t *testing.T) {
	size := state.Resource{MemoryMB: 1, VCores: 1}
	for name, want := range map[string]string{"learning": "pGood=", "load-rule": "load=", "fifo": ""} {
		m := errtest.Must(sched.New(name, nil))
		work := make([]sim.Work, 6)
		for i := range work {
			work[i].ComputeMs = 60_000
		}
		var values []string
		errtest.Must(sim.Run(&sim.Config{
			Cluster: sim.Machines{Nodes: []sim.Node{{Name: "n", Rack: "r", Capacity: size.Times(4)}}},
			Source: &sim.Jobs{List: []sim.Job{{
				JobSpec: state.JobSpec{Name: "j", Queue: "q", Maps: 6, MapSize: size, ReduceSize: size},
				MapWork: work,
			}}},
			Model: m, Actuator: sim.Ideal, Costs: sim.NoCosts(), SampleMs: 1000,
			Record: func(e traces.Event) {
				if d, ok := e.(*traces.Decision); ok {
					values = append(values, d.Values)
				}
			},
		}))
		if len(values) != 6 {
			t.Errorf("%s: %d decisions, want 6", name, len(values))
		}
		for _, v := range values {
			if !strings.Contains(v, want) || (want == "") != (v == "") || want == "pGood=" && !strings.Contains(v, " tasks=") {
				t.Errorf("%s: a decision says %q, want it to have %q", name, v, want)
			}
		}
	}
	l := &learner{bayes: newBayes(bayesRule{Unseen: "one"}), last: vector{jobCPU: 5, load: 45}}
	for range 2 {
		l.bayes.train(vector{jobCPU: 5, load: 20}, good, 1)
		l.bayes.train(vector{jobCPU: 5, load: 30}, good, 1)
		l.bayes.train(vector{jobCPU: 5, load: 45}, bad, 1)
	}
	if got := l.Explain(); !strings.HasPrefix(got, "pGood=0.1667 pBad=0.3333 jobCPU=5 ") || !strings.Contains(got, " load=45 ") {
		t.Errorf("the worked example says %q", got)
	}
}
