// Package jhist reads Hadoop's job history files (.jhist), in Avro's binary and
// JSON forms, of Hadoop 0.23 to 3.4, and turns a job into trace events.
//
// Line 1 of a file names the form, line 2 is the Avro schema of the events that
// follow. Only that schema is trusted: fields and event types differ between
// versions. Files of running and crashed jobs end anywhere; what they hold is
// kept. Container sizes and settings are in the job's configuration file, which
// this package does not read.
package jhist

import (
	"cmp"
	"strings"

	"heddle/traces"
	"heddle/traces/format"
)

// Job is what a history file tells of one job. Times are milliseconds since
// 1970, 0 where the file has none.
type Job struct {
	ID    string // job_1795236380513_0001
	Name  string
	User  string
	Queue string

	SubmitMs int64
	LaunchMs int64 // the ApplicationMaster had read the splits
	FinishMs int64

	Maps     int32
	Reduces  int32
	Uberized bool // all tasks ran inside the ApplicationMaster

	Outcome     traces.Outcome // Unfinished where the file has no end
	Status      string         // as Hadoop writes it: SUCCEEDED, FAILED, KILLED, ERROR
	Diagnostics string

	// HostRacks are racks of hosts that the caller knows from elsewhere; a
	// history has only those of attempts that ended.
	HostRacks map[traces.Node]string

	AMs   []AM
	Tasks []*Task // in the order of their start

	// Counters are not reported for jobs that did not succeed: Hadoop writes none.
	Counters traces.Counters
	// Maps and reduces as the ApplicationMaster counted them, -1 where there are
	// no counters.
	DataLocalMaps, RackLocalMaps, OtherLocalMaps, LaunchedMaps, LaunchedReduces int64
}

// AM is one ApplicationMaster of a job; a second one follows a failed first.
type AM struct {
	Attempt string // appattempt_…
	Host    string
}

// Task is a map or a reduce, in Hadoop 0.23 also a job's set-up or clean-up.
type Task struct {
	ID         string // task_…
	Type       string // MAP, REDUCE, JOB_SETUP, JOB_CLEANUP
	SplitHosts []string
	StartMs    int64 // it waited for a container from then on
	FinishMs   int64
	Status     string     // empty where the task did not end
	Winner     string     // the attempt that succeeded
	Attempts   []*Attempt // in the order of their numbers as far as the file is ordered
}

// Attempt is one try at a task.
type Attempt struct {
	ID        string // attempt_…
	Container string
	Host      string // empty where it never got a container
	Rack      string
	StartMs   int64 // 0 where it was never launched
	FinishMs  int64
	// MapFinishMs is a map's; ShuffleFinishMs and SortFinishMs are a reduce's.
	MapFinishMs     int64
	ShuffleFinishMs int64
	SortFinishMs    int64
	Status          string // SUCCEEDED, FAILED, KILLED; empty where it did not end
	Error           string
	// Locality is how the container lay to the split's hosts (NODE_LOCAL,
	// RACK_LOCAL, OFF_SWITCH); Hadoop counts some attempts otherwise, see Level.
	Locality string
	Avataar  string // VIRGIN, SPECULATIVE
	Counters traces.Counters
}

// Racks maps the hosts that attempts ran on, and those of HostRacks, to their
// racks.
func (j *Job) Racks() map[string]string {
	racks := map[string]string{}
	for host, rack := range j.HostRacks {
		racks[string(host)] = rack
	}
	for _, t := range j.Tasks {
		for _, a := range t.Attempts {
			if a.Host != "" && a.Rack != "" {
				racks[a.Host] = a.Rack
			}
		}
	}
	return racks
}

// Level is a map attempt's split locality as Hadoop's DATA_LOCAL_MAPS (node),
// RACK_LOCAL_MAPS (rack) and OTHER_LOCAL_MAPS (off) count it; racks is
// Job.Racks. LevelUnknown is an attempt that is not counted, one of a file
// without localities, or one where a missing rack decides between rack and off.
//
// The ApplicationMaster counts when it assigns a container, launched or not. A
// map that is run again after a failure is asked for without hosts and counts
// as off wherever it lands, while the file has the place it landed on. So do
// all maps of an uberized job, and maps run again because their node was lost.
func (j *Job) Level(t *Task, a *Attempt, racks map[string]string) traces.Level {
	switch {
	case t.Type != "MAP" || a.Host == "":
		return traces.LevelUnknown
	case j.Uberized, t.rerun(a):
		return traces.LevelOff
	}
	switch a.Locality {
	case "NODE_LOCAL":
		return traces.LevelNode
	case "RACK_LOCAL":
		return traces.LevelRack
	case "OFF_SWITCH":
		return traces.LevelOff
	}
	if a.StartMs != 0 {
		return traces.LevelUnknown // Hadoop 0.23
	}
	// Assigned and never launched: the file has no locality of it.
	return format.SplitLevel(a.Host, t.SplitHosts, func(host string) string { return host }, func(host string) string {
		if host == a.Host {
			return cmp.Or(a.Rack, racks[host])
		}
		return racks[host]
	})
}

// nodeLost begins the error of attempts that were killed with their node.
const nodeLost = "TaskAttempt killed because it ran on unusable node"

// rerun is true where an earlier attempt had failed, or was lost with its node,
// when a was asked for.
func (t *Task) rerun(a *Attempt) bool {
	for _, b := range t.Attempts {
		if b == a {
			return false
		}
		again := b.Status == "FAILED" || b.Status == "KILLED" && strings.HasPrefix(b.Error, nodeLost)
		// A speculative attempt may have been asked for before the other failed.
		if again && (a.StartMs == 0 || b.FinishMs <= a.StartMs) {
			return true
		}
	}
	return false
}
