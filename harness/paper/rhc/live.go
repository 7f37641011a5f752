package rhc

import (
	"embed"
	"fmt"

	"heddle/harness/paper"
)

//go:embed live.yaml fig3.yaml lab.yaml jobs.jsonl
var live embed.FS

// mixed is the workload of live.yaml, and oneJob that of fig3.yaml.
const mixed, oneJob = "mixed", "sort"

// expectLive says where reduces ran in a simulation, and how many repeats would tell H8 and H9.
func expectLive(t *paper.LiveTable) []string {
	notes := append(t.Placements(mixed), t.Placements(oneJob)...)
	notes = append(
		notes,
		t.Noted(
			"of the jobs of a trial, %s leaves the slots that greedy would take to others for %.1f of %.1f, and cheaper ones for %.1f",
			"jobsDeferred",
			"jobsPlaced",
			"jobsOnDearerSlots",
		)...)
	return append(
		append(append(notes, t.Repeats(mixed, "random", "rhc", 5)...), t.Repeats(mixed, "greedy", "rhc", 5)...),
		t.Repeats(oneJob, "greedy", "random1", 20)...)
}

// explainLive says what a run on a cluster shows of H7 to H10.
func explainLive(t *paper.LiveTable) []string {
	notes := append(t.Fetches(mixed), t.Fetches(oneJob)...)
	effects := []paper.Effect{
		{What: "H7: slope of the time of jobs of 2 reduces on what these fetch", Unit: "s/MB", Estimate: t.TimeOnData(mixed, 2).Slope},
		{
			What:     "H9, made by the slow uplinks: the dearest placement by hops takes",
			Unit:     "times as long as the cheapest",
			Estimate: t.Dearest(oneJob),
			None:     1,
			Least:    1.2,
		},
		{What: "H10: median error of estimates of what reduces fetch", Unit: "%", Estimate: t.EstimateErrors(mixed), Band: [2]float64{0, 10}},
	}
	for _, other := range []string{"random", "greedy"} {
		for reduces := 1; reduces <= 2; reduces++ {
			effects = append(
				effects,
				paper.Effect{
					What:     fmt.Sprintf("H8: time of jobs with reduces=%d that rhc saves against %s", reduces, other),
					Unit:     "%",
					Least:    5,
					Estimate: t.SavedOf(mixed, other, "rhc", reduces),
				},
			)
		}
	}
	return append(
		append(notes, paper.Said(effects)...),
		"H8's smaller variance is not testable by few repeats: 20 tell only a ratio above 2.5.",
	)
}
