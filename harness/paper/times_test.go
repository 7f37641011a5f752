package paper

import (
	"math"
	"sync/atomic"
	"testing"

	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// TestMapTimes has the times of made-up attempts added up by hand. Two maps on node 0 read
// together for 4 s and then compute together; two on node 1 read one after the other. All
// compute for 3 s with a core of their own, of which each node has one.
func TestMapTimes(t *testing.T) {
	c := &sim.Config{Costs: sim.NoCosts()}
	c.Costs.TaskStartMs = 1000
	c.Cluster.Nodes = []sim.Node{{Cores: 1}, {Cores: 1}}
	j := sim.Job{SubmitMs: 500, MapWork: []sim.Work{{ComputeMs: 2000}}}
	j.Maps = 4
	end := func(node state.NodeID, level state.Level, start, from, to, end int64) sim.AttemptEnd {
		return sim.AttemptEnd{
			Kind: state.Map, Outcome: traces.Succeeded, Node: node, Level: level, StartMs: start, ReadFromMs: from,
			ReadToMs: to, EndMs: end,
		}
	}
	failed := end(0, traces.LevelOff, 0, 0, 90_000, 99_000)
	failed.Outcome = traces.Failed
	s := Simulation{Seconds: 12}
	s.Times.add(c, []sim.Job{j}, []sim.AttemptEnd{
		end(0, traces.LevelNode, 1500, 2000, 6000, 11_500), end(0, traces.LevelNode, 1500, 2000, 6000, 11_500),
		end(1, traces.LevelCache, 1500, 2000, 3000, 6500), end(1, traces.LevelRack, 2500, 3000, 5000, 8500), failed,
	})
	// Starts are 1, 1, 1 and 2 s after submission. Of 31 s in all, maps read 11 and compute 12. Node 0 reads for 4 s, node
	// 1 for 3: 11/7 maps read at once. From 1.5 to 11.5 s two cores compute 12 of 20 s.
	for name, want := range map[string]float64{
		"mapStart": 1.25, "fromCache": 0.25, "fromDisk": 2, "overNetwork": 0.5, "computing": 3, "forCores": 2, "readersAtOnce": 11. / 7,
		"coresBusy": 60,
	} {
		if got := numberOf[name](&s); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestPrice has a map that reads over the network take 3 s longer than one on its node, which
// is half as long again. Seeds without remote maps do not count.
func TestPrice(t *testing.T) {
	p := knownPaper(0, 0, 0)
	p.Claims = []Claim{{ID: "K", Effects: func(d *Data) []Effect {
		for text, want := range map[string]float64{"remoteMs": 3000, "remotePct": 50, "uncachedMs": math.NaN()} {
			got := d.Estimate("known(" + text + "[one: Base])")
			if !(math.Abs(got.Value-want) < 1e-9 || math.IsNaN(want) && math.IsNaN(got.Value)) {
				t.Errorf("%s is %v, want %v", text, got, want)
			}
		}
		return []Effect{{}}
	}}}
	var calls atomic.Int32
	_, err := p.Run(t.Context(), Options{Seeds: 3, Simulate: func(Case, uint64) (Simulation, error) {
		s := Simulation{Seconds: 12}
		s.Times.Levels[traces.LevelNode] = LevelTimes{Maps: 2, Took: 12_000, Read: 2000}
		if calls.Add(1) > 1 {
			s.Times.Levels[traces.LevelOff] = LevelTimes{Maps: 1, Took: 9000, Read: 5000}
		}
		return s, nil
	}})
	check(t, err)
}
