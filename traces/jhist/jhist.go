// Package jhist reads the job history files (.jhist) of Hadoop 0.23 to 3.4, in
// Avro's binary and JSON encodings, and turns a job into events of a trace.
//
// Line 1 of a file names the encoding. Line 2 is the Avro schema of the events that
// follow; it differs between versions of Hadoop. The file of a running or crashed
// job may end anywhere, and is read up to there. Container sizes and settings are
// in the job's configuration file, which this package does not read.
package jhist

import (
	"cmp"
	"strings"

	"heddle/traces"
	"heddle/traces/format"
)

// Job is the job of a history file. Times are milliseconds since 1970; 0 means
// that the file has no such time.
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

	// HostRacks are racks that the caller knows. A history has only the racks of
	// attempts that ended.
	HostRacks map[traces.Node]string

	// AMHosts are the hosts of the ApplicationMasters. If one fails, another follows.
	AMHosts []string
	Tasks   []*Task // in the order of their start

	// Counters has no values for a job that failed, since Hadoop writes none.
	Counters traces.Counters
	// The ApplicationMaster's counters of maps and reduces; -1 means that there
	// are no counters.
	DataLocalMaps, RackLocalMaps, OtherLocalMaps, LaunchedMaps, LaunchedReduces int64
}

// Task is a map or a reduce. In Hadoop 0.23 it may also be a set-up or clean-up.
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

// Attempt is an attempt of a task.
type Attempt struct {
	ID        string // attempt_…
	Container string
	Host      string // empty where it never got a container
	Rack      string
	StartMs   int64 // 0 where it was never launched
	FinishMs  int64
	// MapFinishMs is set for maps, ShuffleFinishMs and SortFinishMs for reduces.
	MapFinishMs     int64
	ShuffleFinishMs int64
	SortFinishMs    int64
	Status          string // SUCCEEDED, FAILED, KILLED; empty where it did not end
	Error           string
	// Locality is that of the container to the split's hosts: NODE_LOCAL,
	// RACK_LOCAL or OFF_SWITCH. Hadoop's counters differ for some attempts; see
	// Level.
	Locality string
	Avataar  string // VIRGIN, SPECULATIVE
	Counters traces.Counters
}

// Racks returns the racks of the hosts that attempts ran on, and of HostRacks.
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

// Level returns the split locality of a map attempt as Hadoop's counters
// DATA_LOCAL_MAPS (node), RACK_LOCAL_MAPS (rack) and OTHER_LOCAL_MAPS (off) have
// it. racks is the result of Job.Racks. The level is unknown for reduces, for files
// without localities, and if a missing rack decides between rack and off.
//
// The ApplicationMaster counts an attempt when it assigns a container. It requests
// containers for re-runs, after a failed attempt or a lost node, without hosts.
// They count as off on any node, although the file may say NODE_LOCAL. The same is
// true for all maps of an uberized job.
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
	// The file has no locality of an attempt that was never launched.
	return format.SplitLevel(a.Host, t.SplitHosts, func(host string) string { return host }, func(host string) string {
		if host == a.Host {
			return cmp.Or(a.Rack, racks[host])
		}
		return racks[host]
	})
}

// nodeLost is the beginning of the error of attempts whose node was lost.
const nodeLost = "TaskAttempt killed because it ran on unusable node"

// rerun reports whether an earlier attempt had failed, or was lost with its node,
// when the container for a was requested.
func (t *Task) rerun(a *Attempt) bool {
	for _, b := range t.Attempts {
		if b == a {
			return false
		}
		again := b.Status == "FAILED" || b.Status == "KILLED" && strings.HasPrefix(b.Error, nodeLost)
		// The container of a speculative attempt may have been requested before b
		// failed.
		if again && (a.StartMs == 0 || b.FinishMs <= a.StartMs) {
			return true
		}
	}
	return false
}
