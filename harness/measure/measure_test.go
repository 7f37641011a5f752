package measure_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/harness/measure"
	"heddle/traces"
	"heddle/traces/jhist"
)

var update = flag.Bool("update", false, "write the golden files anew")

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
	if err := info.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	enc := json.NewEncoder(&indented)
	enc.SetIndent("", "  ")
	if err := enc.Encode(info); err != nil {
		t.Fatal(err)
	}
	golden(t, "real.txt", text.Bytes())
	golden(t, "real.json", indented.Bytes())
}

// TestStableKeys holds the keys that other programs rely on.
func TestStableKeys(t *testing.T) {
	text, err := json.Marshal(measure.Of(traces.Header{Format: 1}, slices.Values[[]traces.Event](nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"format":1,"jobs":0,"maps":0,"reduces":0,"attempts":{"ok":0,"failed":0,"killed":0}`,
		`"locality":{"cache":0,"node":0,"rack":0,"off":0,"unknown":0}`,
		`"splitLocality":{"node":0,"rack":0,"off":0,`,
		`"bytes":{"input":0,"shuffle":0,"output":0},"synthetic":[],`,
		`"decisions":{"made":0,"honoured":0,"bindPredicted":0,"p50Ms":0,"p95Ms":0}`,
		`"scheduleDigest":"0000000000000000","traceDigest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("JSON lacks %s:\n%s", want, text)
		}
	}
}

func TestDecisions(t *testing.T) {
	bound := traces.Attempt{Task: traces.Task{Job: "j", Index: 4}}
	info := measure.Of(traces.Header{}, slices.Values([]traces.Event{
		&traces.Decision{T: 1e6, ID: 1, Job: "j", BindIndex: 4, BindBranch: "node"},
		&traces.Decision{T: 1e6, ID: 2, Job: "j", BindIndex: 5, BindBranch: "node"},
		&traces.Decision{ID: 3, Job: "j", BindIndex: -1},
		&traces.Actuation{Decision: 1, AskedAt: 2e6, GrantedAt: 3e6, Outcome: "honoured", Bound: bound},
		&traces.Actuation{Decision: 2, AskedAt: 2e6, GrantedAt: 10e6, Outcome: "honoured", Bound: bound},
		&traces.Actuation{Decision: 3, AskedAt: 1e6, Outcome: "none", Cause: "no container came"},
		&traces.Decision{T: 3e6, ID: 4, Job: "j", BindIndex: 0, BindBranch: "rack"},
		&traces.Actuation{Decision: 4, GrantedAt: 8e6, Outcome: "honoured", Bound: traces.Attempt{Task: traces.Task{Job: "j"}}},
	}))
	want := measure.Decisions{
		Made: 4, Honoured: 3, BindPredicted: 2, P50Ms: 5, P95Ms: 9,
		Branches: []measure.Branch{{Branch: "node", Maps: 2, Predicted: 1}, {Branch: "rack", Maps: 1, Predicted: 1}},
		Misses: []measure.Miss{
			{Decision: 2, Job: "j", Outcome: "bound otherwise", Cause: "map 4, not 5 (node)"},
			{Decision: 3, Job: "j", Outcome: "none", Cause: "no container came"},
		},
	}
	if d := cmp.Diff(want, info.Decisions, cmpopts.IgnoreUnexported(measure.Decisions{})); d != "" {
		t.Errorf("decisions (-want +got):\n%s", d)
	}
}

func realTrace(t *testing.T) (traces.Header, func(func(traces.Event) bool)) {
	t.Helper()
	files, _ := filepath.Glob("../../traces/jhist/testdata/*.jhist")
	var all []traces.Event
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		job, _, err := jhist.Parse(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, jhist.Events(job, 1795265339563*1e6)...)
	}
	traces.Sort(all)
	return traces.Header{Format: 1, Origin: traces.Recovered, Model: "yarn"}, slices.Values(all)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// TestPlan counts where the maps of planned splits ran: of maps that succeeded,
// and whose split names one host.
func TestPlan(t *testing.T) {
	var events []traces.Event
	run := func(index int32, node traces.Node, outcome traces.Outcome, hosts ...traces.Node) {
		a := traces.Attempt{Task: traces.Task{Job: "job_1_1", Kind: traces.Map, Index: index}}
		events = append(events, &traces.TaskScheduled{Task: a.Task, SplitHosts: hosts},
			&traces.AttemptStarted{Attempt: a, Node: node}, &traces.AttemptFinished{Attempt: a, Node: node, Outcome: outcome})
	}
	run(0, "a", traces.Succeeded, "a")
	run(1, "b", traces.Succeeded, "a")
	run(2, "a", traces.Failed, "a")
	run(3, "a", traces.Succeeded, "a", "b")
	run(4, "a", traces.Succeeded)
	info := measure.Of(traces.Header{Splits: "plan"}, slices.Values(events))
	if got := info.Plan.String(); got != "plan: 1 of 2 maps on the planned node" {
		t.Error(got)
	}
	if info := measure.Of(traces.Header{Splits: "cachedOnly"}, slices.Values(events)); info.Plan != nil {
		t.Errorf("%v without a plan", info.Plan)
	}
}
