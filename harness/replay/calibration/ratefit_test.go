package calibration

import (
	"math"
	"slices"
	"testing"

	"heddle/harness/replay/recorded"
	"heddle/traces"
	"heddle/traces/errtest"
)

// ms.
func byLevel(t *testing.T, bytes int64) *recorded.Trace {
	t.Helper()
	h := traces.Header{Model: "yarn", Actuator: "none"}
	for _, n := range []traces.NodeFacts{{Node: "a", Rack: "/1"}, {Node: "b", Rack: "/2"}} {
		n.MemoryBytes, n.VCores, n.Worker = 1<<30, 1, true
		h.Cluster.Nodes = append(h.Cluster.Nodes, n)
	}
	events := []traces.Event{&traces.JobSubmitted{Job: "job_1_0001", Name: "x", Maps: 30, MapMemoryBytes: 1 << 30, MapVCores: 1}}
	at := traces.Time(0)
	for i := range int32(30) {
		task := traces.Task{Job: "job_1_0001", Index: i}
		a := traces.Attempt{Task: task}
		level := []traces.Level{traces.LevelCache, traces.LevelNode, traces.LevelOff}[i%3]
		took := traces.Time(4000+[]int{0, 1000, 3000}[i%3]+[]int{-50, 50}[i%2]) * 1e6
		hosts := []traces.Node{"a"}
		if level == traces.LevelOff {
			hosts = []traces.Node{"b"}
		}
		events = append(events, &traces.TaskScheduled{Task: task, LengthBytes: bytes, SplitHosts: hosts},
			&traces.AttemptStarted{T: at, Attempt: a, Node: "a", ReplicaLocality: level},
			&traces.AttemptFinished{T: at + took, Attempt: a, Outcome: traces.Succeeded, Counters: traces.NoCounters})
		at += took + 1e9
	}
	traces.Sort(events)
	x := errtest.Must(recorded.New("made up", h, slices.Values(events)))
	return x
}

// TestFitRates has the rates of a disk and an uplink found by what maps took at
// each level.
func TestFitRates(t *testing.T) {
	x := byLevel(t, 8<<20)
	c := &Calibration{}
	c.fitRates([]*recorded.Trace{x}, &recorded.Change{})
	for what, rate := range map[string][2]int64{"disk": {c.DiskBytesPerSec, 8 << 20}, "uplink": {c.UplinkBytesPerSec, 4 << 20}} {
		if math.Abs(float64(rate[0]-rate[1])) > 0.05*float64(rate[1]) {
			t.Errorf("%s: fitted %d bytes/s, want %d", what, rate[0], rate[1])
		}
	}
	if c.LinkBytesPerSec != 0 {
		t.Errorf("a link of %d bytes/s, but no map read over one alone", c.LinkBytesPerSec)
	}

	c = &Calibration{}
	if c.fitRates([]*recorded.Trace{byLevel(t, 64<<10)}, &recorded.Change{}); c.DiskBytesPerSec+c.UplinkBytesPerSec != 0 ||
		len(c.Warnings) != 2 {
		t.Errorf("disk %d, uplink %d bytes/s, warnings %q: a second for 64 KiB is no disk's or link's", c.DiskBytesPerSec, c.UplinkBytesPerSec,
			c.Warnings)
	}

	x.Header.Cluster.Disks = []traces.DiskFacts{{Node: "a", BytesPerSec: 9 << 20}}
	c = &Calibration{}
	if c.fitRates([]*recorded.Trace{x}, &recorded.Change{}); c.DiskBytesPerSec != 0 {
		t.Errorf("fitted %d bytes/s to a disk whose rate the trace tells", c.DiskBytesPerSec)
	}
}
