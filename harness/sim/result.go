package sim

import (
	"heddle/harness/state"
	"heddle/traces"
)

// Result is the outcome of a simulated run.
type Result struct {
	Jobs []JobResult // one entry for each job, in order of submission
	// MakespanMs is the time from the first job's submission to the end of the job
	// that ends last.
	MakespanMs int64
	// StarvedMs is how long reduces held all slots while maps of their own jobs waited.
	StarvedMs int64
	Attempts  Attempts
	Bytes     Bytes
	Decisions Decisions
	// Maps counts the successful maps by level, that is, by how near they ran to
	// their input. SplitMaps counts all map attempts that got a container, by how
	// near they ran to the hosts in their input splits, as Hadoop's counters do.
	Maps, SplitMaps [state.LevelOff + 1]int64
	// Events is how many events the simulator handled. Beats is how many of these
	// were NodeManager heartbeats.
	Events, Beats int64
	// PeakTasks is the largest number of tasks, done or not, that the unfinished
	// jobs had together at any time.
	PeakTasks int64
	Digest    traces.ScheduleDigest
	// Notes are the scheduler model's own figures, if it is a sched.Noter.
	Notes map[string]float64
}

// JobResult has the times of one job, in milliseconds since the run's start. A
// time of -1 means that the job did not start or did not end.
type JobResult struct {
	SubmitMs, StartMs, EndMs int64 // StartMs: start of the job's first attempt
	Failed                   bool
	// Refused is why the model did not take the job, which has then failed at once.
	Refused string
}

// Attempts counts the ended attempts of maps and reduces together. Succeeded,
// Failed and Killed count the attempts that ended so. Reruns counts attempts
// that ran because an earlier attempt at the same task failed or was lost.
// Speculative counts attempts that ran beside another attempt at the same
// task.
type Attempts struct{ Succeeded, Failed, Killed, Reruns, Speculative int64 }

// AttemptEnd describes an attempt that has ended.
type AttemptEnd struct {
	Job          int32 // number of the attempt's job in order of submission, from 0
	Kind         state.Kind
	Outcome      traces.Outcome
	Launched     bool
	Preempted    bool        // it is Killed because YARN took its container
	Level, Split state.Level // how near a map was to its input: Level by replicas and cached copies, Split by the hosts in the input split
	Node         state.NodeID
	// StartMs is the attempt's launch time; it means nothing if Launched is false,
	// that is, if the attempt ended before its launch.
	StartMs, EndMs int64
	UpMs           int64 // when the ApplicationMaster of its job was up
	// ReadFromMs and ReadToMs are when a map read its input. Both are 0 if its time does
	// not depend on reading.
	ReadFromMs, ReadToMs int64
	// InputBytes is what a map read or a reduce fetched. OutputBytes is what the
	// attempt wrote to HDFS, or what a map left for the job's reduces.
	InputBytes, OutputBytes int64
}

// Bytes counts the bytes that successful attempts read, fetched and wrote.
type Bytes struct {
	// Read counts the bytes that maps read, by how near to the map the copy of the
	// input was.
	Read [state.LevelOff + 1]int64
	// Shuffled counts the map output that reduces fetched. Written counts the
	// bytes written to HDFS; a byte counts once, however many replicas it has.
	// MapOutput counts the output that maps left on their nodes for the reduces.
	Shuffled, Written, MapOutput int64
}

// Decisions counts the decisions of the scheduler model by their outcome.
type Decisions struct {
	Made int64
	// AsExpected counts decisions that started the task that was expected at the
	// time of the decision. The field Otherwise counts decisions that started
	// another task. Unused counts decisions whose container was given back without
	// a task.
	AsExpected, Otherwise, Unused int64
	// Refused counts decisions that could not be carried out, for example because
	// the node was full.
	Refused int64
}
