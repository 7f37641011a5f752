package parquet

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"heddle/traces"
	"heddle/traces/errtest"
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
	trace := filepath.Join(t.TempDir(), "trace")
	errtest.None(t, tracefile.WriteFile(trace, h, []traces.Event{
		&traces.JobSubmitted{T: 1e6, Job: job, Name: "a job", Maps: 2},
		&traces.TaskScheduled{T: 2e6, Task: task, SplitHosts: []traces.Node{"n1", "n2"}, LengthBytes: 77},
		&traces.TaskScheduled{T: 2e6, Task: traces.Task{Job: job, Index: 1}},
		&traces.Decision{T: 2e6, ID: 3, Job: job, Node: "n1", TaskIndex: -1, BindIndex: 0, Reason: "node", Seen: &traces.Seen{
			Candidates: []traces.Candidate{{Node: "n2", Level: traces.LevelNode, Room: traces.RoomFull, ForMs: 1}},
			Passed:     []traces.PassedJob{{Job: "job_1_0000", Why: traces.PassedWaits}}, MorePassed: 2, Limit: 3, WaitUnit: traces.WaitSkips,
		}},
		&traces.AttemptStarted{T: 3500000, Attempt: traces.Attempt{Task: task}, Node: "n1", SplitLocality: traces.LevelNode},
		&traces.Actuation{T: 4e6, Decision: 3, AskedAt: 2e6, GrantedAt: 3e6, Outcome: "honoured", Bound: traces.Attempt{Task: task}},
		&traces.AttemptFinished{T: 9e6, Attempt: traces.Attempt{Task: task}, Outcome: traces.Succeeded, MapDone: 8e6, Counters: c},
		&traces.TaskFinished{T: 9e6, Task: task, Outcome: traces.Succeeded, Winner: 0},
		&traces.Decision{T: 9e6, ID: 4, Job: job, Node: "n1", TaskIndex: -1, BindIndex: -1},
		&traces.JobSubmitted{T: 10e6, Job: "job_1_0002", Name: "another"},
		&traces.JobFinished{T: 14e6, Job: "job_1_0002", Counters: c},
		&traces.NodeSample{T: 14e6, Node: "n1", CPUUser: 0.5, CPUSystem: -1, MemoryUsedBytes: 12, ContainersRunning: 1},
	}))
	attempts := rows[struct {
		Job         string   `parquet:"job"`
		Kind        string   `parquet:"kind"`
		Node        string   `parquet:"node"`
		Rack        string   `parquet:"rack"`
		Outcome     string   `parquet:"outcome"`
		Split       string   `parquet:"split_locality"`
		Replica     string   `parquet:"replica_locality"`
		Start       *float64 `parquet:"start_ms"`
		Finish      *float64 `parquet:"finish_ms"`
		MapDone     *float64 `parquet:"map_done_ms"`
		ShuffleDone *float64 `parquet:"shuffle_done_ms"`
		Read        *int64   `parquet:"hdfs_read_bytes"`
		Written     *int64   `parquet:"hdfs_written_bytes"`
	}](t, trace, "attempts")
	if len(attempts) != 1 {
		t.Fatalf("attempts %+v", attempts)
	}
	if a := attempts[0]; a.Job != string(job) || a.Kind != "map" || a.Node != "n1" || a.Rack != "/r1" || a.Outcome != "succeeded" ||
		a.Split != "node" ||
		a.Replica != "unknown" || *a.Start != 3.5 || *a.Finish != 9 || *a.MapDone != 8 || a.ShuffleDone != nil ||
		*a.Read != 77 ||
		a.Written != nil {
		t.Errorf("attempt %+v", a)
	}
	tasks := rows[struct {
		Outcome string   `parquet:"outcome"`
		Winner  *int64   `parquet:"winner"`
		Hosts   string   `parquet:"split_hosts"`
		Finish  *float64 `parquet:"finish_ms"`
	}](t, trace, "tasks")
	if len(tasks) != 2 || *tasks[0].Winner != 0 || tasks[0].Hosts != "n1,n2" || tasks[1].Finish != nil || tasks[1].Winner != nil ||
		tasks[1].Outcome != "unfinished" {
		t.Errorf("tasks %+v", tasks)
	}
	decisions := rows[struct {
		Decision  int64    `parquet:"decision"`
		Task      *int64   `parquet:"task"`
		Predicted *int64   `parquet:"predicted_task"`
		Outcome   string   `parquet:"outcome"`
		Asked     *float64 `parquet:"asked_ms"`
		Granted   *float64 `parquet:"granted_ms"`
		Bound     *int64   `parquet:"bound_task"`
		Others    string   `parquet:"candidates"`
		Passed    *int64   `parquet:"passed_jobs"`
		Waited    *int64   `parquet:"waited"`
		Limit     *int64   `parquet:"wait_limit"`
	}](t, trace, "decisions")
	if len(decisions) != 2 || decisions[0].Task != nil || *decisions[0].Predicted != 0 || decisions[0].Outcome != "honoured" ||
		*decisions[0].Bound != 0 ||
		*decisions[0].Granted != 3 {
		t.Errorf("decisions %+v", decisions)
	} else if d := decisions[0]; d.Others != "n2 full 1" || *d.Passed != 3 ||
		*d.Waited != 0 ||
		*d.Limit != 3 {
		t.Errorf("a decision of which it is known what the model saw: %+v", d)
	} else if d := decisions[1]; d.Waited != nil || d.Decision != 4 || d.Asked != nil ||
		d.Bound != nil ||
		d.Outcome != "" {
		t.Errorf("a decision of which no more is known: %+v", d)
	}
	samples := rows[struct {
		User   *float64 `parquet:"cpu_user_cores"`
		System *float64 `parquet:"cpu_system_cores"`
	}](t, trace, "samples")
	if len(samples) != 1 || samples[0].System != nil || *samples[0].User != 0.5 {
		t.Errorf("samples %+v", samples)
	}
	jobs := rows[struct {
		Name       string   `parquet:"name"`
		Outcome    string   `parquet:"outcome"`
		Submit     *float64 `parquet:"submit_ms"`
		Finish     *float64 `parquet:"finish_ms"`
		Completion *float64 `parquet:"completion_ms"`
	}](t, trace, "jobs")
	if len(jobs) != 2 || jobs[0].Finish != nil || jobs[0].Completion != nil || jobs[0].Name != "a job" || jobs[0].Outcome != "unfinished" ||
		*jobs[1].Completion != 4 {
		t.Errorf("jobs %+v", jobs)
	}
}

// rows writes a table of a trace and reads it back.
func rows[T any](t *testing.T, trace, name string) []T {
	t.Helper()
	in := errtest.Must(tracefile.Open(trace))
	defer in.Close()
	var out bytes.Buffer
	errtest.Must(write(&format.Export{Header: in.Header(), Events: in.All(), Path: trace, Out: &out, Table: name}))
	found := errtest.Must(parquet.Read[T](bytes.NewReader(out.Bytes()), int64(out.Len())))
	return found
}
