package learning

import (
	"maps"
	"slices"
	"testing"

	"heddle/harness/paper"
	"heddle/harness/paper/learning/model"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// broken is the paper's model with a wrong load average in each report of a node.
type broken struct {
	sched.Model
	name   string
	learns sched.Observer
	hears  func(load float64) float64
}

func (m broken) Name() string        { return m.name }
func (m broken) Unwrap() sched.Model { return m.Model }

func (m broken) Observe(v *state.View, e sched.Event) {
	if e.What == sched.NodeReported && e.Sample != nil {
		e.Sample = &traces.NodeSample{Load1: m.hears(e.Sample.Load1)}
	}
	m.learns.Observe(v, e)
}

// mutants are the paper's model, broken on purpose. What readings set of the model is not for them.
var mutants = []sched.Info{
	mutant("never-learns", &model.Info, sched.Params{"cap": "1"}, func(load float64) float64 { return load }),
	mutant("upside-down", &model.Info, nil, func(load float64) float64 { return max(0, 2*cores-load) }), // good is what overloads a node
	mutant("deaf", &model.Info, nil, func(float64) float64 { return 0 }),
	mutant("by-chance", &model.RuleInfo, sched.Params{"gate": "0", "chance": "0.6"}, func(load float64) float64 { return load }),
}

func mutant(name string, of *sched.Info, params sched.Params, hears func(float64) float64) sched.Info {
	return sched.Info{
		Name: name, Summary: "learning, broken for a test", Source: "ours", Params: model.Info.Params,
		Build: func(sched.Args) (sched.Model, error) {
			p := sched.Params{"cpus": "4"}
			maps.Copy(p, params)
			m, err := of.New(p)
			if err != nil {
				return nil, err
			}
			learns, _ := sched.As[sched.Observer](m)
			return broken{m, name, learns, hears}, nil
		},
	}
}

// TestBroken puts broken models in the place of the paper's. The verdicts must say so, and no
// claim may need the method.
func TestBroken(t *testing.T) {
	const holds, reversed, fails, untold = paper.Holds, paper.Reversed, paper.Fails, paper.NotTestable
	for name, want := range map[string]map[string]paper.Verdict{
		"learning":     {"L2": holds, "L10": holds, "L11": holds}, // and none is reversed
		"never-learns": {"L2": reversed, "L3": reversed, "L5": reversed, "L7": reversed, "L10": untold},
		"upside-down":  {"L2": reversed, "L3": reversed, "L7": reversed, "L10": fails, "L11": reversed},
		"deaf":         {"L2": reversed, "L3": reversed, "L5": paper.Ceiling, "L7": reversed, "L10": untold},
		"by-chance":    {"L2": reversed, "L3": reversed, "L5": reversed, "L7": reversed, "L10": untold},
	} {
		p := Paper()
		// readings set them
		p.Controls = append(slices.Clone(p.Controls), paper.Scheduler{Label: "the learner's parameters", Model: "learning", Ablated: true})
		p.Schedulers = slices.Clone(p.Schedulers)
		p.Schedulers[0].Model = name
		r := must(p.Run(t.Context(), paper.Options{Parts: []string{"L2", "L3", "L5", "L7", "L10", "L11"}, Seed: 1, Seeds: 4, Workers: 2}))
		for _, c := range r.Criteria {
			if want, ok := want[c.ID]; ok && c.Verdict != want {
				t.Errorf("%s: %s %s, want %s: %s", name, c.ID, c.Verdict, want, c.Note)
			}
			if name == "learning" && c.Verdict == reversed {
				t.Errorf("unbroken: %s is reversed: %s", c.ID, c.Note)
			}
			if c.NeededMethod {
				t.Errorf("%s: %s needs the method: %+v", name, c.ID, c.Controls)
			}
		}
	}
}
