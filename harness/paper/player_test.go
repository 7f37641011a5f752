package paper

import (
	"testing"

	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/sim"
	"heddle/harness/state"
)

// TestPlayedModelHears has a model under the rules of a reading hear the same as one
// that the simulator runs itself.
func TestPlayedModelHears(t *testing.T) {
	hear := func(play func(sched.Model) sched.Model) *schedtest.Listener {
		fifo, err := sched.New("fifo", nil)
		check(t, err)
		l := &schedtest.Listener{NodeModel: fifo.(sched.PerNode).NodeModel, Period: 200}
		slot := state.Resource{MemoryMB: 1024, VCores: 1}
		job := sim.Job{MapWork: []sim.Work{{FixedMs: 1500}}, ReduceWork: []sim.Work{{FixedMs: 100}}, SlowStart: 1}
		job.JobSpec = state.JobSpec{Name: "a", Queue: "q", Maps: 3, Reduces: 1, MapSize: slot, ReduceSize: slot}
		c := sim.Config{
			Source: &sim.Jobs{List: []sim.Job{job}}, Model: play(sched.PerNode{NodeModel: l}), Splits: sim.Planned, Actuator: sim.Ideal,
			Costs:   sim.DefaultCosts(),
			Cluster: sim.Machines{Nodes: []sim.Node{{Name: "n0", Rack: "r", Capacity: slot}, {Name: "n1", Rack: "r", Capacity: slot}}},
		}
		_, err = sim.Run(&c)
		check(t, err)
		return l
	}
	plain := hear(func(m sched.Model) sched.Model { return m })
	played := hear(func(m sched.Model) sched.Model { return newPlayer(m, &Case{Offering: OfferAll}, nil) })
	if played.Heard["warmup"] != 1 {
		t.Errorf("trained %d times, want once, before the job", played.Heard["warmup"])
	}
	delete(played.Heard, "warmup") // the simulator leaves training to the model
	if len(plain.Heard) < 8 || plain.Full == 0 || played.Full != plain.Full || played.Idle != plain.Idle {
		t.Errorf("%v, %d full, %d idle; played %d full, %d idle", plain.Heard, plain.Full, plain.Idle, played.Full, played.Idle)
	}
	for what, times := range plain.Heard {
		if played.Heard[what] != times {
			t.Errorf("%s: %d times, played %d", what, times, played.Heard[what])
		}
	}
}
