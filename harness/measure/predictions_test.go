package measure_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"heddle/harness/doc"
	"heddle/harness/internal/golden"
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
	var got []string
	for _, p := range f.Predictions {
		text := fmt.Sprintf("%s %.0f:", p.Job, p.TookMs/1000)
		for _, x := range p.List {
			text += fmt.Sprintf(" %d %.0f %.0f", x.DonePct, x.AtMs/1000, x.EndMs/1000)
			if x.ErrorPct != nil {
				text += fmt.Sprintf(" %+.0f%%", math.Round(*x.ErrorPct))
			}
		}
		got = append(got, text)
	}
	want := []string{
		"job_1_0000 100: 0 0 150 +50% 50 60 80 -50% 90 90 100 +0%",
		"job_1_0002 100: 50 50 110 +20%",
		"job_1_0003 -0: 0 0 50",
		"job_1_0004 100: 90 100 100",
	}
	if !slices.Equal(got, want) {
		t.Errorf("predictions\n%q, want\n%q", got, want)
	}
	if f.Summary().Predictions != nil {
		t.Error("a summary has the predictions of each job")
	}
	var text bytes.Buffer
	if err := doc.WriteText(&text, f.Doc(), false); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/predictions.txt", text.Bytes())
}
