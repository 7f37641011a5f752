package parquet

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"heddle/traces"
	"heddle/traces/byjob"
	"heddle/traces/format"
	"heddle/traces/tracefile"
)

// TestWrite reads the tables back.
func TestWrite(t *testing.T) {
	job := traces.JobID("job_1_0001")
	task := traces.Task{Job: job, Kind: traces.Map, Index: 0}
	c := traces.NoCounters
	c.HDFSReadBytes = 77
	h := traces.Header{Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{{Node: "n1", Rack: "/r1"}}}}
	folder := t.TempDir()
	trace := filepath.Join(t.TempDir(), "trace")
	err := tracefile.WriteFile(trace, h, []traces.Event{
		&traces.JobSubmitted{T: 1e6, Job: job, Name: "a job", Maps: 2},
		&traces.TaskScheduled{T: 2e6, Task: task, SplitHosts: []traces.Node{"n1", "n2"}, LengthBytes: 77},
		&traces.TaskScheduled{T: 2e6, Task: traces.Task{Job: job, Index: 1}},
		&traces.Decision{T: 2e6, ID: 3, Job: job, Node: "n1", TaskIndex: -1, BindIndex: 0, Reason: "node"},
		&traces.AttemptStarted{T: 3500000, Attempt: traces.Attempt{Task: task}, Node: "n1", SplitLocality: traces.LevelNode},
		&traces.Actuation{T: 4e6, Decision: 3, AskedAt: 2e6, GrantedAt: 3e6, Outcome: "honoured", Bound: traces.Attempt{Task: task}},
		&traces.AttemptFinished{T: 9e6, Attempt: traces.Attempt{Task: task}, Outcome: traces.Succeeded, MapDone: 8e6, Counters: c},
		&traces.TaskFinished{T: 9e6, Task: task, Outcome: traces.Succeeded, Winner: 0},
		&traces.NodeSample{T: 9e6, Node: "n1", CPUUser: 0.5, CPUSystem: -1, MemoryUsedBytes: 12, ContainersRunning: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	in, err := tracefile.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := write(&format.Export{Header: in.Header(), Events: in.All(), Jobs: byjob.Jobs(trace), Folder: folder}); err != nil {
		t.Fatal(err)
	}
	attempts := rows[attemptRow](t, folder, "attempts")
	want := attemptRow{
		Job: string(job), Kind: "map", Node: "n1", Rack: "/r1", StartMs: some(3.5), FinishMs: some(9.0), Outcome: "succeeded",
		SplitLocality: "node", ReplicaLocality: "unknown", MapDoneMs: some(8.0), HDFSRead: some[int64](77),
	}
	if d := cmp.Diff([]attemptRow{want}, attempts); d != "" {
		t.Errorf("attempts (-want +got):\n%s", d)
	}
	tasks := rows[taskRow](t, folder, "tasks")
	if len(tasks) != 2 || tasks[0].Winner == nil || !slices.Equal(tasks[0].SplitHosts, []string{"n1", "n2"}) || tasks[1].FinishMs != nil || tasks[1].Outcome != "unfinished" {
		t.Errorf("tasks %+v", tasks)
	}
	decisions := rows[decisionRow](t, folder, "decisions")
	if len(decisions) != 1 || decisions[0].Task != nil || decisions[0].Outcome != "honoured" || *decisions[0].BoundTask != 0 || *decisions[0].GrantedMs != 3 {
		t.Errorf("decisions %+v", decisions)
	}
	samples := rows[sampleRow](t, folder, "samples")
	if len(samples) != 1 || samples[0].CPUSystem != nil || *samples[0].CPUUser != 0.5 {
		t.Errorf("samples %+v", samples)
	}
	if jobs := rows[jobRow](t, folder, "jobs"); len(jobs) != 1 || jobs[0].FinishMs != nil || jobs[0].Name != "a job" {
		t.Errorf("jobs %+v", jobs)
	}
}

func rows[T any](t *testing.T, folder, table string) []T {
	t.Helper()
	found, err := parquet.ReadFile[T](filepath.Join(folder, table+".parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
