package experiment

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/hibench"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// queries is two queries with Hive, each under a model that decides where tasks
// run, and under one that plans what ApplicationMasters read as well.
const queries = `
name: queries
workloads:
  - {name: join, visits: 10000, pages: 1200, maps: 3, reduces: 2}
  - {name: aggregation, visits: 10000, pages: 1200, maps: 3, reduces: 2}
models:
  - fifo
  - {model: planned, splits: plan}
actuator: labels
coldReads: false
timeout: 10m
`

// TestQueries runs queries with Hive on tables that heddle writes.
func TestQueries(t *testing.T) {
	c, clients := lab(t)
	runQueries(t, c, clients, queries, 4)
}

// TestHiBenchQueries runs the same queries by HiBench's scripts, on tables that
// HiBench's generator writes.
func TestHiBenchQueries(t *testing.T) {
	checkout := os.Getenv("HEDDLE_HIBENCH")
	if checkout == "" {
		t.Skip("no HiBench checkout: set HEDDLE_HIBENCH=DIR")
	}
	c, clients := lab(t)
	withCheckout := *c
	withCheckout.HiBench = checkout
	for _, r := range runQueries(t, &withCheckout, clients, strings.Replace(queries, "  - {model: planned, splits: plan}\n", "", 1), 2) {
		if len(r.Reports) != 1 {
			t.Fatalf("%s: reports %q, want one line", r.Trial, r.Reports)
		}
		report, err := hibench.ParseReportLine(r.Reports[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s", report.Line)
		if r.Workload == "aggregation" && report.InputBytes == r.InputBytes {
			t.Errorf("%s: HiBench gives %d bytes of input, as heddle does; it is known to give the output's", r.Trial, report.InputBytes)
		}
	}
}

// runQueries wants right results, a job for each stage of which no two run at a
// time, every decision of every stage honoured, and traces that say what each
// map read.
func runQueries(t *testing.T, c *config.Cluster, clients *clients.Clients, text string, trials int) []Result {
	t.Helper()
	before := labelsOf(t, clients)
	e, source := parse(t, text)
	run, err := Run(t.Context(), Options{Experiment: e, Source: source, Cluster: c, Root: t.TempDir(), Name: "run", Progress: logSteps(t)})
	if err != nil {
		t.Fatal(err)
	}
	awaitSame(t, clients, before)
	results, err := Results(run)
	if err != nil || len(results) != trials {
		t.Fatalf("%d results, %v; want %d", len(results), err, trials)
	}
	for _, r := range results {
		want := map[string]int{"join": 2, "aggregation": 1}[r.Workload]
		if !slices.Contains(r.Checked, "number of rows") || len(r.Jobs) != want {
			t.Errorf("%s: checked %q, jobs %+v; want %d", r.Trial, r.Checked, r.Jobs, want)
		}
		h, events, err := tracefile.ReadFile(filepath.Join(run.TrialDir(r.Trial), "trace.heddle"))
		if err != nil {
			t.Fatal(err)
		}
		checkAgainstHadoop(t, clients, events)
		checkDecisions(t, events, false)
		checkStages(t, r, events)
		if h.Splits == config.SplitsPlan && (r.Plan == nil || r.Plan.OnNode != r.Plan.Maps || r.Plan.Maps < 3) {
			t.Errorf("%s: maps on planned nodes: %+v, want all of all stages", r.Trial, r.Plan)
		}
	}
	return results
}

// checkStages wants the jobs of a query one after the other, each with honoured
// decisions alone and with maps whose input is known.
func checkStages(t *testing.T, r Result, events []traces.Event) {
	t.Helper()
	jobs := map[int64]traces.JobID{} // by decision
	honoured, other := map[traces.JobID]int{}, map[traces.JobID]int{}
	var running traces.JobID
	for _, event := range events {
		switch e := event.(type) {
		case *traces.JobSubmitted:
			if running != "" {
				t.Errorf("%s: %s is submitted while %s runs", r.Trial, e.Job, running)
			}
			running = e.Job
		case *traces.JobFinished:
			running = ""
		case *traces.TaskScheduled:
			if e.Task.Kind == traces.Map && (!strings.HasPrefix(e.Path, "/") || e.LengthBytes == 0 || len(e.Blocks) == 0) {
				t.Errorf("%s: map %v: input %q, %d bytes, blocks %v", r.Trial, e.Task, e.Path, e.LengthBytes, e.Blocks)
			}
		case *traces.Decision:
			jobs[e.ID] = e.Job
		case *traces.Actuation:
			if e.Outcome == "honoured" {
				honoured[jobs[e.Decision]]++
			} else {
				other[jobs[e.Decision]]++
			}
		}
	}
	for _, j := range r.Jobs {
		t.Logf("%s: %s: %d decisions honoured, %d others, %d ms", r.Trial, j.Name, honoured[j.ID], other[j.ID], j.CompletionMs)
		if honoured[j.ID] < 2 || other[j.ID] > 0 {
			t.Errorf("%s: %s: %d decisions honoured and %d others, want all of at least 2", r.Trial, j.ID, honoured[j.ID], other[j.ID])
		}
	}
}
