package compare

import (
	"fmt"
	"strings"

	"heddle/harness/measure"
)

// failures returns a warning that says how many jobs of a workload failed under
// each scheduler model; none if no job failed. Mean times are those of the jobs
// that succeeded, and a makespan is shorter without the work of a failed job. So
// where models differ in their failed jobs, these times cannot be compared.
func failures(workload string, trials []trial) []string {
	var total measure.Completion
	models := modelsOf(trials)
	of := make([]measure.Completion, len(models))
	for i, model := range models {
		for _, t := range trials {
			if t.model == model {
				of[i] = of[i].Plus(measure.CompletionOf(t.figures...))
			}
		}
		total = total.Plus(of[i])
	}
	if total.Others == 0 {
		return nil
	}
	var counts []string
	differ := false
	for i, model := range models {
		counts = append(counts, fmt.Sprintf("%d of %d under %s", of[i].Others, of[i].Jobs(), model))
		differ = differ || of[i].Others*total.Jobs() != total.Others*of[i].Jobs()
	}
	text := fmt.Sprintf("%s: jobs failed: %s; mean completion times are of the others", workload, strings.Join(counts, ", "))
	if differ {
		text += "; the models' times are not of the same jobs, so they cannot be compared"
	} else if len(models) > 1 {
		text += "; if these are not the same jobs, the models' times cannot be compared"
	}
	return []string{text}
}
