package replay

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/harness/measure"
	"heddle/harness/replay/recorded"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// TestBrief: a trace that is read in brief gives the same table row as one that is read
// in full, and the same jobs, also if attempts end before they start or more often than
// they start, and if jobs are submitted late or never.
func TestBrief(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := []traces.Event{&traces.JobSubmitted{T: 1, Job: "a", Maps: 3, Reduces: 2}}
		for at := range traces.Time(rapid.IntRange(0, 60).Draw(t, "events")) {
			task := traces.Task{
				Job:   rapid.SampledFrom([]traces.JobID{"a", "a", "a", "b", "c"}).Draw(t, "job"),
				Kind:  rapid.SampledFrom([]traces.TaskKind{traces.Map, traces.Map, traces.Reduce}).Draw(t, "kind"),
				Index: rapid.SampledFrom([]int32{0, 0, 1, 9}).Draw(t, "index"),
			}
			a := traces.Attempt{Task: task, Number: rapid.Int32Range(0, 1).Draw(t, "number")}
			level := rapid.SampledFrom([]traces.Level{traces.LevelUnknown, traces.LevelNode, traces.LevelRack}).Draw(t, "level")
			outcome := rapid.SampledFrom([]traces.Outcome{traces.Succeeded, traces.Succeeded, traces.Failed, traces.Killed}).Draw(t, "outcome")
			events = append(events, rapid.SampledFrom([]traces.Event{
				&traces.JobSubmitted{T: at, Job: "b", Maps: 1},
				&traces.JobFinished{T: at, Job: task.Job, Outcome: outcome},
				&traces.TaskScheduled{T: at, Task: task, SplitHosts: []traces.Node{"n"}},
				&traces.TaskFinished{T: at, Task: task},
				&traces.Decision{T: at, ID: int64(at) + 1, Job: task.Job, Node: "n", TaskIndex: -1},
				&traces.Heartbeat{T: at, Node: "n"},
				&traces.AttemptStarted{T: at, Attempt: a, Node: "n", ReplicaLocality: level, SplitLocality: traces.LevelOff},
				&traces.AttemptStarted{T: at, Attempt: a, Node: "m", ReplicaLocality: level},
				&traces.AttemptFinished{T: at, Attempt: a, Outcome: outcome},
				&traces.AttemptFinished{T: at, Attempt: a, Outcome: outcome},
			}).Draw(t, "event"))
		}
		for i, again := 0, false; i < len(events); i++ {
			if j, ok := events[i].(*traces.JobSubmitted); ok && j.Job == "b" {
				if again {
					events = slices.Delete(events, i, i+1)
					i--
				}
				again = true
			}
		}
		traces.Sort(events)
		events = append(events, &traces.JobFinished{T: 99, Job: "a", Outcome: traces.Succeeded})
		var file bytes.Buffer
		if err := tracefile.WriteLines(&file, traces.Header{Format: traces.FormatVersion, Origin: traces.Simulated},
			slices.Values(events)); err != nil {
			t.Fatal(err)
		}
		open := func() *tracefile.Reader {
			r := must(tracefile.NewReader(bytes.NewReader(file.Bytes()), "x"))
			return r
		}
		r := open()
		full, brief := measure.New(r.Header()), measure.New(r.Header())
		want, err := recorded.Read("x", r, full.Add)
		if err != nil {
			t.Fatal(err)
		}
		got, counts, err := recorded.ReadBrief("x", open(), func(e traces.Event, counted bool) {
			if !counted {
				brief.Add(e)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		brief.AddCounted(counts.Schedule, counts.Maps)
		type row struct {
			Jobs, NotSucceeded int
			MakespanMs, MeanMs float64
			Locality           measure.Locality
			Digest             string
		}
		rowOf := func(f *measure.Figures) row {
			return row{f.Jobs, f.NotSucceeded, f.MakespanMs, f.MeanCompletionMs, f.Locality, f.ScheduleDigest}
		}
		if d := cmp.Diff(rowOf(full.Figures()), rowOf(brief.Figures())); d != "" {
			t.Fatalf("in full -, in brief +:\n%s", d)
		}
		if want.Tasks() != got.Tasks() || len(want.Jobs) != len(got.Jobs) || len(got.Heartbeats)+len(got.Decisions) > 0 {
			t.Fatalf("%d tasks of %d jobs, %d heartbeats and %d decisions; want %d of %d and none", got.Tasks(), len(got.Jobs), len(got.Heartbeats),
				len(got.Decisions), want.Tasks(), len(want.Jobs))
		}
	})
}
