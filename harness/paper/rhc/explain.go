package rhc

import (
	"fmt"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// explain says what becomes of the paper's two numbers, which readings come near to 22 %,
// and what RHC's parts are worth.
func explain(d *paper.Data) string {
	saved := func(design, a, b string) stats.Estimate {
		return d.Estimate(fmt.Sprintf("saved(cost[%s: %s; 0.6], cost[%s: %s; 0.6])", design, a, design, b))
	}
	over := func(design, a, b string) string { return paper.Text(saved(design, a, b), "%") }
	published, became := d.Stated("fig9", claimant, "largest saving over Greedy"), "not reproduced"
	switch {
	case saved("loads", greedy, claimant).Lo >= published:
		became = "reached in this reading"
	case d.Estimate("oneMore(savings(cost[loads: Greedy; 0.6], cost[loads: bound; 0.6]))").Hi < published:
		became = "not reproduced, and is out of reach of any rule in this reading"
	}
	instead := func(label string) string { return over("loads", greedy, label) }
	return fmt.Sprintf("RHC saves %s over Random at the load 0.6, and Greedy alone saves %s: that saving needs no look ahead. "+
		"The published saving over Greedy of up to %g %% is %s: RHC saves %s, and no rule can save more than %s. "+
		"What comes near are strongly skewed sizes, which the text allows and does not say: with one large job of ten RHC saves %s, of at "+
		"most %s. In RHC's place at that load: the law of the next job's reduce tasks saves %s; a constant probability of 1/8 %s and of "+
		"1/4 %s, so that the estimate of the load is not needed; as many jobs deferred blindly %s. Where jobs with more data take longer (H4), "+
		"RHC saves %s: the small jobs, which leave slots to the next one, then end sooner than RHC expects.",
		over("loads", random, claimant), over("loads", random, greedy), published, became, instead(claimant), instead(lowest),
		over("skewed", greedy, claimant), over("skewed", greedy, lowest),
		instead("law of R"), instead("constant 1/8"), instead("constant 1/4"), instead("coin"), over("correlated", greedy, claimant))
}
