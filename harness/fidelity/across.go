package fidelity

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/stats"
)

// Across says how well runs are predicted from other runs, which differed from them:
// in the input, the cluster, the model. Other programs may rely on its JSON keys.
type Across struct {
	// Fit are the runs that the calibration was fitted to: folders, folder:workload, or
	// folder:workload:model.
	Fit      []string  `json:"fit"`
	Settings []Setting `json:"settings"`
	// Winners are the pairs of models under which a workload ran in one run.
	Winners []Winner `json:"winners"`
	// MedianAbsErrorPct is the median, over settings, of the error without its sign.
	// Within is the number of settings with an error within 10 %, or within how much
	// repeats differ, if that is more. Held and Runs count single runs: those that were
	// within their interval, and all.
	MedianAbsErrorPct compare.Number `json:"medianAbsErrorPct"`
	Within            int            `json:"within"`
	Held              int            `json:"held"`
	Runs              int            `json:"runs"`
	// MedianAbsErrorAtSpeedPct is the median over the settings whose speed is known, of
	// which AtSpeed has the number.
	MedianAbsErrorAtSpeedPct compare.Number `json:"medianAbsErrorAtSpeedPct"`
	AtSpeed                  int            `json:"atSpeed"`
	Warnings                 []string       `json:"warnings"`
}

// Setting is the prediction of the runs of one workload under one model in one run
// folder, or in several of the same experiment on clusters that are alike. Times are means
// over the jobs from submission to end.
type Setting struct {
	Run         string         `json:"run"`                   // the first of the folders
	FurtherRuns []string       `json:"furtherRuns,omitempty"` // the others
	Workload    string         `json:"workload"`
	Model       string         `json:"model"`
	Runs        int            `json:"runs"`
	MeasuredMs  compare.Number `json:"measuredMs"`
	PredictedMs compare.Number `json:"predictedMs"`
	ErrorPct    compare.Number `json:"errorPct"` // with its sign
	NoisePct    compare.Number `json:"noisePct"` // standard deviation of the measured runs
	// PredictedCI95Ms is the interval that has a new run with a probability of 95 %. Held
	// is how many of the measured runs it has.
	PredictedCI95Ms compare.Interval `json:"predictedCI95Ms"`
	Held            int              `json:"held"`
	// SpeedPct is how much faster the processors did the same work than in the runs fitted
	// to, with its sign, see calibration.Calibration.Speed. ErrorAtSpeedPct is the error if each run is
	// predicted at the speed that it had, which no prediction can know. Both are null if
	// the speed is not known.
	SpeedPct        compare.Number `json:"speedPct"`
	ErrorAtSpeedPct compare.Number `json:"errorAtSpeedPct"`

	was, is []float64 // mean completions of the measured and of the simulated runs, in ms
}

// within is the error, in percent, of a good prediction of a setting, unless its repeats
// differ by more.
const within = 10

// AcrossRuns fits a calibration to the runs fit, and predicts each of the runs in list
// with it. A run is named by its folder, or by folder:workload or folder:workload:model for
// some of its trials. Trials that were fitted to are not predicted, so that all workloads of
// one run, whose trials took turns, can be predicted from one of them. Runs of list that are
// of the same experiment on clusters that are alike count as one, so that clusters which
// cannot be up together can take turns, too. A run is replayed with its own cluster and the
// places of its input, under its own model; of how long its tasks took, nothing is used.
func AcrossRuns(fit, list []string, o Options) (*Across, error) {
	a := &Across{Fit: fit, Settings: []Setting{}, Warnings: []string{}}
	var fitted []measured
	own := map[string]bool{} // trials that are fitted to
	for _, name := range fit {
		run, trials, err := a.load(name, &o)
		if err != nil {
			return nil, err
		}
		for _, x := range trials {
			own[pathOf(run.Dir, &x)] = true
		}
		fitted = append(fitted, trials...)
	}
	f, err := calibrate(fitted, o)
	if err != nil {
		return nil, fmt.Errorf("fidelity: fit to %v: %w", fit, err)
	}
	costs := f.calibration
	if len(costs.Workloads) == 0 {
		return nil, fmt.Errorf("fidelity: %w: nothing of tasks can be fitted to %s: %s", ErrNothing, strings.Join(fit, ", "),
			strings.Join(costs.Warnings, "; "))
	}
	a.Warnings = append(a.Warnings, costs.Warnings...)
	var pools []*pool
	twice := map[string]bool{}
	for _, name := range list {
		of := o
		run, trials, err := a.load(name, &of)
		if err != nil {
			return nil, err
		}
		trials = slices.DeleteFunc(trials, func(x measured) bool { return own[pathOf(run.Dir, &x)] })
		for _, x := range trials {
			path := pathOf(run.Dir, &x)
			if twice[path] {
				return nil, fmt.Errorf("fidelity: trial %s of %s is given twice, and would count twice", x.name, run.Dir)
			}
			twice[path] = true
		}
		pools = join(pools, run, trials)
	}
	var groups [][]measured
	var of []*pool
	for _, p := range pools {
		for _, g := range group(p.trials) {
			groups, of = append(groups, g), append(of, p)
		}
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("fidelity: %w: the calibration was fitted to all trials of %s; name one of its workloads as %s:WORKLOAD",
			ErrNothing, strings.Join(list, ", "), list[0])
	}
	if err := a.predict(groups, of, costs, o); err != nil {
		return nil, err
	}
	a.Winners = winners(a.Settings)
	a.sum()
	slices.Sort(a.Warnings)
	a.Warnings = slices.Compact(a.Warnings)
	return a, nil
}

// predict predicts the settings of a run, which are the groups of pools. Those of jobs to
// which nothing was fitted are left out.
func (a *Across) predict(groups [][]measured, of []*pool, costs *calibration.Calibration, o Options) error {
	settings, failed := make([]Setting, len(groups)), make([]error, len(groups))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range groups {
		g.Go(func() (err error) {
			if settings[i], err = predictSetting(groups[i], costs, o); err != nil {
				failed[i] = fmt.Errorf("fidelity of %s: %w", of[i].folders[0], err)
			}
			settings[i].Run, settings[i].FurtherRuns = of[i].folders[0], of[i].folders[1:]
			return nil
		})
	}
	_ = g.Wait()
	for i, err := range failed {
		switch {
		case err == nil:
			a.Settings = append(a.Settings, settings[i])
		case errors.Is(err, replay.ErrNoCosts):
			a.Warnings = append(a.Warnings, fmt.Sprintf("%s of %s is not predicted: the calibration was fitted to no run of such jobs",
				groups[i][0].workload, of[i].folders[0]))
		default:
			return err
		}
	}
	if len(a.Settings) == 0 {
		return failed[0]
	}
	return nil
}

// pool is what is measured of one experiment on one cluster, in one run folder or several.
type pool struct {
	experiment runs.File    // the experiment file, with its hash
	run        *results.Run // the first
	folders    []string
	trials     []measured
}

// join adds the trials of a run to the pool of its experiment and cluster, or to a new one.
func join(pools []*pool, run *results.Run, trials []measured) []*pool {
	experiment, ok := run.File("experiment.yaml")
	i := slices.IndexFunc(pools, func(p *pool) bool {
		return ok && p.experiment == experiment && compare.AlikeClusters(p.run, run)
	})
	if i < 0 {
		return append(pools, &pool{experiment, run, []string{run.Dir}, trials})
	}
	p := pools[i]
	if !slices.Contains(p.folders, run.Dir) {
		p.folders = append(p.folders, run.Dir)
	}
	p.trials = append(p.trials, trials...)
	return pools
}

// load reads the finished trials of a run folder, or of one workload of it, or of that
// under one model, and completes the options by it.
func (a *Across) load(name string, o *Options) (run *results.Run, trials []measured, err error) {
	dir, workload, model := parts(name)
	run, err = results.Open(dir, o.Unverified)
	if err != nil {
		return nil, nil, fmt.Errorf("fidelity of %s: %w", dir, err)
	}
	r := begin(run, o)
	trials, err = r.load(run)
	if workload != "" {
		has := workloads(trials)
		trials = slices.DeleteFunc(trials, func(x measured) bool { return x.workload != workload })
		if err == nil && len(trials) == 0 && len(has) > 0 {
			err = fmt.Errorf("%w: its finished trials have no workload %q, but %s", ErrNothing, workload, strings.Join(has, ", "))
		}
	}
	if model != "" {
		some := len(trials) > 0
		trials = slices.DeleteFunc(trials, func(x measured) bool { return x.model != model })
		if err == nil && len(trials) == 0 && some {
			err = fmt.Errorf("%w: its finished trials of %s have no model %q", ErrNothing, workload, model)
		}
	}
	if err == nil && len(trials) == 0 {
		err = fmt.Errorf("%w: no trial of it is finished", ErrNothing)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("fidelity of %s: %w", dir, err)
	}
	a.Warnings = append(append(a.Warnings, run.Warnings()...), r.Warnings...)
	return run, trials, nil
}

// parts divides folder:workload:model, whose last parts may be missing. A name of a folder
// that is there is never divided.
func parts(name string) (dir, workload, model string) {
	dir = name
	for range 2 {
		i := strings.LastIndexByte(dir, ':')
		if _, err := os.Stat(dir); i <= 0 || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir, workload, model = dir[:i], dir[i+1:], workload
	}
	return dir, workload, model
}

// pathOf returns a name for a trial that is the same by whatever path its run is named.
func pathOf(dir string, x *measured) string {
	if whole, err := filepath.EvalSymlinks(dir); err == nil {
		dir = whole
	}
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole
	}
	return filepath.Join(dir, x.name)
}

// workloads lists the workloads of trials in the order of their first ones.
func workloads(trials []measured) (names []string) {
	for _, g := range group(trials) {
		if !slices.Contains(names, g[0].workload) {
			names = append(names, g[0].workload)
		}
	}
	return names
}

// predictSetting predicts the runs of one workload under one model. maps are those of
// the runs that costs was fitted to.
func predictSetting(list []measured, costs *calibration.Calibration, o Options) (x Setting, err error) {
	x = Setting{Workload: list[0].workload, Model: list[0].model, Runs: len(list)}
	was := completions(list)
	var is, atSpeed, speeds []float64
	defer func() { x.was, x.is = was, is }()
	for i := range list {
		again, err := predict(list[i].Trace, &list[i], costs, 0, o)
		if err != nil {
			return x, err
		}
		is = append(is, completionsOf(again)...)
		speed := costs.Speed(list[i].Trace)
		if speeds = append(speeds, speed); math.IsNaN(speed) {
			continue
		}
		if again, err = predict(list[i].Trace, &list[i], costs, speed, o); err != nil {
			return x, err
		}
		atSpeed = append(atSpeed, completionsOf(again)...)
	}
	mean, lo, hi, ok := costs.Noise.Interval(is)
	x.MeasuredMs, x.PredictedMs = compare.Number(stats.Mean(was).Value), compare.Number(mean)
	x.ErrorPct = compare.Number(percent(mean, float64(x.MeasuredMs)))
	x.NoisePct = compare.Number(100 * stats.Spread(was))
	x.SpeedPct = compare.Number(100 * (stats.Mean(speeds).Value - 1))
	x.ErrorAtSpeedPct = unknown
	if len(atSpeed) == len(is) {
		mean, _, _, _ := costs.Noise.Interval(atSpeed)
		x.ErrorAtSpeedPct = compare.Number(percent(mean, float64(x.MeasuredMs)))
	}
	x.PredictedCI95Ms = compare.Interval{math.Inf(-1), math.Inf(1)}
	if ok {
		x.PredictedCI95Ms = compare.Interval{lo, hi}
		for _, ms := range was {
			if ms >= lo && ms <= hi {
				x.Held++
			}
		}
	}
	return x, nil
}

// folders names the run folders of a setting for a table.
func (x *Setting) folders() string {
	if more := len(x.FurtherRuns); more > 0 {
		return fmt.Sprintf("%s and %d more", x.Run, more)
	}
	return x.Run
}

// completionsOf returns the mean completion of each replay, in ms.
func completionsOf(again []*measure.Figures) (list []float64) {
	for _, f := range again {
		list = append(list, f.MeanCompletionMs)
	}
	return list
}

// sum counts over all settings.
func (a *Across) sum() {
	var abs, atSpeed []float64
	for _, x := range a.Settings {
		e := math.Abs(float64(x.ErrorPct))
		abs = append(abs, e)
		if e <= within || e <= float64(x.NoisePct) {
			a.Within++
		}
		if !math.IsInf(x.PredictedCI95Ms[0], 0) {
			a.Held, a.Runs = a.Held+x.Held, a.Runs+x.Runs
		}
		if e := math.Abs(float64(x.ErrorAtSpeedPct)); !math.IsNaN(e) {
			atSpeed = append(atSpeed, e)
		}
	}
	a.AtSpeed, a.MedianAbsErrorAtSpeedPct = len(atSpeed), compare.Number(stats.Quantile(atSpeed, 0.5))
	a.MedianAbsErrorPct = compare.Number(stats.Quantile(abs, 0.5))
}

// Doc returns the predictions for people to read.
func (a *Across) Doc() doc.Doc {
	table := doc.NewTable("settings", "run", "workload", "model", "runs", "measured", "predicted", "error", "noise floor", "95 % of new runs",
		"runs in it", "speed", "error at it")
	for _, x := range a.Settings {
		lo, hi := x.PredictedCI95Ms[0], x.PredictedCI95Ms[1]
		bounded := !math.IsInf(lo, 0)
		table.Add(x.folders(), x.Workload, x.Model, x.Runs,
			doc.Number(x.MeasuredMs/1000, "s"), doc.Number(x.PredictedMs/1000, "s"),
			doc.Signed(x.ErrorPct, 1, "%"), doc.Fixed(x.NoisePct, 1, "%"),
			doc.Known(bounded, doc.Span(lo/1000, hi/1000, "s")), doc.Known(bounded, fmt.Sprintf("%d of %d", x.Held, x.Runs)),
			doc.Signed(x.SpeedPct, 1, "%"), doc.Signed(x.ErrorAtSpeedPct, 1, "%"))
	}
	text := fmt.Sprintf("The median error is %.1f %%; %d of %d settings are within %d %%, or within what their repeats differ by.",
		a.MedianAbsErrorPct, a.Within, len(a.Settings), within)
	if a.Runs > 0 {
		text += fmt.Sprintf(" The intervals have %d of %d runs.", a.Held, a.Runs)
	} else {
		text += " There are no intervals: they need two runs of a workload to fit to, which tell how much runs differ."
	}
	if a.AtSpeed > 0 {
		text += fmt.Sprintf(" Predicted at the speed that the processors had, by the CPU time of maps that do the same work, %d settings have "+
			"a median error of %.1f %%.", a.AtSpeed, a.MedianAbsErrorAtSpeedPct)
	}
	d := doc.Doc{doc.Heading("predicted from other runs; job completion time"), table, doc.Text(text)}
	return append(append(d, winnersDoc(a.Winners)...), doc.Notes(a.Warnings))
}
