package replay

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/traces"
)

// TestWithoutEvents: the table of replays is the same whether their events are made or
// not, in runs that go well and in such as do not, and so is the digest of schedules.
func TestWithoutEvents(t *testing.T) {
	x := loaded(t, "r03-wordcount-fifo")
	node := string(x.Nodes[0].Node)
	lab := labCosts(t)
	mishaps := must(simulate(&Config{
		Trace: x, Model: x.OwnModel(), Seed: 1,
		Behaviour: config.Behaviour{Faults: fault(t, "at=0s,failAttempts,share=0.2", "at=8s,node="+node+",down", "at=14s,node="+node+",up")},
	}))
	failed := 0
	for name, c := range map[string]Config{
		"own model": {Trace: x, Model: x.OwnModel()},
		"yarn":      {Trace: x, Model: config.Model{Model: config.ModelYARN}, Behaviour: config.Behaviour{Actuator: config.ActuatorNone}},
		"ideal":     {Trace: x, Model: config.Model{Model: "delay"}, Behaviour: config.Behaviour{Actuator: config.ActuatorIdeal}},
		"followed":  {Trace: x, Model: x.OwnModel(), Follow: true},
		"modelled":  {Trace: x, Model: config.Model{Model: "fair"}, Calibration: lab, Modelled: true, Repeats: true},
		"planned": {
			Trace: x, Model: config.Model{Model: "matching"}, Behaviour: config.Behaviour{Splits: config.SplitsPlan},
			Calibration: lab, Modelled: true,
		},
		"speculation": {
			Trace: x, Model: config.Model{Model: "fifo"}, Calibration: lab, Modelled: true,
			Behaviour: config.Behaviour{Speculation: config.SpeculationHadoop, Faults: fault(t, "at=0s,node="+node+",slow,speed=0.1")},
		},
		"mishaps": {Trace: mishaps, Model: config.Model{Model: "fifo"}},
		"attempts fail": {
			Trace: x, Model: config.Model{Model: "fifo"},
			Behaviour: config.Behaviour{Faults: fault(t, "at=0s,failAttempts,share=0.2")},
		},
		"the job fails": {
			Trace: x, Model: config.Model{Model: "fifo"},
			Behaviour: config.Behaviour{Faults: fault(t, "at=0s,failAttempts,share=0.9")},
		},
		"a node is lost": {
			Trace: x, Model: config.Model{Model: "capacity"},
			Behaviour: config.Behaviour{Faults: fault(t, "at=8s,node="+node+",down")},
		},
		"a job each time": {Trace: mishaps, Model: config.Model{Model: "acl"}, Behaviour: config.Behaviour{CachePolicy: config.CacheLRU}},
	} {
		c.Seed = 5
		with := c
		c.WithoutEvents = true
		list, err := Outcomes([]Config{c, with})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		failed += list[0].NotSucceeded
		tables := [2]string{}
		for i := range list {
			var out strings.Builder
			mustDo(t, doc.WriteText(&out, Doc(list[i:i+1], nil), false))
			tables[i] = out.String()
		}
		if d := cmp.Diff(tables[1], tables[0]); d != "" {
			t.Errorf("%s: with events -, without +:\n%s", name, d)
		}
		if list[0].TraceDigest != "" || list[1].TraceDigest == "" {
			t.Errorf("%s: trace digest %q without events, %q with", name, list[0].TraceDigest, list[1].TraceDigest)
		}
		recorded := 0
		c.Record = func(traces.Event) { recorded++ }
		list, err = Outcomes([]Config{c})
		if err != nil || recorded == 0 {
			t.Fatalf("%s: events are asked for: %d come, %v", name, recorded, err)
		}
		var out strings.Builder
		mustDo(t, doc.WriteText(&out, Doc(list, nil), false))
		if d := cmp.Diff(tables[1], out.String()); d != "" {
			t.Errorf("%s: without events -, with events that are only recorded +:\n%s", name, d)
		}
	}
	if failed == 0 {
		t.Error("no job failed in any run, so that column was not compared")
	}
}
