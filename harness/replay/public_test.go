package replay

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/traces"
	"heddle/traces/exchange"
	"heddle/traces/tracefile"
)

const shared = "../../../shared/data/"

// imported is a public trace.
func imported(t *testing.T, nodes int, files ...string) *recorded.Trace {
	t.Helper()
	o := exchange.DefaultImport
	o.Output, o.Writer, o.Nodes = filepath.Join(t.TempDir(), "public.heddle"), "test", nodes
	if nodes > 0 {
		o.Racks = (nodes + 39) / 40
	}
	for _, f := range files {
		if _, err := os.Stat(shared + f); err != nil {
			t.Skipf("no public traces here: %v", err)
		}
		o.Inputs = append(o.Inputs, shared+f)
	}
	must(exchange.Import(t.Context(), o))
	x := must(recorded.Load(o.Output))
	return x
}

// lists are those that the public lists of jobs are replayed as: on their costs by
// default and durations as imported, on the costs of the lab, and with the lab's
// time for each byte. The lab's nodes are slow and its jobs small: at this speed
// the cluster is as busy with them as with what the import makes up.
var lists = []struct {
	name     string
	lab      bool
	workload string // "": not modelled
	speed    float64
}{
	{name: "as imported"},
	{name: "the lab's costs", lab: true},
	{name: "modelled", lab: true, workload: "wordcount", speed: 10},
}

// TestPublicTraces replays all public traces under every model: every task that
// had succeeded does, within what bounds allow. Where the cluster has room to
// spare, a list of a day's jobs takes the day, and what its longest jobs take
// besides: of FB-2010 the import makes up a reduce that writes 1.5 TB in 24 hours.
func TestPublicTraces(t *testing.T) {
	for _, c := range []struct {
		nodes int
		files []string
	}{
		{0, []string{"rumen/trace_3m.json.gz"}},
		{0, []string{"rumen/input-trace.json", "rumen/input-topology.json"}},
		{0, []string{"sls/2jobs2min-rumen-jh.json"}},
		{0, []string{"jhist/job_0.23.9-FAILED.jhist"}},
		{0, []string{"jhist/job_2.4.0-FAILED.jhist"}},
		{600, []string{"swim/FB-2009_samples_24_times_1hr_0.tsv"}},
		{3000, []string{"swim/FB-2010_samples_24_times_1hr_0.tsv"}},
	} {
		t.Run(filepath.Base(c.files[0]), func(t *testing.T) {
			list := c.nodes > 0
			if c.nodes > 1000 && os.Getenv("HEDDLE_LONG") != "1" {
				t.Skip("a day of a large cluster, millions of tasks under each model: set HEDDLE_LONG=1")
			}
			x := imported(t, c.nodes, c.files...)
			if list {
				x.Header.List.SpreadPercent = 0 // so that bounds are what jobs take
			}
			fitted := must(CalibrateOne(x, false))
			for _, model := range allModels(list || testing.Short()) {
				if list && os.Getenv("HEDDLE_LONG") != "1" && model.Model != "fifo" && model.Model != "delay" {
					continue
				}
				if !list {
					public(t, list, &Config{Trace: x, Model: model, Calibration: fitted})
					continue
				}
				for _, l := range lists {
					t.Run(model.Model+"/"+l.name, func(t *testing.T) {
						costs := fitted
						if l.lab {
							costs = labCosts(t)
						}
						public(t, list, &Config{
							Trace: x, Model: model, Calibration: costs, Modelled: l.workload != "", Workload: l.workload,
							Change: recorded.Change{Speed: l.speed},
						})
					})
				}
			}
		})
	}
}

// allModels are all that there are, with what they need. The tables that clqlmrs
// learns are by class if asked for, which takes a hundredth of the time of those by
// task.
func allModels(byClass bool) []config.Model {
	var models []config.Model
	for _, info := range sched.List() {
		model := config.Model{Label: info.Name, Model: info.Name}
		switch {
		case info.Name == "planned":
			model.Splits = config.SplitsPlan
		case info.Name == "clqlmrs" && byClass:
			model.Params = map[string]string{"table": "class"}
		}
		models = append(models, model)
	}
	return models
}

// labCosts are fitted to the lab's runs.
func labCosts(t *testing.T) *calibration.Calibration {
	t.Helper()
	c := must(Calibrate([]*recorded.Trace{loaded(t, "r01-wordcount-yarn"), loaded(t, "r03-wordcount-yarn")}, recorded.Change{}, ""))
	c.Sharing, c.HostCores = 0, 0
	c.DiskBytesPerSec, c.LinkBytesPerSec, c.UplinkBytesPerSec = 0, 0, 0
	return c
}

// public replays a public trace and holds what comes of it against what must.
func public(t *testing.T, list bool, c *Config) {
	t.Helper()
	began := time.Now()
	c.Actuator, c.Seed = config.ActuatorNone, 1
	x, _, err := c.prepare()
	mustDo(t, err)
	limits := boundsOf(t, c, x)
	r, err := sim.Run(x)
	if err != nil {
		t.Fatalf("%s: %v", c.Model.Model, err)
	}
	tasks := int64(c.Trace.Tasks())
	for i := range c.Trace.List {
		tasks += c.Trace.Header.List.Maps(&c.Trace.List[i]) + c.Trace.Header.List.Reduces(&c.Trace.List[i])
	}
	if failed := failed(t, c.Trace.Name); r.Jobs[0].Failed {
		if r.Attempts.Failed != failed {
			t.Errorf("%s: %d attempts failed, as recorded %d", c.Model.Model, r.Attempts.Failed, failed)
		}
	} else if got := r.Attempts.Succeeded; got < tasks {
		t.Errorf("%s: %d attempts succeeded, of %d tasks", c.Model.Model, got, tasks)
	}
	for _, w := range limits.check(r) {
		t.Errorf("%s: %s", c.Model.Model, w)
	}
	span := float64(r.Jobs[len(r.Jobs)-1].SubmitMs - r.Jobs[0].SubmitMs)
	mean := 0.0
	for _, j := range r.Jobs {
		mean += float64(j.EndMs-j.SubmitMs) / float64(len(r.Jobs))
	}
	leastMs, mostMs := limits.makespan()
	var work room
	for _, j := range limits.jobs {
		work = work.plus(j.work)
	}
	load := work.over(limits.all) / span
	t.Logf("%s: makespan %.0f s (%.0f to %.0f), mean completion %.1f s, load %.0f %%, arrivals over %.0f s; took %v", c.Model.Model,
		float64(r.MakespanMs)/1000, leastMs/1000, mostMs/1000, mean/1000, 100*load, span/1000, time.Since(began).Round(time.Millisecond))
	if off := float64(r.MakespanMs)/leastMs - 1; list && load < 0.6 && off > 0.05 {
		t.Errorf("%s: a makespan of %.0f s, %.0f %% more than the %.0f s that arrivals and the longest jobs take, at %.0f %% of load",
			c.Model.Model, float64(r.MakespanMs)/1000, 100*off, leastMs/1000, 100*load)
	}
}

// failed counts the attempts of a trace file that failed.
func failed(t *testing.T, path string) (n int64) {
	t.Helper()
	r := must(tracefile.Open(path))
	defer r.Close()
	return int64(measure.Of(r.Header(), r.All()).Attempts.Failed)
}

// TestEraLocality replays traces that record where input was under the FIFO of
// their time, Hadoop 1's, which takes one off-rack map a heartbeat, and holds
// the share of maps by level against what happened.
//
// The first trace is of a cluster of eight nodes that ran nothing else, with as
// many slots a node as it has ever used at once. Of the second, a cluster of
// hundreds of nodes, the trace has four jobs alone: that it ran more is to be
// seen from 17 of 21 maps off their racks while, by the trace, all other nodes
// were idle. What was free of such a cluster nobody can know: it is logged, and
// not held against anything.
func TestEraLocality(t *testing.T) {
	const seeds, points = 10, 0.10
	for _, c := range []struct {
		files []string
		slots int
		whole bool // its jobs are all that ran
	}{
		{[]string{"rumen/trace_3m.json.gz"}, 2, true},
		{[]string{"rumen/input-trace.json", "rumen/input-topology.json"}, 1, false},
	} {
		x := imported(t, 0, c.files...)
		was := mix(x)
		var is [traces.LevelOff + 1]float64
		for seed := range uint64(seeds) {
			again := must(simulate(&Config{
				Trace: x, Model: config.Model{Label: "fifo", Model: "fifo", Params: map[string]string{"offRackPerHeartbeat": "1"}},
				Behaviour: config.Behaviour{Actuator: config.ActuatorNone}, Seed: seed + 1, Change: recorded.Change{Slots: c.slots},
			}))
			for l, share := range mix(again) {
				is[l] += share / seeds
			}
		}
		t.Logf("%s: node, rack, off %.3f, replayed %.3f", c.files[0], was[traces.LevelNode:], is[traces.LevelNode:])
		for _, l := range []traces.Level{traces.LevelNode, traces.LevelRack, traces.LevelOff} {
			if d := is[l] - was[l]; c.whole && (d > points || d < -points) {
				t.Errorf("%s: %.1f %% of maps at %v, replayed %.1f %%", c.files[0], 100*was[l], l, 100*is[l])
			}
		}
	}
}

// TestInferred replays the trace of SLS's authors, which has no sizes of nodes: each of four nodes
// ran eight attempts at once.
func TestInferred(t *testing.T) {
	x := imported(t, 0, "sls/2jobs2min-rumen-jh.json")
	list := must(Outcomes([]Config{{Trace: x, Model: x.OwnModel(), Seed: 1, Sanity: true, WithoutEvents: true}}))
	o := &list[0]
	if s := o.MakespanMs / 1000; s < 195 || s > 196 || len(o.Warnings) > 0 ||
		o.Assumed[0] != "8 slots a node, as many as ran at once (--slots)" {
		t.Errorf("makespan %.1f s, assumed %q, warnings %q; want 195.5 s of 197.3, eight slots and no warning", s, o.Assumed, o.Warnings)
	}
	if r := o.RecordedOrder; r.Jobs != 2 || r.MakespanPct < -1 || r.MakespanPct > -0.8 {
		t.Errorf("in the recorded order: %v; want 0.9 %% less", r)
	}
}
