package replay

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/traces"
	"heddle/traces/exchange"
)

const shared = "../../../shared/data/"

// imported is a public trace.
func imported(t *testing.T, nodes int, files ...string) *Trace {
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
	if _, err := exchange.Import(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	x, err := Load(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestPublicTraces replays all public traces under every model: every task that
// had succeeded does.
func TestPublicTraces(t *testing.T) {
	for _, c := range []struct {
		nodes int
		files []string
		long  bool
	}{
		{0, []string{"rumen/trace_3m.json.gz"}, false},
		{0, []string{"rumen/input-trace.json", "rumen/input-topology.json"}, false},
		{0, []string{"sls/2jobs2min-rumen-jh.json"}, false},
		{0, []string{"jhist/job_0.23.9-FAILED.jhist"}, false},
		{0, []string{"jhist/job_2.4.0-FAILED.jhist"}, false},
		{600, []string{"swim/FB-2009_samples_24_times_1hr_0.tsv"}, true},
		{3000, []string{"swim/FB-2010_samples_24_times_1hr_0.tsv"}, true},
	} {
		t.Run(filepath.Base(c.files[0]), func(t *testing.T) {
			if c.long && os.Getenv("HEDDLE_LONG") != "1" {
				t.Skip("a day of a large cluster, millions of tasks under each model: set HEDDLE_LONG=1")
			}
			x := imported(t, c.nodes, c.files...)
			fitted, err := x.Calibrate(false)
			if err != nil {
				t.Fatal(err)
			}
			for _, info := range sched.List() {
				began := time.Now()
				model := config.Model{Label: info.Name, Model: info.Name}
				switch {
				case info.Name == "planned":
					model.Splits = SplitsPlan
				case info.Name == "clqlmrs" && c.long: // one table for all jobs
					model.Params = map[string]string{"table": "class"}
				}
				r, _, err := Run(&Config{Trace: x, Model: model, Actuator: ActuatorNone, Seed: 1, Calibration: fitted})
				if err != nil {
					t.Fatalf("%s: %v", info.Name, err)
				}
				t.Logf("%s: %v", info.Name, time.Since(began).Round(time.Millisecond))
				if got := r.Attempts.Succeeded; got < int64(x.tasks()) {
					t.Errorf("%s: %d attempts succeeded, of %d tasks", info.Name, got, x.tasks())
				}
			}
		})
	}
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
		was := x.Mix()
		var is [traces.LevelOff + 1]float64
		for seed := range uint64(seeds) {
			again, err := Simulate(&Config{
				Trace: x, Model: config.Model{Label: "fifo", Model: "fifo", Params: map[string]string{"offRackPerHeartbeat": "1"}},
				Actuator: ActuatorNone, Seed: seed + 1, Change: Change{Slots: c.slots},
			})
			if err != nil {
				t.Fatal(err)
			}
			for l, share := range again.Mix() {
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
