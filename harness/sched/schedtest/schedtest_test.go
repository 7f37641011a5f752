package schedtest

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// first starts the first waiting map that fits, or what wrong makes of it.
type first struct {
	wrong   func(v *state.View, p sched.Pick) (sched.Pick, bool)
	started int
	told    []sched.EventKind
}

func (*first) Name() string { return "first" }

func (m *first) Observe(_ *state.View, e sched.Event) { m.told = append(m.told, e.What) }

func (m *first) Choose(v *state.View, n state.NodeID) (sched.Pick, bool) {
	for _, k := range []state.Kind{state.Map, state.Reduce} {
		for _, id := range v.WaitingJobs(k) {
			if !v.Fits(n, id, k) {
				continue
			}
			m.started++
			p := sched.Pick{Job: id, Kind: k, Task: v.NthWaiting(id, k, 0)}
			if m.wrong != nil {
				return m.wrong(v, p)
			}
			return p, true
		}
	}
	return sched.Pick{}, false
}

func info(build func(sched.Args) (sched.Model, error)) sched.Info {
	return sched.Info{Name: "first", Summary: "starts the first task", Source: "none", Build: build}
}

// broken are models that Check has to find out, each with what it says.
var broken = []struct {
	name, says string
	model      func() *first
}{
	{"starts what does not wait", "it does not wait", func() *first {
		return &first{wrong: func(v *state.View, p sched.Pick) (sched.Pick, bool) {
			p.Task = v.NthWaiting(p.Job, p.Kind, 0) + 1
			return p, true
		}}
	}},
	{"starts a kind as another", "start a reduce of job", func() *first {
		return &first{wrong: func(_ *state.View, p sched.Pick) (sched.Pick, bool) {
			p.Kind = state.Reduce
			return p, true
		}}
	}},
	{"changes the View", "Choose changed the View from", func() *first {
		return &first{wrong: func(v *state.View, p sched.Pick) (sched.Pick, bool) {
			slices.Reverse(v.WaitingJobs(state.Map))
			return p, true
		}}
	}},
	{"has a job wait for ever", "nothing started in", func() *first {
		return &first{wrong: func(_ *state.View, p sched.Pick) (sched.Pick, bool) { return p, p.Job == 0 }}
	}},
	{"decides by chance", "decisions differ", func() *first {
		return &first{wrong: func(v *state.View, p sched.Pick) (sched.Pick, bool) {
			p.Task = v.NthWaiting(p.Job, p.Kind, rand.Int32N(v.Waiting(p.Job, p.Kind)))
			return p, true
		}}
	}},
	{"keeps counts from run to run", "decisions differ", nil},
	{"has no summary", "no Summary", nil},
}

// TestFinds has Check fail for each broken model, with the reason. It runs this
// test again in a process of its own, where it is to fail.
func TestFinds(t *testing.T) {
	const as = "SCHEDTEST_BROKEN"
	shared := &first{}
	shared.wrong = func(_ *state.View, p sched.Pick) (sched.Pick, bool) { return p, shared.started%3 != 0 }
	for _, b := range broken {
		m := info(func(sched.Args) (sched.Model, error) {
			if b.model == nil {
				return sched.PerNode{NodeModel: shared}, nil
			}
			return sched.PerNode{NodeModel: b.model()}, nil
		})
		if b.name == "has no summary" {
			m.Summary = ""
		}
		if os.Getenv(as) == b.name {
			Check(t, m)
			continue
		} else if os.Getenv(as) != "" {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFinds$", "-rapid.nofailfile")
			cmd.Env = append(os.Environ(), as+"="+b.name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), b.says) {
				t.Errorf("error %v, want one that says %q:\n%.3000s", err, b.says, out)
			}
		})
	}
}

// TestPasses has Check pass a model that is right, registered or not, and told of
// events.
func TestPasses(t *testing.T) {
	var last *first
	Check(t, info(func(sched.Args) (sched.Model, error) {
		last = &first{}
		return sched.PerNode{NodeModel: last}, nil
	}), sched.Params{})
	for _, what := range []sched.EventKind{sched.JobSubmitted, sched.NodeReported, sched.Confirmed, sched.TaskStarted} {
		if !slices.Contains(last.told, what) {
			t.Errorf("the model was not told of events of kind %d, only of %v", what, last.told)
		}
	}
}

// TestScenarioErrors has a message for each line of a scenario that is wrong.
func TestScenarioErrors(t *testing.T) {
	for _, c := range []struct{ line, input, says string }{
		{"modle x", "", `no command "modle"`},
		{"model", "", "model takes 1 words or more"},
		{"cluster maps=many", "", "maps=many: want a number"},
		{"cluster", "a1", `"a1": want NODE RACK [slots=N]`},
		{"cluster", "a1 A slots=two", "want NODE RACK"},
		{"cluster", "a1 A\na1 B", "a1"},
		{"job j reduce=1", "", "job has no value reduce"},
		{"job j reduces=x", "", "reduces=x: want a number"},
		{"job j", "a9", `no node "a9"`},
		{"heartbeat a9", "", `no node "a9"`},
		{"heartbeat a1 times=x", "", "times=x: want a number"},
		{"finish k m0", "", "no job k"},
		{"finish job m7", "", "does not have all of the tasks [m7]"},
		{"finish job m0", "", "the task waits"},
		{"down a9", "", `no node "a9"`},
		{"cached job m0 a9", "", `no node "a9"`},
	} {
		s := &scenario{models: []sched.Info{info(func(sched.Args) (sched.Model, error) { return sched.PerNode{NodeModel: &first{}}, nil })}}
		run := func(line, input string) (string, error) {
			cmd, args, err := datadriven.ParseLine(line)
			if err != nil {
				t.Fatal(err)
			}
			return s.run(&datadriven.TestData{Cmd: cmd, CmdArgs: args, Input: input})
		}
		for _, before := range [][2]string{{"cluster", "a1 A\nb1 B"}, {"model first", ""}, {"job job", "a1"}} {
			if out, err := run(before[0], before[1]); err != nil || out != "" {
				t.Fatal(out, err)
			}
		}
		if out, err := run(c.line, c.input); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, error %v, want one that says %q", c.line, out, err, c.says)
		}
	}
	s := &scenario{}
	errtest.Has(t, errtest.Of(s.run(&datadriven.TestData{Cmd: "state"})), "state needs a model before it")
}
