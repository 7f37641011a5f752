package experiment

import (
	"path/filepath"
	"testing"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/runs"
	"heddle/harness/sched/schedtest"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// computing is a job of 4 maps, each of which takes all memory of a node and computes
// for 6 s.
const computing = `
name: computing
workloads:
  - {name: streaming, size: 8MiB, maps: 4, reduces: 1, cpu: 3s, mapOutput: 0.01, settings: {mapreduce.map.memory.mb: 1024}}
models: [test-listener]
actuator: labels
coldReads: false
warmups: 1 # in which the nodes get the tasks' program; on its way it fills their links, and agents' answers wait
timeout: 10m
`

// checkHeard has a model hear everything of computing that a driver can tell it. The
// reports with samples that were late may be no more than so many.
func checkHeard(t testing.TB, m *schedtest.Listener, late int) {
	t.Helper()
	nodes := map[traces.Node]bool{}
	highest := 0.0
	for _, x := range m.Samples {
		nodes[x.Node] = true
		highest = max(highest, x.Load1)
	}
	t.Logf("heard %v; %d reports of full and %d of idle nodes; %d samples of %d nodes, %d to %d ms old, the first time up to %d ms", m.Heard,
		m.Full, m.Idle, len(m.Samples), len(nodes), m.FreshestMs, m.OldestMs, m.SlowestMs)
	for what, times := range map[string]int{
		"job submitted": 1, "job ended": 1, "task started": 5, "task ended": 5, "confirmed": 5,
		"notes": 1,
	} {
		if m.Heard[what] != times {
			t.Errorf("%s: heard %d times, want %d", what, m.Heard[what], times)
		}
	}
	if len(nodes) != 4 || m.Late > late || late == 0 && m.OldestMs >= 2000 {
		t.Errorf("samples of %d nodes, %d late, up to %d ms old: want 4 nodes, at most %d late, less than 2000 ms", len(nodes), m.Late,
			m.OldestMs, late)
	}
	if m.Heard["tick"] < 5 || m.Full == 0 || m.Idle == 0 || highest < 0.1 {
		t.Errorf("%d ticks, %d reports of full and %d of idle nodes, load up to %.2f: want 5 ticks, some reports, and a load that computing raises to 0.1 or more", m.Heard["tick"], m.Full, m.Idle, highest)
	}
}

// lastTrace returns the events of a run's last trial.
func lastTrace(t *testing.T, run *runs.Run) []traces.Event {
	t.Helper()
	trials := run.Manifest().Trials
	_, events := must2(tracefile.ReadFile(filepath.Join(run.TrialDir(trials[len(trials)-1].Name), "trace.heddle")))
	return events
}

// TestModelHearsSimulated has a model hear in a simulation what it hears on a lab, see
// TestModelHearsLab. The trace has the samples.
func TestModelHearsSimulated(t *testing.T) {
	made := schedtest.RegisterListener(t, 1000)
	e, source := parse(t, computing)
	e.ColdReads = true
	c := &config.Cluster{Machines: &config.Machines{
		Nodes: 4, Racks: 2, Slots: 2, Container: 512 << 20, BlockSize: 8 << 20, Replication: 2,
		NMHeartbeat: units.Duration(200 * time.Millisecond), AMHeartbeat: units.Duration(200 * time.Millisecond),
	}}
	run := must(Simulate(t.Context(), Options{
		Experiment: e, Source: source, Cluster: c, Root: t.TempDir(), Name: "run",
		Progress: func(Step) {},
	}, nil))
	m := (*made)[len(*made)-1]
	checkHeard(t, m, 0)
	events := lastTrace(t, run)
	if n := len(samplesOf(events)); n < len(m.Samples) {
		t.Errorf("%d samples in the trace, %d heard", n, len(m.Samples))
	}
}
