package sim

import (
	"heddle/harness/state"
	"heddle/traces"
)

// Result is what a run came to.
type Result struct {
	Jobs []JobResult // in order of submission
	// MakespanMs is from the first submission to the last job's end.
	MakespanMs int64
	Attempts   Attempts
	Bytes      Bytes
	Decisions  Decisions
	// Maps is how near the maps that succeeded were to their data, by level, and
	// SplitMaps that of all assigned map attempts as Hadoop counts.
	Maps, SplitMaps [state.LevelOff + 1]int64
	// Events is how many the kernel handled, heartbeats that could change
	// something among them. Beats is how many those were.
	Events, Beats int64
	// PeakTasks is the most tasks of jobs that had arrived and not ended.
	PeakTasks int64
	Digest    traces.ScheduleDigest
}

// JobResult is one job's course, in milliseconds since the run's start; -1 is
// never.
type JobResult struct {
	SubmitMs, StartMs, EndMs int64 // StartMs: of its first attempt
	Failed                   bool
}

// Attempts is how attempts ended, maps and reduces together. Reruns are those
// of them that ran because an earlier one had failed or was lost, Speculative
// those beside another.
type Attempts struct{ Succeeded, Failed, Killed, Reruns, Speculative int64 }

// AttemptEnd is one attempt, at its end.
type AttemptEnd struct {
	Job          int32 // in order of submission
	Kind         state.Kind
	Outcome      traces.Outcome
	Launched     bool
	Level, Split state.Level // of a map, as in Result.Maps and SplitMaps
	Node         state.NodeID
	// StartMs is when it was to be launched.
	StartMs, EndMs int64
	// InputBytes a map read, or a reduce fetched; OutputBytes went to HDFS, or to
	// the job's reduces.
	InputBytes, OutputBytes int64
}

// Bytes is what attempts that succeeded moved.
type Bytes struct {
	// Read is by maps, by how near the copy was that they read.
	Read [state.LevelOff + 1]int64
	// Shuffled is fetched by reduces, Written what went to HDFS (once, not by
	// replica), MapOutput what maps left on their nodes.
	Shuffled, Written, MapOutput int64
}

// Decisions is what became of the model's.
type Decisions struct {
	Made int64
	// Bound as expected at the decision, and otherwise; Unused gave the container
	// back.
	AsExpected, Otherwise, Unused int64
	// Refused could not be carried out.
	Refused int64
}
