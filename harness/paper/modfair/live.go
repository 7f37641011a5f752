package modfair

import (
	"fmt"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// explainLive says what a run on a cluster shows of the claims that it can
// show, which are orders of schedulers, and whether M4's delays can be told from
// the time that a decision takes.
func explainLive(t *paper.LiveTable) (notes []string) {
	const mixed = "mixed" // the label of the workload in live.yaml
	order := func(claim, a, b, text string) {
		e := t.Saved(mixed, a, b)
		notes = append(notes, fmt.Sprintf("%s: %s saves %s against %s (%s); %s.", claim, b, paper.Text(e, "%"), a, shown(e), text))
	}
	order("F1", "fair1", "modfair", "the paper's order is modfair before fair1")
	order("F2", "fair1", "fifo1", "the paper's order is fifo1 before fair1")
	order("F3", "fifo1", "modfair", "the paper's order is modfair before fifo1, but for 15 jobs")
	local := t.More(mixed, "fair1", "modfair")
	notes = append(
		notes,
		fmt.Sprintf("F6: modfair's node-local maps are %s above fair1's (%s); the paper has more.", paper.Text(local, "points"), shown(local)),
	)
	notes = append(notes, "Sizes say nothing here: the lab's nodes share the cores of one machine, and jobs have half of the paper's maps.")
	for _, r := range t.Rows {
		node, rack := r.Notes["nodeDelayMs"], r.Notes["rackDelayMs"]
		if r.Model != "modfair" || r.Notes == nil {
			continue
		}
		verdict := "both are longer than a decision, so M4 can be told from no delay"
		if node.Value < r.DecisionMs.Value || rack.Value < r.DecisionMs.Value {
			verdict = "a delay that is shorter than a decision cannot be told from none, so M4 is not testable on this cluster beyond the fact " +
				"that its delays fall"
		}
		notes = append(
			notes,
			fmt.Sprintf(
				"M4's delays begin at 3000 ms and end at %s ms for the node and %s ms for the rack, where a decision takes %s ms: %s.",
				node,
				rack,
				r.DecisionMs,
				verdict,
			),
		)
	}
	return notes
}

// shown says whether an interval excludes 0.
func shown(e stats.Estimate) paper.Sign { return (&paper.Effect{Estimate: e}).Sign() }
