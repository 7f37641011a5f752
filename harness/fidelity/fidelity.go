// Package fidelity measures how far simulated replays are from the measured
// runs.
//
// It replays each measured trial under its own model. The replay is calibrated
// on the other repeats of the same workload, under any model: what a task costs
// does not depend on the model that placed it. It also predicts each model's
// times from the runs of every other model; that is a counterfactual. Beside
// each error stands the noise floor: how much repeats differ among themselves.
//
// The package reads run folders and needs no cluster.
package fidelity

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"heddle/harness/compare"
	"heddle/harness/experiment"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/sim"
	"heddle/harness/stats"
	"heddle/traces"
)

// ErrNothing says that no trial of a run can be predicted from others.
var ErrNothing = errors.New("no trial can be predicted from others")

// Options say how replays are made.
type Options struct {
	// Seeds is how many replays are averaged for a prediction; 0 means 5.
	Seeds int
	// Cluster describes the measured cluster where the traces do not: rates of
	// disks, links and uplinks, cores, heartbeats of ApplicationMasters.
	Cluster replay.Change
	// Interrupted is as in sim.Config.
	Interrupted func() error
	// Unverified also reads files that have changed since they were recorded,
	// with a warning.
	Unverified bool
}

// Report says how far the replays are from a run. Its JSON keys are stable.
type Report struct {
	Own            []Own            `json:"own"`
	Counterfactual []Counterfactual `json:"counterfactual"`
	Warnings       []string         `json:"warnings"`
}

// Own is the error of a workload's replays under the model that it was measured
// under. Errors are in percent of the measured value.
type Own struct {
	Workload string `json:"workload"`
	Model    string `json:"model"`
	Runs     int    `json:"runs"`
	// MeanAbsErrorPct is the mean, over trials, of the absolute error of the
	// jobs' mean completion time, and CI95Pct its interval. BiasPct is the
	// signed error of the means over all trials.
	MeanAbsErrorPct compare.Number   `json:"meanAbsErrorPct"`
	CI95Pct         compare.Interval `json:"ci95Pct"`
	BiasPct         compare.Number   `json:"biasPct"`
	BiasCI95Pct     compare.Interval `json:"biasCI95Pct"`
	// NoisePct is the noise floor: the standard deviation of the measured
	// trials over their mean.
	NoisePct    compare.Number `json:"noisePct"`
	MeasuredMs  compare.Number `json:"measuredMs"`
	PredictedMs compare.Number `json:"predictedMs"`
	// MakespanErrorPct is the absolute error of the makespan. MapDistancePct
	// and ReduceDistancePct are Wasserstein distances between measured and
	// simulated durations, in percent of the measured mean. MapKS and ReduceKS
	// are Kolmogorov-Smirnov distances. LocalityPoints is the largest
	// difference in the share of maps at a level, in percentage points.
	MakespanErrorPct  compare.Number `json:"makespanErrorPct"`
	MapDistancePct    compare.Number `json:"mapDistancePct"`
	MapKS             compare.Number `json:"mapKS"`
	ReduceDistancePct compare.Number `json:"reduceDistancePct"`
	ReduceKS          compare.Number `json:"reduceKS"`
	LocalityPoints    compare.Number `json:"localityPoints"`
	Trials            []Prediction   `json:"trials"`
}

// Prediction is one measured trial and its prediction.
type Prediction struct {
	Trial string `json:"trial"`
	// CalibratedOn are the trials from which the calibration was made.
	CalibratedOn      []string       `json:"calibratedOn"`
	MeasuredMs        float64        `json:"measuredMs"`
	PredictedMs       float64        `json:"predictedMs"`
	ErrorPct          float64        `json:"errorPct"` // in percent of the measured value, with its sign
	MakespanErrorPct  float64        `json:"makespanErrorPct"`
	MapDistancePct    compare.Number `json:"mapDistancePct"`
	MapKS             compare.Number `json:"mapKS"`
	ReduceDistancePct compare.Number `json:"reduceDistancePct"`
	ReduceKS          compare.Number `json:"reduceKS"`
	LocalityPoints    float64        `json:"localityPoints"`
}

// Counterfactual is the prediction of a workload's times under a model, from
// runs of another model.
type Counterfactual struct {
	Workload string `json:"workload"`
	From     string `json:"from"`
	To       string `json:"to"`
	// ErrorPct is the absolute error of the jobs' mean completion time over all
	// trials.
	ErrorPct compare.Number `json:"errorPct"`
	// WinnerRight says whether the model predicted to be faster was faster.
	// Undecided says that the measured models may not differ: then a right
	// winner is luck.
	WinnerRight bool `json:"winnerRight"`
	Undecided   bool `json:"undecided"`
	// PredictedDiffPct and MeasuredDiffPct are by how much To takes longer than
	// From.
	PredictedDiffPct compare.Number `json:"predictedDiffPct"`
	MeasuredDiffPct  compare.Number `json:"measuredDiffPct"`
	MeasuredP        compare.Number `json:"measuredP"`
}

// measured is a trial with its trace and figures.
type measured struct {
	name, workload, model string
	repeat                int
	*replay.Trace
	figures *measure.Figures
}

// Of compares the run in folder dir with replays.
func Of(dir string, o Options) (*Report, error) {
	run, err := experiment.Read(dir, o.Unverified)
	if err != nil {
		return nil, fmt.Errorf("fidelity of %s: %w", dir, err)
	}
	r, err := OfRun(run, o)
	if err == nil {
		r.Warnings = append(run.Warnings(), r.Warnings...)
	}
	return r, err
}

// OfRun is Of for a run that was read before. It leaves out the run's own
// warnings.
func OfRun(run *experiment.Finished, o Options) (*Report, error) {
	dir := run.Dir
	if o.Seeds == 0 {
		o.Seeds = 5
	}
	r := &Report{Own: []Own{}, Counterfactual: []Counterfactual{}, Warnings: []string{}}
	trials, err := r.load(run)
	if err != nil {
		return nil, fmt.Errorf("fidelity of %s: %w", dir, err)
	}
	groups := group(trials)
	fits := others(trials, o)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, x := range groups {
		if len(x) < 2 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s under %s has one finished repeat: no interval could be given", x[0].workload, x[0].model))
			continue
		}
		trials := make([]Prediction, len(x))
		r.Own = append(r.Own, Own{Workload: x[0].workload, Model: x[0].model, Runs: len(x), Trials: trials})
		for k := range x {
			g.Go(func() (err error) {
				trials[k], err = predictOwn(x[k], fits, o)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("fidelity of %s: %w", dir, err)
	}
	if len(r.Own) == 0 {
		return nil, fmt.Errorf("fidelity of %s: %w: no workload has two finished repeats", dir, ErrNothing)
	}
	for i := range r.Own {
		r.Own[i].sum()
	}
	if r.Counterfactual, err = counterfactuals(groups, o); err != nil {
		return nil, fmt.Errorf("fidelity of %s: %w", dir, err)
	}
	for _, x := range trials { // in the order of trials
		if f, err := fits[leaving(&x)](); err == nil {
			r.Warnings = append(r.Warnings, f.calibration.Warnings...)
		}
	}
	slices.Sort(r.Warnings)
	r.Warnings = slices.Compact(r.Warnings)
	return r, nil
}

// load reads the finished trials with their traces and figures.
func (r *Report) load(run *experiment.Finished) ([]measured, error) {
	var list []measured
	for _, x := range run.Results {
		if x.Figures != nil {
			return nil, fmt.Errorf("%w: %s keeps figures only, and a replay needs traces", ErrNothing, run.Dir)
		}
		t, err := replay.Load(run.TracePath(&x))
		if err != nil {
			return nil, err
		}
		figures, _, err := run.Figures(&x) // the trace itself warns of damage
		if err != nil {
			return nil, err
		}
		t.Name = x.Trial
		r.Warnings = append(r.Warnings, t.Warnings...)
		if bad := slices.IndexFunc(t.Jobs, func(j *replay.Job) bool { return j.Outcome != traces.Succeeded }); bad >= 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %s %v, the trial is left out", x.Trial, t.Jobs[bad].Job, t.Jobs[bad].Outcome))
			continue
		}
		list = append(list, measured{x.Trial, x.Workload, x.Model, x.Repeat, t, figures})
	}
	return list, nil
}

// group groups the trials by workload and model, in the order of their first
// trials.
func group(list []measured) [][]measured {
	var groups [][]measured
	for _, x := range list {
		i := slices.IndexFunc(groups, func(g []measured) bool { return g[0].workload == x.workload && g[0].model == x.model })
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}

// predict replays trace t under the model that like ran under, once for each
// seed.
func predict(t, like *replay.Trace, c *replay.Calibration, o Options) ([]*measure.Figures, error) {
	var list []replay.Config
	for seed := range o.Seeds {
		list = append(list, replay.Config{
			Trace: t, Model: replay.OwnModel(like), Actuator: like.Header.Actuator, Seed: uint64(seed + 1),
			Calibration: c, Modelled: true, Interrupted: o.Interrupted,
		})
	}
	outcomes, err := replay.Outcomes(list)
	if err != nil {
		return nil, err
	}
	var figures []*measure.Figures
	for _, x := range outcomes {
		figures = append(figures, x.Figures)
	}
	return figures, nil
}

// fit is a calibration and the trials that it was made from.
type fit struct {
	calibration *replay.Calibration
	trials      []string
}

func calibrate(list []measured, o Options) (fit, error) {
	var all []*replay.Trace
	var f fit
	for _, x := range list {
		all, f.trials = append(all, x.Trace), append(f.trials, x.name)
	}
	var err error
	f.calibration, err = replay.Calibrate(all, o.Cluster)
	return f, err
}

// left is the repeat of a workload on a cluster that a fit leaves out.
type left struct {
	workload, cluster string
	repeat            int
}

func leaving(x *measured) left { return left{x.workload, x.Header.Cluster.Name, x.repeat} }

// others returns, for each repeat of a workload, the fit to all its other
// repeats. Each fit is made when it is first needed.
func others(list []measured, o Options) map[left]func() (fit, error) {
	fits := map[left]func() (fit, error){}
	for _, x := range list {
		k := leaving(&x)
		if fits[k] != nil {
			continue
		}
		fits[k] = sync.OnceValues(func() (fit, error) {
			if o.Interrupted != nil && o.Interrupted() != nil {
				return fit{}, sim.ErrInterrupted
			}
			return calibrate(slices.DeleteFunc(slices.Clone(list), func(y measured) bool {
				return y.workload != k.workload || y.Header.Cluster.Name != k.cluster || y.repeat == k.repeat
			}), o)
		})
	}
	return fits
}

// predictOwn predicts a trial from the other repeats.
func predictOwn(m measured, fits map[left]func() (fit, error), o Options) (Prediction, error) {
	t := m.Trace
	f, err := fits[leaving(&m)]()
	if err != nil {
		return Prediction{}, err
	}
	again, err := predict(t, t, f.calibration, o)
	if err != nil {
		return Prediction{}, err
	}
	was := m.figures
	x := Prediction{Trial: m.name, CalibratedOn: f.trials, MeasuredMs: was.MeanCompletionMs, PredictedMs: completion(again)}
	x.ErrorPct = percent(x.PredictedMs, x.MeasuredMs)
	x.MakespanErrorPct = percent(mean(again, func(f *measure.Figures) float64 { return f.MakespanMs }), was.MakespanMs)
	x.MapDistancePct, x.MapKS = distance(was, again, (*measure.Figures).MapDurations)
	x.ReduceDistancePct, x.ReduceKS = distance(was, again, (*measure.Figures).ReduceRests)
	for level, share := range was.Locality.Shares() {
		is := mean(again, func(f *measure.Figures) float64 { return f.Locality.Shares()[level] })
		x.LocalityPoints = max(x.LocalityPoints, 100*math.Abs(is-share))
	}
	return x, nil
}

// distance returns how far simulated durations are from measured ones.
func distance(measured *measure.Figures, again []*measure.Figures, of func(*measure.Figures) *measure.Durations) (pct, ks compare.Number) {
	was := of(measured).Ms()
	var is []float64
	for _, x := range again {
		is = append(is, of(x).Ms()...)
	}
	pct = compare.Number(100 * stats.Wasserstein(was, is) / stats.Mean(was).Value)
	return pct, compare.Number(stats.KolmogorovSmirnov(was, is))
}

func completion(list []*measure.Figures) float64 {
	return mean(list, func(f *measure.Figures) float64 { return f.MeanCompletionMs })
}

func mean(list []*measure.Figures, of func(*measure.Figures) float64) float64 {
	sum := 0.0
	for _, f := range list {
		sum += of(f)
	}
	return sum / float64(len(list))
}

func percent(is, was float64) float64 { return 100 * (is - was) / was }

// sum averages the trials' figures.
func (w *Own) sum() {
	var abs, signed, was, is []float64
	column := func(of func(t *Prediction) float64) compare.Number {
		var xs []float64
		for i := range w.Trials {
			xs = append(xs, of(&w.Trials[i]))
		}
		return compare.Number(stats.Mean(xs).Value)
	}
	for _, t := range w.Trials {
		abs, signed = append(abs, math.Abs(t.ErrorPct)), append(signed, t.PredictedMs-t.MeasuredMs)
		was, is = append(was, t.MeasuredMs), append(is, t.PredictedMs)
	}
	e, mean := stats.Mean(abs), stats.Mean(was).Value
	w.MeanAbsErrorPct, w.CI95Pct = compare.Number(e.Value), compare.Interval{max(0, e.Lo), e.Hi}
	bias := stats.Mean(signed)
	w.BiasPct = compare.Number(100 * bias.Value / mean)
	w.BiasCI95Pct = compare.Interval{100 * bias.Lo / mean, 100 * bias.Hi / mean}
	w.NoisePct = compare.Number(100 * stats.Spread(was))
	w.MeasuredMs, w.PredictedMs = compare.Number(mean), compare.Number(stats.Mean(is).Value)
	w.MakespanErrorPct = column(func(t *Prediction) float64 { return math.Abs(t.MakespanErrorPct) })
	w.MapDistancePct = column(func(t *Prediction) float64 { return float64(t.MapDistancePct) })
	w.MapKS = column(func(t *Prediction) float64 { return float64(t.MapKS) })
	w.ReduceDistancePct = column(func(t *Prediction) float64 { return float64(t.ReduceDistancePct) })
	w.ReduceKS = column(func(t *Prediction) float64 { return float64(t.ReduceKS) })
	w.LocalityPoints = column(func(t *Prediction) float64 { return t.LocalityPoints })
}

// Worst returns the entry with the largest mean error.
func (r *Report) Worst() Own {
	return slices.MaxFunc(r.Own, func(a, b Own) int {
		if float64(a.MeanAbsErrorPct) < float64(b.MeanAbsErrorPct) {
			return -1
		}
		return 1
	})
}
