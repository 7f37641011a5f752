package reverse

import (
	"fmt"
	"math"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// explain says why claims are reversed: what planning backwards does to jobs, and what else does it.
func explain(d *paper.Data) string {
	g := d.Grid("exp2"+bars, adaptive, reverse, ofMean, nearest, edf)
	of := func(label, note string) float64 { return stats.Mean(g.Mean(label, noted(note))).Value }
	if math.IsNaN(of(reverse, "missed")) {
		return ""
	}
	late := whoIsLate(d)
	more := "misses fewer goals than Adaptive"
	if of(reverse, "missed") > of(adaptive, "missed") {
		more = "misses more goals than Adaptive"
	}
	return fmt.Sprintf(
		"Reverse plans from the last goal back to the first, so that work is done as late as its goal allows. A job then has no time to "+
			"spare, and if its maps do not fit to the second, it ends shortly after its goal. With mid goals %.1f %% of the jobs are late with "+
			"Reverse and not with Adaptive, by %.0f s in the median; %.1f %% are late with Adaptive and not with Reverse, by %.0f s.",
		late[0].Value, late[1].Value, late[2].Value, late[3].Value,
	) + fmt.Sprintf(
		" So Reverse %s (%.1f and %.1f %% with relaxed goals), and its mean lateness is %.0f s where Adaptive's is %.0f s: the sign of R2 and "+
			"R3 depends on what is called meeting goals.",
		more, of(reverse, "missed"), of(adaptive, "missed"), of(reverse, "lateness"), of(adaptive, "lateness"),
	) + fmt.Sprintf(
		" Neither to know the other load ahead nor to plan behind the next goal adds much: with the load's mean alone Reverse misses %.1f %% "+
			"and is late by %.0f s, with the next goal alone %.1f %% and %.0f s. The earliest goal first (EDF), which estimates nothing, misses "+
			"%.1f %% and is late by %.1f s.",
		of(ofMean, "missed"), of(ofMean, "lateness"), of(nearest, "missed"), of(nearest, "lateness"), of(edf, "missed"), of(edf, "lateness"),
	) + " Alone on the cluster the same happens, which is why R1 and R5 come out against Reverse there. R6 depends on how an error is " +
		"measured: R6b has the sign by each definition, and a scheduler that ignores goals is easy to predict."
}
