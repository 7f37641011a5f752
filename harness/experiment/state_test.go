package experiment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/config"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/sched"
	"heddle/harness/state"
)

// counter is a model that learns how many trials it has seen.
type counter struct{ seen int }

func (*counter) Name() string { return "counter" }
func (*counter) Round(_ *state.View, _ []state.NodeID, out []sched.Decision) []sched.Decision {
	return out
}
func (*counter) LearntFor() string             { return "counting" }
func (m *counter) Save() ([]byte, error)       { return []byte(strconv.Itoa(m.seen)), nil }
func (m *counter) Learnt() []sched.LearntTable { return nil }
func (m *counter) Load(data []byte) (err error) {
	m.seen, err = strconv.Atoi(string(data))
	return err
}

// countedWorld runs nothing. Its trials count themselves, and it notes what each
// began with. In the trial named stop it ends the run as a kill would: after the state
// was written in mid-trial, and before the trial's end.
type countedWorld struct {
	listedWorld
	world string
	began []string
}

func (w *countedWorld) name() string                            { return w.world }
func (w *countedWorld) atOnce() int                             { return 1 }
func (w *countedWorld) stage(t *trial) stage                    { return &countedTrial{t, w} }
func (t *countedTrial) prepare(context.Context) (int64, error)  { return 0, nil }
func (t *countedTrial) check(context.Context) ([]string, error) { return nil, nil }
func (t *countedTrial) clean() error                            { return nil }

type countedTrial struct {
	*trial
	world *countedWorld
}

func (t *countedTrial) run(context.Context) (results.Trial, error) {
	m := &counter{}
	since, err := t.goOn(m)
	t.world.began = append(t.world.began, fmt.Sprintf("%s with %d of %s", t.plan.Name, m.seen, since))
	m.seen++
	r := results.Trial{Name: t.plan.Name, Workload: t.plan.Workload.Label, Model: t.plan.Model.Label, Repeat: t.plan.Repeat, StateOf: since}
	if t.world.name() == "" && t.keepsState() {
		w := stateWriter{trial: t.trial, log: slog.New(slog.DiscardHandler)}
		w.keep(m)
		w.writes.Wait()
	}
	if t.plan.Name == t.world.stop {
		t.world.end()
		return r, errors.Join(err, errors.New("killed"))
	}
	return r, errors.Join(err, t.saveState(m))
}

// What a model has learnt goes from trial to trial, over workloads and not over
// models or warm-ups. A trial on a cluster that is killed goes on with what it had
// learnt, also when it is killed again; in virtual time it begins as it began before.
func TestStateGoesOn(t *testing.T) {
	e := must(config.ParseExperiment("e.yaml", []byte(`
workloads: [{name: sort, profile: tiny}, {label: grep, name: wordcount, profile: tiny}]
models: [{model: counter, state: keep}, {label: anew, model: counter}]
warmups: 1
repeats: 2`)))
	for _, c := range []struct {
		world string
		want  []string
	}{
		{"", []string{
			"w01-sort-counter with 0 of ", "r01-sort-counter with 0 of ", "r01-sort-anew with 0 of ", "r01-grep-counter with 1 of r01-sort-counter",
			"w01-sort-counter with 0 of ", "r01-grep-counter with 2 of r01-grep-counter", // killed again
			"w01-sort-counter with 0 of ", "r01-grep-counter with 3 of r01-grep-counter", "r01-grep-anew with 0 of ",
			"r02-sort-counter with 4 of r01-grep-counter", "r02-sort-anew with 0 of ", "r02-grep-counter with 5 of r02-sort-counter",
			"r02-grep-anew with 0 of ",
		}},
		{runs.WorldSimulated, []string{
			"w01-sort-counter with 0 of ", "r01-sort-counter with 0 of ", "r01-sort-anew with 0 of ", "r01-grep-counter with 1 of r01-sort-counter",
			"w01-sort-counter with 0 of ", "r01-grep-counter with 1 of r01-sort-counter",
			"w01-sort-counter with 0 of ", "r01-grep-counter with 1 of r01-sort-counter", "r01-grep-anew with 0 of ",
			"r02-sort-counter with 2 of r01-grep-counter", "r02-sort-anew with 0 of ", "r02-grep-counter with 3 of r02-sort-counter",
			"r02-grep-anew with 0 of ",
		}},
	} {
		o := Options{Experiment: e, Source: []byte("x"), Cluster: &config.Cluster{Name: "c"}, Root: t.TempDir(), Name: "kept"}
		var began []string
		for range 2 {
			ctx, end := context.WithCancel(t.Context())
			w := &countedWorld{world: c.world, listedWorld: listedWorld{stop: "r01-grep-counter", end: end}}
			wantError(t, errOf(carryOut(ctx, &o, w)), "killed")
			o.Resume = filepath.Join(o.Root, o.Name)
			began = append(began, w.began...)
		}
		w := &countedWorld{world: c.world}
		run := must(carryOut(t.Context(), &o, w))
		if diff := cmp.Diff(c.want, append(began, w.began...)); diff != "" {
			t.Errorf("world %q: what each trial began with (-want +got):\n%s", c.world, diff)
		}
		trials, err := results.List(run)
		if err != nil || trials[4].StateOf != "r01-grep-counter" {
			t.Errorf("world %q: trial %s has the state of %q: %v", c.world, trials[4].Name, trials[4].StateOf, err)
		}
	}
}

// A state that was learnt for another goal, or is damaged, stops the trial with a
// message that says where it is from.
func TestStateOfAnother(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{
			`{"format":1,"model":"counter","for":"counting","learnt":"MQ==","sum":1}`,
			"in trial r01-sort-counter: read learned state: the checksum is wrong",
		},
		{`{"format":2}`, "format 2: this version of heddle reads format 1"},
	} {
		e, err := config.ParseExperiment("e.yaml",
			[]byte("workloads: [{name: sort, profile: tiny}]\nmodels: [{model: counter, state: keep}]\nrepeats: 2"))
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Experiment: e, Source: []byte("x"), Cluster: &config.Cluster{Name: "c"}, Root: t.TempDir(), Name: "kept"}
		ctx, end := context.WithCancel(t.Context())
		_, err = carryOut(ctx, &o, &damagingWorld{countedWorld{listedWorld: listedWorld{stop: "r02-sort-counter", end: end}}, c.file})
		wantError(t, err, c.want)
	}
}

// damagingWorld writes another state in place of the first trial's.
type damagingWorld struct {
	countedWorld
	file string
}

func (w *damagingWorld) stage(t *trial) stage {
	if t.plan.Repeat == 1 {
		return &damagedTrial{countedTrial{t, &w.countedWorld}, w.file}
	}
	return w.countedWorld.stage(t)
}

type damagedTrial struct {
	countedTrial
	file string
}

func (t *damagedTrial) run(ctx context.Context) (results.Trial, error) {
	r, err := t.countedTrial.run(ctx)
	return r, errors.Join(err, t.folder.WriteFile(runs.StateFile, []byte(t.file)))
}
