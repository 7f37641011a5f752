package model

import (
	"math"
	"math/rand/v2"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// cycle is the parameter that all models here have.
type cycle struct {
	Cycle time.Duration `default:"10s" text:"time from one plan, or look at the deadlines, to the next; not printed"`
}

func (c cycle) ms() int64 { return max(1, c.Cycle.Milliseconds()) }

// common are the parameters of adaptive and reverse.
type common struct {
	cycle
	FirstMap time.Duration `default:"60s" text:"time of a map before the first of the run has ended"`
	From     string        `values:"running,anew" text:"whether a plan deals only the slots that are free, or all of them"`
	Pending  string        `values:"completed,waiting,elapsed" text:"the maps that a job's work counts: all that have not completed, those that wait, or all without what running maps have done"`
	Replan   string        `values:"cycle,jobs" text:"when a plan is made: each cycle, or also when a job comes or ends"`
	Past     string        `values:"urgent,none" text:"what a job needs whose deadline is past: all that is left, as soon as can be, or nothing"`
}

type adaptive struct {
	Need string `values:"now,forecast,none,random" text:"what a job needs: work by the time left, the same with the slots of the forecast, nothing, so that all are served alike, or a random part of its maps"`
	common
}

type reverse struct {
	Forecast string `values:"exact,mean,now" text:"what is used of the capacity to come, as told: all, its mean, or that of now for ever"`
	Share    string `values:"maxmin,ldf" text:"how jobs share a period: alike, or the latest deadline first"`
	First    string `values:"mean,cycle" text:"the first period: until the first deadline, or as late as possible, until the next plan"`
	Tasks    string `values:"seconds,half,whole" text:"what fits into a period between deadlines: all its slot-seconds, half a map's time less, or maps that begin and end in it"`
	Horizon  string `values:"all,next,one" text:"what is planned: the jobs of all deadlines, those of the next one alone, or all work until the next one"`
	common
}

// AdaptiveInfo describes the model adaptive: need without look-ahead.
var AdaptiveInfo = sched.Info{
	Name:    "adaptive",
	Use:     sched.ForDeadlines,
	Summary: "gives each job the slots with which it just meets its deadline, if it keeps them",
	Source:  "Polo et al., RAS, Middleware 2011, from memory; Narayan et al., 2015",
	Params:  sched.ParamsOf[adaptive](),
	Build: func(a sched.Args) (sched.Model, error) {
		p := sched.ValuesOf[adaptive](a)
		m := newPlanner("adaptive", p.common)
		switch m.sees = "now"; p.Need {
		case "now":
			m.need = func(now float64) { required(m.demands, now) }
		case "forecast":
			m.sees = "exact"
			m.need = func(now float64) { scaled(m.demands, now, m.ahead) }
		case "none":
			m.need = func(float64) {}
		case "random":
			random := rand.New(rand.NewPCG(1, 0))
			m.need = func(float64) {
				for i := range m.demands {
					m.demands[i].need = random.Float64() * m.demands[i].pending
				}
			}
		}
		return sched.PerNode{NodeModel: m}, nil
	},
}

// ReverseInfo describes the model reverse: need with look-ahead.
var ReverseInfo = ReverseTold("reverse", func([]Demand) {})

// ReverseTold describes the model reverse under a name, with demands that a function changes before each
// plan, to see what they are worth.
func ReverseTold(name string, change func([]Demand)) sched.Info {
	return sched.Info{
		Name: name, Use: sched.ForDeadlines,
		Summary: "gives each job the slots that later periods, walked back from the last deadline, do not have for it",
		Source:  "Narayan et al., Adaptive MapReduce Scheduling in Shared Environments, IJERT ICESMART 2015",
		Params:  sched.ParamsOf[reverse](),
		Build: func(a sched.Args) (sched.Model, error) {
			p := sched.ValuesOf[reverse](a)
			m := newPlanner(name, p.common)
			m.sees, m.tasks = p.Forecast, p.Tasks
			w := walker{latestFirst: p.Share == "ldf", nextCycle: p.First == "cycle", horizon: p.Horizon}
			m.need = func(now float64) {
				change(m.demands)
				w.walk(m.demands, now, float64(m.cycleMs)/1000, m.room)
			}
			return sched.PerNode{NodeModel: m}, nil
		},
	}
}

// room returns how much of the work of maps fits between two times: into each slot all, half a
// map less than the time between, or whole maps alone.
func (m *planner) room(a, b float64) float64 {
	each, part := m.all.mean(m.firstMap), 1.0
	switch m.tasks {
	case "half":
		part = max(0, 1-each/2/(b-a))
	case "whole":
		part = math.Floor((b-a)/each) * each / (b - a)
	}
	return part * m.ahead.avail(a, b)
}

func newPlanner(name string, p common) *planner {
	return &planner{name: name, common: p, lookout: lookout{cycleMs: p.ms(), firstMap: p.FirstMap.Seconds(), picked: state.None}}
}

// size returns the size of a slot: that of the first planned job's maps.
func (m *planner) size(v *state.View) state.Resource {
	return v.ContainerSize(m.demands[0].job, state.Map)
}

// see forecasts what the timetable says, or its mean; without one, or if told so, that the slots of now last for ever.
func (m *planner) see(v *state.View) *forecast {
	if m.sees == "now" || m.table == nil || len(m.table.Changes) == 0 {
		return now(v, m.demands[0].job)
	}
	if m.foreseen == nil {
		m.foreseen = foresee(v, m.table, m.size(v))
	}
	if m.sees == "mean" {
		return constant(m.foreseen.mean(float64(v.Now()) / 1e9))
	}
	return m.foreseen
}
