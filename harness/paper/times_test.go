package paper

import (
	"math"
	"strings"
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
		return sim.AttemptEnd{Kind: state.Map, Outcome: traces.Succeeded, Node: node, Level: level, StartMs: start, ReadFromMs: from, ReadToMs: to, EndMs: end}
	}
	failed := end(0, traces.LevelOff, 0, 0, 90_000, 99_000)
	failed.Outcome = traces.Failed
	s := Simulation{Seconds: 12}
	s.Times.add(c, []sim.Job{j}, []sim.AttemptEnd{
		end(0, traces.LevelNode, 1500, 2000, 6000, 11_500), end(0, traces.LevelNode, 1500, 2000, 6000, 11_500),
		end(1, traces.LevelCache, 1500, 2000, 3000, 6500), end(1, traces.LevelRack, 2500, 3000, 5000, 8500), failed,
	})
	got := mapTimeOf(&s)
	// Starts are 1, 1, 1 and 2 s after submission. Of 31 s in all, maps read 11 and compute 12. Node 0 reads for 4 s, node
	// 1 for 3: 11/7 maps read at once. From 1.5 to 11.5 s two cores compute 12 of 20 s.
	want := MapTime{1.25, 0.25, 2, 0.5, 3, 2, 11. / 7, 60, 12}
	for name, x := range map[string][2]float64{
		"before start": {got.BeforeStart, want.BeforeStart}, "cache": {got.FromCache, want.FromCache}, "disk": {got.FromDisk, want.FromDisk}, "network": {got.OverNetwork, want.OverNetwork},
		"computing": {got.Computing, want.Computing}, "cores": {got.ForCores, want.ForCores}, "readers": {got.ReadersAtOnce, want.ReadersAtOnce}, "busy": {got.CoresBusyPct, want.CoresBusyPct},
	} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, x[0], x[1])
		}
	}
	if got := MapStart(&s); got != 1.25 {
		t.Errorf("maps start after %v s", got)
	}
}

// TestPrice has a map that reads over the network take 3 s longer than one on its node, which
// is half as long again, and a sentence say where the time went.
func TestPrice(t *testing.T) {
	p := knownPaper(0, 0, 0)
	p.Claims = []Claim{{ID: "K", Effects: func(d *Data) []Effect {
		ms, percent := d.Price("one", "Base", RemoteMap)
		if math.Abs(ms.Value-3000) > 1e-9 || math.Abs(percent.Value-50) > 1e-9 {
			t.Errorf("a remote map costs %v ms, %v %%", ms, percent)
		}
		if ms, _ := d.Price("one", "Base", UncachedMap); !math.IsNaN(ms.Value) {
			t.Errorf("without cached maps, one that is not costs %v ms", ms)
		}
		text := d.WhereTimeGoes("one", []int{0}, "Base")
		if want := "all, Base: the job takes 12.0 s."; !strings.HasPrefix(text, want) {
			t.Errorf("%q, want %q first", text, want)
		}
		return []Effect{{}}
	}}}
	_, err := p.Run(t.Context(), Options{Seeds: 3, Simulate: func(Case, uint64) (Simulation, error) {
		s := Simulation{Seconds: 12}
		s.Times.Levels[traces.LevelNode] = LevelTimes{Maps: 2, Took: 12_000, Read: 2000}
		s.Times.Levels[traces.LevelOff] = LevelTimes{Maps: 1, Took: 9000, Read: 5000}
		return s, nil
	}})
	check(t, err)
}
