package model

import (
	"math"
	"math/rand/v2"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
)

var cycle = sched.Param{
	Name:    "cycle",
	Type:    sched.Duration,
	Default: "10s",
	Doc:     "time from one plan, or look at the deadlines, to the next; not printed",
}

var common = []sched.Param{
	cycle,
	{Name: "firstMap", Type: sched.Duration, Default: "60s", Doc: "time of a map before the first of the run has ended"},
	{
		Name:    "from",
		Type:    sched.Choice,
		Default: "running",
		Choices: []string{"running", "anew"},
		Doc:     "whether a plan deals only the slots that are free, or all of them",
	},
	{
		Name:    "pending",
		Type:    sched.Choice,
		Default: "completed",
		Choices: []string{"completed", "waiting", "elapsed"},
		Doc:     "the maps that a job's work counts: all that have not completed, those that wait, or all without what running maps have done",
	},
	{
		Name:    "replan",
		Type:    sched.Choice,
		Default: "cycle",
		Choices: []string{"cycle", "jobs"},
		Doc:     "when a plan is made: each cycle, or also when a job comes or ends",
	},
	{
		Name:    "past",
		Type:    sched.Choice,
		Default: "urgent",
		Choices: []string{"urgent", "none"},
		Doc:     "what a job needs whose deadline is past: all that is left, as soon as can be, or nothing",
	},
}

// AdaptiveInfo describes the model adaptive: need without look-ahead.
var AdaptiveInfo = sched.Info{
	Name: "adaptive", Summary: "gives each job the slots with which it just meets its deadline, if it keeps them",
	Source: "Polo et al., RAS, Middleware 2011, from memory; Narayan et al., 2015",
	Params: append([]sched.Param{
		{
			Name:    "need",
			Type:    sched.Choice,
			Default: "now",
			Choices: []string{"now", "forecast", "none", "random"},
			Doc: "what a job needs: work by the time left, the same with the slots of the forecast, nothing, so that all are served alike, or a " +
				"random part of its maps",
		},
	}, common...),
	Build: func(a sched.Args) (sched.Model, error) {
		m := newPlanner("adaptive", a)
		m.see = (*planner).seeNow
		switch a.Text("need") {
		case "now":
			m.need = func(m *planner, now float64) { required(m.demands, now, m.pending) }
		case "forecast":
			m.see = (*planner).seeTable
			m.need = func(m *planner, now float64) { scaled(m.demands, now, m.ahead, m.pending) }
		case "none":
			m.need = func(*planner, float64) {}
		case "random":
			random := rand.New(rand.NewPCG(1, 0))
			m.need = func(m *planner, _ float64) {
				for i := range m.demands {
					m.demands[i].need = random.Float64() * m.pending(i)
				}
			}
		}
		return sched.PerNode{NodeModel: m}, nil
	},
}

// ReverseInfo describes the model reverse: need with look-ahead.
var ReverseInfo = sched.Info{
	Name: "reverse", Summary: "gives each job the slots that later periods, walked back from the last deadline, do not have for it",
	Source: "Narayan et al., Adaptive MapReduce Scheduling in Shared Environments, IJERT ICESMART 2015",
	Params: append([]sched.Param{
		{
			Name:    "forecast",
			Type:    sched.Choice,
			Default: "exact",
			Choices: []string{"exact", "mean", "now"},
			Doc:     "what is used of the capacity to come, as told: all, its mean, or that of now for ever",
		},
		{
			Name:    "share",
			Type:    sched.Choice,
			Default: "maxmin",
			Choices: []string{"maxmin", "ldf"},
			Doc:     "how jobs share a period: alike, or the latest deadline first",
		},
		{
			Name:    "first",
			Type:    sched.Choice,
			Default: "mean",
			Choices: []string{"mean", "cycle"},
			Doc:     "the first period: until the first deadline, or as late as possible, until the next plan",
		},
		{
			Name:    "tasks",
			Type:    sched.Choice,
			Default: "seconds",
			Choices: []string{"seconds", "half", "whole"},
			Doc:     "what fits into a period between deadlines: all its slot-seconds, half a map's time less, or maps that begin and end in it",
		},
		{Name: "horizon", Type: sched.Choice, Default: "all", Choices: []string{"all", "next", "one"}, Doc: "what is planned: the jobs " +
			"of all deadlines, those of the next one alone, or all work until the next one"},
	}, common...),
	Build: func(a sched.Args) (sched.Model, error) { return newReverse("reverse", a, nil) },
}

// ReverseTold describes the model reverse under another name, with deadlines that a function changes before each
// plan, to see what they are worth.
func ReverseTold(name string, change func(goals []float64)) sched.Info {
	x := ReverseInfo
	x.Name, x.Build = name, func(a sched.Args) (sched.Model, error) { return newReverse(name, a, change) }
	return x
}

func newReverse(name string, a sched.Args, change func(goals []float64)) (sched.Model, error) {
	m := newPlanner(name, a)
	m.see = map[string]func(*planner, *state.View) *forecast{
		"exact": (*planner).seeTable,
		"mean":  func(m *planner, v *state.View) *forecast { return constant(m.seeTable(v).mean(float64(v.Now()) / 1e9)) },
		"now":   (*planner).seeNow,
	}[a.Text("forecast")]
	m.walker.latestFirst, m.walker.nextCycle, m.walker.horizon = a.Text("share") == "ldf", a.Text("first") == "cycle", a.Text("horizon")
	m.need = func(m *planner, now float64) {
		if change != nil {
			goals := make([]float64, len(m.demands))
			for i := range goals {
				goals[i] = m.demands[i].goal
			}
			change(goals)
			for i := range goals {
				m.demands[i].goal = goals[i]
			}
		}
		m.walker.walk(m.demands, now, float64(m.cycleMs)/1000, m.room(a.Text("tasks")))
	}
	return sched.PerNode{NodeModel: m}, nil
}

// room returns a function that says how much of the work of maps fits between two times: into
// each slot half a map less than the time between, or whole maps alone.
func (m *planner) room(tasks string) func(a, b float64) float64 {
	each := m.firstMap
	if m.all.count > 0 {
		each = m.all.sum / float64(m.all.count)
	}
	return func(a, b float64) float64 {
		part := 1.0
		switch tasks {
		case "half":
			part = max(0, 1-each/2/(b-a))
		case "whole":
			part = math.Floor((b-a)/each) * each / (b - a)
		}
		return part * m.ahead.avail(a, b)
	}
}

func newPlanner(name string, a sched.Args) *planner {
	return &planner{
		name:    name,
		lookout: lookout{cycleMs: cycleMs(a), firstMap: time.Duration(a.Int("firstMap")).Seconds(), picked: state.None},
		running: a.Text("from") == "running", counts: a.Text("pending"),
		replans: a.Text("replan") == "jobs", forgives: a.Text("past") == "none",
	}
}

func cycleMs(a sched.Args) int64 { return max(1, time.Duration(a.Int("cycle")).Milliseconds()) }

func (m *planner) pending(i int) float64 { return m.claims[i].pending }

// size returns the size of a slot: that of the first planned job's maps.
func (m *planner) size(v *state.View) state.Resource { return v.ContainerSize(m.jobs[0], state.Map) }

// seeNow forecasts that the slots of now last for ever.
func (m *planner) seeNow(v *state.View) *forecast { return constant(float64(slotsOf(v, m.size(v)))) }

// seeTable forecasts what the timetable says. Without one it is seeNow.
func (m *planner) seeTable(v *state.View) *forecast {
	if m.table == nil || len(m.table.Changes) == 0 {
		return m.seeNow(v)
	}
	if m.foreseen == nil {
		m.foreseen = foresee(v, m.table, m.size(v))
	}
	return m.foreseen
}
