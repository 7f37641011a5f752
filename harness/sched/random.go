package sched

import (
	"math/rand/v2"

	"heddle/harness/state"
)

// random starts any waiting task on any node.
//
// Rule. On a heartbeat it draws one of all waiting tasks that the node can
// hold, all equally likely. Order of jobs, priority and locality do not count.
//
// Source. The baseline of Tan, Meng, Zhang, "Improving ReduceTask Data
// Locality for Sequential MapReduce Jobs", INFOCOM 2013. There it is for
// reduces, here for maps too. A good scheduler should not be worse than this
// one.
//
// Parameters.
//
//	seed  (1)  of its random numbers (PCG)
//
// Differs. The paper draws a slot for each task; here a task is drawn for the
// node that reports. Over many heartbeats both give the same distribution.
type random struct {
	Seed uint64 `default:"1" text:"of its random numbers"`

	rng *rand.Rand
}

var randomInfo = Info{
	Name:    "random",
	Use:     ForControl,
	Summary: "starts any waiting task anywhere",
	Source:  "the baseline of Tan, Meng, Zhang, INFOCOM 2013",
	Params:  ParamsOf[random](),
	Build: func(a Args) (Model, error) {
		m := ValuesOf[random](a)
		m.rng = rand.New(rand.NewPCG(m.Seed, 0))
		return PerNode{&m}, nil
	},
}

func (m *random) Name() string { return "random" }

func (m *random) Choose(v *state.View, n state.NodeID) (Pick, bool) {
	kinds := [...]state.Kind{state.Map, state.Reduce}
	fits := int64(0)
	for _, k := range kinds {
		for _, id := range v.WaitingJobs(k) {
			if v.Fits(n, id, k) {
				fits += int64(v.Waiting(id, k))
			}
		}
	}
	if fits == 0 {
		return Pick{}, false
	}
	at := m.rng.Int64N(fits)
	for _, k := range kinds {
		for _, id := range v.WaitingJobs(k) {
			if !v.Fits(n, id, k) {
				continue
			}
			if waiting := int64(v.Waiting(id, k)); at >= waiting {
				at -= waiting
				continue
			}
			return Pick{id, v.NthWaiting(id, k, int32(at)), k, Random}, true
		}
	}
	return Pick{}, false
}
