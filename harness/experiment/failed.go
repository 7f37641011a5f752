package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"heddle/harness/capture"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/traces"
)

const refusedJob = "refused"

// accept returns an error unless the workload counts failed jobs and a job of
// the trial succeeded. The failed jobs are in the result already.
func (t *trial) accept(result *results.Trial) error {
	if len(result.FailedJobs) == 0 {
		return nil
	}
	first := result.FailedJobs[0]
	if !t.plan.Workload.CountsFailures() {
		return errors.New(first.String())
	}
	if c := result.Completion(); c.Succeeded == 0 {
		return fmt.Errorf("all %d jobs failed; the first: %v", c.Jobs(), first)
	}
	return nil
}

// countFailures adds the jobs that failed to a trial's result, and to
// t.failures. It returns an error if they end the trial.
func (t *trialRun) countFailures(result *results.Trial, jobs []capture.Job, list []*measure.Job) error {
	for k := range jobs {
		j := &jobs[k]
		if j.Outcome == traces.Unfinished || j.Outcome != traces.Succeeded && !t.plan.Workload.CountsFailures() {
			return fmt.Errorf("%s %s: %s; its files are in %s", j.ID, j.Outcome, whyFailed(j, list, oneLine),
				filepath.Join(t.folder.Dir, "jobs", string(j.ID)))
		}
	}
	for i, s := range t.submissions {
		known := false
		for k := range jobs {
			if j := &jobs[k]; j.Outcome != traces.Succeeded && slices.Contains(j.Tags, t.tags[i]) {
				known = true
				f := results.FailedJob{Name: s.Name, ID: j.ID, Outcome: j.Outcome.String(), Why: whyFailed(j, list, firstLine)}
				t.failures[i] = errors.New(f.Why)
				result.FailedJobs = append(result.FailedJobs, f)
			}
		}
		if t.failures[i] != nil && !known {
			result.FailedJobs = append(result.FailedJobs, results.FailedJob{
				Name: s.Name, Outcome: refusedJob,
				Why: firstLine(t.failures[i].Error()),
			})
		}
	}
	return t.accept(result)
}

// whyFailed returns why a job did not succeed: what YARN says of it, and what the
// first of its attempts that failed said, since YARN often names only the task. Of
// each it has what short returns. list has the figures of the trial's jobs.
func whyFailed(j *capture.Job, list []*measure.Job, short func(string) string) string {
	why, said := short(j.Diagnostics), short(firstError(j.ID, list))
	switch {
	case why == "" && said == "":
		return "YARN does not say why"
	case why == "" || said == "":
		return why + said
	}
	return why + "; the first attempt that failed said: " + said
}

// firstError returns what the first attempt of a job that failed said, without
// Java's stack; "" if that is not known.
func firstError(id traces.JobID, list []*measure.Job) string {
	i := slices.IndexFunc(list, func(m *measure.Job) bool { return m.ID == id })
	if i < 0 {
		return ""
	}
	said, _, _ := strings.Cut(list[i].FirstError, "\n\tat ")
	return oneLine(said)
}

// maxReason is how many characters of a line of YARN's diagnostics are kept.
const maxReason = 300

// firstLine returns the first line of a text that is not blank, without
// characters that cannot be printed. The text may be a server's.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) })
		if len(words) == 0 {
			continue
		}
		if line = strings.Join(words, " "); len([]rune(line)) > maxReason {
			line = string([]rune(line)[:maxReason]) + "…"
		}
		return line
	}
	return ""
}

// failedInSimulation returns the failed jobs of a simulated trial.
func failedInSimulation(list []*measure.Job, names map[traces.JobID]string) (failed []results.FailedJob) {
	for _, j := range list {
		if j.Outcome != traces.Failed && j.Outcome != traces.Killed {
			continue
		}
		why := firstLine(cmp.Or(j.Diagnostics(), j.FirstError))
		if why == "" {
			why = "an attempt at one of its tasks failed too often"
		}
		failed = append(failed, results.FailedJob{Name: names[j.ID], ID: j.ID, Outcome: j.Outcome.String(), Why: why})
	}
	return failed
}
