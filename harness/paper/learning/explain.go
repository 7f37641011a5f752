package learning

import (
	"fmt"
	"math"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// explain says in plain words why the claims come out as they do.
func explain(d *paper.Data) string {
	runs, again := d.Grid("runs", learner, native, rule), d.Grid("again", learner, rule)
	targets, mix := d.Grid("targets", learner, rule), d.Grid("hints", learner, equal, rule)
	mean := func(g *paper.Grid, label, note string, k int) float64 {
		return stats.Mean(g.Mean(label, paper.Noted(note), k)).Value
	}
	times := func(label string, k int) float64 {
		return paper.Times(minutes(runs, native, k), minutes(runs, label, k)).Value
	}
	if math.IsNaN(times(learner, 2)) {
		return ""
	}
	text := fmt.Sprintf(
		"One task starts on a node each 5 s. So at most 7.9 tasks run there in the mean of a run of 160 maps, and no run takes less than about "+
			".55 times the native time: WordCount+10ms, whose published 10.52 tasks cannot be reached, takes %.2f times by learning and %.2f by "+
			"the rule (a task at each heartbeat below the limit). That is the factor of two (L11). Five slots need five rounds for 160 tasks that "+
			"would fill 4.6, so URLToDisk takes %.2f times the native time (L3b).",
		times(learner, 2), times(rule, 2), times(learner, 4),
	)
	if heavy := mean(runs, learner, "tasks", 0); heavy > kinds[0].tasks {
		text += fmt.Sprintf(
			" Heavy jobs run more tasks than published (TextWriter %.2f; L1), since a load average of a minute shows late what a start does.",
			heavy,
		)
	}
	if first, sixth := 100*mean(again, learner, "peak1", 0), 100*mean(again, learner, "peak6", 0); first > sixth {
		text += fmt.Sprintf(
			" Before it has seen an overload, the classifier refuses nothing. So nodes get too much at first, and not too little: the highest "+
				"load is %.0f %% of the target in the first run of WordCount on 70 GB and %.0f %% in the sixth (L10), and the first run is not "+
				"longer (%.1f and %.1f min; L6, L8). The load sways about the target: nodes are overloaded at %.0f and %.0f %% of the "+
				"heartbeats (L9), and at %.0f %% by the rule.",
			first, sixth, mean(again, learner, "minutes1", 0), mean(again, learner, "minutes6", 0),
			mean(again, learner, "over1", 0), mean(again, learner, "over6", 0), mean(again, rule, "over6", 0),
		)
	}
	last := len(ratios) - 1
	if got, byRule := mean(targets, learner, "ofTargetAll1", last), mean(targets, rule, "ofTargetAll1", last); got < .8*byRule {
		text += fmt.Sprintf(
			" At high targets most loads on the way up are new to the classifier. Where it calls a new one bad it starts nothing, and as printed "+
				"refusals teach it nothing: it gets stuck at %.2f of four times 4, and the rule reaches %.2f (L4b). So the gap grows (L4) for "+
				"another reason than the published one, which is one start each 5 s.",
			got, byRule,
		)
	}
	return text + fmt.Sprintf(
		" Within a run of one job only load and number of tasks vary. With jobs of all types at a time %.0f %% of the decisions are right, "+
			"%.0f %% with all hints equal, which leave fewer values new, and %.0f %% by the rule.",
		mean(mix, learner, "rightPct", 0), mean(mix, equal, "rightPct", 0), mean(mix, rule, "rightPct", 0),
	)
}
