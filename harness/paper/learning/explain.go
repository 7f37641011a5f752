package learning

import (
	"fmt"
	"math"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// explain says what regulates the load, and what learning adds to that.
func explain(d *paper.Data) string {
	g := d.Grid("jobs", learner, rule, rule85, nearest)
	mean := func(label string) float64 { return stats.Mean(off(g, label)).Value }
	text := fmt.Sprintf("In the mean over the six jobs, the load is %.1f %% off the target by learning, %.1f %% by the plain rule (a task at each heartbeat below the limit), %.1f %% by the rule at .85 of the limit, and %.1f %% by the nearest whole number of slots for each job.",
		mean(learner), mean(rule), mean(rule85), mean(nearest))
	if gain := mean(rule) - mean(learner); gain > 0 {
		text += fmt.Sprintf(" So learning is worth %.1f points against the rule.", gain)
	} else {
		text += fmt.Sprintf(" So learning costs %.1f points against the rule.", -gain)
	}
	runs := d.Grid("runs", learner, native, rule)
	shorter := paper.Times(minutes(runs, native, 2), minutes(runs, learner, 2)).Value
	byRule := paper.Times(minutes(runs, native, 2), minutes(runs, rule, 2)).Value
	text += fmt.Sprintf(" The speed-up of about two belongs to WordCount+10ms, which sleeps: it takes %.2f times the native time by learning, and %.2f times by the rule.", shorter, byRule)
	text += " The published numbers of tasks restate the load of a task, which is 4 divided by them here."
	with := d.Grid("hints", learner, shuffled)
	noted := func(label, note string, k int) float64 {
		return stats.Mean(with.Mean(label, paper.Noted(note), k)).Value
	}
	text += fmt.Sprintf(" Within a run of one job its hints never vary, nor do memory and CPUs: only load and number of tasks tell decisions apart. With jobs of all types at a time, %.1f %% of the decisions are right with the jobs' own hints and %.1f %% with those of another job at random. Few depend on hints, since a decision is judged by the load one heartbeat later, which has seen 8 %% of the task.",
		noted(learner, "rightPct", 0), noted(shuffled, "rightPct", 0))
	text += fmt.Sprintf(" Judged after 12 heartbeats, when it has seen 63 %%, %.1f and %.1f %% are right, and nodes are overloaded at %.1f and %.1f %% of the heartbeats.",
		noted(learner, "rightPct", 1), noted(shuffled, "rightPct", 1), noted(learner, "overPct", 1), noted(shuffled, "overPct", 1))
	if math.IsNaN(mean(learner)) {
		return ""
	}
	return text
}
