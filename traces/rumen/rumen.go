// Package rumen reads and writes job traces of Rumen, the tool of Hadoop that
// converts job histories. A trace file has a JSON object for each job; the
// objects stand one after the other or in a list. A second file, the topology,
// has the tree of racks and hosts.
//
// The structs of this package have only the JSON members that a heddle trace can
// store. Other members are skipped, such as the progress of attempts and the
// distributions of run times.
package rumen

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/internal/jsonstream"
)

// Format describes Rumen's trace format to package exchange.
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

// unknown is the number that Rumen writes in place of a number that it does not
// know.
const unknown = -1

// number is a number of bytes, records or milliseconds; -1 means unknown.
type number int64

// millis is a time in milliseconds; -1 means unknown. In most files it counts
// from 1970.
type millis int64

// job is a job in Rumen's JSON.
type job struct {
	ID       string  `json:"jobID"`
	Name     string  `json:"jobName,omitempty"`
	User     string  `json:"user,omitempty"`
	Queue    string  `json:"queue,omitempty"`
	Priority string  `json:"priority,omitempty"` // priority of the job: VERY_LOW, LOW, NORMAL, HIGH or VERY_HIGH
	Submit   millis  `json:"submitTime"`
	Launch   millis  `json:"launchTime"`
	Finish   millis  `json:"finishTime"`
	Outcome  outcome `json:"outcome,omitempty"`
	Type     string  `json:"jobtype"`
	// TotalMaps and TotalReduces are the numbers of tasks that the job reported.
	// The lists of tasks in the file may have fewer.
	TotalMaps    number     `json:"totalMaps"`
	TotalReduces number     `json:"totalReduces"`
	Properties   properties `json:"jobProperties,omitzero"`
	Maps         []task     `json:"mapTasks"`
	Reduces      []task     `json:"reduceTasks"`
	Others       otherTasks `json:"otherTasks,omitzero"`
}

// otherTasks are the set-up and clean-up tasks of a job, of which only the racks of their
// hosts are read.
type otherTasks struct{}

// properties are those of a job's properties for which a trace has room.
type properties struct {
	MapMB        string `json:"mapreduce.map.memory.mb,omitempty"`
	ReduceMB     string `json:"mapreduce.reduce.memory.mb,omitempty"`
	MapVCores    string `json:"mapreduce.map.cpu.vcores,omitempty"`
	ReduceVCores string `json:"mapreduce.reduce.cpu.vcores,omitempty"`
	SlowStart    string `json:"mapreduce.job.reduce.slowstart.completedmaps,omitempty"`
}

// task is a map or a reduce in Rumen's JSON.
type task struct {
	ID      taskID  `json:"taskID"`
	Type    string  `json:"taskType"`
	Outcome outcome `json:"taskStatus,omitempty"`
	Start   millis  `json:"startTime"`
	Finish  millis  `json:"finishTime"`
	// Input and output of the task. A map reads its input from HDFS and writes
	// its output to the local disk. A reduce's input is what it shuffles; it
	// writes its output to HDFS.
	InputBytes    number     `json:"inputBytes"`
	InputRecords  number     `json:"inputRecords"`
	OutputBytes   number     `json:"outputBytes"`
	OutputRecords number     `json:"outputRecords"`
	Hosts         []location `json:"preferredLocations"` // hosts that store the split of a map
	Attempts      []attempt  `json:"attempts"`
}

// attempt is an attempt of a task in Rumen's JSON.
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
	MapInputBytes       number    `json:"mapInputBytes"`
	MapInputRecords     number    `json:"mapInputRecords"`
	MapOutputBytes      number    `json:"mapOutputBytes"`
	MapOutputRecords    number    `json:"mapOutputRecords"`
	ReduceInputRecords  number    `json:"reduceInputRecords"`
	ReduceShuffleBytes  number    `json:"reduceShuffleBytes"`
	ReduceOutputRecords number    `json:"reduceOutputRecords"`
	SpilledRecords      number    `json:"spilledRecords"`
	Usage               *usage    `json:"resourceUsageMetrics,omitempty"`
}

// usage is the CPU time and memory that Hadoop measured at the end of an
// attempt.
type usage struct {
	CPUMs         number `json:"cumulativeCpuUsage"`
	PhysicalBytes number `json:"physicalMemoryUsage"`
}

var (
	noJob  = job{Submit: unknown, Launch: unknown, Finish: unknown, TotalMaps: unknown, TotalReduces: unknown}
	noTask = task{Start: unknown, Finish: unknown, InputBytes: unknown, InputRecords: unknown, OutputBytes: unknown, OutputRecords: unknown}

	noAttempt = attempt{
		Start: unknown, Finish: unknown, Shuffled: unknown, Sorted: unknown, HDFSBytesRead: unknown, HDFSBytesWritten: unknown,
		FileBytesRead: unknown, FileBytesWritten: unknown, MapInputBytes: unknown, MapInputRecords: unknown,
		MapOutputBytes: unknown, MapOutputRecords: unknown,
		ReduceInputRecords: unknown, ReduceShuffleBytes: unknown, ReduceOutputRecords: unknown, SpilledRecords: unknown,
	}
)

// outcome is the outcome of a job, task or attempt. Rumen writes it as SUCCESS,
// FAILED or KILLED.
type outcome traces.Outcome

var outcomes = [...]string{traces.Unfinished: "", traces.Succeeded: "SUCCESS", traces.Failed: "FAILED", traces.Killed: "KILLED"}

// MarshalText writes Rumen's word for the outcome: SUCCESS, FAILED, KILLED or "".
func (o outcome) MarshalText() ([]byte, error) { return []byte(outcomes[int(o)%len(outcomes)]), nil }

// taskID has the parts of a task's id such as
// "task_1400000000000_0001_m_000003".
type taskID struct {
	job   string // the part of the id that names the job, such as "1400000000000_0001"
	kind  traces.TaskKind
	index int32
	valid bool
}

// attemptID has the parts of an attempt's id such as
// "attempt_1400000000000_0001_m_000003_0".
type attemptID struct {
	taskID
	number int32
}

func (id taskID) trace() traces.Task {
	return traces.Task{Job: traces.JobID("job_" + id.job), Kind: id.kind, Index: id.index}
}

// MarshalText writes the task's id in Hadoop's form.
func (id taskID) MarshalText() ([]byte, error) { return []byte(id.trace().String()), nil }

// MarshalText writes the attempt's id in Hadoop's form.
func (id attemptID) MarshalText() ([]byte, error) {
	return []byte(traces.Attempt{Task: id.trace(), Number: id.number}.String()), nil
}

// host is the name of a host and the path of its rack, such as "/rack1" or
// "/dc1/rack1". The rack is empty if the file does not name it.
type host struct{ Rack, Name string }

func splitHost(path string) host {
	i := strings.LastIndexByte(path, '/')
	return host{Rack: path[:max(i, 0)], Name: path[i+1:]}
}

// MarshalText writes the path of the host, such as "/rack1/host".
func (h host) MarshalText() ([]byte, error) {
	if h.Rack == "" {
		return []byte(h.Name), nil
	}
	return []byte(h.Rack + "/" + h.Name), nil
}

// location is a host with its rack, which Rumen writes as
// {"layers":["rack1","host"]}.
type location host

// MarshalJSONTo writes the location of a host in Rumen's form, such as
// {"layers":["rack1","host"]}.
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

// rackLayers splits the path of a rack: "/dc1/rack1" becomes "dc1" and "rack1".
func rackLayers(rack string) []string {
	return slices.DeleteFunc(strings.Split(rack, "/"), func(s string) bool { return s == "" })
}
