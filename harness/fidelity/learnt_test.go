package fidelity

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"heddle/harness/config"
	"heddle/harness/replay"
	"heddle/harness/replay/recorded"
	"heddle/harness/results"
	"heddle/harness/sched"
	"heddle/traces/errtest"
)

// remembers is fifo with a state. It notes what it is loaded with.
type remembers struct{ sched.Model }

var loaded []string

func (*remembers) Name() string                { return "test-remembers" }
func (*remembers) LearntFor() string           { return "" }
func (*remembers) Save() ([]byte, error)       { return []byte("much"), nil }
func (*remembers) Load(data []byte) error      { loaded = append(loaded, string(data)); return nil }
func (*remembers) Learnt() []sched.LearntTable { return nil }

// TestKnowsWhatItKnew: a trial is predicted with a model that knows what that of the trial
// knew when it began, and a state that is missing is an error, not a model that knows nothing.
func TestKnowsWhatItKnew(t *testing.T) {
	err := sched.Register(sched.Info{
		Name: "test-remembers", Summary: "fifo with a state", Source: "none: for tests",
		Build: func(sched.Args) (sched.Model, error) {
			fifo, err := sched.New("fifo", nil)
			return &remembers{fifo}, err
		},
	})
	mustDo(t, err)
	x := must(recorded.Load("testdata/run/trials/r01-wordcount-yarn/trace.heddle"))
	x.Header.Model, x.Header.Actuator = "test-remembers", config.ActuatorIdeal
	c := must(replay.CalibrateOne(x, false))
	state := must(sched.SaveState(&remembers{}, nil))
	for _, like := range []measured{{Trace: x, behaviour: x.OwnBehaviour()}, {Trace: x, behaviour: x.OwnBehaviour(), learnt: state}} {
		loaded = nil
		must(predict(x, &like, c, 0, Options{Seeds: 2}))
		want := []string(nil)
		if like.learnt != nil {
			want = []string{"much", "much"} // for each seed
		}
		if !slices.Equal(loaded, want) {
			t.Errorf("models were given %q, want %q", loaded, want)
		}
	}

	dir := filepath.Join(t.TempDir(), "run")
	mustDo(t, os.CopyFS(dir, os.DirFS("testdata/run")))
	run := must(results.Open(dir, true))
	run.Trials[1].StateOf = run.Trials[0].Name
	errtest.Has(t, errtest.Of(OfRun(run, Options{Seeds: 1})), "had learnt before")
}
