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
	var counts []string
	others := 0
	models := modelsOf(trials)
	for _, model := range models {
		c := completions(under(trials, model))
		counts = append(counts, fmt.Sprintf("%d of %d under %s", c.Others, c.Jobs(), model))
		others += c.Others
	}
	if others == 0 {
		return nil
	}
	text := fmt.Sprintf("%s: jobs failed: %s; mean completion times are of the others", workload, strings.Join(counts, ", "))
	inModels, inTrace := unlikeJobs(trials)
	switch {
	case inModels:
		text += "; the models' times are not of the same jobs, so they cannot be compared"
	case inTrace:
		text += "; the trace's times are not of the same jobs as its replays', so they cannot be compared"
	case len(models) > 1:
		text += "; if these are not the same jobs, the models' times cannot be compared"
	}
	return []string{text}
}

// completions returns the jobs of all trials.
func completions(trials []trial) (c measure.Completion) {
	for _, t := range trials {
		c = c.Plus(measure.CompletionOf(t.figures...))
	}
	return c
}

// unlikeJobs reports whether the trials of a workload have means of different numbers
// of jobs: under its models, or in the trace that they replay. Replays do not run the
// jobs that were killed in the trace, so that only the jobs that succeeded are like.
func unlikeJobs(trials []trial) (inModels, inTrace bool) {
	var first, trace *measure.Completion
	firstTrials, traceTrials := 0, 0
	for _, model := range modelsOf(trials) {
		of := under(trials, model)
		c := completions(of)
		switch {
		case isRecording(model):
			trace, traceTrials = &c, len(of)
		case first == nil:
			first, firstTrials = &c, len(of)
		default:
			inModels = inModels || c.Others*first.Jobs() != first.Others*c.Jobs()
		}
	}
	return inModels, first != nil && trace != nil && first.Succeeded*traceTrials != trace.Succeeded*firstTrials
}
