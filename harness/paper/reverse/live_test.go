package reverse

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"heddle/harness/config"
	"heddle/harness/paper"
)

// TestLiveFiles: the experiments for a cluster can be read, have the schedulers that explainLive
// speaks of, and one kind of other load. There are six jobs or more, each with a deadline.
func TestLiveFiles(t *testing.T) {
	for _, file := range []string{paper.ExperimentFile, "quota.yaml"} {
		data, err := fs.ReadFile(live, file)
		if err != nil {
			t.Fatal(err)
		}
		e, err := config.ParseExperiment(file, data)
		if err != nil {
			t.Fatal(err)
		}
		var models []string
		for _, m := range e.Models {
			models = append(models, m.Label)
		}
		if strings.Join(models, " ") != strings.Join(liveModels, " ") || e.Workloads[0].Label != liveJobs || e.Capacity.Given() == (len(e.Faults) > 0) {
			t.Errorf("%s: models %q and workload %q, want %q and %q, under changing capacity or on slow nodes", file, models, e.Workloads[0].Label, liveModels, liveJobs)
		}
	}
	jobs, err := fs.ReadFile(live, "jobs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if submitted, due := strings.Count(string(jobs), "jobSubmitted"), strings.Count(string(jobs), `"deadlineMs":`); submitted < 6 || due != submitted || strings.Contains(string(jobs), `"deadlineMs":0`) {
		t.Errorf("%d jobs, %d with a deadline: want six or more, all with one", submitted, due)
	}
}

// TestRepeatsFor: by hand, half of six jobs missed at random differ by 28.9 points between two
// runs, and 2 points are told by (2.8·28.9/2)² = 1637 runs or so; a chance of 1 % takes far fewer.
func TestRepeatsFor(t *testing.T) {
	for chance, want := range map[float64][2]float64{.5: {1550, 1720}, .01: {60, 72}} {
		var pct, repeats, jobs float64
		if _, err := fmt.Sscanf(repeatsFor(chance), "with %f %% of the deadlines missed by chance, some %f repeats of %f jobs tell 2 points", &pct, &repeats, &jobs); err != nil || repeats < want[0] || repeats > want[1] || jobs != 6 {
			t.Errorf("%v: %s, want %v repeats (%v)", chance, repeatsFor(chance), want, err)
		}
	}
}

// TestExplainNothing: without trials there is nothing to say but that no claim is decided.
func TestExplainNothing(t *testing.T) {
	notes := explainLive(&paper.LiveTable{})
	for _, n := range notes {
		if strings.HasPrefix(n, "R6") {
			t.Errorf("of no trial: %q", n)
		}
	}
	if len(notes) == 0 || !strings.Contains(notes[len(notes)-1], "decide no claim") {
		t.Errorf("notes %q", notes)
	}
}
