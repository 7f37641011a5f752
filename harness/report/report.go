// Package report makes one document of runs and traces, for a page that people look
// at: which scheduler model was best and whether the trials tell it, what to distrust,
// thresholds, differences, a timeline, distributions, jobs, and where all of it is from.
// It computes no figure: packages measure, compare, fidelity and results do.
package report

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/printable"
)

// Options say what a page is about.
type Options struct {
	Runs   []string // run folders with results of trials
	Traces []string // files of traces, in any format that can be imported
	// Metrics are those by which models are compared. The first is that of the page's
	// first sentence. The default is the mean completion time, and the other usual ones.
	Metrics []string `flag:"metric" list:"," suggest:"metrics" text:"compare by METRIC of heddle compare, or all; the first is that of the page's first sentence; may be repeated" of:"METRIC" without:"mean completion and the usual ones"`
	// Apart keeps runs apart, as in compare.Options.
	Apart bool `flag:"apart" text:"keep runs apart: a model is then named RUN/MODEL"`
	// Fidelity says that measured trials are replayed, to compare them with predictions.
	Fidelity bool `flag:"fidelity" text:"replay the trials to compare them with predictions" without:"for measured runs"`
	// Unverified allows to read files that differ from their recorded hashes.
	Unverified bool `flag:"unverified" text:"also read files that have changed since they were recorded, with a warning"`
	// Command is the command line that makes the page, for readers who make it again.
	Command []string
	// Progress is told what is being done.
	Progress func(doing string)
}

// AddRun makes the page be about a run too: about its trials, or about its traces if it
// is a capture, which has no results. It reports whether the trials were measured, and so
// can be compared with predictions.
func (o *Options) AddRun(run *runs.Run) (measured bool) {
	if _, err := results.List(run); errors.Is(err, results.ErrNone) {
		o.Traces = append(o.Traces, results.Traces(run)...)
		return false
	}
	o.Runs = append(o.Runs, run.Dir)
	m := run.Manifest()
	return m.World != runs.WorldSimulated
}

// page is a page that is being made.
type page struct {
	Options
	ctx      context.Context
	compared *compare.Report // nil if the page is of traces alone
	models   []string        // what a colour stands for, in the order of colours
	traces   []*reading
	curves   []compare.Curve
	maps     []mapCurves
	slow     doc.Doc // what was slow in median trials and traces, slowTrials of them

	slowTrials int
	warnings   []string
}

// usual are the metrics of a page if nobody names any.
var usual = []string{
	"makespan", "jobCompletion", "slowdown", "waiting", "cacheLocal", "nodeLocal", "mapDuration", "reduceDuration",
	"slotUse",
}

// compare compares the runs of a page.
func (p *page) compare() error {
	p.Progress("compare trials")
	var err error
	if p.compared, err = compare.Runs(p.Runs, compare.Options{Metrics: p.Metrics, Apart: p.Apart, Unverified: p.Unverified}); err != nil {
		return err
	}
	p.warnings = append(p.warnings, p.compared.General()...)
	for _, run := range p.compared.Runs() {
		if m := run.Manifest(); m.World == runs.WorldSimulated { // their warnings are all the same, and among the general ones
			continue
		}
		for i := range run.Trials {
			p.warnings = append(p.warnings, run.Trials[i].Warnings...)
		}
	}
	p.models, p.curves = p.compared.AllModels(), p.compared.Curves()
	return nil
}

// Of returns the document of a page.
func Of(ctx context.Context, o Options) (doc.Doc, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if len(o.Metrics) == 0 {
		o.Metrics = usual
	}
	p := &page{Options: o, ctx: ctx}
	if len(o.Runs) > 0 {
		if err := p.compare(); err != nil {
			return nil, err
		}
	}
	for _, path := range o.Traces {
		t, err := p.read(path)
		if err != nil {
			return nil, err
		}
		if p.replayed(t) {
			p.curves = slices.DeleteFunc(p.curves, func(c compare.Curve) bool { return c.Workload == t.workload && c.Model == t.name })
		} else {
			t.name, t.workload = p.freeName(t.file), p.workloadOf(t)
			p.models = append(p.models, t.name)
		}
		p.traces = append(p.traces, t)
		p.warnings = append(p.warnings, t.warnings...)
		for _, property := range t.properties() {
			if c := compare.NewCurve(t.workload, t.name, property.Title, property.Unit, property.Values(t.figures)); len(c.Values) > 0 {
				p.curves = append(p.curves, c)
			}
		}
	}
	timeline, err := p.timeline()
	if err != nil {
		return nil, err
	}
	predicted, err := p.predicted()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.Progress("write page")
	d := doc.Doc{doc.Heading(p.title()), doc.Lead(p.lead()), p.facts()}
	if p.compared != nil && len(p.compared.Thresholds) > 0 {
		d = append(d, doc.Heading("Thresholds"), compare.ThresholdTable(p.compared.Thresholds))
	}
	d = append(d, timeline...)
	if p.compared != nil {
		d = append(d, p.differences()...)
	}
	if len(p.slow) > 0 {
		d = append(append(d, doc.Heading("What was slow")), p.slow...)
	}
	d = append(d, p.distrust()...)
	d = append(d, p.distributions()...)
	if p.compared != nil {
		if steering := p.compared.SteeringDoc(); len(steering) > 0 {
			steering[0] = doc.Heading("What became of decisions")
			d = append(d, steering...)
		}
	}
	d = append(d, predicted...)
	d = append(d, p.jobs()...)
	d = append(d, p.inTraces()...)
	return append(append(d, p.sources()...), p.words()...), nil
}

// replayed reports whether the runs have a trace among their trials, as what they replay.
// The trace then stands in that trial's place, under its name.
func (p *page) replayed(t *reading) bool {
	if p.compared == nil {
		return false
	}
	for _, c := range p.compared.AllTrials() {
		if c.Recorded() && c.Figures.ScheduleDigest == t.figures.ScheduleDigest && t.figures.List == nil {
			t.name, t.workload, t.trial, t.repeat = c.Model, c.Workload, c.Name, fmt.Sprint(c.Repeat)
			return true
		}
	}
	return false
}

// given reports whether the reader gave the very trace that a trial has recorded.
func (p *page) given(c compare.Chosen) bool {
	return slices.ContainsFunc(p.traces, func(t *reading) bool { return t.trial == c.Name && t.workload == c.Workload && t.name == c.Model })
}

// freeName returns a name that no model of the page has.
func (p *page) freeName(name string) string {
	for n, plain := 2, name; slices.Contains(p.models, name); n++ {
		name = fmt.Sprintf("%s (%d)", plain, n)
	}
	return name
}

// workloadOf returns the workload of the runs that a trace stands beside: the one whose
// name it has, or the only one. Without runs it is the trace's name.
func (p *page) workloadOf(t *reading) string {
	if p.compared == nil {
		return t.name
	}
	list := p.compared.Workloads()
	plain := strings.TrimSuffix(t.file, filepath.Ext(t.file))
	if i := slices.IndexFunc(list, func(w string) bool { return strings.HasPrefix(t.file, w) || w == plain }); i >= 0 {
		return list[i]
	}
	if len(list) == 1 {
		return list[0]
	}
	return t.name
}

// title names what the page is about: what ran under which models, or the traces.
func (p *page) title() string {
	if p.compared == nil {
		return printable.First(mostNamed, names(p.Traces))
	}
	models := slices.DeleteFunc(p.compared.AllModels(), func(m string) bool { return strings.HasSuffix(m, config.ModelRecorded) })
	title := strings.Join(models, " and ") + " on "
	if len(models) > 2 {
		title = printable.Count(len(models), "model") + " on "
	}
	list := p.compared.Workloads()
	if len(list) > 2 {
		return title + printable.Count(len(list), "workload")
	}
	return title + strings.Join(list, " and ")
}

func names(paths []string) (list []string) {
	for _, path := range paths {
		list = append(list, filepath.Base(path))
	}
	return list
}

// lead is the page's first sentence.
func (p *page) lead() string {
	if p.compared != nil {
		return p.compared.Headline()
	}
	var list []string
	for _, t := range p.traces {
		text := t.figures.Headline()
		if len(p.traces) > 1 {
			text = t.name + ": " + text
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

// facts are what the trials have in common.
func (p *page) facts() (list doc.Facts) {
	if p.compared == nil {
		for _, t := range p.traces {
			list = append(list, t.facts()...)
		}
		return list
	}
	all := func(name string, of func(m *runs.Manifest) string) {
		var values []string
		for _, run := range p.compared.Runs() {
			m := run.Manifest()
			if v := of(&m); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if len(values) > 0 {
			list = append(list, doc.Fact{Name: name, Value: strings.Join(values, ", ")})
		}
	}
	list = append(list, doc.Fact{Name: "run", Value: strings.Join(names(p.Runs), ", ")})
	trials := p.compared.AllTrials()
	beside := ""
	if slices.ContainsFunc(trials, func(c compare.Chosen) bool { return c.Recorded() }) {
		beside = ", beside the recording of a trace"
	}
	all("where", func(m *runs.Manifest) string { return m.Place() + beside })
	list = append(list, doc.Fact{Name: "trials", Value: fmt.Sprint(len(trials))},
		doc.Fact{Name: "models", Value: few(p.compared.AllModels())}, doc.Fact{Name: "workloads", Value: few(p.compared.Workloads())})
	list = append(list, p.compared.Settings()...)
	all("nodes", func(m *runs.Manifest) string { return m.Cluster["machines.nodes"] })
	all("seed", func(m *runs.Manifest) string { return fmt.Sprint(m.Seed) })
	all("began", func(m *runs.Manifest) string { return m.Started.UTC().Format("2006-01-02 15:04 UTC") })
	return list
}

// mostNamed is how many names of a kind stand in a line.
const mostNamed = 6

func few(names []string) string { return printable.First(mostNamed, names) }

// distrust lists the warnings, each once.
func (p *page) distrust() doc.Doc {
	if len(p.warnings) == 0 {
		return nil
	}
	return doc.Doc{doc.Heading("What to distrust"), doc.Warnings(p.warnings)}
}

// differences has a section for each workload.
func (p *page) differences() (d doc.Doc) {
	list := p.compared.Workloads()
	for _, w := range list {
		title := "Differences"
		if len(p.compared.AllModels()) == 1 {
			title = "Results"
		}
		if len(list) > 1 {
			title += ": " + w
		}
		d = append(d, doc.Heading(title), p.compared.Overview(w))
		if forests := p.compared.Forests(w); len(forests) > 0 {
			d = append(append(d, doc.Subheading("By how much models differ, repeat by repeat")), forests...)
		}
		d = append(d, &doc.Fold{Title: "Each metric as a table", Parts: p.compared.Numbers(w)})
	}
	if all := p.compared.Joined(); len(all) > 0 {
		d = append(append(d, doc.Heading("Differences: all workloads")), all...)
	}
	return d
}

// inTraces has a section for each trace: the figures that its page alone has.
func (p *page) inTraces() (d doc.Doc) {
	for _, t := range p.traces {
		d = append(d, doc.Heading("Trace "+t.file))
		d = append(d, t.figures.About()...)
	}
	return d
}

// How many trials the page lists, and how many jobs its file has: a page is to be
// smaller than 5 MB.
const mostTrials, mostInFile = 150, 30_000

// sources says where all of it is from, and has the data as files.
func (p *page) sources() doc.Doc {
	d := doc.Doc{doc.Heading("Where this is from")}
	if len(p.Command) > 0 {
		d = append(d, doc.Text("This page is made by:"), doc.Command(p.Command))
	}
	var files doc.Files
	add := func(name string, t *doc.Table) error {
		var out strings.Builder
		err := doc.WriteCSV(&out, doc.Doc{t})
		files = append(files, doc.File{Name: name, Type: "text/csv", Text: out.String()})
		return err
	}
	var jobs []*measure.Figures
	var labels [][]string
	if p.compared != nil {
		for _, run := range p.compared.Runs() {
			d = append(append(d, doc.Subheading("Run "+run.Manifest().Name)), results.Provenance(run.Run)...)
		}
		trials := p.compared.Trials()
		_ = add("trials.csv", trials) // a strings.Builder takes all that is written
		shown := doc.Doc{trials}
		if n := len(trials.Rows); n > mostTrials {
			part := *trials
			part.Rows = part.Rows[:mostTrials]
			shown = doc.Doc{&part, doc.Notes{fmt.Sprintf("%d more trials; the file trials.csv has all", n-mostTrials)}}
		}
		d = append(d, &doc.Fold{Title: "Every trial", Parts: shown})
		for _, t := range p.compared.AllTrials() {
			if !p.given(t) {
				labels, jobs = append(labels, []string{filepath.Base(t.Run.Dir), t.Workload, t.Model, t.Name}), append(jobs, t.Figures)
			}
		}
	}
	for _, t := range p.traces {
		d = append(d, doc.Subheading("Trace "+t.file), t.provenance())
		labels, jobs = append(labels, []string{"", t.workload, t.name, t.name}), append(jobs, t.figures)
	}
	var left doc.Notes
	if n := allJobs(jobs); n > mostInFile {
		left = doc.Notes{fmt.Sprintf("%d jobs of all trials are too many for a file in a page; heddle runs export --rows jobs writes them", n)}
	} else if table, _ := measure.Jobs([]string{"run", "workload", "model", "trial"}, labels, jobs, n); n > 0 {
		_ = add("jobs.csv", table)
	}
	if len(files)+len(left) > 0 {
		d = append(d, doc.Subheading("Data as CSV"), files, left)
	}
	return d
}

func allJobs(list []*measure.Figures) (n int) {
	for _, f := range list {
		n += len(f.JobList)
	}
	return n
}

// levels are the localities of maps in the order of colours.
var levels = []traces.Level{traces.LevelCache, traces.LevelNode, traces.LevelRack, traces.LevelOff}
