package replay

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"testing"

	"heddle/harness/config"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// claiming is a small trace, as JSON Lines, of a job that claims so many reduces,
// of which events name one, on a cluster that claims a heartbeat every 23 days.
func claiming(t testing.TB, reduces int32) []byte {
	const job = "job_1_0001"
	h := traces.Header{
		Format: traces.FormatVersion, Origin: traces.Imported,
		Settings: map[string]string{"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "2000000000"},
	}
	for _, n := range []traces.Node{"a", "b"} {
		h.Cluster.Nodes = append(h.Cluster.Nodes, traces.NodeFacts{Node: n, Rack: "/r", MemoryBytes: 4 << 30, VCores: 4, Worker: true})
	}
	events := []traces.Event{&traces.JobSubmitted{Job: job, Maps: 1, Reduces: reduces}, &traces.JobStarted{T: 1e9, Job: job}}
	for k := range traces.TaskKind(2) {
		task := traces.Task{Job: job, Kind: k}
		at := traces.Time(k+1) * 2e9
		events = append(events, &traces.TaskScheduled{T: at, Task: task, LengthBytes: 1 << 20, SplitHosts: []traces.Node{"a"}},
			&traces.AttemptStarted{T: at + 1e9, Attempt: traces.Attempt{Task: task}, Node: "a"},
			&traces.AttemptFinished{T: at + 2e9, Attempt: traces.Attempt{Task: task}, Outcome: traces.Succeeded, Counters: traces.NoCounters})
	}
	var out bytes.Buffer
	mustDo(t, tracefile.WriteLines(&out, h, slices.Values(events)))
	return out.Bytes()
}

func loadBytes(data []byte) (*recorded.Trace, error) {
	r, err := tracefile.NewReader(bytes.NewReader(data), "x.jsonl")
	if err != nil {
		return nil, err
	}
	return recorded.Read("x.jsonl", r, nil)
}

// soon ends a simulation after so many looks at Interrupted.
func soon(looks int) func() error {
	return func() error {
		if looks--; looks < 0 {
			return errors.New("enough")
		}
		return nil
	}
}

// notAgain is a calibration.Replay for fits that are not to be corrected.
func notAgain(*recorded.Trace, *calibration.Calibration, uint64) (*recorded.Trace, error) {
	return nil, errors.New("no replay")
}

// replayed loads a trace and replays it, with the cluster's costs fitted to it, for
// so many looks at Interrupted. It returns the bytes that this allocated.
func replayed(data []byte, looks int) (int64, *recorded.Trace, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	x, err := loadBytes(data)
	var costs *calibration.Calibration
	if err == nil {
		costs, err = calibration.Fit([]*recorded.Trace{x}, recorded.Change{}, "", notAgain)
	}
	if err == nil {
		_, _, err = Run(&Config{Trace: x, Calibration: costs, Model: config.Model{Model: "fifo"}, Seed: 1, Interrupted: soon(looks)})
	}
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc), x, err
}

// TestClaimedTasks has a job that claims 16 million reduces, of which a trace has
// one, replay with the one, in the memory that it takes.
func TestClaimedTasks(t *testing.T) {
	bytes, x, err := replayed(claiming(t, 16_000_000), 1000)
	mustDo(t, err)
	if bytes > 32<<20 {
		t.Errorf("%d bytes were allocated for a trace of two tasks", bytes)
	}
	if len(x.Warnings) != 2 || x.Tasks() != 2 {
		t.Errorf("%d tasks, warnings %q; want 2, and one that says what is left out, one that the job is unfinished", x.Tasks(), x.Warnings)
	}
}

// FuzzReplay loads and replays what may be a trace: memory follows what the file
// has, whatever it claims.
func FuzzReplay(f *testing.F) {
	f.Add(claiming(f, 1))
	f.Add(claiming(f, 16_000_000))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4<<10 {
			t.Skip("longer inputs find little more in the same time")
		}
		const looks, most, perByte = 3, 48 << 20, 4 << 10
		if bytes, _, _ := replayed(data, looks); bytes > most+perByte*int64(len(data)) {
			t.Errorf("%d bytes were allocated for a trace of %d bytes", bytes, len(data))
		}
	})
}
