package measure_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"heddle/harness/doc"
	"heddle/harness/internal/golden"
	"heddle/harness/measure"
	"heddle/traces"
)

// TestEstimates has a trace made by hand. Each job's two reduces fetch 600 and 400 bytes. Of
// job 0 there is no estimate, of job 1 it is right, of job 2 1500 are expected and of job 3
// 250; job 4 fails. Estimates after a job's first decision do not count, nor do wrong ones.
func TestEstimates(t *testing.T) {
	values := [][2]string{
		{"", "load=3"},
		{"estimatedBytes=1000 knownMaps=1", "estimatedBytes=7"},
		{"pGood=1 estimatedBytes=1500", ""},
		{"", "estimatedBytes=250"},
		{"estimatedBytes=1000", ""},
		{"estimatedBytes=-5", "estimatedBytes=NaN"},
		{"estimatedBytes=1e300", "xestimatedBytes=5"},
	}
	var events []traces.Event
	for i, of := range values {
		job := traces.JobID(fmt.Sprintf("job_1_%04d", i))
		events = append(events, &traces.JobSubmitted{Job: job, Maps: 1, Reduces: 2})
		for k, text := range of {
			reduce := traces.Attempt{Task: traces.Task{Job: job, Kind: traces.Reduce, Index: int32(k)}}
			counters := traces.NoCounters
			counters.ShuffleBytes = []int64{600, 400}[k]
			events = append(events,
				&traces.Decision{T: 1e9, ID: int64(2*i + k + 1), Job: job, What: traces.Reduce, BindIndex: -1, Values: text},
				&traces.AttemptStarted{T: 2e9, Attempt: reduce, Node: "n"},
				&traces.AttemptFinished{T: 3e9, Attempt: reduce, Outcome: traces.Succeeded, Counters: counters})
		}
		outcome := traces.Succeeded
		if i == 4 {
			outcome = traces.Failed
		}
		events = append(events, &traces.JobFinished{T: 4e9, Job: job, Outcome: outcome, DataLocalMaps: -1, RackLocalMaps: -1, OtherLocalMaps: -1, LaunchedMaps: -1, LaunchedReds: -1, Counters: traces.NoCounters})
	}
	events = append(events, &traces.Decision{T: 1e9, ID: 99, Job: "unknown", Values: "estimatedBytes=5"})
	traces.Sort(events)
	f := measure.Of(traces.Header{Format: 1, Origin: "recorded"}, slices.Values(events))
	checkDoc(t, "estimates", f)
}

// checkDoc compares what people read of figures with a golden file.
func checkDoc(t *testing.T, name string, f *measure.Figures) {
	t.Helper()
	var text bytes.Buffer
	mustDo(t, doc.WriteText(&text, f.Doc(), false))
	golden.Check(t, "testdata/"+name+".txt", text.Bytes())
}
