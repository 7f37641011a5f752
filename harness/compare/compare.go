// Package compare compares the scheduler models of finished runs. For each
// workload and metric it gives the mean of each model with its interval, and
// for each pair of models the difference with its interval and p-value.
//
// Trials of the same run and repeat are pairs: they were measured shortly after
// each other and with the same seeds. Models that never occur in the same run
// are compared unpaired, with a warning. If there are too few repeats, a figure
// has no interval and nothing is ranked.
//
// The package reads run folders and needs no cluster. Package experiment makes
// the results that it compares.
package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"heddle/harness/results"
	"heddle/harness/stats"
)

// ErrNoTrial says that a run has no finished trial, so nothing can be compared.
var ErrNoTrial = errors.New("no finished trial")

// Options say which metrics to compare, and how to treat the given runs.
type Options struct {
	// Metrics are the names of those [Metrics] that are compared. The report's
	// own table is about the first of them. The default is all metrics.
	Metrics []string `flag:"metric" list:"," suggest:"metrics" text:"only METRIC, or all; may be repeated" of:"METRIC" without:"the first six"`
	// By divides the jobs of each workload into classes, which are compared each on
	// its own: by measure.ByQueue, ByPool or BySize. It is empty for all jobs together.
	By string `flag:"by" values:"{classes}" text:"compare jobs by a class, each class on its own; for metrics of jobs"`
	// Apart says that the same scheduler model in two runs is treated as two
	// models, named RUN/MODEL.
	Apart bool `flag:"apart" text:"keep runs apart: a model is then named RUN/MODEL"`
	// Where chooses the trials that are compared. The default is all of them. If it
	// is set, no thresholds are checked: those are about all trials of a run.
	Where *results.Filter
	// Unverified allows to read files that have changed since the run recorded
	// their hashes. There is then a warning.
	Unverified bool `flag:"unverified" text:"also read files that have changed since they were recorded, with a warning"`
}

// Report is the comparison of scheduler models. Other programs may rely on its
// JSON keys.
type Report struct {
	// This Table compares the models by the first metric. For this, the trials
	// of all workloads in a repeat are added up.
	Table
	// Tables contains one table for each workload and metric: sorted by the
	// name of the workload, then in the order of the metrics.
	Tables []Table `json:"tables"`
	// Steering contains one entry for each scheduler model that decided where
	// tasks run. If there are several, a last entry is for all of them
	// together.
	Steering []Steering `json:"steering"`
	// Thresholds says whether the thresholds in the run's experiment file hold,
	// one entry for each threshold and workload. It is empty if several runs
	// or only some trials are compared.
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// CannotTell says whether thresholds pass that the trials cannot tell; see config.Thresholds.
	CannotTell string `json:"cannotTell,omitempty"`

	trials  []trial
	general []string // warnings about the whole comparison, not about one table
	runs    []*results.Run

	unlikeWork []string // says of workloads that their jobs are unlike in the runs, so that there is no comparison of all
}

// Table compares scheduler models by one metric.
type Table struct {
	Metric string `json:"metric"`
	// Unit is the unit of the metric: "s" or "%".
	Unit string `json:"unit"`
	// Workload is the name of the workload; empty if the table is about all
	// workloads together.
	Workload string `json:"workload"`
	// Class is the class of jobs that the table is about, such as "size 0-10 maps";
	// empty for all jobs.
	Class  string  `json:"class,omitempty"`
	Models []Model `json:"models"`
	// Pairs contains every two models of the table. Model b of a pair comes
	// after model a in Models.
	Pairs    []Pair   `json:"pairs"`
	Warnings []string `json:"warnings"`

	zero bool // the metric is 0 in all trials, such as cacheLocal where nothing is cached
}

// Model contains the values of one metric for one scheduler model.
type Model struct {
	Model  string `json:"model"`
	Runs   int    `json:"runs"` // number of the model's trials that have a value of the metric
	Median Number `json:"median"`
	// CI95 is the 95 % confidence interval of the model's median. It is null
	// for fewer than 6 trials.
	CI95 Interval `json:"ci95"`
	// Mean is the mean of the trials, of which pairs compare two: the geometric
	// mean of times and sizes. Its interval is null for one trial.
	Mean     Number   `json:"mean"`
	MeanCI95 Interval `json:"meanCi95"`
	// NoisePct says how much the measured trials differ from each other: their
	// standard deviation divided by their mean, in percent. It is null unless
	// the table also has simulated trials and the metric is a time.
	NoisePct Number `json:"noisePct"`
	// FailedJobs is the number of jobs that failed in the model's trials.
	FailedJobs int `json:"failedJobs,omitempty"`
}

// Pair says by how much scheduler model b differs from scheduler model a.
type Pair struct {
	A string `json:"a"`
	B string `json:"b"`
	// DiffPct is by how many percent b is above a: the geometric mean of b/a,
	// minus one. For a metric in % it is the mean of b-a in percentage points,
	// and its interval lies within -100 to 100.
	DiffPct Number `json:"diffPct"`
	// CI95Pct is the interval of DiffPct, and P the p-value of the test from
	// which it comes. Both are adjusted by Bonferroni's method for the number
	// of pairs in the table: with 95 % probability all intervals of the table
	// contain the true differences. P is below 0.05 exactly when CI95Pct
	// excludes 0. CI95PctAlone and PAlone are the same, not adjusted.
	CI95Pct      Interval `json:"ci95Pct"`
	P            Number   `json:"p"`
	CI95PctAlone Interval `json:"ci95PctAlone"`
	PAlone       Number   `json:"pAlone"`
	// PRanks is the p-value of a rank test, which does not assume that values
	// have a normal distribution. It is adjusted like P. The test is the
	// signed-rank test for pairs, the Mann-Whitney test for unpaired trials.
	PRanks Number `json:"pRanks"`
	// Paired is true if trials of the same run and repeat are compared, false
	// if no run has both models. Runs is then the number of such pairs.
	// Otherwise it is the number of trials of both models.
	Paired bool `json:"paired"`
	Runs   int  `json:"runs"`

	// each has the difference of each pair of trials, in the unit of DiffPct.
	each []float64
}

// Significant reports whether model b differs from model a at the confidence
// level stats.Level.
func (p Pair) Significant() bool { return float64(p.P) < 1-stats.Level }

// Number is a value in a report. It is NaN, and null in JSON, if there is no
// value.
type Number float64

// MarshalJSON writes the number, or null if it is NaN.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Interval contains the lower and the upper bound of an interval. In JSON it is
// null if it has no bounds.
type Interval [2]float64

// Bounded reports whether both bounds of the interval are finite.
func (i Interval) Bounded() bool { return !math.IsInf(i[1]-i[0], 0) && !math.IsNaN(i[1]-i[0]) }

// MarshalJSON writes the interval as [lower,upper], or null if it has no
// bounds.
func (i Interval) MarshalJSON() ([]byte, error) {
	if !i.Bounded() {
		return []byte("null"), nil
	}
	return json.Marshal([2]float64(i))
}

// Runs compares the scheduler models of the runs in the run folders dirs. If a
// folder has no finished trial, the error wraps ErrNoTrial and names the
// folder.
func Runs(dirs []string, o Options) (*Report, error) {
	metrics, err := metricsOf(o.Metrics)
	if o.By != "" {
		metrics, err = metricsBy(o.By, o.Metrics)
	}
	if err != nil {
		return nil, err
	}
	l, err := load(dirs, o)
	if err != nil {
		return nil, err
	}
	trials, unlike := l.trials, apartWorkloads(l.runs, l.trials)
	warnings := append(slices.Clone(unlike), l.warnings...)
	byWorkload := map[string][]trial{}
	for _, t := range trials {
		byWorkload[t.workload] = append(byWorkload[t.workload], t)
	}
	workloads := slices.Sorted(maps.Keys(byWorkload))
	if err := bounded(byWorkload, len(metrics)); err != nil {
		return nil, err
	}
	r := &Report{Steering: steering(trials), trials: trials, runs: l.runs, unlikeWork: unlike}
	warnings = slices.Concat(r.starved(), madeUpWarning(trials), warnings)
	warnings = append(warnings, equalSchedules(trials)...)
	warnings = append(warnings, series(trials)...)
	for _, w := range workloads {
		of := byWorkload[w]
		warnings = append(warnings, failures(w, of)...)
		warnings = append(warnings, speeds(w, of)...)
		tables := metrics
		if o.By != "" {
			if tables = inClasses(metrics, o.By, of); len(tables) == 0 {
				warnings = append(warnings, fmt.Sprintf("%s: all jobs are of one %s", w, o.By))
			}
		}
		for _, m := range tables {
			r.Tables = append(r.Tables, newTable(m, w, of))
		}
	}
	if len(r.Tables) == 0 {
		return nil, fmt.Errorf("compare: in no workload are the jobs of more than one %s", o.By)
	}
	together := trials
	if len(unlike) > 0 {
		together = nil
	} else if len(workloads) > 1 {
		var incomplete []string
		if together, incomplete = joinWorkloads(trials, len(workloads)); len(incomplete) > 0 {
			warnings = append(warnings, fmt.Sprintf("not every workload is there in %s: left out of all workloads together",
				strings.Join(incomplete, ", ")))
		}
	}
	if o.Where == nil {
		err = r.thresholds(l.runs, o.Apart, workloads, trials)
	}
	if err != nil {
		return nil, err
	}
	r.Table = newTable(metrics[0], "", together)
	if len(workloads) == 1 {
		r.Workload = workloads[0]
	}
	r.general, r.Warnings = warnings, slices.Concat(warnings, r.Warnings)
	return r, nil
}

// mostPairs is how many pairs of models all tables of a comparison may have: some
// 300 MB of them.
const mostPairs = 1_000_000

// bounded returns an error if a comparison would have more pairs than that.
func bounded(byWorkload map[string][]trial, metrics int) error {
	pairs := 0
	for _, trials := range byWorkload {
		models := len(modelsOf(trials))
		pairs += models * (models - 1) / 2 * metrics
	}
	if pairs > mostPairs {
		return fmt.Errorf("compare: %d pairs of models in all workloads and metrics, want at most %d; choose some with --where, --metric",
			pairs, mostPairs)
	}
	return nil
}

// newTable makes the table that compares the scheduler models of the given
// trials by the metric m.
func newTable(m metric, workload string, trials []trial) Table {
	t := Table{Metric: m.Name, Unit: m.Unit, Workload: workload, Models: []Model{}, Pairs: []Pair{}}
	if m.by != "" {
		t.Class = m.by + " " + m.class
	}
	var w warnings
	known := slices.DeleteFunc(slices.Clone(trials), func(t trial) bool { return math.IsNaN(m.of(t)) })
	if lost := len(trials) - len(known); lost > 0 && len(known) > 0 {
		w.add("unknown in %d of %d trials, which are left out", lost, len(trials))
	}
	t.zero = !slices.ContainsFunc(known, func(t trial) bool { return m.of(t) != 0 })
	isSimulated := func(t trial) bool { return t.simulated }
	mixed := slices.ContainsFunc(known, isSimulated) && slices.ContainsFunc(known, func(t trial) bool { return !t.simulated })
	models := modelsOf(known)
	byModel := map[string][]trial{}
	for _, k := range known {
		byModel[k.model] = append(byModel[k.model], k)
	}
	for _, model := range models {
		of := distinct(byModel[model])
		e, mean := stats.Median(valuesOf(m, of)), m.mean(of)
		if !isRecording(model) {
			w.from(model, mean.Warnings)
		}
		x := Model{
			Model: model, Runs: e.N, Median: Number(e.Value), CI95: Interval{e.Lo, e.Hi},
			Mean: Number(mean.Value), MeanCI95: Interval{mean.Lo, mean.Hi}, NoisePct: Number(math.NaN()),
		}
		if mixed && m.Unit == "s" && !byModel[model][0].simulated {
			x.NoisePct = Number(100 * stats.Spread(valuesOf(m, byModel[model])))
		}
		for _, k := range byModel[model] {
			x.FailedJobs += m.failed(k)
		}
		t.Models = append(t.Models, x)
	}
	var differences []stats.Comparison
	for i, a := range models {
		for _, b := range models[i+1:] {
			about := &w
			if isRecording(a) || isRecording(b) {
				about = new(warnings) // there is one trial of a recording, and fidelity compares it with its replays
			}
			p, c := newPair(m, byModel[a], byModel[b], about)
			t.Pairs, differences = append(t.Pairs, p), append(differences, c)
		}
	}
	adjust(m, t.Pairs, differences)
	if m.Unit == "s" { // virtual time has neither a cold cluster nor other users
		drifts(m, slices.DeleteFunc(slices.Clone(known), isSimulated), &w)
	}
	t.Warnings = w.list()
	return t
}

// newPair compares two scheduler models by one metric. If both have trials of
// the same run and repeat, only these trials are compared, as pairs. It also
// returns the difference, not adjusted, in the unit of Metric.difference.
func newPair(m metric, as, bs []trial, w *warnings) (Pair, stats.Comparison) {
	p := Pair{A: as[0].model, B: bs[0].model}
	both := p.B + " vs " + p.A
	pairedA, pairedB, again := distinctPairs(as, bs)
	p.Paired = len(pairedA) > 0
	if !p.Paired {
		w.from(both, []string{"no repeat of a run has both, so they are compared without pairs; what changed on the cluster between the runs " +
			"is in the difference"})
		as, bs = distinct(as), distinct(bs)
	} else {
		// a trace is there once, however many its replays are
		if lost := len(as) + len(bs) - 2*len(pairedA) - again; lost > 0 && !isRecording(p.A) &&
			!isRecording(p.B) {
			w.add("%s: %d without a partner in the same repeat left out of their difference", both, lost)
		}
		as, bs = pairedA, pairedB
	}
	c := m.difference(as, bs, p.Paired)
	ranks := stats.MannWhitney
	if p.Paired {
		ranks = stats.Wilcoxon
	}
	w.from(both, c.Warnings)
	p.Runs = c.N
	p.PAlone, p.PRanks = Number(c.P), Number(ranks(valuesOf(m, as), valuesOf(m, bs)))
	p.DiffPct, p.CI95PctAlone = m.inPercent(c)
	if p.Paired {
		for i := range as {
			p.each = append(p.each, m.apart(as[i], bs[i]))
		}
	}
	return p, c
}

// drifts returns warnings about runs whose trials became slower or faster over
// time. Each trial's value is divided by the median of its model first, so that
// models can be mixed.
func drifts(m metric, trials []trial, w *warnings) {
	for _, run := range slices.Compact(mapped(trials, func(t trial) int { return t.run })) {
		of := slices.DeleteFunc(slices.Clone(trials), func(t trial) bool { return t.run != run })
		slices.SortStableFunc(of, func(a, b trial) int { return a.started.Compare(b.started) })
		median := map[string]float64{}
		for _, model := range modelsOf(of) {
			median[model] = stats.Quantile(valuesOf(m, under(of, model)), 0.5)
		}
		relative := mapped(of, func(t trial) float64 { return m.of(t) / median[t.model] })
		if d := stats.DriftOf(relative); d.P < 1-stats.Level {
			w.add("drifts: %+.1f%% from the first to the last trial of %s (%s); was the cluster warm, and otherwise idle?", 100*d.Change,
				of[0].folder, pText(Number(d.P)))
		}
		if skip := stats.WarmUp(relative); skip > 0 {
			w.add("the first %d of %d trials of %s are off the rest, as of a cluster that was not warm yet; warmups: %d in the experiment runs "+
				"as many before the first measured one", skip, len(of), of[0].folder, skip)
		}
	}
}

func valuesOf(m metric, trials []trial) []float64 {
	return mapped(trials, func(t trial) float64 { return m.of(t) })
}

func mapped[T, V any](list []T, f func(T) V) []V {
	values := make([]V, len(list))
	for i, x := range list {
		values[i] = f(x)
	}
	return values
}
