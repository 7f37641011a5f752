package reverse

import (
	"embed"
	"fmt"
	"math"
	"strings"

	"heddle/harness/measure"
	"heddle/harness/paper"
	"heddle/harness/stats"
)

//go:embed live.yaml quota.yaml lab.yaml jobs.jsonl
var live embed.FS

// liveModels are the schedulers on a cluster.
var liveModels = []string{adaptive, reverse, edf}

// liveJobs is the label of the workload in live.yaml.
const liveJobs = "jobs"

// expectLive says how many repeats would tell what R2 and R3 ask for.
func expectLive(t *paper.LiveTable) (notes []string) {
	metrics, err := measure.Find([]string{"missed", "lateness"})
	if err != nil {
		return nil // these metrics are there
	}
	for _, other := range []string{adaptive, edf} {
		e := paper.Effect{
			What:     "deadlines missed, less under Reverse than under " + other,
			Unit:     "points",
			Estimate: t.Differences(liveJobs, other, reverse, metrics[0]),
			Least:    2,
		}
		late := stats.Mean(nil)
		if xs := t.Figures(liveJobs, other); len(xs) > 0 {
			late = stats.Mean(valuesOf(xs, metrics[1]))
		}
		l := paper.Effect{
			What:     "lateness, less under Reverse than under " + other,
			Unit:     "s",
			Estimate: t.Differences(liveJobs, other, reverse, metrics[1]),
			Least:    math.Max(late.Value/10, .1),
		}
		notes = append(notes, e.Said(), l.Said())
	}
	missed, jobs := 1, 2 // as if one of two more had missed, so that none of a few is not never
	for _, model := range liveModels {
		for _, f := range t.Figures(liveJobs, model) {
			if d := f.AllJobs.Deadlines; d != nil {
				missed, jobs = missed+d.Missed, jobs+d.Jobs
			}
		}
	}
	return append(notes, repeatsFor(float64(missed)/float64(jobs)))
}

// liveCount is the number of jobs of a run.
const liveCount = 6

// repeatsFor says how many repeats tell 2 points of missed deadlines, where jobs miss theirs with
// this chance, each by itself.
func repeatsFor(chance float64) string {
	deviation := 100 * math.Sqrt(2*chance*(1-chance)/liveCount) // of the difference of two runs
	return fmt.Sprintf(
		"with %.1f %% of the deadlines missed by chance, some %.0f repeats of %d jobs tell 2 points",
		100*chance,
		float64(stats.PairsToTell(deviation, 2)),
		liveCount,
	)
}

func valuesOf(list []*measure.Figures, m measure.Metric) (xs []float64) {
	for _, f := range list {
		xs = append(xs, m.Of(f))
	}
	return xs
}

// explainLive says what a run on a cluster shows: no claim, but how wrong predictions were.
func explainLive(t *paper.LiveTable) (notes []string) {
	for _, note := range expectLive(t) {
		notes = append(notes, "R2, R3: "+note)
	}
	for _, model := range liveModels {
		wrong := map[int][]float64{}
		for run, f := range t.Figures(liveJobs, model) {
			var jobs []string
			for _, p := range f.Predictions {
				var ends []string
				for _, x := range p.List {
					ends = append(ends, fmt.Sprintf("%.0f", x.EndMs/1000))
					if x.ErrorPct != nil {
						wrong[x.DonePct] = append(wrong[x.DonePct], math.Abs(*x.ErrorPct))
					}
				}
				jobs = append(jobs, fmt.Sprintf("%s expected %s, took %.0f", p.Job, strings.Join(ends, "/"), p.TookMs/1000))
			}
			if len(jobs) > 0 {
				notes = append(
					notes,
					fmt.Sprintf(
						"%s, run %d, ends in s after submission, as expected at submission, half-way and at 90 %%: %s.",
						model,
						run+1,
						strings.Join(jobs, "; "),
					),
				)
			}
		}
		for _, done := range []int{0, 50, 90} {
			if e := stats.Mean(wrong[done]); e.N > 0 {
				notes = append(
					notes,
					fmt.Sprintf(
						"R6: under %s, what was expected with %d %% of the tasks done was wrong by %s of the time that was left.",
						model,
						done,
						paper.Text(e, "%"),
					),
				)
			}
		}
	}
	return append(notes, "Six jobs show how the schedulers work, and decide no claim.")
}
