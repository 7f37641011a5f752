package measure_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/doc"
	"heddle/harness/internal/golden"
	"heddle/harness/measure"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/jhist"
	"heddle/traces/tracefile"
)

// TestRealJobs summarises jobs that ran on Hadoop 3.4.2: their sums must equal
// Hadoop's counters, and the text and JSON the golden files.
func TestRealJobs(t *testing.T) {
	info := measure.Of(realTrace(t))
	if info.Jobs != 4 {
		t.Fatalf("%d jobs, want 4", info.Jobs)
	}
	for _, j := range info.JobList {
		if len(j.Differences) > 0 || j.Outcome == traces.Succeeded && j.Compared != 8 {
			t.Errorf("%s: %d totals compared, differences %v", j.ID, j.Compared, j.Differences)
		}
	}
	var text, indented bytes.Buffer
	mustDo(t, doc.WriteText(&text, info.Doc(), false))
	enc := json.NewEncoder(&indented)
	enc.SetIndent("", "  ")
	mustDo(t, enc.Encode(info))
	golden.Check(t, "testdata/real.txt", text.Bytes())
	golden.Check(t, "testdata/real.json", indented.Bytes())
}

// TestScenarios has small traces, each made to show a thing: its name. Beside each are its text, its JSON and its metrics.
// What a trace shows was worked out by hand first, such as in two-jobs the use of 25 %: twice 4 s of 1 GiB and 3 s of
// 2 GiB, of 8 GiB for 10 s; and in capacity-falls 10 of 8*2 + 2*4 + 2*3, since a has less for a while.
func TestScenarios(t *testing.T) {
	paths := errtest.Must(filepath.Glob("testdata/scenarios/*.jsonl"))
	if len(paths) < 28 {
		t.Fatalf("%d scenarios", len(paths))
	}
	for _, path := range paths {
		r := errtest.Must(tracefile.Open(path))
		f := measure.Of(r.Header(), r.All())
		mustDo(t, r.Err())
		r.Close()
		var text bytes.Buffer
		mustDo(t, doc.WriteText(&text, f.Doc(), false))
		fmt.Fprintf(&text, "%s\n", errtest.Must(json.MarshalIndent(f, "", " ")))
		fmt.Fprintf(&text, "maps take %g ms, reduces after the last map %g ms\n", f.MapDurations().MeanMs(), f.ReduceRests().MeanMs())
		for _, j := range f.JobList {
			fmt.Fprintf(&text, "%s: %+v, fetched %+v, reduces on %v\n", j.ID, j.Records, j.Fetched, j.ReduceNodes)
		}
		for _, m := range measure.Metrics() {
			if x := m.Of(f); !math.IsNaN(x) {
				fmt.Fprintf(&text, "%s %.9g\n", m.Name, x)
			}
		}
		golden.Check(t, strings.TrimSuffix(path, ".jsonl")+".txt", text.Bytes())
	}
}

// TestStableKeys holds the keys that other programs rely on.
func TestStableKeys(t *testing.T) {
	text := errtest.Must(json.Marshal(measure.Of(traces.Header{Format: 1}, slices.Values[[]traces.Event](nil))))
	for _, want := range []string{
		`"format":1,"jobs":0,"maps":0,"reduces":0,"attempts":{"ok":0,"failed":0,"killed":0}`,
		`"locality":{"cache":0,"node":0,"rack":0,"off":0,"unknown":0}`,
		`"splitLocality":{"node":0,"rack":0,"off":0,`,
		`"bytes":{"input":0,"shuffle":0,"output":0},"synthetic":[],`,
		`"decisions":{"made":0,"honoured":0,"bindPredicted":0,"p50Ms":0,"p95Ms":0}`,
		`"scheduleDigest":"0000000000000000","traceDigest":""`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("JSON lacks %s:\n%s", want, text)
		}
	}
}

// TestCompletion: the mean is over jobs that succeeded; one that failed early
// does not make it shorter, and one that never ended counts as not succeeded.
func TestCompletion(t *testing.T) {
	var events []traces.Event
	for i, end := range []struct {
		at      traces.Time
		outcome traces.Outcome
	}{{10e9, traces.Succeeded}, {1e9, traces.Failed}, {30e9, traces.Succeeded}, {2e9, traces.Killed}, {}} {
		id := traces.JobID(fmt.Sprint("j", i))
		events = append(events, &traces.JobSubmitted{Job: id})
		if end.at > 0 {
			events = append(events, &traces.JobFinished{T: end.at, Job: id, Outcome: end.outcome})
		}
	}
	f := measure.Of(traces.Header{}, slices.Values(events))
	want := measure.Completion{SumMs: 40e3, Succeeded: 2, Others: 3}
	if f.MeanCompletionMs != 20e3 || f.NotSucceeded != 3 || f.Completion() != want {
		t.Errorf("mean %v ms, %d not succeeded, %+v; want 20 s, 3, %+v", f.MeanCompletionMs, f.NotSucceeded, f.Completion(), want)
	}
	if text := want.OthersText(); text != "3 of 5 jobs did not succeed and are not in their mean completion time" {
		t.Error(text)
	}
	none := measure.Completion{Others: 1}
	if got := none.MeanMs(); !math.IsNaN(got) {
		t.Errorf("the mean of no job is %v", got)
	}
}

func realTrace(t *testing.T) (traces.Header, func(func(traces.Event) bool)) {
	t.Helper()
	files, _ := filepath.Glob("../../traces/jhist/testdata/*.jhist")
	var all []traces.Event
	for _, path := range files {
		f, err := os.Open(path)
		mustDo(t, err)
		job, _, err := jhist.Parse(f)
		f.Close()
		mustDo(t, err)
		all = append(all, jhist.Events(job, 1795265339563*1e6)...)
	}
	traces.Sort(all)
	return traces.Header{Format: 1, Origin: traces.Recovered, Model: "yarn"}, slices.Values(all)
}

// TestMadeUp: what the import of a trace made up gives no value, what a simulation
// made does.
func TestMadeUp(t *testing.T) {
	f := &measure.Figures{
		MakespanMs: 1000, Locality: measure.Locality{Node: 3, Off: 1}, UtilisationPct: 50,
		Synthetic: []string{"nodes", "replicas"},
	}
	for _, c := range []struct {
		metric string
		origin traces.Origin
		known  bool
	}{
		{"nodeLocal", traces.Imported, false},
		{"slotUse", traces.Imported, false},
		{"makespan", traces.Imported, true},
		{"nodeLocal", traces.Simulated, true},
		{"slotUse", traces.Simulated, true},
	} {
		list := errtest.Must(measure.Find([]string{c.metric}))
		f.Origin = c.origin
		if x := list[0].Of(f); math.IsNaN(x) == c.known {
			t.Errorf("%s of a trace that is %v: %v, want it known: %v", c.metric, c.origin, x, c.known)
		}
		if list[0].IsShare() && (list[0].Share(f).Of > 0) != c.known {
			t.Errorf("%s of a trace that is %v: a share of %+v", c.metric, c.origin, list[0].Share(f))
		}
	}
}

// TestScheduleDigest: figures have the digest of the schedule whichever of an attempt's events
// comes first, lacks, or comes again.
func TestScheduleDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var schedule traces.Schedule
		c := measure.New(traces.Header{})
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			a := traces.Attempt{Task: traces.Task{
				Job: "job_1", Kind: traces.TaskKind(rapid.IntRange(0, 1).Draw(t, "kind")),
				Index: int32(rapid.IntRange(-1, 1).Draw(t, "task")),
			}, Number: int32(rapid.IntRange(0, 1).Draw(t, "attempt"))}
			at := traces.Time(rapid.Int64Range(0, 1000).Draw(t, "at"))
			var e traces.Event = &traces.AttemptFinished{T: at, Attempt: a, Counters: traces.NoCounters}
			switch {
			case rapid.Bool().Draw(t, "starts"):
				e = &traces.AttemptStarted{T: at, Attempt: a, Node: traces.Node(rapid.SampledFrom([]string{"", "n1", "n2"}).Draw(t, "node"))}
			case rapid.IntRange(0, 9).Draw(t, "launched") == 0:
				a.Number = 7
				e = &traces.AttemptFinished{T: at, Attempt: a, Unlaunched: true, Counters: traces.NoCounters}
			}
			schedule.Add(e)
			c.Add(e)
		}
		if got, want := c.Figures().ScheduleDigest, schedule.Digest().String(); got != want {
			t.Errorf("digest %s, want %s", got, want)
		}
	})
}

var mustDo = errtest.None
