package measure_test

import (
	"fmt"
	"slices"
	"testing"

	"heddle/harness/measure"
	"heddle/traces"
)

// TestPredictions has a trace made by hand: jobs are submitted at 10 s and end at 110 s.
func TestPredictions(t *testing.T) {
	type said struct {
		at, end traces.Time // in seconds
		pct     uint8
	}
	var events []traces.Event
	for i, list := range [][]said{
		// Expected: 50 s too late at first, 20 s too early when 40 s are left, then right.
		{{10, 160, 0}, {70, 90, 50}, {100, 110, 90}},
		nil,
		// Only the first prediction of a moment counts, and no other moments do.
		{{60, 120, 50}, {61, 500, 50}, {62, 500, 75}},
		{{10, 60, 0}}, // the job fails
		{{110, 110, 90}},
	} {
		job := traces.JobID(fmt.Sprintf("job_1_%04d", i))
		events = append(events, &traces.JobSubmitted{T: 10e9, Job: job})
		for _, x := range list {
			events = append(events, &traces.JobPredicted{T: x.at * 1e9, Job: job, DonePct: x.pct, End: x.end * 1e9})
		}
		outcome := traces.Succeeded
		if i == 3 {
			outcome = traces.Failed
		}
		events = append(events, &traces.JobFinished{T: 110e9, Job: job, Outcome: outcome, DataLocalMaps: -1, RackLocalMaps: -1, OtherLocalMaps: -1, LaunchedMaps: -1, LaunchedReds: -1, Counters: traces.NoCounters})
	}
	events = append(events, &traces.JobPredicted{T: 1e9, Job: "unknown", End: 5e9})
	traces.Sort(events)
	f := measure.Of(traces.Header{Format: 1, Origin: "recorded"}, slices.Values(events))
	if f.Summary().Predictions != nil {
		t.Error("a summary has the predictions of each job")
	}
	checkDoc(t, "predictions", f)
}
