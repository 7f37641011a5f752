package sweep

import (
	"fmt"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/measure"
	"heddle/harness/results"
)

// extend adds repeats to the best setting of those that may keep all thresholds, and to those that its
// seeds do not tell from it, by the first metric: as many as the plan began with, up to MostSeeds. All replays of the
// plan must have a row. What is added follows from these rows alone: the same plan grows in
// the same way, in whatever order replays run. It reports whether it added any.
func (p *Plan) extend(rows *Rows) (bool, error) {
	if p.MostSeeds <= p.Seeds {
		return false, nil
	}
	trials, err := rows.Trials(p)
	if err != nil {
		return false, err
	}
	metrics, err := measure.Find(p.Metrics)
	if err != nil {
		return false, err
	}
	g := newGrid(p, trials, metrics[0], compare.Unclear)
	best := g.bestOf(g.traces())
	if best < 0 {
		return false, nil
	}
	seeds := func(setting int) int { return len(g.of[[2]int{0, setting}]) }
	open := slices.DeleteFunc(g.untold(best), func(i int) bool { return g.same(best, i) })
	if len(open) == 0 {
		return false, nil
	}
	open = append(open, best)
	slices.Sort(open)
	least := seeds(best)
	for _, i := range open {
		least = min(least, seeds(i))
	}
	before, target := len(p.Replays), min(least+p.Seeds, p.MostSeeds)
	for repeat := least + 1; repeat <= target; repeat++ {
		for t := range p.Traces {
			for _, i := range open {
				if repeat > seeds(i) {
					p.add(t, i, repeat)
				}
			}
		}
	}
	return len(p.Replays) > before, nil
}

// same reports whether two settings gave the same in every repeat, of more than the plan
// began with. Further seeds would tell nothing.
func (g *grid) same(a, b int) bool {
	for _, t := range g.traces() {
		as, bs := valuesOf(g.metric, g.of[[2]int{t, a}]), valuesOf(g.metric, g.of[[2]int{t, b}])
		if n := min(len(as), len(bs)); n <= g.p.Seeds || !slices.Equal(as[:n], bs[:n]) {
			return false
		}
	}
	return true
}

// first returns the replays that the plan began with.
func (p *Plan) first() []Replay {
	return p.Replays[:min(len(p.Replays), len(p.Settings)*len(p.Traces)*p.Seeds)]
}

// checkSize refuses a plan that has, or may come to have, too many replays.
func (p *Plan) checkSize() error {
	seeds := max(p.Seeds, p.MostSeeds)
	if p.Seeds < 1 || seeds > results.MostRows || len(p.Settings)*len(p.Traces) > results.MostRows/seeds {
		return fmt.Errorf("sweep %s: %d settings of %d traces with up to %d seeds are more than %d replays",
			p.Name, len(p.Settings), len(p.Traces), seeds, results.MostRows)
	}
	return nil
}
