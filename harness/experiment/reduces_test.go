package experiment

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/runs"
	"heddle/harness/workload"
	"heddle/traces"
)

// TestNoDeadlock: with as many reduces as heddle chooses, no map waits for reduces that wait
// for it, on any cluster and with several jobs at once.
func TestNoDeadlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{
			"wordcount, size: 64MiB", "sort, size: 96MiB", "terasort, size: 48MiB, maps: 3",
			"grep, size: 64MiB, regex: a", "sleep, sleep: 3s, maps: 70", "aggregation, visits: 400000", "join, visits: 300000",
		}).Draw(t, "workload")
		settings := rapid.SampledFrom([]string{
			"", ", settings: {mapreduce.reduce.memory.mb: 1024}",
			", settings: {mapreduce.map.memory.mb: 700}",
		}).Draw(t, "settings")
		jobs, nodes, slots := rapid.IntRange(1, 4).Draw(t, "jobs"), rapid.IntRange(1, 8).Draw(t, "nodes"), rapid.IntRange(1, 8).Draw(t, "slots")
		if settings != "" {
			slots = max(slots, 4) // a container of 1 GiB must fit half a node
		}
		more := rapid.SampledFrom([]string{
			"", "capacity: {container: 512MiB, steps: [{at: 20s, left: 0.5}]}\n",
			"models: [fifo]\nmapSlots: 2\nreduceSlots: 1\n",
		}).Draw(t, "more")
		lost := nodes > 1 && more == "" && rapid.Bool().Draw(t, "a node is lost")
		if lost {
			more = "faults: [{at: 20s, node: r1n1, what: down}]\n"
		}
		e := must(config.ParseExperiment("e.yaml", fmt.Appendf(nil, "workloads: [{name: %s, jobs: %d%s}]\n%s", name, jobs, settings, more)))
		c := config.DefaultCluster()
		c.Machines.Nodes, c.Machines.Racks, c.Machines.Slots, c.Machines.Replication = nodes, 1, slots, 1
		if rapid.Bool().Draw(t, "masters on workers") {
			c.Machines.AMMemory = 0
		}
		o := Options{Experiment: e, Progress: func(Step) {}}
		o.fillReduces(roomOf(c))
		w := e.Workloads[0]
		if free := nodes * slots / 4; w.Reduces*jobs > free && w.Settings[config.SlowStart] != "1" {
			t.Fatalf("%d reduces of %d jobs begin before the last map, and a quarter of the slots is %d", w.Reduces, jobs, free)
		}
		twin := must(workload.Of(w).Twin(t.Context(), e.Cache))
		input := must(inputOf(e, c, twin))
		r, _ := must2(replay.Run(&replay.Config{
			Trace: input, Model: config.Model{Model: rapid.SampledFrom([]string{"yarn", "delay", "fifo", "fair"}).Draw(t, "model")},
			Behaviour: e.Under(config.Model{Model: config.ModelYARN}), Seed: 1,
			Calibration: calibration.Uncalibrated(input.Header.Cluster, twin.Costs), Modelled: true, Work: twin.Work(), After: twin.After(),
		}))
		// Maps whose output is lost with a node while reduces have the last slots wait for these.
		if again := lost && w.Settings[config.SlowStart] == "1"; !again && (r.StarvedMs > 0 || !lost && r.Attempts.Killed > 0) {
			t.Fatalf("%d reduces of each job: %d attempts were killed, and maps waited for %d ms while reduces held all slots", w.Reduces,
				r.Attempts.Killed, r.StarvedMs)
		}
	})
}

// TestDeadlock: HiBench's 8 reduces on 8 slots hold all of them for 300 s, which the
// simulator counts and which its trace shows.
func TestDeadlock(t *testing.T) {
	e := must(config.ParseExperiment("e.yaml", []byte("workloads: [{name: wordcount, size: 512MiB, reduces: 8}]")))
	c := config.DefaultCluster()
	var said []string
	o := Options{Experiment: e, Progress: func(s Step) { said = append(said, s.Text) }}
	o.fillReduces(roomOf(c))
	if want := "wordcount: reduces: 8 can hold all slots (8) while maps wait, until Hadoop kills some after 300 s; give reduces: 2, or the setting " + config.SlowStart + ": 1"; len(said) != 1 || said[0] != want {
		t.Errorf("before the run %q is said, want %q", said, want)
	}
	twin := must(workload.Of(e.Workloads[0]).Twin(t.Context(), e.Cache))
	input := must(inputOf(e, c, twin))
	x := replay.Config{
		Trace: input, Model: config.Model{Model: "yarn"}, Behaviour: config.Behaviour{Actuator: config.ActuatorNone}, Seed: 1,
		Calibration: calibration.Uncalibrated(input.Header.Cluster, twin.Costs), Modelled: true, Work: twin.Work(),
	}
	byTrace := measure.New(input.Header)
	x.Record = func(e traces.Event) { byTrace.Add(e) }
	r, _ := must2(replay.Run(&x))
	f := byTrace.Figures()
	if f.StarvedMs < 250_000 || f.StarvedMs > 300_000 || math.Abs(f.StarvedMs-float64(r.StarvedMs)) > 2000 || f.KilledMs < 2_000_000 {
		t.Errorf("reduces held all slots for %.0f ms by the trace, for %d by the simulator; killed attempts ran for %.0f ms", f.StarvedMs,
			r.StarvedMs, f.KilledMs)
	}
}

// A run that is taken up again has the reduces that it began with, also if it began before
// heddle chose them.
func TestReducesOfAnOldRun(t *testing.T) {
	for _, x := range []struct {
		was  map[string]string
		want int
		slow string
	}{
		{nil, 8, ""},
		{map[string]string{"reduces.wordcount": "1", "slowStart.wordcount": "1"}, 1, "1"},
		{map[string]string{"reduces.wordcount": "2"}, 2, ""},
	} {
		e := must(config.ParseExperiment("e.yaml", []byte("workloads: [{name: wordcount, size: 512MiB}]")))
		mustDo(t, FindFiles(e, runs.Manifest{Settings: x.was}))
		o := Options{Experiment: e, Resume: "run", Progress: func(Step) {}}
		o.fillReduces(roomOf(config.DefaultCluster()))
		if w := e.Workloads[0]; w.Spec().Shape().Reduces != x.want || w.Settings[config.SlowStart] != x.slow {
			t.Errorf("a run with %v is taken up with %d reduces, slow start %q; want %d, %q", x.was, w.Spec().Shape().Reduces,
				w.Settings[config.SlowStart], x.want, x.slow)
		}
	}
}
