package compare

import (
	"fmt"
	"testing"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
)

// BenchmarkRuns compares a run of 10,000 trials: of ten models in two workloads.
func BenchmarkRuns(b *testing.B) {
	run := must(runs.Create(b.TempDir(), "large", runs.Manifest{World: runs.WorldSimulated}))
	var list []results.Trial
	for repeat := 1; repeat <= 500; repeat++ {
		for _, workload := range []string{"sort", "join"} {
			for i := range 10 {
				model := fmt.Sprintf("delay-nodeSkips=%d", i)
				jobs := measure.JobClass{Jobs: 20, Succeeded: 20, CompletionMs: measure.Distribution{
					Count: 20, Mean: float64(repeat),
					P50: 1.23456789, P90: 1.98765,
				}, Fairness: 0.987654321}
				f := &measure.Figures{
					Jobs: 20, Maps: 400, Locality: measure.Locality{Cache: repeat, Node: 400 - repeat}, AllJobs: jobs,
					Classes: []measure.JobClass{jobs, jobs},
					Phases: []measure.Phase{
						{Name: measure.WholeMap, Count: 400, MeanMs: 1234.5678},
						{Name: measure.WholeReduce, Count: 40, MeanMs: 1234.5678},
					},
					MakespanMs: float64(60_000 + 100*(repeat*7%31) + 50*i), ScheduleDigest: fmt.Sprintf("%s%d-%d", workload, repeat, i),
				}
				list = append(list, results.Trial{
					Name: config.TrialName(repeat, workload, model), Workload: workload, Model: model, Repeat: repeat, Seed: uint64(repeat),
					MakespanMs: int64(f.MakespanMs), Figures: f,
				})
			}
		}
	}
	mustDo(b, results.WriteTable(run, list))
	mustDo(b, run.End(nil))
	run.Close()
	b.ResetTimer()
	for b.Loop() {
		r := must(Runs([]string{run.Dir}, Options{}))
		if r.Models[0].Runs != 500 {
			b.Fatalf("%d repeats of a model, want 500", r.Models[0].Runs)
		}
	}
}
