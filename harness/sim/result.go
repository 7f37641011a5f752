package sim

import (
	"heddle/harness/state"
	"heddle/traces"
)

// Result is the outcome of a run.
type Result struct {
	Jobs []JobResult // in order of submission
	// MakespanMs is the time from the first submission to the last job's end.
	MakespanMs int64
	Attempts   Attempts
	Bytes      Bytes
	Decisions  Decisions
	// Maps counts the maps that succeeded by level: how near they ran to their
	// input. SplitMaps counts all assigned map attempts by the hosts in their
	// splits, as Hadoop does.
	Maps, SplitMaps [state.LevelOff + 1]int64
	// Events is how many events the simulator handled. It includes Beats, the
	// heartbeats that could change something.
	Events, Beats int64
	// PeakTasks is the largest number of tasks, at one time, of jobs that had
	// not ended.
	PeakTasks int64
	Digest    traces.ScheduleDigest
}

// JobResult is one job's times, in milliseconds since the run's start; -1 means
// never.
type JobResult struct {
	SubmitMs, StartMs, EndMs int64 // StartMs: of its first attempt
	Failed                   bool
}

// Attempts counts attempts, of maps and reduces together, by how they ended.
// Reruns are those that ran because an earlier one had failed or was lost.
// Speculative are those that ran beside another.
type Attempts struct{ Succeeded, Failed, Killed, Reruns, Speculative int64 }

// AttemptEnd describes an attempt that has ended.
type AttemptEnd struct {
	Job          int32 // index of the job, in order of submission
	Kind         state.Kind
	Outcome      traces.Outcome
	Launched     bool
	Level, Split state.Level // of a map, as in Result.Maps and SplitMaps
	Node         state.NodeID
	// StartMs is when it should have been launched.
	StartMs, EndMs int64
	// InputBytes is what a map read or a reduce fetched. OutputBytes went to
	// HDFS, or to the job's reduces.
	InputBytes, OutputBytes int64
}

// Bytes is what the attempts that succeeded moved, in bytes.
type Bytes struct {
	// Read is what maps read, by how near the copy was.
	Read [state.LevelOff + 1]int64
	// Shuffled is what reduces fetched. Written went to HDFS, counted once and
	// not for each replica. MapOutput is what maps left on their nodes for
	// reduces.
	Shuffled, Written, MapOutput int64
}

// Decisions counts the model's decisions by what became of them.
type Decisions struct {
	Made int64
	// AsExpected got the task that was expected at the decision; Otherwise got
	// another one; Unused gave the container back.
	AsExpected, Otherwise, Unused int64
	// Refused counts decisions that could not be carried out.
	Refused int64
}
