package compare

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
)

// trial is a finished trial of a run. It can also stand for several trials
// added up: those of all workloads under one model in one repeat.
type trial struct {
	run     int // index of the trial's run folder in the list of folders to compare
	folder  string
	repeat  int
	model   string
	started time.Time
	// figures are those of each stage of the trial, or of each workload's trial.
	figures        []*measure.Figures
	simulated      bool
	emulated       bool
	digest         string // of the trial's schedule: trials with the same one are the same; "" if it is not known
	name, workload string
	goesOn         bool               // whether its model began with what it had learnt in the trial before
	decisions      *measure.Decisions // what became of the scheduler model's decisions; nil if the model decided nothing
}

// loading is what has been read of the runs of a comparison.
type loading struct {
	Options
	runs     []*results.Run
	trials   []trial
	warnings []string
	leftOut  int // trials that do not fulfil the condition
}

// load opens the given run folders and reads their finished trials.
func load(dirs []string, o Options) (*loading, error) {
	l := &loading{Options: o}
	dirs, err := resolved(dirs)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	worlds := map[string]bool{}
	for _, dir := range dirs {
		run, err := results.Open(dir, o.Unverified)
		if err != nil {
			return nil, fmt.Errorf("compare: %w", err)
		}
		l.runs, worlds[run.Manifest().World] = append(l.runs, run), true
	}
	if differ := unlikeClusters(l.runs); len(differ) > 0 {
		l.Apart = true
		l.warnings = append(l.warnings, differ...)
	}
	if len(worlds) > 1 {
		l.Apart = true
		l.warn("some runs are simulated and others measured: they are kept apart, and their trials are not pairs")
	}
	var experiments []runs.File
	for i, dir := range dirs {
		if l.Apart && slices.ContainsFunc(dirs[:i], func(d string) bool { return filepath.Base(d) == filepath.Base(dir) }) {
			return nil, fmt.Errorf("compare: two run folders are named %s, and runs are told apart by these names: rename one", filepath.Base(dir))
		}
		if err := l.add(i, dir); err != nil {
			return nil, err
		}
		experiment, _ := l.runs[i].File("experiment.yaml")
		experiments = append(experiments, experiment)
		for j := range i {
			if experiments[i] != experiments[j] && shareModel(l.trials, i, j) {
				l.warn("%s and %s are of different experiments, and models of the same name are taken as the same; --apart keeps runs apart", dirs[j],
					dir)
			}
		}
	}
	if len(l.trials) == 0 {
		return nil, errors.New("compare: no finished trial fulfils the condition")
	}
	if l.leftOut > 0 {
		l.warn("%d of %d finished trials do not fulfil the condition and are left out", l.leftOut, l.leftOut+len(l.trials))
	}
	return l, nil
}

func (l *loading) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

// add reads the finished trials of run i.
func (l *loading) add(i int, dir string) error {
	run := l.runs[i]
	m := run.Manifest()
	l.warnings = append(l.warnings, run.Warnings()...)
	if m.State == runs.Running {
		l.warn("%s still runs: only its finished trials are compared", dir)
	}
	l.warnings = append(l.warnings, unfinished(m)...)
	if len(run.Trials) == 0 {
		why := ""
		for _, text := range runs.Failures(m.Trials) {
			why += "; " + text
		}
		if m.World != runs.WorldSimulated || waiting(&m) > 0 { // a simulated trial fails again
			why += "; heddle run --resume " + dir + " continues the run"
		}
		return fmt.Errorf("compare: %s: %w%s", dir, ErrNoTrial, why)
	}
	for _, r := range run.Trials {
		t, warning, err := read(run, &r)
		if err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		if !l.Where.Match(&results.Row{Run: filepath.Base(dir), World: run.World(&r), Trial: &r, Figures: t.figures}) {
			l.leftOut++
			continue
		}
		if warning != "" {
			l.warn("%s", warning)
		}
		if m.World == runs.WorldSimulated {
			for _, w := range r.Warnings { // keep each warning once, since all trials of a simulation have the same ones
				if text := m.Name + ": " + w; !slices.Contains(l.warnings, text) {
					l.warn("%s", text)
				}
			}
		}
		t.emulated = run.World(&r) == runs.WorldEmulated
		t.run, t.folder, t.simulated, t.goesOn = i, filepath.Base(dir), run.World(&r) == runs.WorldSimulated, r.StateOf != ""
		if l.Apart {
			t.model = t.folder + "/" + t.model
		}
		l.trials = append(l.trials, t)
	}
	return nil
}

// shareModel reports whether the runs with index i and j have a scheduler model
// in common. Only then can their results be compared.
func shareModel(trials []trial, i, j int) bool {
	return slices.ContainsFunc(trials, func(a trial) bool {
		return a.run == i && slices.ContainsFunc(trials, func(b trial) bool { return b.run == j && b.model == a.model })
	})
}

// unfinished returns warnings about trials that a run planned but has not
// finished.
func unfinished(m runs.Manifest) []string {
	var list []string
	for _, text := range runs.Failures(m.Trials) {
		list = append(list, fmt.Sprintf("%s: left out: %s", m.Name, text))
	}
	if waiting := waiting(&m); waiting > 0 {
		list = append(list, fmt.Sprintf("%s: %d of %d trials are still to do", m.Name, waiting, len(m.Trials)))
	}
	return list
}

// waiting returns how many trials of a run are still to do.
func waiting(m *runs.Manifest) (n int) {
	for _, t := range m.Trials {
		if t.State == runs.TrialTodo || t.State == runs.TrialRunning {
			n++
		}
	}
	return n
}

// The method read reads what a comparison needs of a trial: figures from the
// trial's result and from its trace.
func read(run *results.Run, r *results.Trial) (t trial, warning string, err error) {
	t = trial{name: r.Name, repeat: r.Repeat, model: r.Model, workload: r.Workload}
	records := run.Manifest().Trials
	if i := slices.IndexFunc(records, func(t runs.TrialRecord) bool { return t.Name == r.Name }); i >= 0 {
		t.started = records[i].Started
	}
	t.figures, warning, err = run.Stages(r)
	if err == nil {
		t.decisions = &t.figures[0].Decisions
		var stages []string
		for _, m := range t.figures {
			stages = append(stages, digestOf(m))
		}
		t.digest = strings.Join(stages, " ")
		if slices.Contains(stages, "") {
			t.digest = ""
		}
	}
	return t, warning, err
}

// joinWorkloads adds up the trials of all workloads in each repeat, for each
// scheduler model, to compare models over all workloads. The result incomplete
// names the repeats in which a workload has no trial.
func joinWorkloads(trials []trial, workloads int) (joined []trial, incomplete []string) {
	type key struct {
		run, repeat int
		model       string
	}
	var count []int
	digests := map[int][]string{}
	at := map[key]int{}
	for _, t := range trials {
		k := key{t.run, t.repeat, t.model}
		i, ok := at[k]
		if !ok {
			i = len(joined)
			at[k] = i
			joined, count = append(joined, trial{
				run: t.run, folder: t.folder, simulated: t.simulated, repeat: t.repeat, model: t.model, started: t.started,
			}), append(count, 0)
		}
		joined[i].figures = append(joined[i].figures, t.figures...)
		digests[i] = append(digests[i], t.workload+" "+t.digest)
		count[i]++
		if t.started.Before(joined[i].started) {
			joined[i].started = t.started
		}
	}
	whole := joined[:0]
	for i, t := range joined {
		if count[i] == workloads {
			t.digest = joinDigests(digests[i])
			whole = append(whole, t)
		} else {
			incomplete = append(incomplete, fmt.Sprintf("repeat %d of %s", t.repeat, t.model))
		}
	}
	return whole, incomplete
}

// only and under return the trials of a workload, and those of a model.
func only(trials []trial, workload string) []trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t trial) bool { return t.workload != workload })
}

func under(trials []trial, model string) []trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t trial) bool { return t.model != model })
}

// resolved returns the real paths of the run folders, without links. It returns
// an error if a folder is given twice, since its trials would then count twice.
func resolved(dirs []string) ([]string, error) {
	var list []string
	for _, dir := range dirs {
		path, err := filepath.EvalSymlinks(dir)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return nil, err
		}
		if slices.Contains(list, path) {
			return nil, fmt.Errorf("run %s is given twice", dir)
		}
		list = append(list, path)
	}
	return list, nil
}
