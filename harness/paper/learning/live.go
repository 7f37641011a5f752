package learning

import (
	"embed"
	"fmt"
	"math"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

//go:embed live.yaml lab.yaml
var live embed.FS

// liveTargets are the loads that live.yaml asks of a node, by model.
var liveTargets = map[string]float64{rule: 1, learner: 1, "at2": 2}

// explainLive says what a run on a cluster shows of the claims that can be
// judged there: L2, L4 at two targets, L5, and the sign of L6.
func explainLive(t *paper.LiveTable) (notes []string) {
	far, reached, right := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	var changes []float64
	for i := range t.Rows {
		r := &t.Rows[i]
		target, load := liveTargets[r.Model], float64(r.Metrics["nodeLoad"].Value)
		if target == 0 || math.IsNaN(load) {
			continue
		}
		far[r.Model] = append(far[r.Model], 100*math.Abs(load/target-1))
		reached[r.Model] = append(reached[r.Model], 100*load/target)
		right[r.Model] = append(right[r.Model], float64(r.Notes["rightPct"].Value))
		if runs := t.Times(r.Workload, r.Model); r.Model == learner && len(runs) > 1 {
			changes = append(changes, 100*(runs[0]/runs[len(runs)-1]-1))
			notes = append(notes, fmt.Sprintf("%s under learning, run by run: %.1f s.", r.Workload, runs))
		}
	}
	mean := func(of map[string][]float64, model, unit string) string {
		return paper.Text(stats.Mean(of[model]), unit)
	}
	notes = append(notes, fmt.Sprintf("L2: in the mean over the jobs, a node's load is %s off its target under learning and %s under rule.", mean(far, learner, "%"), mean(far, rule, "%")))
	notes = append(notes, fmt.Sprintf("L4: learning reaches %s of a target of 1 and %s of one of 2.", mean(reached, learner, "%"), mean(reached, "at2", "%")))
	notes = append(notes, fmt.Sprintf("L5: %s of the decisions were right under learning and %s under rule, which accepts all.", mean(right, learner, "%"), mean(right, rule, "%")))
	if len(changes) > 0 {
		notes = append(notes, fmt.Sprintf("L6: the first run takes %s longer than the last, over the jobs.", paper.Text(stats.Mean(changes), "%")))
	}
	return append(notes, "L1 and L3 have no verdict here: nodes share the cores of one machine, and tasks are short.")
}
