package paper

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"heddle/harness/config"
	"heddle/harness/fidelity"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/stats"
	"heddle/traces"
	"heddle/traces/outfile"
	"heddle/traces/printable"
	"heddle/traces/tracefile"
)

// Live is a paper's experiment on a real cluster, at a size that a small test
// cluster can run.
type Live struct {
	// Files are the experiment file ExperimentFile, as for the command "heddle
	// run", other experiments of the paper beside it, the cluster file LabFile, and
	// what the experiments name, such as a trace.
	Files fs.FS
	// Columns are the columns of the table, in order: names of those that every paper
	// has, of metrics of "heddle compare", or of figures that models note. If it is
	// empty, they are those that every paper has.
	Columns []string
	// Expect returns sentences on what a simulation of the experiment lets expect, such
	// as how many repeats would tell the claims. They are printed before the run on a
	// cluster. It may be nil.
	Expect func(simulated *LiveTable) []string
	// Explain returns sentences that say what a table shows. It may be nil.
	Explain func(*LiveTable) []string
}

// ExperimentFile is the name of the experiment file in Live.Files.
const ExperimentFile = "live.yaml"

// LabFile is the name of the cluster file in Live.Files. It describes the cluster
// that the experiment is made for, on which the number of repeats is simulated.
const LabFile = "lab.yaml"

// Experiment returns the file of an experiment: ExperimentFile if its name is "".
func (l *Live) Experiment(name string) (file string, err error) {
	if name == "" {
		return ExperimentFile, nil
	}
	files, err := fs.Glob(l.Files, "*.yaml")
	if err != nil {
		return "", fmt.Errorf("look for experiments for a cluster: %w", err)
	}
	var names []string
	for _, file := range files {
		if file == name+".yaml" && file != LabFile {
			return file, nil
		}
		if file != ExperimentFile && file != LabFile {
			names = append(names, strings.TrimSuffix(file, ".yaml"))
		}
	}
	return "", fmt.Errorf("no experiment %q for a cluster; besides that without a name there are %q", name, names)
}

// Write writes the files to a folder, which is made if it does not exist.
func (l *Live) Write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make folder of a paper's experiment: %w", err)
	}
	return fs.WalkDir(l.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(l.Files, name)
		if err != nil {
			return fmt.Errorf("read a paper's experiment: %w", err)
		}
		return outfile.Replace(filepath.Join(folder, name), func(f *os.File) error { _, err := f.Write(data); return err })
	})
}

// Unlike returns in which settings a cluster differs from the one that the
// experiment is made for, as flags of "heddle lab up" that set them right.
// Clusters that do not describe their machines are taken as they are.
func (l *Live) Unlike(c *config.Cluster) (flags []string, err error) {
	data, err := fs.ReadFile(l.Files, LabFile)
	if err != nil || c.Machines == nil {
		return nil, err
	}
	made, err := config.ParseCluster(LabFile, data)
	if err != nil {
		return nil, err
	}
	for _, pair := range [][2]any{{*made.Machines, *c.Machines}, {made.Rates, c.Rates}} {
		want, got := reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1])
		for i := range want.NumField() {
			key, _, _ := strings.Cut(want.Type().Field(i).Tag.Get("yaml"), ",")
			if slices.Contains(notLabFlags, key) || reflect.DeepEqual(want.Field(i).Interface(), got.Field(i).Interface()) {
				continue
			}
			value := strings.Trim(strings.ReplaceAll(fmt.Sprint(want.Field(i).Interface()), " ", ","), "[]") // cpus is a list
			flags = append(flags, "--"+labFlag(key)+" "+cmp.Or(value, "0"))
		}
	}
	return flags, nil
}

// notLabFlags are the keys of a cluster's description that are not compared: a lab
// has no flag for them, or no experiment of a paper depends on them.
var notLabFlags = []string{"hostCores", "nodeExpiry", "scheduler", "async"}

// labFlag returns the flag of "heddle lab up" for a key of a cluster file, such
// as block-size for blockSize.
func labFlag(key string) string {
	key = strings.Replace(key, "nmH", "nm-h", 1)
	key = strings.Replace(key, "amH", "am-h", 1)
	return strings.Replace(key, "blockSize", "block-size", 1)
}

// LiveTable contains the results of a run on a cluster, and what replays
// predict for the same run. Other programs may rely on its JSON keys.
type LiveTable struct {
	Run  string    `json:"run"`
	Rows []LiveRow `json:"rows"`
	// Splits are, for each workload, the numbers of maps whose input split names a
	// node, in the first trial that left the splits as they were submitted.
	Splits   map[string]map[string]int `json:"splits"`
	Notes    []string                  `json:"notes"` // what the table shows, in sentences
	Warnings []string                  `json:"warnings"`

	trials  []measured
	columns []liveColumn
}

// LiveRow contains the figures of one workload under one scheduler model. Each
// is a mean over the repeats.
type LiveRow struct {
	Workload string `json:"workload"`
	Model    string `json:"model"`
	Runs     int    `json:"runs"`
	// CompletionS is the mean time of the jobs that succeeded from submission to
	// end, in seconds, as their history says. TurnaroundS is the same as the
	// ResourceManager says, which counts the end of the ApplicationMaster too.
	// MasterS is the part of it until the ApplicationMaster is up. SavesPct is by
	// how many percent the turnaround, or the completion if that is not known, is
	// below that of the first model in the table, compared within each repeat.
	CompletionS Cell `json:"completionS"`
	TurnaroundS Cell `json:"turnaroundS"`
	MasterS     Cell `json:"masterS"`
	SavesPct    Cell `json:"savesPct"`
	// CachePct, LocalPct and AdherencePct are in percent. CachePct is the share
	// of successful maps that ran on a node with their block in its cache.
	// LocalPct is the share that ran on a node with their block in its cache or
	// on its disk. AdherencePct is the share of the model's decisions that were
	// carried out.
	CachePct     Cell `json:"cachePct"`
	LocalPct     Cell `json:"localPct"`
	AdherencePct Cell `json:"adherencePct"`
	// DecisionMs is the median time in ms from a decision to its container.
	DecisionMs Cell `json:"decisionMs"`
	// PredictedS is CompletionS as simulated replays predict it. The replay of
	// a trial is calibrated on the other repeats. ErrorPct is the mean, over
	// trials, of the prediction's error in percent.
	PredictedS Cell `json:"predictedS"`
	ErrorPct   Cell `json:"errorPct"`
	// Notes are the model's own figures at the end of a trial, such as learned
	// delays.
	Notes map[string]Cell `json:"notes,omitempty"`
	// Metrics are the metrics among the paper's columns, by name, and Replayed their
	// means over replays of the same trials.
	Metrics  map[string]Cell `json:"metrics,omitempty"`
	Replayed map[string]Cell `json:"replayed,omitempty"`
	// Params are the model's parameters.
	Params map[string]string `json:"params,omitempty"`
}

// liveColumn is a column of a live table.
type liveColumn struct {
	name, unit string
	of         func(*LiveRow) Cell
}

// liveColumns are the columns that every paper has. A table is cut into several of
// liveWidth columns, or of liveNarrow where names are long.
var liveColumns = []liveColumn{
	{"completion", "s", func(r *LiveRow) Cell { return r.CompletionS }},
	{"saves", "%", func(r *LiveRow) Cell { return r.SavesPct }},
	{"cache", "%", func(r *LiveRow) Cell { return r.CachePct }},
	{"local", "%", func(r *LiveRow) Cell { return r.LocalPct }},
	{"adherence", "%", func(r *LiveRow) Cell { return r.AdherencePct }},
	{"predicted", "s", func(r *LiveRow) Cell { return r.PredictedS }},
	{"error", "%", func(r *LiveRow) Cell { return r.ErrorPct }},
	{"turnaround", "s", func(r *LiveRow) Cell { return r.TurnaroundS }},
	{"of which master", "s", func(r *LiveRow) Cell { return r.MasterS }},
	{"decision", "ms", func(r *LiveRow) Cell { return r.DecisionMs }},
}

const liveWidth, liveNarrow = 7, 5

// replayed ends the name of a column with a metric of replays.
const replayed = ", replayed"

// columns returns the paper's columns, and those of them that are metrics.
func (l *Live) columns() (list []liveColumn, metrics []measure.Metric) {
	if len(l.Columns) == 0 {
		return liveColumns, nil
	}
	all := measure.Metrics()
	for _, name := range l.Columns {
		if i := slices.IndexFunc(liveColumns, func(c liveColumn) bool { return c.name == name }); i >= 0 {
			list = append(list, liveColumns[i])
			continue
		}
		c := liveColumn{name: name, of: func(r *LiveRow) Cell { return known(r.Notes, name) }}
		if i := slices.IndexFunc(all, func(m measure.Metric) bool { return m.Name == name }); i >= 0 {
			c.unit, metrics = all[i].Unit, append(metrics, all[i])
			c.of = func(r *LiveRow) Cell { return known(r.Metrics, name) }
			list = append(list, c)
			c.name, c.of = name+replayed, func(r *LiveRow) Cell { return known(r.Replayed, name) }
		}
		list = append(list, c)
	}
	return list, metrics
}

// known returns a cell by its name, one without a value if there is none.
func known(cells map[string]Cell, name string) Cell {
	if c, ok := cells[name]; ok {
		return c
	}
	return CellOf(stats.Mean(nil))
}

// measured contains the figures of one finished trial on a cluster.
type measured struct {
	results.Trial
	seconds                 float64 // mean of the jobs from submission to end, by their history
	turnaround              float64 // the same by the ResourceManager; NaN if that is not known
	master                  float64 // mean in s until the ApplicationMaster is up; NaN if that is not known
	decisionMs              float64 // median; NaN if no decision was carried out
	cache, local, adherence stats.Share
	figures                 *measure.Figures
}

// time is the time that trials are compared by.
func (m *measured) time() float64 {
	if math.IsNaN(m.turnaround) {
		return m.seconds
	}
	return m.turnaround
}

// Read returns the table of results for the finished trials in the run folder
// dir. Its models are in the order of the paper's experiment. A file that has
// changed since the run recorded its hash is an error. If unverified is true, it
// is a warning instead.
func (l *Live) Read(dir string, unverified bool) (*LiveTable, error) {
	t, run, err := read(dir, unverified)
	if err != nil {
		return nil, err
	}
	columns, metrics := l.columns()
	predicted, err := fidelity.OfRun(run, fidelity.Options{Metrics: metrics})
	if err != nil { // if replays cannot predict anything, the table still has the measured figures
		t.Warnings = append(t.Warnings, "no prediction: "+printable.OneLine(err.Error()))
	} else {
		t.Warnings = append(t.Warnings, predicted.Warnings...)
	}
	l.fill(t, run, predicted, columns, metrics)
	if l.Explain != nil {
		t.Notes = append(t.Notes, l.Explain(t)...)
	}
	return t, nil
}

// Expected returns what Expect says of a simulation of the experiment, in its run folder.
func (l *Live) Expected(dir string) ([]string, error) {
	if l.Expect == nil {
		return nil, nil
	}
	t, run, err := read(dir, false)
	if err != nil {
		return nil, err
	}
	columns, metrics := l.columns()
	l.fill(t, run, nil, columns, metrics)
	return l.Expect(t), nil
}

func (l *Live) fill(t *LiveTable, run *results.Run, predicted *fidelity.Report, columns []liveColumn, metrics []measure.Metric) {
	t.columns, t.Notes = columns, []string{}
	t.fill(predicted, l.models(), metrics)
	t.addParams(run)
}

// read returns a table of the trials in a run folder, without rows.
func read(dir string, unverified bool) (*LiveTable, *results.Run, error) {
	run, err := results.Open(dir, unverified)
	if err != nil {
		return nil, nil, fmt.Errorf("read live run: %w", err)
	}
	if len(run.Trials) == 0 {
		return nil, nil, fmt.Errorf("read live run %s: it has no finished trial yet; heddle run --resume %s continues it", dir, dir)
	}
	t := &LiveTable{Run: filepath.Base(run.Dir), Warnings: append([]string{}, run.Warnings()...)}
	trials := slices.DeleteFunc(slices.Clone(run.Manifest().Trials), func(t runs.TrialRecord) bool { return t.Warmup })
	if left := len(trials) - len(run.Trials); left > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d of %d trials are not finished and left out", left, len(trials)))
	}
	t.Splits = map[string]map[string]int{}
	for _, r := range run.Trials {
		m := measured{Trial: r}
		if err := m.read(run); err != nil {
			return nil, nil, fmt.Errorf("read live run: %w", err)
		}
		t.trials = append(t.trials, m)
		if text := r.Completion().OthersText(); text != "" {
			t.Warnings = append(t.Warnings, r.Name+": "+text)
		}
		if t.Splits[r.Workload] == nil {
			if t.Splits[r.Workload], err = splitsByNode(run.TracePath(&r)); err != nil {
				return nil, nil, fmt.Errorf("read live run: %w", err)
			}
		}
	}
	return t, run, nil
}

// addParams adds the parameters of the models to the rows. There are none if the run has no
// experiment that can be read.
func (t *LiveTable) addParams(run *results.Run) {
	e, err := results.Experiment(run.Run, "")
	if e == nil || err != nil {
		return
	}
	for i := range t.Rows {
		if k := slices.IndexFunc(e.Models, func(m config.Model) bool { return m.Label == t.Rows[i].Model }); k >= 0 {
			t.Rows[i].Params = e.Models[k].Params
		}
	}
}

// splitsByNode counts the maps of a trace whose split names a node. It returns
// nil if a scheduler model changed the splits.
func splitsByNode(path string) (map[string]int, error) {
	trace, err := tracefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer trace.Close()
	if s := trace.Header().Splits; s != "" && s != config.SplitsAsSubmitted {
		return nil, nil
	}
	nodes := map[string]int{}
	for e := range trace.All() {
		if x, ok := e.(*traces.TaskScheduled); ok {
			for _, host := range x.SplitHosts {
				nodes[string(host)]++
			}
		}
	}
	return nodes, trace.Err()
}

// Saved returns by how many percent the jobs of a workload take less time under
// model b than under a, over the repeats that have both.
func (t *LiveTable) Saved(workload, a, b string) stats.Estimate {
	x, y := t.pairs(workload, a, b)
	return Saved(each(x, (*measured).time), each(y, (*measured).time))
}

// More returns by how many points the share of local maps of a workload is
// higher under model b than under a, over the repeats that have both.
func (t *LiveTable) More(workload, a, b string) stats.Estimate {
	local := func(m *measured) stats.Share { return m.local }
	x, y := t.pairs(workload, a, b)
	return More(each(x, local), each(y, local))
}

// Times returns the times of a workload's jobs under a model, in s, run by run.
func (t *LiveTable) Times(workload, model string) []float64 {
	return each(t.of(workload, model), (*measured).time)
}

// Figures returns the figures of a workload's trials under a model, run by run.
func (t *LiveTable) Figures(workload, model string) []*measure.Figures {
	return each(t.of(workload, model), func(m *measured) *measure.Figures { return m.figures })
}

// fewAlike is the number of repeats below which equal values tell nothing of how much others
// would differ.
const fewAlike = 6

// meanOfRuns is the mean of a figure of repeats. Few that are all alike have no interval.
func meanOfRuns(xs []float64) stats.Estimate {
	e := stats.Mean(xs)
	if e.Lo == e.Hi && e.N < fewAlike {
		e.Lo, e.Hi = math.Inf(-1), math.Inf(1)
	}
	return e
}

// Differences returns by how much a metric of a workload is less under model b than under
// a, over the repeats that have both.
func (t *LiveTable) Differences(workload, a, b string, metric measure.Metric) stats.Estimate {
	x, y := t.pairs(workload, a, b)
	var less []float64
	for i := range x {
		less = append(less, metric.Of(x[i].figures)-metric.Of(y[i].figures))
	}
	return meanOfRuns(less)
}

// pairs returns the trials of two models in the repeats that have both.
func (t *LiveTable) pairs(workload, a, b string) (x, y []measured) {
	of := t.of(workload, a)
	for _, m := range t.of(workload, b) {
		if i := slices.IndexFunc(of, func(n measured) bool { return n.Repeat == m.Repeat }); i >= 0 {
			x, y = append(x, of[i]), append(y, m)
		}
	}
	return x, y
}

// of returns the trials of a workload under a model.
func (t *LiveTable) of(workload, model string) (list []measured) {
	for _, m := range t.trials {
		if m.Workload == workload && m.Model == model {
			list = append(list, m)
		}
	}
	return list
}

// models returns the labels of the experiment's models, in its order.
func (l *Live) models() []string {
	data, err := fs.ReadFile(l.Files, ExperimentFile)
	if err != nil {
		return nil
	}
	e, err := config.ParseExperiment(ExperimentFile, data)
	if err != nil {
		return nil // it is parsed, and its errors are shown, where it is run
	}
	var labels []string
	for _, m := range e.Models {
		labels = append(labels, m.Label)
	}
	return labels
}

// place returns the index of a label in a list, or the list's length.
func place(list []string, label string) int {
	if i := slices.Index(list, label); i >= 0 {
		return i
	}
	return len(list)
}

// The method read reads a trial's trace and computes the trial's figures from
// it.
func (m *measured) read(run *results.Run) error {
	s, warning, err := run.Figures(&m.Trial)
	if err == nil && warning != "" { // if the end of the trace is missing, its figures must not be compared with a paper
		err = fmt.Errorf("%w: %s", runs.ErrDamaged, warning)
	}
	if err != nil {
		return err
	}
	var turnaround measure.Completion
	for _, j := range m.Jobs {
		ms := float64(j.YarnMs)
		if j.YarnMs == 0 {
			ms = math.NaN()
		}
		turnaround.Add(j.Outcome == traces.Succeeded.String(), ms)
	}
	m.seconds, m.turnaround = m.Completion().MeanMs()/1000, turnaround.MeanMs()/1000
	for _, j := range s.JobList {
		m.master += j.MasterMs() / 1000 / float64(len(s.JobList))
	}
	if m.decisionMs = s.Decisions.P50Ms; s.Decisions.Honoured == 0 {
		m.decisionMs = math.NaN()
	}
	m.figures = s
	l := s.Locality
	known := int64(l.Known())
	m.cache, m.local = stats.Share{Part: int64(l.Cache), Of: known}, stats.Share{Part: int64(l.Cache + l.Node), Of: known}
	m.adherence = stats.Share{Part: int64(s.Decisions.Honoured), Of: int64(s.Decisions.Made)}
	return nil
}
