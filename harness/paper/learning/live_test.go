package learning

import (
	"math"
	"strings"
	"testing"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// liveRow is a row of a run of some jobs, whose figures are means of the given values.
func liveRow(workload, model, target string, seconds float64, runnable, right, starts []float64) paper.LiveRow {
	of := func(xs []float64) paper.Cell { return paper.CellOf(stats.Mean(xs)) }
	return paper.LiveRow{
		Workload: workload, Model: model, Runs: len(runnable), CompletionS: of([]float64{seconds, seconds + 1, seconds - 1}),
		Params:   map[string]string{"target": target, "cpus": "1"},
		Metrics:  map[string]paper.Cell{"nodeRunnable": of(runnable), "slowedStarts": of(starts)},
		Replayed: map[string]paper.Cell{"slowedStarts": of([]float64{.5})}, Notes: map[string]paper.Cell{"rightPct": of(right)},
	}
}

// TestExplainLive: what the notes say follows from the rows, whatever the models' targets are.
func TestExplainLive(t *testing.T) {
	none := []float64{math.NaN()}
	near, far, twice := []float64{1, 1.02, .98}, []float64{1.5, 1.52, 1.48}, []float64{2, 2.02, 1.98}
	good, poor := []float64{90, 91, 89}, []float64{70, 71, 69}
	kept, lacks := []float64{1, 1.02, .98}, []float64{.5, .52, .48}
	rows := func(a, b paper.LiveRow) (list []paper.LiveRow) {
		for _, w := range []string{"cpu", "io", "sleep"} {
			a.Workload, b.Workload = w, w
			list = append(list, a, b)
		}
		return append(list, paper.LiveRow{Workload: "cpu", Model: "fifo"})
	}
	one := func(a, b paper.LiveRow) []paper.LiveRow { return []paper.LiveRow{a, b} }
	for _, x := range []struct {
		name               string
		rows               []paper.LiveRow
		says, says2, lacks string
	}{
		{"learning is nearer", rows(liveRow("", rule, "1", 300, far, poor, none), liveRow("", learner, "1", 300, near, good, none)), "L2: tasks that run or wait are nearer to the target under learning than under rule by 50.0 points (holds)", "L5: right decisions under learning above those under rule, which accepts all 20.0", "not testable"},
		{"rule is nearer", rows(liveRow("", rule, "1", 300, near, good, none), liveRow("", learner, "1", 300, far, poor, none)), "L2: tasks that run or wait are nearer to the target under learning than under rule by -50.0", "(reversed)", "L7"},
		{"a target of 2", rows(liveRow("", rule, "1", 300, near, good, none), liveRow("", "at2", "2", 300, twice, good, none)), "L4: tasks that run or wait over the target, at2 1.00 (holds)", "L1 and L3", "L2: "},
		{"one job", one(liveRow("cpu", rule, "1", 300, far, poor, none), liveRow("cpu", learner, "1", 300, near, good, none)), "by 50.0 [43.0, 57.0] points (holds)", "learning 1.00 [0.95, 1.05] (holds)", "not testable"},
		{"one job, one run", one(liveRow("cpu", rule, "1", 300, far[:1], poor, none), liveRow("cpu", learner, "1", 300, near[:1], good, none)), "L2: tasks that run or wait are nearer to the target under learning than under rule by 50.0", "(not testable)", "(reversed)"},
		{"brief runs", rows(liveRow("", rule, "1", 30, far, poor, none), liveRow("", learner, "1", 30, near, good, none)), "L2 and L4 are not testable in runs of 30 s and less: a load average of a minute has seen at most 39 % of what runs", "L5", "L2: "},
		{"a slow node", rows(liveRow("", rule, "1", 300, near, good, kept), liveRow("", learner, "1", 300, near, good, lacks)), "L7: starts that the slow node lacks under learning in minutes 2 and 3, replayed 0.50, here 0.50 [0.45, 0.55] (holds)", "under rule in minutes 2 and 3, replayed 0.50, here 0", "L6"},
	} {
		notes := strings.Join(explainLive(&paper.LiveTable{Rows: x.rows}), "\n")
		if !strings.Contains(notes, x.says) || !strings.Contains(notes, x.says2) || strings.Contains(notes, x.lacks) {
			t.Errorf("%s: want %q and %q and no %q in\n%s", x.name, x.says, x.says2, x.lacks, notes)
		}
	}
}
