package results

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"heddle/harness/doc"
	"heddle/harness/runs"
)

// Table has a row for each of the runs.
func Table(list []About) doc.Doc {
	t := doc.NewTable("runs", "name", "world", "state", "trials", "models", "workloads", "started", "size")
	for _, a := range list {
		t.Add(a.Name, a.World, a.State, doc.Wordsf("%d of %d", a.Done, a.Trials),
			few(a.Models), few(a.Workloads), local(a.Started), doc.Bytes(a.Bytes))
	}
	return doc.Doc{t}
}

// mostListed is how many models and workloads of a run a list of runs names.
const mostListed = 6

// few returns the first names of a list, for a cell.
func few(names []string) string {
	if more := len(names) - mostListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ","), more)
	}
	return cmp.Or(strings.Join(names, ","), "-")
}

func local(t time.Time) string { return t.Local().Format(time.DateTime) }

// Shown is a run's manifest and results.
type Shown struct {
	About    About         `json:"about"`
	Manifest runs.Manifest `json:"manifest"`
	Results  []Trial       `json:"results"`
	Warnings []string      `json:"warnings,omitempty"`
}

// Show reads the results of a run, of which about is the summary.
func Show(run *runs.Run, about About) (*Shown, error) {
	s := &Shown{about, run.Manifest(), []Trial{}, nil}
	trials, err := List(run)
	if err != nil && !errors.Is(err, ErrNone) { // the file of results may be missing, as of a capture
		return nil, err
	}
	s.Results, s.Warnings = append(s.Results, trials...), run.Warnings()
	return s, nil
}

// Doc has the manifest, and a row for each trial.
func (s *Shown) Doc() doc.Doc {
	listed := s.Manifest.Trials
	gave := map[string]*Trial{}
	var failed doc.Doc
	for i := range s.Results {
		r := &s.Results[i]
		gave[r.Name] = r
		failed = append(failed, r.FailedDoc()...)
		if len(s.Manifest.Trials) == 0 { // if a run has no trial folders, the results of its trials are in one table
			listed = append(listed, runs.TrialRecord{Name: r.Name, State: runs.TrialDone})
		}
	}
	trials := doc.NewTable("trials", "trial", "state", "started", "took", "jobs", "makespan", "cores of others", "warnings")
	for _, t := range listed {
		var jobs, makespan, others any = "-", "-", "-"
		n := 0
		if r := gave[t.Name]; r != nil {
			n = len(r.Warnings)
			if r.OthersCores != nil {
				others = doc.Fixed(*r.OthersCores, 2, "")
			}
			makespan = doc.Number(float64(r.MakespanMs)/1000, "s")
			c := r.Completion()
			jobs = doc.Known(c.Jobs() > 0, fmt.Sprintf("%d of %d succeeded", c.Succeeded, c.Jobs()))
		}
		state := string(t.State)
		if t.Warmup {
			state += " (warm-up)"
		}
		trials.Add(t.Name, state, doc.Known(!t.Started.IsZero(), local(t.Started)), took(t.Started, t.Finished), jobs, makespan, others, n)
	}
	warnings := slices.Concat(s.Warnings, Warnings(s.Results), runs.Failures(s.Manifest.Trials))
	return append(append(doc.Doc{s.about(), trials}, failed...), doc.Warnings(warnings))
}

func (s *Shown) about() *doc.Table {
	a, m := s.About, s.Manifest
	t := doc.NewTable("run", "", "")
	row := func(name, format string, args ...any) { t.Add(name, fmt.Sprintf(format, args...)) }
	row("run", "%s", a.Name)
	row("folder", "%s, %s", a.Folder, a.Size())
	row("world", "%s", a.World)
	row("state", "%s", a.State)
	if a.Error != "" {
		row("error", "%s", a.Error)
	}
	row("started", "%s, took %s", local(a.Started), took(m.Started, m.Finished))
	row("process", "%d on %s", m.Owner.PID, m.Owner.Host)
	row("trials", "%d of %d done", a.Done, a.Trials)
	row("models", "%s", cmp.Or(strings.Join(a.Models, ", "), "-"))
	row("workloads", "%s", cmp.Or(strings.Join(a.Workloads, ", "), "-"))
	row("seed", "%d", m.Seed)
	row("heddle", "%s", strings.TrimSpace(m.Heddle.Version+" "+m.Heddle.Revision))
	for _, values := range []map[string]string{m.Versions, m.Settings} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			row(name, "%s", values[name])
		}
	}
	row("command", "%s", cmp.Or(strings.Join(m.Command, " "), "-"))
	return t
}

// took returns the time between two others, "-" if one of them is not known.
func took(from, to time.Time) any {
	return doc.Known(!from.IsZero() && !to.IsZero(), doc.Duration(float64(to.Sub(from))/1e6))
}

// Warnings returns the warnings of trials, each text once with the trials
// that have it, in the order of the first of them.
func Warnings(trials []Trial) (list []string) {
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

// mostFailedJobs is the largest number of a trial's failed jobs that are named.
// The trial's result.json has them all.
const mostFailedJobs = 5

// FailedDoc says how many of a trial's jobs failed, if any did, and names the
// first of them.
func (t *Trial) FailedDoc() doc.Doc {
	if len(t.FailedJobs) == 0 {
		return nil
	}
	c := t.Completion()
	var list doc.List
	for _, f := range t.FailedJobs[:min(mostFailedJobs, len(t.FailedJobs))] {
		list = append(list, f.String())
	}
	if more := len(t.FailedJobs) - mostFailedJobs; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return doc.Doc{doc.Heading(fmt.Sprintf("%s: %d of %d jobs failed", t.Name, c.Others, c.Jobs())), list}
}
