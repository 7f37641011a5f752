package replay

import (
	"testing"

	"heddle/harness/config"
	"heddle/harness/sched/schedtest"
)

// TestReplayedModelHearsLoad replays a run with its recorded durations under a model that
// hears the nodes' load. It is that of the tasks where the model placed them, with the
// CPU time that their counters have. The trace has no sample of such a run.
func TestReplayedModelHearsLoad(t *testing.T) {
	made := schedtest.RegisterListener(t, 1000)
	x := loaded(t, "r01-wordcount-yarn")
	must(simulate(&Config{
		Trace: x, Model: config.Model{Model: "test-listener"}, Behaviour: config.Behaviour{Actuator: config.ActuatorIdeal},
		Seed: 1,
	}))
	m := (*made)[len(*made)-1]
	highest := 0.0
	for _, s := range m.Samples {
		highest = max(highest, s.Load1)
	}
	if len(m.Samples) < 100 || m.OldestMs > 1000 || highest < 0.05 || highest > 2 {
		t.Errorf("%d samples, up to %d ms old, load up to %.2f: want 100 or more, a second, and at most 2, as a node runs two tasks",
			len(m.Samples), m.OldestMs, highest)
	}
}
