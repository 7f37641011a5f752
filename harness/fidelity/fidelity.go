// Package fidelity measures how far simulated replays are from the measured
// runs.
//
// It replays each measured trial under the scheduler model of that trial. The
// replay is calibrated on the other repeats of the same workload, under any
// model: what a task costs does not depend on the model that placed it. The
// package also predicts each model's times from the runs of every other model;
// that is a counterfactual. Beside each error stands the noise floor: how much
// repeats differ among themselves.
//
// The package reads run folders and needs no cluster.
package fidelity

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/sched"
	"heddle/harness/stats"
	"heddle/traces"
)

// ErrNothing says that nothing can be predicted, because no trial of the run
// has another repeat of its workload.
var ErrNothing = errors.New("nothing to predict")

// Options say how measured trials are replayed in the simulator.
type Options struct {
	// Seeds is the number of replays, each with its own seed, that a prediction
	// averages; 0 means 5.
	Seeds int `flag:"seeds" text:"replay each trial with seeds 1 to N and take the mean" of:"N" without:"5; with --across 20" min:"1" max:"1000"`
	// Cluster gives properties of the measured cluster that its traces may
	// lack: rates of disks, links and uplinks, cores, heartbeats of
	// ApplicationMasters.
	Cluster recorded.Change `flag:"*" only:"host-cores,disk,link,uplink,am-heartbeat" heading:"The cluster, where its traces do not say"`
	// Others puts the load by other programs that each run recorded into its replays, where
	// that differs from the load of the runs fitted to.
	Others bool `flag:"others" text:"replay each run beside the load by other programs that it recorded, where that differs from the load that was fitted to"`
	// Interrupted is called during a simulation and stops it if it returns an
	// error, as in sim.Config.
	Interrupted func() error
	// Metrics are those whose errors are asked for besides.
	Metrics []measure.Metric
	// Unverified allows to read files that have changed since the run recorded
	// their hashes. There is then a warning.
	Unverified bool `flag:"unverified" text:"also read files that have changed since they were recorded, with a warning"`
}

// measured is a finished trial with its trace, and the figures computed from
// the trace.
type measured struct {
	name, workload, model string
	repeat                int
	*recorded.Trace
	behaviour config.Behaviour // of the cluster in replays
	figures   *measure.Figures
	learnt    json.RawMessage // what its model knew at the start; nil: nothing
}

// Of compares the measured run in the run folder dir with simulated replays of
// its trials.
func Of(dir string, o Options) (*Report, error) {
	run, err := results.Open(dir, o.Unverified)
	if err != nil {
		return nil, fmt.Errorf("fidelity of %s: %w", dir, err)
	}
	r, err := OfRun(run, o)
	if err == nil {
		r.Warnings = append(run.Warnings(), r.Warnings...)
	}
	return r, err
}

// OfRun does the same as Of for a run that the caller has already read. Its
// report does not contain the warnings of reading the run.
func OfRun(run *results.Run, o Options) (*Report, error) {
	dir := run.Dir
	r := begin(run, &o)
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
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s under %s has one finished repeat: no interval could be given", x[0].workload,
				x[0].model))
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
		return nil, fmt.Errorf("fidelity of %s: %w: a trial is predicted from the other repeats of its workload, and none has two that are "+
			"finished; run it with repeats: 2 or more", dir, ErrNothing)
	}
	for i := range r.Own {
		r.Own[i].sum(o.Metrics)
	}
	if r.Counterfactual, err = counterfactuals(groups, o); err != nil {
		return nil, fmt.Errorf("fidelity of %s: %w", dir, err)
	}
	for _, x := range trials { // take the trials in their order, so that the warnings always have the same order
		if f, err := fits[leaving(&x)](); err == nil {
			r.Warnings = append(r.Warnings, f.calibration.Warnings...)
		}
	}
	slices.Sort(r.Warnings)
	r.Warnings = slices.Compact(r.Warnings)
	return r, nil
}

// begin returns a report on a run that has nothing of its trials yet. It completes the
// options by defaults.
func begin(run *results.Run, o *Options) *Report {
	o.Seeds = cmp.Or(o.Seeds, 5)
	r := &Report{
		Own: []Own{}, Counterfactual: []Counterfactual{}, Warnings: []string{},
		Simulated: run.Manifest().World == runs.WorldSimulated,
	}
	if r.Simulated {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the trials of %s are simulated: this says how well replays predict a simulation, not a "+
			"cluster", run.Dir))
	}
	return r
}

// behaviourOf returns how the cluster behaves in replays of a trace of an experiment, which
// may be nil. Lost and slow nodes, and the nodes' capacity, are in the trace as they were.
func behaviourOf(e *config.Experiment, t *recorded.Trace) config.Behaviour {
	own := t.OwnBehaviour()
	if e == nil {
		return own
	}
	b := e.Behaviour
	b.Actuator, b.Splits, b.Capacity = own.Actuator, own.Splits, config.Capacity{}
	b.Faults = slices.DeleteFunc(slices.Clone(b.Faults), func(f config.Fault) bool { return f.What != config.FaultFailAttempts })
	return b
}

// load reads the finished trials of a run with their traces and computes their
// figures.
func (r *Report) load(run *results.Run) ([]measured, error) {
	var list []measured
	experiment, _ := results.Experiment(run.Run, "") // a run without one, or with one that cannot be read, has the default
	for _, x := range run.Trials {
		if x.Figures != nil {
			return nil, fmt.Errorf("%w: %s keeps figures only; replay again with --traces, which keeps the replays' traces", ErrNothing, run.Dir)
		}
		t, err := recorded.Load(run.TracePath(&x))
		if err != nil {
			return nil, err
		}
		if slices.Contains(t.Header.Synthetic, "input") {
			return nil, fmt.Errorf("%w: %s was simulated from a description; fidelity says how far replays are from what a cluster measured, so it "+
				"needs a run on one (heddle run without --simulate), with repeats: 2 or more", ErrNothing, run.Dir)
		}
		figures, _, err := run.Figures(&x) // ignore this warning: reading the trace gives the same warning of damage again
		if err != nil {
			return nil, err
		}
		var learnt json.RawMessage
		if x.StateOf != "" {
			if err := run.ReadTrialJSON(x.StateOf, runs.StateFile, &learnt); err != nil {
				return nil, fmt.Errorf("read what the model of %s had learnt before: %w", x.Name, err)
			}
		}
		t.Name = x.Name
		r.Warnings = append(r.Warnings, t.Warnings...)
		if bad := slices.IndexFunc(t.Jobs, func(j *recorded.Job) bool { return j.Outcome != traces.Succeeded }); bad >= 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %s %v, the trial is left out", x.Name, t.Jobs[bad].Job, t.Jobs[bad].Outcome))
			continue
		}
		list = append(list, measured{x.Name, x.Workload, x.Model, x.Repeat, t, behaviourOf(experiment, t), figures, learnt})
	}
	return list, nil
}

// The function group puts trials of the same workload and scheduler model
// together. The groups are in the order of their first trials.
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

// predict replays the trace t once for each seed, to predict a trial. The nodes have so
// many times the speed that they had where the calibration was fitted; 0 is 1. The
// scheduler model is that of the trial like, and knows what it knew there.
func predict(t *recorded.Trace, like *measured, c *calibration.Calibration, speed float64, o Options) ([]*measure.Figures, error) {
	begin := func(m sched.Model) error {
		if like.learnt == nil {
			return nil
		}
		return sched.LoadState(m, like.learnt)
	}
	change := recorded.Change{Speed: speed}
	if o.Others {
		if c.HostCores == 0 {
			return nil, errors.New("the load of others has no effect: the calibration knows of no cores that all nodes share; say how many they " +
				"are (--set host-cores=N)")
		}
		more := t.Header.Cluster.OthersCores - c.OthersCores // what others used in the runs fitted to is not in HostCores
		change.HostCores = max(c.HostCores-more, c.HostCores/20)
	}
	var list []replay.Config
	for seed := range o.Seeds {
		list = append(list, replay.Config{
			Trace: t, Model: like.OwnModel(), Behaviour: like.behaviour, Seed: uint64(seed + 1),
			Calibration: c, Modelled: true, Change: change, Repeats: true, Interrupted: o.Interrupted, Begin: begin,
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

// predictOwn predicts a measured trial from the other repeats of its workload.
func predictOwn(m measured, fits map[left]func() (fit, error), o Options) (Prediction, error) {
	t := m.Trace
	f, err := fits[leaving(&m)]()
	if err != nil {
		return Prediction{}, err
	}
	again, err := predict(t, &m, f.calibration, 0, o)
	if err != nil {
		return Prediction{}, err
	}
	x := predictionOf(m.name, m.figures, again, o.Metrics)
	x.CalibratedOn = f.trials
	return x, nil
}

// predictionOf holds the figures of a trial against those of its replays.
func predictionOf(name string, was *measure.Figures, again []*measure.Figures, metrics []measure.Metric) Prediction {
	x := Prediction{Trial: name, MeasuredMs: was.MeanCompletionMs, PredictedMs: completion(again)}
	x.ErrorPct = percent(x.PredictedMs, x.MeasuredMs)
	x.MakespanErrorPct = percent(mean(again, func(f *measure.Figures) float64 { return f.MakespanMs }), was.MakespanMs)
	x.MapDistancePct, x.MapKS = distance(was, again, (*measure.Figures).MapDurations)
	x.ReduceDistancePct, x.ReduceKS = distance(was, again, (*measure.Figures).ReduceRests)
	x.LocalityPoints = localityPoints(was, again)
	x.metrics = valuesOf(metrics, was, again)
	return x
}

// localityPoints returns the largest difference between the measured and the simulated
// share of maps at a locality level, in percentage points. It is NaN if one of them is
// of no map, for then nothing is known of it.
func localityPoints(was *measure.Figures, again []*measure.Figures) compare.Number {
	again = slices.DeleteFunc(slices.Clone(again), func(f *measure.Figures) bool { return f.Locality.Known() == 0 })
	if was.Locality.Known() == 0 || len(again) == 0 {
		return unknown
	}
	most := 0.0
	for level, share := range was.Locality.Shares() {
		is := mean(again, func(f *measure.Figures) float64 { return f.Locality.Shares()[level] })
		most = max(most, 100*math.Abs(is-share))
	}
	return compare.Number(most)
}

// distance returns two measures of how far simulated task durations are from
// measured ones: the Wasserstein distance and the Kolmogorov-Smirnov distance.
func distance(measured *measure.Figures, again []*measure.Figures, of func(*measure.Figures) *measure.Durations) (pct, ks compare.Number) {
	if of(measured) == nil || slices.ContainsFunc(again, func(f *measure.Figures) bool { return of(f) == nil }) {
		return unknown, unknown
	}
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

// unknown is a number that is not known.
var unknown = compare.Number(math.NaN())

func percent(is, was float64) float64 { return 100 * (is - was) / was }
