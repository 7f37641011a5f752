// Package rumen reads and writes the job traces of Rumen, Hadoop's history
// miner: one JSON object a job, one after the other or in a list, and a second
// file with the tree of racks and hosts.
//
// Members that no event of a trace holds are not read: progress in twelve
// buckets, distributions of run times, set-up and clean-up tasks.
package rumen

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/internal/jsonstream"
)

// Format is Rumen's.
var Format = format.Format{
	Name:   "rumen",
	Origin: traces.Imported,
	Detect: func(head []byte) bool {
		return jsonstream.HasKey(head, "mapTasks", "jobID", "reduceTasks", "jobtype")
	},
	NewReader: func(im *format.Import) format.Reader { return newReader(im) },
	Write:     func(e *format.Export) ([]string, error) { return nil, write(e) },
	Topology: &format.Topology{
		Detect: func(head []byte) bool { return jsonstream.HasKey(head, "children") },
		Read:   readTopology,
		Write:  writeTopology,
	},
}

// unknown is what Rumen writes for a number that it does not have.
const unknown = -1

// number counts bytes, records or milliseconds; unknown where it is negative.
type number int64

// millis is a time: since 1970 in traces of real clusters.
type millis int64

// job is one job as the file has it.
type job struct {
	ID       string  `json:"jobID"`
	Name     string  `json:"jobName,omitempty"`
	User     string  `json:"user,omitempty"`
	Queue    string  `json:"queue,omitempty"`
	Priority string  `json:"priority,omitempty"` // VERY_LOW to VERY_HIGH
	Submit   millis  `json:"submitTime"`
	Launch   millis  `json:"launchTime"`
	Finish   millis  `json:"finishTime"`
	Outcome  outcome `json:"outcome,omitempty"`
	Type     string  `json:"jobtype"`
	// TotalMaps and TotalReduces are what the job said it has.
	TotalMaps    number   `json:"totalMaps"`
	TotalReduces number   `json:"totalReduces"`
	Maps         taskList `json:"mapTasks"`
	Reduces      taskList `json:"reduceTasks"`
	Others       others   `json:"otherTasks,omitzero"`
}

type taskList []task

// others are set-up and clean-up tasks, of which only the hosts' racks are read.
type others struct{}

// task is a map or a reduce.
type task struct {
	ID      taskID  `json:"taskID"`
	Type    string  `json:"taskType"`
	Outcome outcome `json:"taskStatus,omitempty"`
	Start   millis  `json:"startTime"`
	Finish  millis  `json:"finishTime"`
	// Input and output are as Rumen counts them: a map's from HDFS and to its
	// disk, a reduce's from the shuffle and to HDFS.
	InputBytes    number       `json:"inputBytes"`
	InputRecords  number       `json:"inputRecords"`
	OutputBytes   number       `json:"outputBytes"`
	OutputRecords number       `json:"outputRecords"`
	Hosts         locationList `json:"preferredLocations"` // of a map's split
	Attempts      attemptList  `json:"attempts"`
}

type attemptList []attempt

// attempt is one try at a task.
type attempt struct {
	ID                  attemptID `json:"attemptID"`
	Outcome             outcome   `json:"result,omitempty"`
	Host                host      `json:"hostName,omitzero"`
	Location            location  `json:"location,omitzero"`
	Start               millis    `json:"startTime"`
	Finish              millis    `json:"finishTime"`
	Shuffled            millis    `json:"shuffleFinished"`
	Sorted              millis    `json:"sortFinished"`
	HDFSBytesRead       number    `json:"hdfsBytesRead"`
	HDFSBytesWritten    number    `json:"hdfsBytesWritten"`
	FileBytesRead       number    `json:"fileBytesRead"`
	FileBytesWritten    number    `json:"fileBytesWritten"`
	MapInputRecords     number    `json:"mapInputRecords"`
	MapOutputBytes      number    `json:"mapOutputBytes"`
	MapOutputRecords    number    `json:"mapOutputRecords"`
	ReduceInputRecords  number    `json:"reduceInputRecords"`
	ReduceShuffleBytes  number    `json:"reduceShuffleBytes"`
	ReduceOutputRecords number    `json:"reduceOutputRecords"`
	SpilledRecords      number    `json:"spilledRecords"`
	Usage               *usage    `json:"resourceUsageMetrics,omitempty"`
}

// usage is what an attempt had used at its end.
type usage struct {
	CPUMs         number `json:"cumulativeCpuUsage"`
	PhysicalBytes number `json:"physicalMemoryUsage"`
}

var (
	noJob  = job{Submit: unknown, Launch: unknown, Finish: unknown, TotalMaps: unknown, TotalReduces: unknown}
	noTask = task{Start: unknown, Finish: unknown, InputBytes: unknown, InputRecords: unknown, OutputBytes: unknown, OutputRecords: unknown}

	noAttempt = attempt{
		Start: unknown, Finish: unknown, Shuffled: unknown, Sorted: unknown, HDFSBytesRead: unknown, HDFSBytesWritten: unknown,
		FileBytesRead: unknown, FileBytesWritten: unknown, MapInputRecords: unknown, MapOutputBytes: unknown, MapOutputRecords: unknown,
		ReduceInputRecords: unknown, ReduceShuffleBytes: unknown, ReduceOutputRecords: unknown, SpilledRecords: unknown,
	}
	noUsage = usage{CPUMs: unknown, PhysicalBytes: unknown}
)

// outcome is one in Rumen's words.
type outcome traces.Outcome

var outcomes = [...]string{traces.Unfinished: "", traces.Succeeded: "SUCCESS", traces.Failed: "FAILED", traces.Killed: "KILLED"}

// MarshalText writes the word.
func (o outcome) MarshalText() ([]byte, error) { return []byte(outcomes[int(o)%len(outcomes)]), nil }

// taskID is the id "task_1400000000000_0001_m_000003" in its parts.
type taskID struct {
	job   string // "1400000000000_0001"
	kind  traces.TaskKind
	index int32
	valid bool
}

// attemptID is the id "attempt_1400000000000_0001_m_000003_0" in its parts.
type attemptID struct {
	taskID
	number int32
}

func (id taskID) trace() traces.Task {
	return traces.Task{Job: traces.JobID("job_" + id.job), Kind: id.kind, Index: id.index}
}

// MarshalText writes the id.
func (id taskID) MarshalText() ([]byte, error) { return []byte(id.trace().String()), nil }

// MarshalText writes the id.
func (id attemptID) MarshalText() ([]byte, error) {
	return []byte(traces.Attempt{Task: id.trace(), Number: id.number}.String()), nil
}

// host is a host in its rack, "/rack1" or "/dc1/rack1"; the rack is empty where
// the trace does not say.
type host struct{ Rack, Name string }

func splitHost(path string) host {
	i := strings.LastIndexByte(path, '/')
	return host{Rack: path[:max(i, 0)], Name: path[i+1:]}
}

// MarshalText writes "/rack1/host".
func (h host) MarshalText() ([]byte, error) {
	if h.Rack == "" {
		return []byte(h.Name), nil
	}
	return []byte(h.Rack + "/" + h.Name), nil
}

// location is a host that is written as {"layers":["rack1","host"]}.
type location host

type locationList []location

// MarshalJSONTo writes the object.
func (l location) MarshalJSONTo(e *jsontext.Encoder) error {
	tokens := []jsontext.Token{jsontext.BeginObject, jsontext.String("layers"), jsontext.BeginArray}
	for _, layer := range append(rackLayers(l.Rack), l.Name) {
		tokens = append(tokens, jsontext.String(layer))
	}
	for _, t := range append(tokens, jsontext.EndArray, jsontext.EndObject) {
		if err := e.WriteToken(t); err != nil {
			return err
		}
	}
	return nil
}

// rackLayers is "/dc1/rack1" in its parts.
func rackLayers(rack string) []string {
	return slices.DeleteFunc(strings.Split(rack, "/"), func(s string) bool { return s == "" })
}
