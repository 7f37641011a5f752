package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/traces"
)

// fault is one as a flag says it.
func fault(t *testing.T, texts ...string) config.Faults {
	t.Helper()
	var list config.Faults
	for _, text := range texts {
		mustDo(t, list.Set(text))
	}
	return list
}

// TestFaultsAgain replays simulated runs in which something goes wrong, on the
// same cluster under the same model: as many attempts fail, nodes are lost and
// come back when they did, and every task ends well all the same.
func TestFaultsAgain(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	x.Header.Settings["yarn.nm.liveness-monitor.expiry-interval-ms"] = "2000"
	node := string(x.Nodes[0].Node)
	for _, c := range []struct {
		name   string
		faults config.Faults
		check  func(o *Outcome) bool
	}{
		{"attempts fail", fault(t, "at=0s,failAttempts,share=0.2"), func(o *Outcome) bool { return o.Attempts.Failed > 0 }},
		{
			"a node is lost", fault(t, "at=8s,node="+node+",down", "at=14s,node="+node+",up"),
			func(o *Outcome) bool { return o.Attempts.Killed > 0 },
		},
		{
			"a rack is lost", fault(t, "at=8s,rack="+x.Nodes[0].Rack+",down", "at=14s,rack="+x.Nodes[0].Rack+",up"),
			func(o *Outcome) bool { return o.Attempts.Killed > 0 },
		},
	} {
		first := Config{Trace: x, Model: x.OwnModel(), Seed: 1, Behaviour: config.Behaviour{Faults: c.faults}}
		was, err := simulate(&first)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		list, err := Outcomes([]Config{first, {Trace: was, Model: x.OwnModel(), Seed: 1}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !c.check(&list[0]) {
			t.Errorf("%s: nothing went wrong: %+v", c.name, list[0].Attempts)
		}
		if list[0].Attempts.Failed != list[1].Attempts.Failed {
			t.Errorf("%s: %d attempts failed, and %d when replayed", c.name, list[0].Attempts.Failed, list[1].Attempts.Failed)
		}
		second := Config{Trace: was, Model: x.OwnModel(), Seed: 1}
		again := must(simulate(&second))
		if was, is := outages(t, first), outages(t, second); !slices.Equal(was, is) {
			t.Errorf("%s: nodes were lost and back at %v, and at %v when replayed", c.name, was, is)
		}
		if d := makespanMs(again)/makespanMs(was) - 1; d > 0.1 || d < -0.1 {
			t.Errorf("%s: %.0f ms, replayed %.0f ms", c.name, makespanMs(was), makespanMs(again))
		}
		t.Logf("%s: %.0f ms, replayed %.0f ms; %+v, %+v", c.name, makespanMs(was), makespanMs(again), list[0].Attempts, list[1].Attempts)
	}
}

// TestCopiesAgain has speculative copies of a slow node's attempts start again.
func TestCopiesAgain(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	slow := Config{
		Trace: x, Model: x.OwnModel(), Seed: 1, Calibration: fitted(t, x), Modelled: true,
		Behaviour: config.Behaviour{
			Speculation: config.SpeculationHadoop,
			Faults:      fault(t, "at=0s,node="+string(x.Nodes[0].Node)+",slow,speed=0.1"),
		},
	}
	was := must(simulate(&slow))
	if had, has := copies(t, slow), copies(t, Config{Trace: was, Model: x.OwnModel(), Seed: 1}); had == 0 || has == 0 {
		t.Errorf("%d attempts had a copy, and %d when replayed", had, has)
	}
}

func fitted(t *testing.T, x *recorded.Trace) *calibration.Calibration {
	t.Helper()
	c := must(CalibrateOne(x, true))
	return c
}

// events are those of a replay.
func events(t *testing.T, c Config) (list []traces.Event) {
	t.Helper()
	c.Record = func(e traces.Event) { list = append(list, e) }
	if _, _, err := Run(&c); err != nil {
		t.Fatal(err)
	}
	return list
}

// outages says when nodes of a replay are lost, and when they are back.
func outages(t *testing.T, c Config) (list []string) {
	t.Helper()
	lost := map[traces.Node]bool{}
	for _, e := range events(t, c) {
		switch e := e.(type) {
		case *traces.NodeDown:
			lost[e.Node] = true
			list = append(list, fmt.Sprintf("%s down at %v", e.Node, e.T))
		case *traces.NodeUp:
			if lost[e.Node] {
				list = append(list, fmt.Sprintf("%s up at %v", e.Node, e.T))
			}
		}
	}
	return list
}

// copies counts attempts of a replay that started while another at their task ran.
func copies(t *testing.T, c Config) (n int) {
	t.Helper()
	running := map[traces.Task]int{}
	for _, e := range events(t, c) {
		switch e := e.(type) {
		case *traces.AttemptStarted:
			if running[e.Attempt.Task]++; running[e.Attempt.Task] > 1 {
				n++
			}
		case *traces.AttemptFinished:
			running[e.Attempt.Task]--
		}
	}
	return n
}

// TestCachePolicy has caches that follow reads serve a second job that reads the
// same.
func TestCachePolicy(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	c := Config{Trace: x, Model: config.Model{Model: "acl"}, Seed: 1, Behaviour: config.Behaviour{CachePolicy: config.CacheLRU}}
	c.Change.Cache.Given, c.Change.Cache.Size = true, units.Size(1<<30)
	list := must(Outcomes([]Config{c}))
	if list[0].Locality.Cache == 0 {
		t.Errorf("no map read from memory: %+v", list[0].Locality)
	}
}

func TestFaultErrors(t *testing.T) {
	x := loaded(t, "r01-wordcount-fifo")
	for name, c := range map[string]Config{
		`no node r9n9`: {Behaviour: config.Behaviour{Faults: config.Faults{{What: config.FaultDown, Node: "r9n9"}}}},
		`no rack r9`:   {Behaviour: config.Behaviour{Faults: config.Faults{{What: config.FaultDown, Rack: "r9"}}}},
		`a slow node has no effect`: {Behaviour: config.Behaviour{Faults: config.Faults{{
			What: config.FaultSlow, Node: string(x.Nodes[0].Node),
			Speed: 0.5,
		}}}},
		`speculation: "soon": want`:  {Behaviour: config.Behaviour{Speculation: "soon"}},
		`cache-policy: "mru": want`:  {Behaviour: config.Behaviour{CachePolicy: "mru"}},
		`fetches: "disks": want`:     {Behaviour: config.Behaviour{Fetches: "disks"}},
		`fetches from nodes have no`: {Behaviour: config.Behaviour{Fetches: config.FetchesNodes}},
		`with the recorded faults`:   {Follow: true, Behaviour: config.Behaviour{Speculation: config.SpeculationLATE}},
		`after the latest possible`: {Behaviour: config.Behaviour{Faults: config.Faults{{
			At:   units.Duration(60 * 24 * time.Hour),
			What: config.FaultDown, Node: string(x.Nodes[0].Node),
		}}}},
		`no node has a cache; give it`: {
			Behaviour: config.Behaviour{CachePolicy: config.CacheLRU},
			Change:    recorded.Change{Cache: recorded.Size{Given: true}},
		},
	} {
		c.Trace, c.Model, c.Seed = x, x.OwnModel(), 1
		if _, _, err := Run(&c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
	}
}
