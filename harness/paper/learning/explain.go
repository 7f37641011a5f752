package learning

import (
	"fmt"
	"math"

	"heddle/harness/paper"
)

// explain says in plain words why the claims come out as they do.
func explain(d *paper.Data) string {
	is := func(term string) float64 { return d.Estimate(term).Value }
	times := func(label, job string) float64 {
		return is(fmt.Sprintf("minutes1[runs: %s; %s] / minutes1[runs: native; %[2]s]", label, job))
	}
	if math.IsNaN(times("learning", "WordCount+10ms")) {
		return ""
	}
	text := fmt.Sprintf(
		"One task starts on a node each 5 s. So at most 7.9 tasks run there in the mean of a run of 160 maps, and no run takes less than about "+
			".55 times the native time: WordCount+10ms, whose published 10.52 tasks cannot be reached, takes %.2f times by learning and %.2f by "+
			"the rule (a task at each heartbeat below the limit). That is the factor of two (L11). Five slots need five rounds for 160 tasks that "+
			"would fill 4.6, so URLToDisk takes %.2f times the native time (L3b).",
		times("learning", "WordCount+10ms"), times("rule", "WordCount+10ms"), times("learning", "URLToDisk"),
	)
	if heavy := is("tasks[runs: learning; TextWriter]"); heavy > kinds[0].tasks {
		text += fmt.Sprintf(
			" Heavy jobs run more tasks than published (TextWriter %.2f; L1), since a load average of a minute shows late what a start does; the "+
				"load is %.2f times a target of 4 (L4b).",
			heavy, is("ofTargetAll1[targets: learning; 1]"),
		)
	}
	if is("peak1[again: learning]") > is("peak6[again: learning]") {
		text += d.Filled(" Before it has seen an overload, the classifier refuses nothing. So nodes get too much at first, and not too little: " +
			"the highest load is <100 * peak1[again: learning]> % of the target in the first run of WordCount on 70 GB and " +
			"<100 * peak6[again: learning]> % in the sixth (L10), and the first run is not longer (<minutes1[again: learning]> and " +
			"<minutes6[again: learning]> min; L6, L8). The load sways about the target: nodes are overloaded at <over1[again: learning]> and " +
			"<over6[again: learning]> % of the heartbeats (L9), and at <over6[again: rule]> % by the rule.")
	}
	if got, byRule := is("ofTargetAll1[targets: learning; 4]"), is("ofTargetAll1[targets: rule; 4]"); got < .8*byRule {
		text += fmt.Sprintf(
			" At high targets most loads on the way up are new to the classifier. Where it calls a new one bad it starts nothing, and as printed "+
				"refusals teach it nothing: it gets stuck at %.2f of four times 4, and the rule reaches %.2f (L4b). So the gap grows (L4) for "+
				"another reason than the published one, which is one start each 5 s.",
			got, byRule,
		)
	}
	return text
}
