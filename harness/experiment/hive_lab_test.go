package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/results"
	"heddle/hibench"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// queries is two queries with Hive on small tables. A join is two jobs, of which
// each has several tasks.
const queries = `
name: queries
workloads:
  - {name: join, visits: 10000, pages: 1200, maps: 2, reduces: 2}
  - {name: aggregation, visits: 10000, pages: 1200, maps: 2, reduces: 2}
models: [fifo]
actuator: labels
coldReads: false
timeout: 10m
`

// TestQueries runs queries with Hive on tables that heddle writes.
func TestQueries(t *testing.T) {
	c, clients := lab(t)
	again(t, func() []string {
		_, faults := runQueries(t, c, clients)
		return faults
	})
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
	trials, faults := runQueries(t, &withCheckout, clients)
	for _, text := range faults {
		t.Error(text)
	}
	for _, r := range trials {
		if len(r.Reports) != 1 {
			t.Fatalf("%s: reports %q, want one line", r.Name, r.Reports)
		}
		t.Log(r.Reports[0])
		if bytes := strings.Fields(r.Reports[0])[3]; r.Workload == "aggregation" && bytes == fmt.Sprint(r.InputBytes) {
			t.Errorf("%s: HiBench gives %s bytes of input, as heddle does; it is known to give the output's", r.Name, bytes)
		}
	}
}

// TestFailedQuery runs a join whose maps fail, by HiBench's scripts if there is a
// checkout: they report it like one that succeeded. The trial fails with the name
// of the job, its trace has the failure, and nothing is left on the cluster.
func TestFailedQuery(t *testing.T) {
	c, clients := lab(t)
	withCheckout := *c
	withCheckout.HiBench = os.Getenv("HEDDLE_HIBENCH")
	before := labelsOf(t, clients)
	run, err := runText(t, &withCheckout, `
name: failed
workloads:
  - name: join
    visits: 10000
    pages: 1200
    maps: 2
    reduces: 2
    settings: {mapreduce.map.java.opts: -XX:NoSuchOption, mapreduce.map.maxattempts: 1}
models: [fifo]
actuator: labels
coldReads: false
timeout: 5m
`)
	if !errors.Is(err, hibench.ErrFailedQuery) || !strings.Contains(err.Error(), "its job 1, job_") {
		t.Fatalf("error %v; want a failed query that names its first job", err)
	}
	t.Log(err)
	awaitSame(t, clients, before)
	noneRunning(t, clients, "after a failed query")
	onlyInputs(t, clients, "Join")
	trial := run.TrialDir("r01-join-fifo") + ".partial"
	_, events := must2(tracefile.ReadFile(filepath.Join(trial, "trace.heddle")))
	var outcomes []traces.Outcome
	for _, event := range events {
		if e, ok := event.(*traces.JobFinished); ok {
			outcomes = append(outcomes, e.Outcome)
		}
	}
	if !slices.Equal(outcomes, []traces.Outcome{traces.Failed}) {
		t.Errorf("jobs ended %v, want one that failed", outcomes)
	}
	if withCheckout.HiBench != "" {
		reports, err := filepath.Glob(filepath.Join(trial, "logs", "*", "report", "hibench.report"))
		if err != nil || len(reports) != 1 {
			t.Fatalf("HiBench's reports %q, %v; want one, or this shows less than it could", reports, err)
		}
		line := must(os.ReadFile(reports[0]))
		t.Logf("HiBench reports of the failed query: %s", line)
	}
}

// runQueries wants right results, a job for each stage of which no two run at a
// time, every decision of every stage honoured, and traces that say what each
// map read.
func runQueries(t *testing.T, c *config.Cluster, clients *clients.Clients) (trials []results.Trial, faults []string) {
	t.Helper()
	before := labelsOf(t, clients)
	run, err := runText(t, c, queries)
	if err != nil {
		t.Fatal(err)
	}
	awaitSame(t, clients, before)
	trials, err = results.List(run)
	if err != nil || len(trials) != 2 {
		t.Fatalf("%d trials, %v; want 2", len(trials), err)
	}
	for _, r := range trials {
		want := map[string]int{"join": 2, "aggregation": 1}[r.Workload]
		if !slices.Contains(r.Checked, "number of rows") || len(r.Jobs) != want {
			t.Errorf("%s: checked %q, jobs %+v; want %d", r.Name, r.Checked, r.Jobs, want)
		}
		_, events := must2(tracefile.ReadFile(filepath.Join(run.TrialDir(r.Name), "trace.heddle")))
		checkAgainstHadoop(t, clients, events)
		faults = append(faults, checkDecisions(t, events, false)...)
		faults = append(faults, checkStages(t, r, events)...)
	}
	return trials, faults
}

// checkStages wants the jobs of a query one after the other, each with honoured
// decisions alone and with maps whose input is known.
func checkStages(t *testing.T, r results.Trial, events []traces.Event) (faults []string) {
	t.Helper()
	jobs := map[int64]traces.JobID{} // by decision
	honoured, other := map[traces.JobID]int{}, map[traces.JobID]int{}
	var running traces.JobID
	for _, event := range events {
		switch e := event.(type) {
		case *traces.JobSubmitted:
			if running != "" {
				t.Errorf("%s: %s is submitted while %s runs", r.Name, e.Job, running)
			}
			running = e.Job
		case *traces.JobFinished:
			running = ""
		case *traces.TaskScheduled:
			if e.Task.Kind == traces.Map && (!strings.HasPrefix(e.Path, "/") || e.LengthBytes == 0 || len(e.Blocks) == 0) {
				t.Errorf("%s: map %v: input %q, %d bytes, blocks %v", r.Name, e.Task, e.Path, e.LengthBytes, e.Blocks)
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
		t.Logf("%s: %s: %d decisions honoured, %d others, %d ms", r.Name, j.Name, honoured[j.ID], other[j.ID], j.CompletionMs)
		if honoured[j.ID] < 2 || other[j.ID] > 0 {
			faults = append(faults, fmt.Sprintf("%s: %s: %d decisions honoured and %d others, want all of at least 2", r.Name, j.ID, honoured[j.ID],
				other[j.ID]))
		}
	}
	return faults
}
