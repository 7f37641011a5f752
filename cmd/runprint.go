package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/replay/calibration"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces/printable"
)

// mostJobRows is the largest number of a trial's jobs that the table of results
// lists one by one. The trial's result.json has them all.
const mostJobRows = 12

// jobRows adds a trial's jobs to the table of results. With many jobs it is one row
// for each outcome, with the mean completion.
func jobRows(t *doc.Table, r *results.Trial) {
	add := func(job, outcome string, completion doc.Cell) {
		t.Add(doc.Words(r.Name), doc.Words(job), doc.Words(outcome), completion, doc.Number(float64(r.MakespanMs)/1000, "s"))
	}
	if len(r.Jobs) <= mostJobRows {
		for _, j := range r.Jobs {
			add(string(j.ID), j.Outcome, doc.Number(float64(j.CompletionMs)/1000, "s"))
		}
		return
	}
	count, sumMs := map[string]int{}, map[string]int64{}
	for _, j := range r.Jobs {
		count[j.Outcome]++
		sumMs[j.Outcome] += j.CompletionMs
	}
	for _, outcome := range slices.Sorted(maps.Keys(count)) {
		n := count[outcome]
		add(printable.Count(n, "job"), outcome, doc.Number(float64(sumMs[outcome])/float64(n)/1000, "s").After("on average"))
	}
}

// trialWarnings returns the warnings of trials, each text once with the trials
// that have it, in the order of the first of them.
func trialWarnings(trials []results.Trial) (list []string) {
	var texts []string
	named := map[string][]string{}
	for _, r := range trials {
		for _, text := range r.Warnings {
			with := named[text]
			if len(with) == 0 {
				texts = append(texts, text)
			}
			if len(with) == 0 || with[len(with)-1] != r.Name {
				named[text] = append(with, r.Name)
			}
		}
	}
	for _, text := range texts {
		switch with := named[text]; {
		case len(with) == 1:
			list = append(list, with[0]+": "+text)
		case len(with) == len(trials):
			list = append(list, fmt.Sprintf("all %d trials: %s", len(trials), text))
		default:
			list = append(list, fmt.Sprintf("%d of %d trials, %s first: %s", len(with), len(trials), with[0], text))
		}
	}
	return list
}

// mostTrialRows is the largest number of trials whose jobs the table of results lists.
// More trials are compared by their models instead.
const mostTrialRows = 12

// modelParts returns how long the trials of a run took, by model. It says nothing about
// thresholds, or that the texts already say. If the trials cannot be compared, as those
// of a run that was interrupted early, it is nil.
func modelParts(run *runs.Run, trials []results.Trial, said []string) doc.Doc {
	r, err := compare.Runs([]string{run.Dir}, compare.Options{Metrics: []string{"makespan"}, Unverified: run.Unverified})
	if err != nil {
		return nil
	}
	r.Thresholds, r.Steering = nil, nil
	d := r.Doc()
	for i, p := range d {
		if notes, ok := p.(doc.Notes); ok {
			d[i] = slices.DeleteFunc(slices.Clone(notes), func(note string) bool {
				return slices.ContainsFunc(said, func(text string) bool { return strings.HasSuffix(note, text) })
			})
		}
	}
	return append(d, doc.Notes{fmt.Sprintf("%d trials: heddle runs show %s lists them", len(trials), printable.ShellWord(run.Dir))})
}

// printResults prints the results of a run: a table with one row for each job, or for
// each model if there are many trials, and below it what the run shows about the
// experiment's thresholds. If the trials were simulated with costs, it also prints how
// long a run on the cluster would take.
func printResults(c *cli.Context, run *runs.Run, warnings []string, limits []compare.Threshold, simulated bool, costs *calibration.Calibration) error {
	trials, err := results.List(run)
	if err != nil {
		return err
	}
	t := &doc.Table{Name: "jobs", Columns: []string{"trial", "job", "outcome", "completion", "makespan"}}
	var plans doc.List
	var after doc.Doc
	for i := range trials {
		r := &trials[i]
		jobRows(t, r)
		if r.Plan != nil {
			plans = append(plans, fmt.Sprintf("%s: %v", r.Name, r.Plan))
		}
		after = append(after, failedParts(r)...)
	}
	for _, r := range trials {
		if r.Achieved != nil {
			after = append(after, doc.Heading(r.Name+": achieved of what was asked"))
			after = append(after, r.Achieved.Doc()...)
		}
	}
	starved := results.Starved(trials)
	d := doc.Doc{doc.Warnings(warnings)}
	var models doc.Doc
	if len(trials) > mostTrialRows {
		said := starved
		for _, r := range trials {
			said = append(said, r.Warnings...)
		}
		models = modelParts(run, trials, said)
	}
	if models != nil {
		d = append(d, models...)
	} else {
		d = append(d, t)
	}
	d = append(append(d, doc.Warnings(trialWarnings(trials)), plans), after...)
	var predicted []nextRun
	rests := ""
	if simulated && costs != nil {
		predicted, rests = nextTrials(costs, trials), restsOn(costs)
		d = append(d, nextRunsDoc(costs, predicted)...)
	}
	d = append(d, doc.Warnings(starved))
	return printDoc(c, struct {
		Folder     string              `json:"folder"`
		Trials     []results.Trial     `json:"trials"`
		NewRuns    []nextRun           `json:"newRuns,omitempty"`
		RestsOn    string              `json:"restsOn,omitempty"`
		Thresholds []compare.Threshold `json:"thresholds,omitempty"`
		Warnings   []string            `json:"warnings,omitempty"`
	}{run.Dir, trials, predicted, rests, limits, append(starved, warnings...)}, append(d, compare.ThresholdTable(limits)))
}

// mostFailedJobs is the largest number of a trial's failed jobs that are named.
// The trial's result.json has them all.
const mostFailedJobs = 5

// failedParts says how many of a trial's jobs failed, if any did, and names the
// first of them.
func failedParts(r *results.Trial) doc.Doc {
	if len(r.FailedJobs) == 0 {
		return nil
	}
	c := r.Completion()
	var list doc.List
	for _, f := range r.FailedJobs[:min(mostFailedJobs, len(r.FailedJobs))] {
		list = append(list, f.String())
	}
	if more := len(r.FailedJobs) - mostFailedJobs; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return doc.Doc{doc.Heading(fmt.Sprintf("%s: %d of %d jobs failed", r.Name, c.Others, c.Jobs())), list}
}
