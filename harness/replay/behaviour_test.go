package replay

import (
	"fmt"
	"testing"

	"heddle/harness/config"
	"heddle/harness/option"
	"heddle/harness/replay/recorded"
)

// TestBehaviourReachesSimulator sets each part of a behaviour in turn: another simulation
// must come of it.
func TestBehaviourReachesSimulator(t *testing.T) {
	x := loaded(t, "r01-wordcount-fifo")
	node := string(x.Nodes[0].Node)
	texts := map[string]string{
		"actuator": "ideal", "splits": "cachedOnly", "map-slots": "2", "reduce-slots": "2", "cache-policy": "lru", "fetches": "nodes",
		"speculation": "late",
		"fault":       "at=1s,node=" + node + ",down", "capacity": "at=1s,node=" + node + ",left=0.5",
	}
	simulated := func(b config.Behaviour) string {
		c := Config{
			Trace: x, Model: config.Model{Model: "fifo"}, Behaviour: b, Modelled: true, Seed: 1,
			Change: recorded.Change{Cache: recorded.Size{Size: 1 << 30, Given: true}},
		}
		s, _, err := c.prepare()
		mustDo(t, err)
		return fmt.Sprint(s.Actuator, s.Splits, s.MapSlots, s.ReduceSlots, s.CacheReads, s.NodeFetches, s.Speculation, s.Faults, s.Capacity)
	}
	base := config.Behaviour{MapSlots: 1, ReduceSlots: 1} // neither can be without the other
	plain := simulated(base)
	for i, o := range option.Of(new(config.Behaviour)) {
		b := base
		if err := option.Of(&b)[i].Set(texts[o.Name]); err != nil {
			t.Errorf("give a text for %s: %v", o.Name, err)
		} else if simulated(b) == plain {
			t.Errorf("%s %s changes nothing in the simulator", o.Name, texts[o.Name])
		}
	}
}
