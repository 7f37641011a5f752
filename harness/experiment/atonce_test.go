package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/sched"
	"heddle/harness/state"
)

// atOnce simulates an experiment on so many cores. It returns the run, and the steps that
// were told besides how far simulations are.
func atOnce(ctx context.Context, t *testing.T, cores int, o Options, step func(Step)) (*runs.Run, []string, error) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	var told []string
	last := 0
	o.Source, o.Cluster = []byte("x"), config.DefaultCluster()
	o.Progress = func(s Step) {
		if s.Simulated == nil {
			told = append(told, s.Trial+" "+s.Doing+" "+s.Text)
		}
		if s.Number < last {
			t.Errorf("a step of trial %d came after one of trial %d", s.Number, last)
		}
		last = s.Number
		step(s)
	}
	run, err := Simulate(ctx, o, nil)
	if run == nil {
		t.Fatal(err)
	}
	return run, told, err
}

// kept returns what the trials of a run have in their files, but for the times at which
// they ran.
func kept(t *testing.T, run *runs.Run) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, r := range run.Manifest().Trials {
		files[r.Name] = string(r.State)
		for _, f := range r.Files {
			data := must(os.ReadFile(filepath.Join(run.TrialDir(r.Name), f.Name)))
			files[r.Name+"/"+f.Name] = string(data)
		}
	}
	return files
}

// skipping starts tasks as fifo does, but not at each third heartbeat of all trials.
type skipping struct {
	sched.Model
	counter
}

func (*skipping) Name() string { return "skipping" }
func (m *skipping) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	if m.seen++; m.seen%3 == 0 {
		return out
	}
	return m.Model.Round(v, free, out)
}

var registerSkipping = sync.OnceValue(func() error {
	return sched.Register(sched.Info{
		Name: "skipping", Summary: "skips heartbeats", Source: "a test",
		Build: func(sched.Args) (sched.Model, error) {
			fifo, err := sched.New("fifo", nil)
			return &skipping{Model: fifo}, err
		},
	})
})

const experimentAtOnce = `
workloads: [{name: wordcount, size: 64MiB, maps: 4, reduces: 2}, {name: sort, size: 128MiB, maps: 8, reduces: 2, deadline: 3x}]
models: [yarn, {model: skipping, state: keep}, acl]
repeats: 2`

func parsed(t *testing.T, text string) *config.Experiment {
	t.Helper()
	mustDo(t, registerSkipping())
	e := must(config.ParseExperiment("e.yaml", []byte(text)))
	return e
}

// TestAtOnce: trials that are simulated at the same time give the same files, steps and
// errors as one after the other, also where a model goes on with what it learnt, and
// where trials fail.
func TestAtOnce(t *testing.T) {
	for name, text := range map[string]string{"good": experimentAtOnce, "some fail": experimentAtOnce + "\ntimeout: 20s"} {
		var files [2]map[string]string
		var steps [2][]string
		var errs [2]string
		for i, cores := range []int{1, 4} {
			run, told, err := atOnce(t.Context(), t, cores, Options{Experiment: parsed(t, text), Root: t.TempDir(), Name: "run"}, func(Step) {})
			files[i], steps[i] = kept(t, run), told
			if err != nil {
				errs[i] = err.Error()
			}
		}
		if d := cmp.Diff(files[0], files[1]); d != "" {
			t.Errorf("%s: files, one trial after the other -, at once +:\n%.3000s", name, d)
		}
		if d := cmp.Diff(steps[0], steps[1]); d != "" || len(steps[0]) == 0 {
			t.Errorf("%s: steps, one after the other -, at once +:\n%s", name, d)
		}
		failed := 0
		_, _ = fmt.Sscanf(errs[0], "%d of 12 trials failed alike, the first: trial took ", &failed)
		if errs[0] != errs[1] || (failed > 0 && failed < 12) != (name == "some fail") {
			t.Errorf("%s: %d of 12 trials fail\none after the other: %s\nat once: %s", name, failed, errs[0], errs[1])
		}
	}
}

// TestCountsAtOnce: the counts of each trial are told, whole, also of trials that have ended
// before those in front of them.
func TestCountsAtOnce(t *testing.T) {
	var told [2]map[string]measure.Now
	for i, cores := range []int{1, 4} {
		live := map[string]*Live{}
		if _, _, err := atOnce(t.Context(), t, cores, Options{
			Experiment: parsed(t, experimentAtOnce), Root: t.TempDir(),
			Name: "run", Watched: true,
		}, func(s Step) {
			if s.Live != nil {
				live[s.Trial] = s.Live
			}
		}); err != nil {
			t.Fatal(err)
		}
		told[i] = map[string]measure.Now{}
		for trial, l := range live {
			told[i][trial] = l.Now()
		}
	}
	if d := cmp.Diff(told[0], told[1]); d != "" || len(told[0]) != 12 || told[0]["r02-sort-acl"].Decisions == 0 {
		t.Errorf("counts of %d trials, one after the other -, at once +:\n%.3000s", len(told[0]), d)
	}
}

// TestInterruptedAtOnce: a run whose trials are simulated at once and that is interrupted
// gives, when it is resumed, the files of a run that was not.
func TestInterruptedAtOnce(t *testing.T) {
	whole, _ := must2(atOnce(t.Context(), t, 4, Options{Experiment: parsed(t, experimentAtOnce), Root: t.TempDir(), Name: "run"},
		func(Step) {}))
	o := Options{Experiment: parsed(t, experimentAtOnce), Root: t.TempDir(), Name: "run"}
	ctx, interrupt := context.WithCancelCause(t.Context())
	run, _, err := atOnce(ctx, t, 4, o, func(s Step) {
		if s.Number >= 6 {
			interrupt(errors.New("enough"))
		}
	})
	wantError(t, err, "stopped in trial ", "enough")
	var done int
	for _, r := range run.Manifest().Trials {
		if r.State == runs.TrialDone {
			done++
		}
	}
	if done < 3 || done >= 12 {
		t.Errorf("%d trials were done, want some of 12", done)
	}
	o.Resume = run.Dir
	again, _ := must2(atOnce(t.Context(), t, 4, o, func(Step) {}))
	if d := cmp.Diff(kept(t, whole), kept(t, again)); d != "" {
		t.Errorf("files, of a whole run -, of a resumed one +:\n%.3000s", d)
	}
	trials, err := results.List(again)
	if order := slices.IsSortedFunc(trials, func(a, b results.Trial) int { return a.Repeat - b.Repeat }); err != nil || len(trials) != 12 ||
		!order {
		t.Errorf("%d results, in order %v: %v", len(trials), order, err)
	}
}
