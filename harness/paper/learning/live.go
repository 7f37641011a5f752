package learning

import (
	"embed"
	"fmt"
	"math"
	"strconv"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

//go:embed live.yaml long.yaml lab.yaml
var live embed.FS

// steeredS is how long a run must last, in s, for its load to be judged: a load average of
// a minute has then seen 86 % of what runs.
const steeredS = 120

// explainLive says what a run on a cluster shows of the claims that can be judged there:
// L2, L4 at two targets, L5, the sign of L6, and L7.
func explainLive(t *paper.LiveTable) (notes []string) {
	say := func(e paper.Effect) { notes = append(notes, paper.Said([]paper.Effect{e})...) }
	// By model, for each workload: tasks that run or wait over the target, and right decisions.
	reached, right := map[string][]stats.Estimate{}, map[string][]stats.Estimate{}
	var models []string
	targets := map[string]string{}
	var saved []float64
	brief := 0. // time of the longest run that was too brief
	for i := range t.Rows {
		r := &t.Rows[i]
		target, err := strconv.ParseFloat(r.Params["target"], 64)
		cpus, err2 := strconv.ParseFloat(r.Params["cpus"], 64)
		if err != nil || err2 != nil {
			continue // a model that has no target
		}
		if targets[r.Model] == "" {
			models, targets[r.Model] = append(models, r.Model), r.Params["target"]
		}
		if seconds := float64(r.CompletionS.Value); seconds >= steeredS {
			reached[r.Model] = append(reached[r.Model], r.Metrics["nodeRunnable"].Scaled(0, 1/(target*cpus), r.Runs))
		} else {
			brief = max(brief, seconds)
		}
		right[r.Model] = append(right[r.Model], r.Notes["rightPct"].Scaled(0, 1, r.Runs))
		if times := t.Times(r.Workload, r.Model); r.Model == learner && len(times) > 1 {
			saved = append(saved, 100*(1-times[len(times)-1]/times[0]))
			notes = append(notes, fmt.Sprintf("%s under learning, run by run: %.1f s", r.Workload, times))
		}
		if starts := r.Metrics["slowedStarts"]; !math.IsNaN(float64(starts.Value)) {
			what := fmt.Sprintf("L7: starts that the slow node lacks under %s in minutes 2 and 3", r.Model)
			if is, known := r.Replayed["slowedStarts"]; known {
				what += fmt.Sprintf(", replayed %.2f, here", 1-float64(is.Value))
			}
			say(paper.Effect{What: what, Estimate: starts.Scaled(1, -1, r.Runs), Least: .3})
		}
	}
	if brief > 0 {
		notes = append(
			notes,
			fmt.Sprintf(
				"L2 and L4 are not testable in runs of %.0f s and less: a load average of a minute has seen at most %.0f %% of what runs, and the "+
					"jobs are all started before it rises; heddle paper learning long --live has runs of minutes.",
				brief,
				100*(1-math.Exp(-brief/60)),
			),
		)
	}
	off := func(e stats.Estimate) stats.Estimate {
		e.Value = 100 * math.Abs(e.Value-1)
		e.Lo, e.Hi = 100*e.Lo, 100*e.Hi
		return e
	}
	same := func(e stats.Estimate) stats.Estimate { return e }
	for _, model := range models {
		say(
			paper.Effect{
				What:     "L4: tasks that run or wait over the target, " + model,
				Estimate: paper.Over(reached[model]),
				Band:     [2]float64{.9, 1.1},
			},
		)
		if model == rule || targets[model] != targets[rule] {
			continue
		}
		say(
			paper.Effect{
				What:     fmt.Sprintf("L2: tasks that run or wait are nearer to the target under %s than under rule by", model),
				Unit:     "points",
				Estimate: paper.Less(reached[rule], reached[model], off),
				Least:    3,
			},
		)
		say(
			paper.Effect{
				What:     fmt.Sprintf("L5: right decisions under %s above those under rule, which accepts all", model),
				Unit:     "points",
				Estimate: paper.Less(right[model], right[rule], same),
				Least:    3,
			},
		)
	}
	say(paper.Effect{What: "L6: time that the last run saves against the first", Unit: "%", Estimate: stats.Mean(saved), Least: 5})
	return append(notes, "L1 and L3 have no verdict here: nodes share the cores of one machine, and tasks are short.")
}
