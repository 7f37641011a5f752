package model

import (
	"heddle/harness/sched"
	"heddle/harness/state"
)

// greedy (cached-first) is a control for clqlmrs: it knows as much and learns nothing.
//
// Rule. On each opportunity, of the first job in FIFO order that has a waiting map which
// a free node can hold, it starts a map that is cached on its node; if there is none,
// one that is stored there, then one whose rack has it, then any. Among equal nodes
// the one that reported comes first. No job waits for locality.
//
// Where the ApplicationMaster binds late, the map on a node is the one that WouldBind
// returns, as for clqlmrs.
type greedy struct{}

// GreedyInfo describes the model cached-first.
var GreedyInfo = sched.Info{
	Name:    "cached-first",
	Use:     sched.ForControl,
	Summary: "starts on any free node the map that is nearest to it, cached ones first; learns nothing",
	Source:  "ours, as a control for clqlmrs",
	Build:   func(sched.Args) (sched.Model, error) { return greedy{}, nil },
}

func (greedy) Name() string { return "cached-first" }

func (greedy) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	for jobs := sched.FIFOOrder(v); ; {
		id, ok := jobs.Next()
		if !ok {
			return out
		}
		if c, ok := sched.RerunOrReduce(v, id, free[0]); ok {
			return append(out, c.On(free[0]))
		}
		best, node, task := state.LevelOff+1, state.NodeID(state.None), state.TaskID(state.None)
		for _, n := range free {
			if !sched.WantsMap(v, id, n) {
				continue
			}
			t, level := v.Nearest(id, n, state.LevelCache, state.LevelOff)
			if v.LateBinding() {
				t, _ = v.WouldBind(id, n)
				level = v.Level(id, t, n)
			}
			if t != state.None && level < best {
				best, node, task = level, n, t
			}
		}
		if task != state.None {
			return append(out, sched.MapPick(id, task, best).On(node))
		}
	}
}
