package tracefile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"heddle/traces"
	"heddle/traces/tracefile"
)

// A trace of a job with one map is written, and read again.
func Example() {
	folder, err := os.MkdirTemp("", "trace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "one-map.trace")

	at := func(d time.Duration) traces.Time { return traces.Time(d) } // since the run's start
	first := traces.Attempt{Task: traces.Task{Job: "job_1_0001", Kind: traces.Map}}
	err = tracefile.WriteFile(path, traces.Header{Origin: traces.Measured, Model: "yarn", Writer: "example"}, []traces.Event{
		&traces.JobSubmitted{T: at(0), Job: "job_1_0001", Name: "grep", Maps: 1},
		&traces.AttemptStarted{T: at(2 * time.Second), Attempt: first, Node: "n1", ReplicaLocality: traces.LevelCache},
		&traces.AttemptFinished{T: at(9 * time.Second), Attempt: first, Outcome: traces.Succeeded, Counters: traces.NoCounters},
		&traces.JobFinished{T: at(10 * time.Second), Job: "job_1_0001", Outcome: traces.Succeeded},
	})
	if err != nil {
		panic(err)
	}

	r, err := tracefile.Open(path)
	if err != nil {
		panic(err)
	}
	defer r.Close()
	for r.Next() { // the event is used again at the next Next
		switch e := r.Event().(type) {
		case *traces.AttemptStarted:
			fmt.Println(e.Attempt, "on", e.Node, "read from", e.ReplicaLocality)
		case *traces.JobFinished:
			fmt.Println(e.Job, e.Outcome, "after", time.Duration(e.T))
		}
	}
	if err := r.Err(); err != nil { // a *tracefile.DamageError where the file is cut off
		panic(err)
	}
	fmt.Println(r.Footer().Events, "events, complete:", r.Footer().Complete)
	// Output:
	// attempt_1_0001_m_000000_0 on n1 read from cache
	// job_1_0001 succeeded after 10s
	// 4 events, complete: true
}
