package learning

import (
	"fmt"
	"math"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// explain says what regulates the load, and what learning adds to that.
func explain(d *paper.Data) string {
	jobs, runs, mix := d.Grid(
		"jobs",
		learner,
		rule,
		rule85,
		nearest,
	), d.Grid(
		"runs",
		learner,
		native,
		rule,
	), d.Grid(
		"hints",
		learner,
		shuffled,
	)
	far := func(label string) float64 { return stats.Mean(off(jobs, label)).Value }
	times := func(label string) float64 {
		return paper.Times(minutes(runs, native, 2), minutes(runs, label, 2)).Value
	}
	mean := func(label, note string, k int) float64 {
		return stats.Mean(mix.Mean(label, paper.Noted(note), k)).Value
	}
	if math.IsNaN(far(learner)) {
		return ""
	}
	return fmt.Sprintf(
		"In the mean over the six jobs, the load is %.1f %% off the target by learning, %.1f %% by the plain rule (a task at each heartbeat "+
			"below the limit), %.1f %% by the rule at .85 of the limit, and %.1f %% by the nearest whole number of slots for each job. So "+
			"learning is worth %.1f points against the rule.",
		far(learner),
		far(rule),
		far(rule85),
		far(nearest),
		far(rule)-far(learner),
	) +
		fmt.Sprintf(
			" The speed-up of about two belongs to WordCount+10ms, which sleeps: it takes %.2f times the native time by learning, and %.2f "+
				"times by the rule. The published numbers of tasks restate the load of a task, which is 4 divided by them here.",
			times(learner),
			times(rule),
		) +
		fmt.Sprintf(
			" Within a run of one job its hints never vary, nor do memory and CPUs: only load and number of tasks tell decisions apart. With "+
				"jobs of all types at a time, %.1f %% of the decisions are right with the jobs' own hints and %.1f %% with those of another job "+
				"at random: a decision is judged by the load one heartbeat later, which has seen 8 %% of the task. Judged after 12 heartbeats, "+
				"when it has seen 63 %%, %.1f and %.1f %% are right, and nodes are overloaded at %.1f and %.1f %% of the heartbeats.",
			mean(
				learner,
				"rightPct",
				0,
			),
			mean(shuffled, "rightPct", 0),
			mean(learner, "rightPct", 1),
			mean(shuffled, "rightPct", 1),
			mean(learner, "overPct", 1),
			mean(shuffled, "overPct", 1),
		)
}
