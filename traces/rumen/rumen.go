// Package rumen reads and writes the job traces of Rumen, Hadoop's history
// miner: one JSON object a job, one after the other or in a list, and a second
// file with the tree of racks and hosts.
//
// A Reader gives job after job from a hand-written scanner, in arrays that it
// uses again; Events turns a job into trace events. What Rumen has and a trace
// lacks (progress in twelve buckets, distributions of run times, set-up tasks)
// travels in Source events, so that Write gives it back.
package rumen

import (
	"heddle/traces"
)

// Unknown is what Rumen writes for a number that it does not have.
const Unknown = -1

// Job is one job. Times are milliseconds, since 1970 in traces of real
// clusters. It and what it holds is valid until the Reader's next Next.
type Job struct {
	ID       string // job_1795236380513_0001
	Name     string
	User     string
	Queue    string
	Priority string // VERY_LOW to VERY_HIGH, empty unknown
	Outcome  traces.Outcome

	SubmitMs, LaunchMs, FinishMs int64
	// TotalMaps and TotalReduces are what the job said it has.
	TotalMaps, TotalReduces int64

	Maps, Reduces []Task

	// Rest has the members that are nowhere else in Job and not empty, as JSON
	// without braces; nil unless the Reader keeps them.
	Rest []byte
	// Offset is where the job begins in the file, after decompression.
	Offset int64
}

// Task is a map or a reduce.
type Task struct {
	Index             int32 // from 0, within its kind
	Outcome           traces.Outcome
	StartMs, FinishMs int64
	// Input and output are as Rumen counts them: a map's from HDFS and to its
	// disk, a reduce's from the shuffle and to HDFS.
	InputBytes, InputRecords, OutputBytes, OutputRecords int64
	// Hosts are those of a map's split.
	Hosts    []HostID
	Attempts []Attempt
	Rest     []byte

	hosts, attempts, rest span
	// foreign is true for ids that are of another job or no ids.
	foreign bool
}

// Attempt is one try at a task.
type Attempt struct {
	Number                                  int32
	Outcome                                 traces.Outcome
	Host                                    HostID
	StartMs, FinishMs, ShuffleMs, SortMs    int64
	HDFSReadBytes, HDFSWrittenBytes         int64
	FileReadBytes, FileWrittenBytes         int64
	MapInputRecords, MapOutputRecords       int64
	MapOutputBytes                          int64
	ShuffleBytes                            int64
	ReduceInputRecords, ReduceOutputRecords int64
	SpilledRecords                          int64
	CPUMs, PhysicalBytes                    int64
	Rest                                    []byte

	rest    span
	index   int32 // of the task that its id names
	foreign bool
}

// span is a part of one of the Reader's arrays, which move while they grow.
type span struct{ from, to int }

// HostID is a host's place in Reader.Hosts; 0 is no host.
type HostID uint32

// Host is a host in its rack, "/rack1" or "/dc1/rack1"; Rack is empty where
// the trace does not say.
type Host struct {
	Rack string
	Name string
}

var noTask = Task{StartMs: Unknown, FinishMs: Unknown, InputBytes: Unknown, InputRecords: Unknown, OutputBytes: Unknown, OutputRecords: Unknown}

var noAttempt = Attempt{
	StartMs: Unknown, FinishMs: Unknown, ShuffleMs: Unknown, SortMs: Unknown, HDFSReadBytes: Unknown, HDFSWrittenBytes: Unknown,
	FileReadBytes: Unknown, FileWrittenBytes: Unknown, MapInputRecords: Unknown, MapOutputRecords: Unknown, MapOutputBytes: Unknown,
	ShuffleBytes: Unknown, ReduceInputRecords: Unknown, ReduceOutputRecords: Unknown, SpilledRecords: Unknown, CPUMs: Unknown, PhysicalBytes: Unknown,
}

// maxIndex bounds the numbers of tasks and attempts, since programs keep arrays
// of them.
const maxIndex = 16 << 20

// maxListed bounds the maps and the reduces of a job, which are in memory
// together, and maxTries the attempts of both.
const (
	maxListed = 1 << 20
	maxTries  = 1 << 21
)

// maxCount bounds counts of bytes, records and milliseconds: an exabyte.
const maxCount = 1 << 60

// maxMs bounds times: the year 2200.
const maxMs = 7258118400000
