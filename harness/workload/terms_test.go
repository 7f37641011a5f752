package workload_test

import (
	"testing"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/traces"
)

// TestTerms has deadlines of all kinds of workloads in the events of their twins.
// A trace keeps the deadline of its own unless the experiment file gives another.
func TestTerms(t *testing.T) {
	after := config.Deadline{After: units.Duration(90 * time.Second)}
	recorded := config.Workload{
		Name: config.WorkloadTrace, Label: "day",
		Trace: "../fidelity/testdata/run/trials/r01-wordcount-yarn/trace.heddle", Speed: 1, Scale: 1,
	}
	again := recorded
	again.Deadline = config.Deadline{Times: 2, Recorded: true}
	for _, c := range []struct {
		w    config.Workload
		want int64
	}{
		{config.Workload{Name: "sort", Label: "sort", Size: 64 * units.MiB, Maps: 4, Reduces: 1, Deadline: after, Jobs: 2}, 90_000},
		{config.Workload{Name: config.Streaming, Label: "s", Size: 64 * units.MiB, Maps: 4, Deadline: after}, 90_000},
		{config.Workload{Name: config.Streaming, Label: "s", Size: 64 * units.MiB, Maps: 4}, 0},
		{recorded, 0},
		{again, 2 * 55_555},
	} {
		c.w.Hints.Map.CPU = 4
		got := twin(t, c.w, config.Cache{}, 1).submitted.Terms
		if want := (traces.Terms{DeadlineMs: c.want, Hints: traces.JobHints{Map: traces.Hints{CPU: 4}}}); got != want {
			t.Errorf("%s: terms %+v, want %+v", c.w.Label, got, want)
		}
	}
}
