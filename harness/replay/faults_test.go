package replay

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/sim"
	"heddle/traces"
)

func TestPasts(t *testing.T) {
	const ok, failed, killed = traces.Succeeded, traces.Failed, traces.Killed
	at := func(start, end int, how traces.Outcome) life {
		return life{traces.Time(start) * 1e9, traces.Time(end) * 1e9, "n1", how}
	}
	m := mishaps{outages: []outage{{t: 100e9, node: "n1"}, {120e9, "n1", true}}}
	for _, c := range []struct {
		name      string
		list      []life
		lost      bool // without success
		fromLast  bool
		want      []sim.Past
		lastMapAt int
	}{
		{name: "failed, then well", list: []life{at(0, 5, failed), at(6, 20, ok)}, want: []sim.Past{{Outcome: failed, Ms: 5000}, {Number: 1, Outcome: ok, Ms: 14000}}},
		{
			name: "the copy won", list: []life{at(0, 30, killed), at(10, 29, ok)},
			want: []sim.Past{{Outcome: ok, Ms: 30000, SpeculateMs: 10000}, {Number: 1, Outcome: ok, Ms: 19000}},
		},
		{
			name: "the copy lost", list: []life{at(10, 29, killed), at(0, 28, ok)},
			want: []sim.Past{{Outcome: ok, Ms: 28000, SpeculateMs: 10000}, {Number: 1, Outcome: ok, Ms: 19000}},
		},
		{name: "its node was lost", list: []life{at(80, 101, killed), at(102, 110, ok)}, want: []sim.Past{{Outcome: ok, Ms: 20000}, {Number: 1, Outcome: ok, Ms: 8000}}},
		{
			name: "killed a while before its node's loss was noticed", list: []life{at(80, 90, killed), at(91, 95, ok)},
			want: []sim.Past{{Outcome: killed, Ms: 10000}, {Number: 1, Outcome: ok, Ms: 4000}},
		},
		{
			name: "its master heard first of its node's loss", list: []life{at(80, 91, killed), at(92, 95, ok)},
			want: []sim.Past{{Outcome: ok, Ms: 11000}, {Number: 1, Outcome: ok, Ms: 3000}},
		},
		{
			name: "killed on a node that was lost before", list: []life{at(100, 105, killed), at(106, 110, ok)},
			want: []sim.Past{{Outcome: killed, Ms: 5000}, {Number: 1, Outcome: ok, Ms: 4000}},
		},
		{
			name: "one after the other, without a break", list: []life{at(0, 10, killed), at(10, 20, ok)},
			want: []sim.Past{{Outcome: killed, Ms: 10000}, {Number: 1, Outcome: ok, Ms: 10000}},
		},
		{
			name: "failed, then with a copy", list: []life{at(0, 6, failed), at(6, 30, killed), at(16, 29, ok)},
			want: []sim.Past{{Outcome: failed, Ms: 6000}, {Number: 1, Outcome: ok, Ms: 24000, SpeculateMs: 10000}, {Number: 2, Outcome: ok, Ms: 13000}},
		},
		{name: "killed", list: []life{at(0, 7, killed), at(8, 9, ok)}, want: []sim.Past{{Outcome: killed, Ms: 7000}, {Number: 1, Outcome: ok, Ms: 1000}}},
		{
			name: "a reduce made way for maps", list: []life{at(0, 7, killed), at(8, 30, ok)}, fromLast: true, lastMapAt: 20,
			want: []sim.Past{{Number: 1, Outcome: ok, Ms: 10000}},
		},
		{name: "its job failed", list: []life{at(0, 7, killed)}, lost: true, want: []sim.Past{{Outcome: ok, Ms: 7000}}},
		{
			name: "a cluster with ten attempts a task", list: []life{at(0, 1, failed), at(1, 2, failed), at(2, 3, failed), at(3, 4, failed), at(4, 5, ok)},
			want: []sim.Past{
				{Outcome: failed, Ms: 1000},
				{Number: 1, Outcome: failed, Ms: 1000},
				{Number: 2, Outcome: failed, Ms: 1000},
				{Number: 3, Outcome: killed, Ms: 1000},
				{Number: 4, Outcome: ok, Ms: 1000},
			},
		},
	} {
		if d := cmp.Diff(c.want, m.pasts(c.list, traces.Time(c.lastMapAt)*1e9, !c.lost, c.fromLast)); d != "" {
			t.Errorf("%s: want -, got +:\n%s", c.name, d)
		}
	}
}

// fault is one as a flag says it.
func fault(t *testing.T, texts ...string) config.Faults {
	t.Helper()
	var list config.Faults
	for _, text := range texts {
		if err := list.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// TestFaultsAgain replays simulated runs in which something goes wrong, on the
// same cluster under the same model: as many attempts fail, nodes are lost and
// come back when they did, and every task ends well all the same.
func TestFaultsAgain(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	x.Header.Settings[expirySetting] = "2000"
	node := string(x.Nodes[0].Node)
	for _, c := range []struct {
		name   string
		faults config.Faults
		check  func(o *Outcome) bool
	}{
		{"attempts fail", fault(t, "at=0s,failAttempts,share=0.2"), func(o *Outcome) bool { return o.Attempts.Failed > 0 }},
		{"a node is lost", fault(t, "at=8s,node="+node+",down", "at=14s,node="+node+",up"), func(o *Outcome) bool { return o.Attempts.Killed > 0 }},
		{"a rack is lost", fault(t, "at=8s,rack="+x.Nodes[0].Rack+",down", "at=14s,rack="+x.Nodes[0].Rack+",up"), func(o *Outcome) bool { return o.Attempts.Killed > 0 }},
	} {
		first := Config{Trace: x, Model: OwnModel(x), Seed: 1, Faults: c.faults}
		was, err := Simulate(&first)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		list, err := Outcomes([]Config{first, {Trace: was, Model: OwnModel(x), Seed: 1}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !c.check(&list[0]) {
			t.Errorf("%s: nothing went wrong: %+v", c.name, list[0].Attempts)
		}
		if list[0].Attempts.Failed != list[1].Attempts.Failed {
			t.Errorf("%s: %d attempts failed, and %d when replayed", c.name, list[0].Attempts.Failed, list[1].Attempts.Failed)
		}
		again, err := Simulate(&Config{Trace: was, Model: OwnModel(x), Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(was.mishaps.outages, again.mishaps.outages) {
			t.Errorf("%s: nodes were lost and back at %v, and at %v when replayed", c.name, was.mishaps.outages, again.mishaps.outages)
		}
		if d := again.makespanMs()/was.makespanMs() - 1; d > 0.1 || d < -0.1 {
			t.Errorf("%s: %.0f ms, replayed %.0f ms", c.name, was.makespanMs(), again.makespanMs())
		}
		t.Logf("%s: %.0f ms, replayed %.0f ms; %+v, %+v", c.name, was.makespanMs(), again.makespanMs(), list[0].Attempts, list[1].Attempts)
	}
}

// TestCopiesAgain has speculative copies of a slow node's attempts start again.
func TestCopiesAgain(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	slow := Config{
		Trace: x, Model: OwnModel(x), Seed: 1, Calibration: fitted(t, x), Modelled: true,
		Speculation: config.SpeculationHadoop, Faults: fault(t, "at=0s,node="+string(x.Nodes[0].Node)+",slow,speed=0.1"),
	}
	was, err := Simulate(&slow)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Simulate(&Config{Trace: was, Model: OwnModel(x), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if was.copies() == 0 || again.copies() == 0 {
		t.Errorf("%d attempts had a copy, and %d when replayed", was.copies(), again.copies())
	}
	t.Logf("%.0f ms with %d copies, replayed %.0f ms with %d", was.makespanMs(), was.copies(), again.makespanMs(), again.copies())
}

func fitted(t *testing.T, x *Trace) *Calibration {
	t.Helper()
	c, err := x.Calibrate(true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// copies counts attempts that ran while another at their task did.
func (t *Trace) copies() (n int) {
	for _, list := range t.mishaps.tasks {
		for i := range list[1:] {
			if list[i+1].start < list[i].end || list[i].start < list[i+1].end && list[i+1].start < list[i].start {
				n++
			}
		}
	}
	return n
}

// TestCachePolicy has caches that follow reads serve a second job that reads the
// same.
func TestCachePolicy(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	c := Config{Trace: x, Model: config.Model{Model: "acl"}, Seed: 1, CachePolicy: config.CacheLRU}
	c.Change.Cache.Given, c.Change.Cache.Size = true, units.Size(1<<30)
	list, err := Outcomes([]Config{c})
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Locality.Cache == 0 {
		t.Errorf("no map read from memory: %+v", list[0].Locality)
	}
}

func TestFaultErrors(t *testing.T) {
	x := loaded(t, "r01-wordcount-fifo")
	for name, c := range map[string]Config{
		`no node r9n9`:                 {Faults: config.Faults{{What: config.FaultDown, Node: "r9n9"}}},
		`no rack r9`:                   {Faults: config.Faults{{What: config.FaultDown, Rack: "r9"}}},
		`a slow node has no effect`:    {Faults: config.Faults{{What: config.FaultSlow, Node: string(x.Nodes[0].Node), Speed: 0.5}}},
		`speculation "soon" is not`:    {Speculation: "soon"},
		`cache policy "mru" is not`:    {CachePolicy: "mru"},
		`with the recorded faults`:     {Follow: true, Speculation: config.SpeculationLATE},
		`after the latest possible`:    {Faults: config.Faults{{At: units.Duration(60 * 24 * time.Hour), What: config.FaultDown, Node: string(x.Nodes[0].Node)}}},
		`no node has a cache; give it`: {CachePolicy: config.CacheLRU, Change: Change{Cache: Size{Given: true}}},
	} {
		c.Trace, c.Model, c.Seed = x, OwnModel(x), 1
		if _, _, err := Run(&c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
	}
}
