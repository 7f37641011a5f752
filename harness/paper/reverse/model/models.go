package model

import (
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
			Choices: []string{"now", "forecast", "none"},
			Doc:     "what a job needs: work by the time left, the same with the slots of the forecast, or nothing, so that all are served alike",
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
	}, common...),
	Build: func(a sched.Args) (sched.Model, error) {
		m := newPlanner("reverse", a)
		m.see = map[string]func(*planner, *state.View) *forecast{
			"exact": (*planner).seeTable,
			"mean":  func(m *planner, v *state.View) *forecast { return constant(m.seeTable(v).mean(float64(v.Now()) / 1e9)) },
			"now":   (*planner).seeNow,
		}[a.Text("forecast")]
		m.walker.latestFirst, m.walker.nextCycle = a.Text("share") == "ldf", a.Text("first") == "cycle"
		m.need = func(m *planner, now float64) {
			m.walker.walk(m.demands, now, float64(m.cycleMs)/1000, m.ahead.avail)
		}
		return sched.PerNode{NodeModel: m}, nil
	},
}

func newPlanner(name string, a sched.Args) *planner {
	return &planner{
		name:    name,
		lookout: lookout{cycleMs: cycleMs(a), firstMap: time.Duration(a.Int("firstMap")).Seconds(), picked: state.None},
		running: a.Text("from") == "running",
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
