package workload

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/harness/doc"
	"heddle/harness/internal/golden"
	"heddle/harness/measure"
	"heddle/traces"
	"heddle/traces/errtest"
)

// asked is a submission of 4 maps of 1 MiB and 2 reduces.
func asked(name string, submitMs int64) *Asked {
	return &Asked{
		Job: name, SubmitMs: submitMs, Maps: 4, Reduces: 2, InputBytes: 4 << 20, ShuffleBytes: 2 << 20, OutputBytes: 1 << 20,
		Recorded: &Recorded{CompletionMs: 20_000, Locality: measure.Locality{Node: 3, Rack: 1}},
	}
}

// exact is a job that did what asked says, submitted at a time of the trace.
func exact(submitMs float64) *measure.Job {
	return &measure.Job{
		SubmitMs: submitMs, CompletionMs: 10_000, Outcome: traces.Succeeded, Maps: 4, Reduces: 2, Attempts: measure.Attempts{OK: 6},
		Bytes: measure.Bytes{Input: 4 << 20, Shuffle: 2 << 20, Output: 1 << 20}, Locality: measure.Locality{Cache: 2, Node: 2}, MapWaitMs: 400,
	}
}

// TestAchieved holds the text of comparisons against golden files, and their
// warnings against the reasons that the cases make.
func TestAchieved(t *testing.T) {
	late := exact(150_000)
	failed := exact(103_000)
	failed.Outcome, failed.Bytes, failed.Attempts = traces.Failed, measure.Bytes{}, measure.Attempts{OK: 2, Failed: 4, Killed: 1}
	short := exact(100_000)
	short.Bytes.Output /= 2
	full := exact(100_000)
	full.MapWaitMs = 4 * 3000
	tiny := &Asked{Job: "tiny", Maps: 1, Reduces: 1, InputBytes: 4096, FlooredInput: 4000, ShuffleBytes: 100}
	tinyDone := &measure.Job{
		Outcome: traces.Succeeded, Maps: 1, Reduces: 1, Attempts: measure.Attempts{OK: 2},
		Bytes: measure.Bytes{Input: 8000, Shuffle: 130},
	}
	for _, c := range []struct {
		name    string
		done    []Done
		warning string // words that a warning must contain; empty means no warning
	}{
		{"exact", []Done{
			{Asked: asked("a", 0), Jobs: []*measure.Job{exact(100_000)}},
			{Asked: asked("b", 50_000), Jobs: []*measure.Job{exact(150_100)}},
		}, ""},
		{"late", []Done{
			{Asked: asked("a", 0), Jobs: []*measure.Job{exact(100_000)}},
			{Asked: asked("b", 20_000), Answer: 29 * time.Second, Jobs: []*measure.Job{late}},
		}, "submitting them took 14.5 s"},
		{"admitted late", []Done{
			{Asked: asked("a", 0), Answer: 100 * time.Millisecond, Jobs: []*measure.Job{exact(100_000)}},
			{Asked: asked("b", 20_000), Answer: 300 * time.Millisecond, Jobs: []*measure.Job{late}},
		}, "YARN had accepted them 0.2 s after"},
		{"late for no known reason", []Done{
			{Asked: asked("a", 0), Jobs: []*measure.Job{exact(100_000)}},
			{Asked: asked("b", 20_000), Jobs: []*measure.Job{late}},
		}, "it is not known why"},
		{"late by little", []Done{
			{Asked: asked("a", 0), Jobs: []*measure.Job{exact(100_000)}},
			{Asked: asked("b", 500), Jobs: []*measure.Job{exact(101_300)}},
		}, ""},
		{
			"labels",
			[]Done{
				{Asked: asked("a", 0), Jobs: []*measure.Job{exact(100_000)}},
				{Asked: asked("b", 20_000), LabelWait: 30 * time.Second, Answer: 30_100 * time.Millisecond, Jobs: []*measure.Job{late}},
			},
			"waited 15.0 s for node labels",
		},
		{"failed", []Done{
			{Asked: asked("a", 0), Jobs: []*measure.Job{exact(100_000)}},
			{Asked: asked("b", 3000), Jobs: []*measure.Job{failed}},
			{Asked: asked("c", 4000)},
		}, "2 jobs failed"},
		{"short", []Done{{Asked: asked("a", 0), Jobs: []*measure.Job{short}}}, "output: -50.0%"},
		{"full", []Done{{Asked: asked("a", 0), Jobs: []*measure.Job{full}}}, "maps waited 3.0 s"},
		{"tiny", []Done{{Asked: tiny, Jobs: []*measure.Job{tinyDone}}}, "maps read whole lines"},
		{"two in one", []Done{{Asked: &Asked{
			Job: "stages", Maps: 8, Reduces: 4, InputBytes: 8 << 20, ShuffleBytes: 4 << 20,
			OutputBytes: 2 << 20,
		}, Jobs: []*measure.Job{exact(0), exact(10_000)}}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Achieve(c.done)
			var out strings.Builder
			errtest.None(t, doc.WriteText(&out, a.Doc(), false))
			golden.Check(t, filepath.Join("testdata", "achieved-"+strings.ReplaceAll(c.name, " ", "-")+".golden"), out.String())
			if all := strings.Join(a.Warnings, "\n"); (c.warning == "") != (all == "") || !strings.Contains(all, c.warning) {
				t.Errorf("warnings %q, want one with %q", a.Warnings, c.warning)
			}
		})
	}
}

// TestAchievedNothing has no comparison where nothing was asked for.
func TestAchievedNothing(t *testing.T) {
	if a := Achieve([]Done{{Jobs: []*measure.Job{exact(0)}}}); a != nil {
		t.Errorf("a comparison without anything asked for: %+v", a)
	}
}
