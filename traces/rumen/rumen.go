// Package rumen reads and writes traces of Rumen, the tool of Hadoop that collects
// job histories. A file has a JSON object for each job, one after the other or in a
// list. A second file, the topology, has the tree of racks and hosts.
//
// The structs of this package have the members that a trace can hold. Others are
// skipped, such as the progress of attempts and the distributions of run times.
package rumen

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/internal/jsonstream"
)

// Format is the format of Rumen.
var Format = format.Format{
	Name:   "rumen",
	About:  "job traces of Rumen, Hadoop's collector of job histories",
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

// number is a number of bytes, records or milliseconds, or unknown.
type number int64

// millis is a time in milliseconds, or unknown. Most files count from 1970.
type millis int64

// job is a job with the members that it has in the file.
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
	// TotalMaps and TotalReduces are the numbers that the job reported.
	TotalMaps    number   `json:"totalMaps"`
	TotalReduces number   `json:"totalReduces"`
	Maps         taskList `json:"mapTasks"`
	Reduces      taskList `json:"reduceTasks"`
	Others       others   `json:"otherTasks,omitzero"`
}

type taskList []task

// others stands for the set-up and clean-up tasks, which are not kept.
type others struct{}

// task is a map or a reduce.
type task struct {
	ID      taskID  `json:"taskID"`
	Type    string  `json:"taskType"`
	Outcome outcome `json:"taskStatus,omitempty"`
	Start   millis  `json:"startTime"`
	Finish  millis  `json:"finishTime"`
	// A map's input comes from HDFS and its output goes to its disk; a reduce's
	// input is the shuffle and its output goes to HDFS.
	InputBytes    number       `json:"inputBytes"`
	InputRecords  number       `json:"inputRecords"`
	OutputBytes   number       `json:"outputBytes"`
	OutputRecords number       `json:"outputRecords"`
	Hosts         locationList `json:"preferredLocations"` // of a map's split
	Attempts      attemptList  `json:"attempts"`
}

type attemptList []attempt

// attempt is an attempt of a task.
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

// usage is the use of resources at the end of an attempt.
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
)

// outcome is an outcome, which Rumen writes as SUCCESS, FAILED or KILLED.
type outcome traces.Outcome

var outcomes = [...]string{traces.Unfinished: "", traces.Succeeded: "SUCCESS", traces.Failed: "FAILED", traces.Killed: "KILLED"}

// MarshalText writes the word.
func (o outcome) MarshalText() ([]byte, error) { return []byte(outcomes[int(o)%len(outcomes)]), nil }

// taskID has the parts of an id such as "task_1400000000000_0001_m_000003".
type taskID struct {
	job   string // "1400000000000_0001"
	kind  traces.TaskKind
	index int32
	valid bool
}

// attemptID has the parts of an id such as
// "attempt_1400000000000_0001_m_000003_0".
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

// host is a host and its rack, such as "/rack1" or "/dc1/rack1". The rack is empty
// if the file does not have it.
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

// rackLayers returns the parts of a rack such as "/dc1/rack1".
func rackLayers(rack string) []string {
	return slices.DeleteFunc(strings.Split(rack, "/"), func(s string) bool { return s == "" })
}
