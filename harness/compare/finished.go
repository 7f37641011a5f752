package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/harness/doc"
	"heddle/harness/experiment"
	"heddle/harness/replay/calibration"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces/printable"
)

// Finished is what the trials of a run gave.
type Finished struct {
	Folder     string              `json:"folder"`
	Trials     []results.Trial     `json:"trials"`
	NewRuns    []experiment.NewRun `json:"newRuns,omitempty"`
	RestsOn    string              `json:"restsOn,omitempty"`
	Thresholds []Threshold         `json:"thresholds,omitempty"`
	Warnings   []string            `json:"warnings,omitempty"`

	run     *runs.Run
	costs   *calibration.Calibration
	starved []string
}

// Finish reads the results of a run. If they were simulated with costs, it also says how long
// a run on the cluster would take. The warnings are about the run; limits is what it shows
// about the experiment's thresholds.
func Finish(run *runs.Run, warnings []string, limits []Threshold, costs *calibration.Calibration) (*Finished, error) {
	trials, err := results.List(run)
	if err != nil {
		return nil, err
	}
	f := &Finished{Folder: run.Dir, Trials: trials, Thresholds: limits, run: run, costs: costs, starved: results.Starved(trials)}
	f.Warnings = append(f.starved, warnings...)
	if costs != nil {
		f.NewRuns, f.RestsOn = experiment.NewTrials(costs, trials), experiment.RestsOn(costs)
	}
	return f, nil
}

// Doc is a table with one row for each job, or for each model if there are many trials, and
// below it what the run shows about the experiment's thresholds.
func (f *Finished) Doc() doc.Doc {
	t := doc.NewTable("jobs", "trial", "job", "outcome", "completion", "makespan")
	var plans doc.List
	var failed, achieved, models doc.Doc
	said := slices.Clone(f.starved)
	for i := range f.Trials {
		r := &f.Trials[i]
		jobRows(t, r)
		said = append(said, r.Warnings...)
		if r.Plan != nil {
			plans = append(plans, fmt.Sprintf("%s: %v", r.Name, r.Plan))
		}
		failed = append(failed, r.FailedDoc()...)
		if r.Achieved != nil {
			achieved = append(append(achieved, doc.Heading(r.Name+": achieved of what was asked")), r.Achieved.Doc()...)
		}
	}
	several := slices.ContainsFunc(f.Trials, func(t results.Trial) bool { return t.Model != f.Trials[0].Model })
	var r *Report // nil if the trials cannot be compared, as those of a run that was interrupted early
	if len(f.Trials) > mostTrialRows || several {
		r, _ = Runs([]string{f.run.Dir}, Options{Metrics: []string{"makespan"}, Unverified: f.run.Unverified})
	}
	if len(f.Trials) > mostTrialRows && r != nil {
		models = r.modelParts(f.run, f.Trials, said)
	}
	if models == nil {
		models = doc.Doc{t}
	}
	about := doc.Doc{doc.Warnings(results.Warnings(f.Trials)), plans}
	d := slices.Concat(doc.Doc{doc.Warnings(f.Warnings[len(f.starved):])}, models, about, failed, achieved)
	if f.costs != nil {
		d = append(d, experiment.NewRunsDoc(f.costs, f.NewRuns)...)
	}
	d = append(d, doc.Warnings(f.starved), ThresholdTable(f.Thresholds))
	if len(f.Trials) <= mostTrialRows && r != nil && len(r.Models) > 1 { // the comparison of more ends with the sentence
		d = append(d, doc.Lead(r.Headline()))
	}
	return d
}

// mostJobRows is the largest number of a trial's jobs that the table of results
// lists one by one. The trial's result.json has them all.
const mostJobRows = 12

// jobRows adds a trial's jobs to the table of results. With many jobs it is one row
// for each outcome, with the mean completion.
func jobRows(t *doc.Table, r *results.Trial) {
	add := func(job, outcome string, completion doc.Cell) {
		t.Add(r.Name, job, outcome, completion, doc.Number(float64(r.MakespanMs)/1000, "s"))
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

// mostTrialRows is the largest number of trials whose jobs the table of results lists.
// More trials are compared by their models instead.
const mostTrialRows = 12

// modelParts returns how long the trials of a run took, by model. It says nothing about
// thresholds, or that the texts already say.
func (r *Report) modelParts(run *runs.Run, trials []results.Trial, said []string) doc.Doc {
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
