package reverse

import (
	"fmt"
	"math"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// explain says why claims are reversed: what planning backwards does to jobs, and what else does it.
func explain(d *paper.Data) string {
	g, alone := d.Grid("exp2"+bars, adaptive, reverse, ofMean, nearest, edf, fair), d.Grid("exp1", adaptive, reverse)
	of := func(label, note string) float64 { return stats.Mean(g.Mean(label, noted(note))).Value }
	missed := func(label string) float64 { return stats.Mean(alone.Mean(label, noted("missed"), judged...)).Value }
	if math.IsNaN(of(reverse, "missed")) {
		return ""
	}
	late := whoIsLate(d)
	by := func(e paper.Effect) string {
		if math.IsNaN(e.Value) { // none is late
			return ""
		}
		return fmt.Sprintf(", by %.0f s in the median", e.Value)
	}
	return fmt.Sprintf(
		"Reverse plans from the last goal back to the first, so that work is done as late as its goal allows. A job then has no time to "+
			"spare, and if its maps do not fit to the second, it ends shortly after its goal. With mid goals %.1f %% of the jobs are late with "+
			"Reverse and not with Adaptive%s; %.1f %% are late with Adaptive and not with Reverse%s.",
		late[0].Value, by(late[1]), late[2].Value, by(late[3]),
	) + fmt.Sprintf(
		" With relaxed goals Reverse misses %.1f %% of them and Adaptive %.1f %%, and the mean lateness is %.0f and %.0f s: what R2 and R3 say "+
			"depends on what is called meeting goals. Alone on the cluster (R1) they miss %.1f and %.1f %%.",
		of(reverse, "missed"), of(adaptive, "missed"), of(reverse, "lateness"), of(adaptive, "lateness"), missed(reverse), missed(adaptive),
	) + fmt.Sprintf(
		" What parts of the method add shows without them: with the mean of the other load alone Reverse misses %.1f %% and is late by "+
			"%.0f s, and planning for the next goal alone %.1f %% and %.0f s. The earliest goal first (EDF), which estimates nothing, misses "+
			"%.1f %% and is late by %.1f s.",
		of(ofMean, "missed"), of(ofMean, "lateness"), of(nearest, "missed"), of(nearest, "lateness"), of(edf, "missed"), of(edf, "lateness"),
	) + fmt.Sprintf(
		" What R6 says depends on how an error is measured (R6b), and little on goals: predictions are wrong by %.0f %% with Reverse, %.0f %% "+
			"with Adaptive and %.0f %% with Fair, which ignores goals.",
		of(reverse, "error"), of(adaptive, "error"), of(fair, "error"),
	)
}
