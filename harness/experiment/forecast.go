package experiment

import (
	"fmt"
	"math"
	"slices"
	"time"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/stats"
)

// Forecast says how long a run of an experiment would take and how many repeats
// it needs. It is made without a run on the cluster. Other programs may rely on
// its JSON keys.
type Forecast struct {
	Trials []ForecastTrial `json:"trials"` // trials of the experiment, in the order in which they would run
	// TotalMs is the sum of the trials' estimated times in ms.
	TotalMs int64 `json:"totalMs"`
	// TellPct is the difference, in percent, that the experiment should be able to
	// show, and Metric the time or multiple that is meant. Tell has a row for each
	// workload and pair of scheduler models, which says how many repeats this
	// needs.
	TellPct  float64        `json:"tellPct"`
	Metric   string         `json:"metric"`
	Tell     []ForecastTell `json:"tell"`
	Warnings []string       `json:"warnings,omitempty"`
	// Notes say what the plan sets where the experiment names nothing.
	Notes []string `json:"notes,omitempty"`

	simulated bool
}

// ForecastTrial is one trial of a planned experiment with its estimated time.
type ForecastTrial struct {
	Trial string `json:"trial"`
	// EstimateMs is the median time, in ms, of earlier trials of the same
	// workload and model. It is 0 if there are none.
	EstimateMs int64 `json:"estimateMs"`
}

// ForecastTell says how many repeats are needed to show a difference between
// two scheduler models, A and B, in the forecast's metric.
type ForecastTell struct {
	Workload string `json:"workload"`
	A        string `json:"a"`
	// B is empty if the experiment has only one model. Then the row is about
	// the difference between two runs with that model, each with so many
	// repeats.
	B string `json:"b,omitempty"`
	// Pairs is the number of repeats from which SpreadPct is computed.
	// SpreadPct is the standard deviation, over repeats, of the ratio B/A, in
	// percent. It is 0 if there are fewer than two pairs.
	Pairs     int     `json:"pairs"`
	SpreadPct float64 `json:"spreadPct"`
	// Repeats is the number of repeats needed; 0 if it is not known.
	Repeats int `json:"repeats"`
	// SeenPct is by how many percent the times of B were above those of A,
	// as the geometric mean of the pairs. SeenRepeats is the number of repeats
	// needed to tell a difference of that size; 0 if it is not known.
	SeenPct     float64 `json:"seenPct"`
	SeenRepeats int     `json:"seenRepeats"`
}

// ForecastRepeats is how many repeats are simulated if no earlier run is given
// from which to make a forecast.
const ForecastRepeats = 6

// mostRepeats is the largest number of repeats that a forecast prints.
const mostRepeats = 10_000

// Expect returns the forecast for an experiment. It is made from an earlier run
// whose workloads and models have the same labels. tellPct is the difference of
// the metric, in percent, that the experiment should show. The metric is one that is
// compared by its ratio.
func Expect(e *config.Experiment, like *results.Run, metric measure.Metric, tellPct float64) *Forecast {
	f := &Forecast{TellPct: tellPct, Metric: metric.Name, Tell: []ForecastTell{}, simulated: like.Manifest().World == runs.WorldSimulated}
	took, digests := trialTimes(like), scheduleDigests(like)
	late := map[string]bool{}
	for _, t := range e.Trials() {
		all := took[[2]string{t.Workload.Label, t.Model.Label}]
		if len(all) == 0 { // no trial of this scheduler model to estimate the time from, so take the trials of the workload under any model
			all = took[[2]string{t.Workload.Label, ""}]
		}
		x := ForecastTrial{Trial: t.Name}
		if len(all) > 0 {
			x.EstimateMs = int64(stats.Quantile(all, 0.5))
		}
		f.TotalMs += x.EstimateMs
		f.Trials = append(f.Trials, x)
		limit, of := time.Duration(e.Timeout).Milliseconds(), t.Workload.Label+" under "+t.Model.Label
		if limit > 0 && x.EstimateMs > limit && !late[of] {
			late[of] = true
			about := (time.Duration(x.EstimateMs) * time.Millisecond).Round(100 * time.Millisecond)
			f.Warnings = append(f.Warnings, fmt.Sprintf("%s: about %v, longer than the timeout of %v", of, about, time.Duration(e.Timeout)))
		}
	}
	if unknown := slices.DeleteFunc(slices.Clone(f.Trials), func(t ForecastTrial) bool { return t.EstimateMs > 0 }); len(unknown) > 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("%d of %d trials have no estimate, the first is %s: %s has no trial of such a workload",
			len(unknown), len(f.Trials), unknown[0].Trial, like.Dir))
	}
	var jobs measure.Completion
	for _, r := range like.Trials {
		jobs = jobs.Plus(r.Completion())
	}
	if text := jobs.OthersText(); text != "" && metric.OfJobs() {
		f.Warnings = append(f.Warnings, like.Dir+": "+text)
	}
	for _, w := range e.Workloads {
		for i, a := range e.Models {
			for _, b := range e.Models[i+1:] {
				f.Tell = append(f.Tell, newTell(like, digests, metric, w.Label, a.Label, b.Label, tellPct))
			}
		}
		if len(e.Models) == 1 {
			f.Tell = append(f.Tell, newTell(like, digests, metric, w.Label, e.Models[0].Label, "", tellPct))
		}
	}
	return f
}

// trialTimes returns how long the measured trials of a run took, in ms. The
// map's keys are a workload with a model, or with "" for all models. A
// simulated trial counts with its makespan, since simulating it takes no such
// time.
func trialTimes(run *results.Run) map[[2]string][]float64 {
	m := run.Manifest()
	took := map[[2]string][]float64{}
	for _, r := range run.Trials {
		ms := r.MakespanMs
		i := slices.IndexFunc(m.Trials, func(t runs.TrialRecord) bool { return t.Name == r.Name })
		if i >= 0 && m.World != runs.WorldSimulated {
			ms = max(ms, m.Trials[i].Finished.Sub(m.Trials[i].Started).Milliseconds())
		}
		for _, key := range [][2]string{{r.Workload, r.Model}, {r.Workload, ""}} {
			took[key] = append(took[key], float64(ms))
		}
	}
	return took
}

// scheduleDigests returns, by trial, the digests of the schedules of a simulated run.
// Trials on a cluster never have the same schedule.
func scheduleDigests(run *results.Run) map[string]string {
	digests := map[string]string{}
	for i := range run.Trials {
		if run.Manifest().World != runs.WorldSimulated {
			break
		}
		if f, _, err := run.Figures(&run.Trials[i]); err == nil { // without its trace, a trial counts as one of its own
			digests[run.Trials[i].Name] = f.ScheduleDigest
		}
	}
	return digests
}

// value returns the metric's value in a trial, NaN if there is none. Traces, which
// may be long, are read only for what a result does not have.
func value(f *results.Run, r *results.Trial, metric measure.Metric) float64 {
	x := metric.Of(r.WithTimes(&measure.Figures{}))
	if math.IsNaN(x) {
		if m, _, err := f.Figures(r); err == nil {
			x = metric.Of(r.WithTimes(m))
		}
	}
	return x
}

// newTell computes how many repeats show a difference of tellPct percent
// between the models a and b. It uses the spread between the repeats of an
// earlier run. An empty b stands for a second run of a. Repeats with the same
// schedule, by their digests, count once.
func newTell(run *results.Run, digests map[string]string, metric measure.Metric, workload, a, b string, tellPct float64) ForecastTell {
	t := ForecastTell{Workload: workload, A: a, B: b}
	logs := func(model string) map[int]float64 {
		of, seen := map[int]float64{}, map[string]bool{}
		for _, r := range run.Trials {
			digest := digests[r.Name]
			if r.Workload != workload || r.Model != model || digest != "" && seen[digest] {
				continue
			}
			if x := value(run, &r, metric); x > 0 {
				seen[digest] = true
				of[r.Repeat] = math.Log(x)
			}
		}
		return of
	}
	as, bs := logs(a), logs(b)
	var ratios []float64
	for _, r := range run.Trials { // take the repeats in the order of the run's trials, so that rounding is always the same
		if r.Workload != workload || r.Model != a {
			continue
		}
		x, known := as[r.Repeat]
		y, both := bs[r.Repeat]
		if known && (both || b == "") {
			ratios = append(ratios, y-x)
		}
	}
	t.Pairs = len(ratios)
	if t.Pairs < 2 {
		return t
	}
	sd := stats.Deviation(ratios)
	if b == "" {
		sd *= math.Sqrt2 // between two runs, the spread of each counts
	}
	t.SpreadPct = 100 * sd
	// MinRanks is the least number of repeats. With fewer pairs, a comparison
	// has neither an interval of the medians nor a rank test.
	t.Repeats = max(stats.MinRanks, stats.PairsToTell(sd, math.Log1p(tellPct/100)))
	if b != "" {
		seen := stats.Mean(ratios).Value
		t.SeenPct = 100 * math.Expm1(seen)
		t.SeenRepeats = max(stats.MinRanks, stats.PairsToTell(sd, seen))
	}
	return t
}

// Doc returns the forecast for people to read.
func (f *Forecast) Doc() doc.Doc {
	trials := doc.NewTable("trials", "trial", "estimate")
	for _, t := range f.Trials {
		trials.Add(t.Trial, doc.Known(t.EstimateMs > 0, doc.Duration(t.EstimateMs)))
	}
	total := fmt.Sprintf("%d trials, about %s", len(f.Trials), doc.DurationText(f.TotalMs))
	if f.simulated {
		total += " for the jobs alone: a simulation makes no input and checks no output"
	}
	tell := doc.NewTable("repeats", "workload", "models", "spread of the ratio", "from repeats", "repeats", "difference there",
		"repeats to tell it")
	for _, t := range f.Tell {
		models, unknown := t.A+", "+t.B, doc.Number(math.NaN(), "")
		spread, repeats, seen, seenRepeats := unknown, unknown, unknown, unknown
		if t.B == "" {
			models = t.A + ", in two runs"
		}
		if t.Pairs >= 2 {
			spread, repeats = doc.Fixed(t.SpreadPct, 1, "%"), upTo(t.Repeats)
		}
		if t.SeenRepeats > 0 {
			seen, seenRepeats = doc.Signed(t.SeenPct, 1, "%"), upTo(t.SeenRepeats)
		}
		tell.Add(t.Workload, models, spread, t.Pairs, repeats, seen, seenRepeats)
	}
	return doc.Doc{
		trials, doc.Text(total),
		doc.Heading(fmt.Sprintf("repeats to tell a difference of %g %% in %s, in 8 of 10 runs", f.TellPct, f.Metric)),
		tell, doc.Notes(f.Notes), doc.Warnings(f.Warnings),
	}
}

// upTo returns a cell with a number of repeats, unless it is too large to say more
// of it.
func upTo(repeats int) doc.Cell {
	c := doc.Count(repeats)
	if repeats > mostRepeats {
		c = c.As(fmt.Sprintf("more than %d", mostRepeats))
	}
	return c
}
