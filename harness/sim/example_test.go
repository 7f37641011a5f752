package sim_test

import (
	"fmt"

	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// A job of eight maps and a reduce on four nodes in two racks, under a model that
// waits for nodes with the input. Record sees every event.
func ExampleRun() {
	slot := state.Resource{MemoryMB: 1024, VCores: 1}
	var cluster sim.Machines
	for i := range 4 {
		cluster.Nodes = append(cluster.Nodes, sim.Node{
			Name: fmt.Sprint("n", i), Rack: fmt.Sprint("rack", i/2), Capacity: slot.Times(2),
			DiskBytesPerSec: 80e6, LinkBytesPerSec: 25e6,
		})
	}
	job := sim.Job{
		SlowStart:  1, // reduces are asked for when all maps are done
		MapWork:    []sim.Work{{InputBytes: 128 << 20, OutputBytes: 16 << 20, ComputeMs: 8000}},
		ReduceWork: []sim.Work{{OutputBytes: 64 << 20, ComputeMs: 4000}},
	}
	job.JobSpec = state.JobSpec{Name: "wordcount", Maps: 8, Reduces: 1, MapSize: slot, ReduceSize: slot}
	for m := range job.Maps {
		job.Replicas.Add(state.NodeID(m%4), state.NodeID((m+2)%4)) // two replicas of each block
		job.Cached.Add()                                           // no cached copy
	}
	model, err := sched.New("delay", nil)
	if err != nil {
		panic(err)
	}
	events := map[traces.Kind]int{}
	r, err := sim.Run(&sim.Config{
		Cluster: cluster, Source: &sim.Jobs{List: []sim.Job{job}},
		Model: model, Actuator: sim.Labels, Costs: sim.DefaultCosts(), Seed: 1,
		Record: func(e traces.Event) { events[e.Kind()]++ },
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.1f s\n", float64(r.MakespanMs)/1000)
	fmt.Printf("maps on their node %d, in its rack %d, elsewhere %d\n", r.Maps[state.LevelNode], r.Maps[state.LevelRack],
		r.Maps[state.LevelOff])
	fmt.Println(events[traces.KindAttemptFinished], "attempts ended,", events[traces.KindDecision], "decisions")
	// Output:
	// 31.3 s
	// maps on their node 8, in its rack 0, elsewhere 0
	// 9 attempts ended, 9 decisions
}
