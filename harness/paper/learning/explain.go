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
	text += " The published numbers of tasks restate the load of a task, which is 4 divided by them here. Of the features, those of the job never vary within a run of one job, nor do memory and CPUs: only load and number of tasks tell decisions apart, so hints that are shuffled between jobs change nothing."
	if math.IsNaN(mean(learner)) {
		return ""
	}
	return text
}
