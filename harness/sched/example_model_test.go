package sched_test

import (
	"fmt"

	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/state"
)

// largest is a model: the job with the most waiting maps goes first.
type largest struct{}

func (largest) Name() string { return "largest" }

// Choose is asked for one task to start on n, again and again while n has room.
func (largest) Choose(v *state.View, n state.NodeID) (sched.Pick, bool) {
	best := state.JobID(state.None)
	for _, id := range v.WaitingJobs(state.Map) {
		if v.Fits(n, id, state.Map) && (best == state.None || v.Waiting(id, state.Map) > v.Waiting(best, state.Map)) {
			best = id
		}
	}
	if best == state.None {
		return sched.Pick{}, false
	}
	task, level := v.Nearest(best, n, state.LevelCache, state.LevelOff)
	return sched.Pick{Job: best, Task: task, Kind: state.Map, Reason: sched.ReasonOf(level)}, true
}

// A model of one's own, beside one of heddle's, on the same two jobs.
func Example() {
	slot := state.Resource{MemoryMB: 1024, VCores: 1}
	cluster := sim.Machines{Nodes: []sim.Node{
		{Name: "n1", Rack: "r1", Capacity: slot.Times(2)}, // room for two maps at a time
		{Name: "n2", Rack: "r2", Capacity: slot.Times(2)},
	}}
	job := func(name string, maps int32) sim.Job {
		j := sim.Job{MapWork: []sim.Work{{ComputeMs: 10_000}}} // each map
		j.JobSpec = state.JobSpec{Name: name, Maps: maps, MapSize: slot}
		for range maps {
			j.Replicas.Add(0) // the input of each is on n1
		}
		return j
	}
	fifo, err := sched.New("fifo", nil)
	if err != nil {
		panic(err)
	}
	for _, model := range []sched.Model{fifo, sched.PerNode{NodeModel: largest{}}} {
		r, err := sim.Run(&sim.Config{
			Cluster: cluster, Source: &sim.Jobs{List: []sim.Job{job("small", 4), job("large", 12)}},
			Model: model, Actuator: sim.Ideal, Costs: sim.NoCosts(),
		})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: small ends after %d s, large after %d s\n", model.Name(), r.Jobs[0].EndMs/1000, r.Jobs[1].EndMs/1000)
	}
	// Output:
	// fifo: small ends after 10 s, large after 40 s
	// largest: small ends after 40 s, large after 40 s
}
