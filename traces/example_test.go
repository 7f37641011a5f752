package traces_test

import (
	"fmt"

	"heddle/traces"
)

// Ids are read as Hadoop writes them.
func ExampleParseAttempt() {
	a, err := traces.ParseAttempt("attempt_1700000000000_0007_m_000012_1")
	if err != nil {
		panic(err)
	}
	fmt.Println(a.Job, a.Kind, a.Index, a.Number)
	fmt.Println(a)
	// Output:
	// job_1700000000000_0007 map 12 1
	// attempt_1700000000000_0007_m_000012_1
}

// Events may come in any order; a finished trace has them by time, with causes
// before effects. Two runs whose attempts went the same way have the same
// schedule digest.
func ExampleSort() {
	map0 := traces.Attempt{Task: traces.Task{Job: "job_1_0001", Kind: traces.Map}}
	events := []traces.Event{
		&traces.AttemptFinished{T: 9e9, Attempt: map0, Outcome: traces.Succeeded, Counters: traces.NoCounters},
		&traces.JobSubmitted{T: 1e9, Job: "job_1_0001", Maps: 1},
		&traces.AttemptStarted{T: 3e9, Attempt: map0, Node: "n1"},
	}
	traces.Sort(events)
	var schedule traces.Schedule
	for _, e := range events {
		schedule.Add(e)
		fmt.Println(int64(e.At())/1e9, "s", e.Kind())
	}
	fmt.Println("schedule", schedule.Digest())
	// Output:
	// 1 s jobSubmitted
	// 3 s attemptStarted
	// 9 s attemptFinished
	// schedule 0dfebc0193b7639a
}
