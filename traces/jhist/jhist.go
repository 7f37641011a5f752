// Package jhist reads the job history files (.jhist) of Hadoop 0.23 to 3.4, in
// Avro's binary and JSON encodings, and those of Hadoop 0.18 to 1.x, which are
// text. It converts a job into events of a trace.
//
// Line 1 of a .jhist file names the encoding. Line 2 is the Avro schema of the
// events that follow; it differs between versions of Hadoop. The file of a
// running or crashed job may end at any byte; all complete events are read.
// Container sizes and settings are in the job's configuration file, which this
// package does not read.
package jhist

import (
	"cmp"
	"strings"

	"heddle/traces"
	"heddle/traces/format"
)

// Job is the job that a history file describes. Times are in milliseconds since
// 1970; 0 means that the file does not have the time.
type Job struct {
	ID    string // Hadoop's id of the job, such as job_1795236380513_0001
	Name  string
	User  string
	Queue string
	// Priority is what the job's priority was changed to, as YARN numbers it; 0 if it was not.
	Priority int32

	SubmitMs int64
	LaunchMs int64 // time at which the ApplicationMaster had read the splits
	FinishMs int64
	// BehindMs is by how much times of the job were moved, since the clock of its ApplicationMaster's
	// host was behind that of its submission.
	BehindMs  int64
	amStartMs int64 // start of the first ApplicationMaster

	Maps     int32
	Reduces  int32
	Uberized bool // true if all tasks ran inside the ApplicationMaster's container

	Outcome     traces.Outcome // outcome of the job; Unfinished if the file does not have the job's end
	Status      string         // status as Hadoop writes it: SUCCEEDED, FAILED, KILLED, ERROR
	Diagnostics string

	// JobTracker is true for a job of Hadoop 0.18 to 1.x, which ran without an
	// ApplicationMaster.
	JobTracker bool

	// HostRacks gives the racks of hosts that the caller knows from other files,
	// and those of the hosts of splits in text. A .jhist file has only the racks
	// of hosts on which an attempt ended.
	HostRacks map[traces.Node]string

	// AMHosts are the hosts of the job's ApplicationMasters, in the order of
	// their attempts. There is more than one if an ApplicationMaster failed.
	AMHosts []string
	Tasks   []*Task // tasks in the order in which the file first names them

	// Counters are the job's counters. They are all -1 for a job that failed,
	// since Hadoop writes no counters then.
	Counters traces.Counters
	// Numbers of attempts that the ApplicationMaster counted: maps by locality,
	// launched maps, launched reduces; -1 means that the file has no counters.
	DataLocalMaps, RackLocalMaps, OtherLocalMaps, LaunchedMaps, LaunchedReduces int64
}

// Task is a map or a reduce of the job. In files of Hadoop 0.23 it may also be a
// set-up or clean-up task.
type Task struct {
	ID         string // Hadoop's id of the task, task_…
	Type       string // kind of the task: MAP, REDUCE, JOB_SETUP, JOB_CLEANUP
	SplitHosts []string
	StartMs    int64 // time from which the task waited for a container
	FinishMs   int64
	Status     string     // outcome of the task as Hadoop writes it; empty if the task did not end
	Winner     string     // id of the attempt that succeeded
	Attempts   []*Attempt // attempts in the order in which the file first names them
}

// Attempt is an attempt of a task in a history file.
type Attempt struct {
	ID        string // Hadoop's id of the attempt, attempt_…
	Container string
	Host      string // host of the attempt's container; empty if the attempt never got one
	Rack      string
	StartMs   int64 // launch time; 0 if the attempt was never launched
	FinishMs  int64
	// Times, in ms since 1970, at which phases of the attempt ended. A map has
	// MapFinishMs; a reduce has ShuffleFinishMs and SortFinishMs.
	MapFinishMs     int64
	ShuffleFinishMs int64
	SortFinishMs    int64
	Status          string // outcome of the attempt: SUCCEEDED, FAILED or KILLED; empty if it did not end
	Error           string
	// Locality compares the container's host with the hosts of the split:
	// NODE_LOCAL, RACK_LOCAL or OFF_SWITCH. Hadoop's counters count some attempts
	// under another locality; the method Job.Level says under which.
	Locality string
	Avataar  string // Hadoop's word for the type of attempt: SPECULATIVE for a speculative attempt, VIRGIN for any other
	Counters traces.Counters
}

// Rename gives each host the name that one returns for it.
func (j *Job) Rename(one func(host string) string) {
	rename := func(list []string) {
		for i := range list {
			list[i] = one(list[i])
		}
	}
	rename(j.AMHosts)
	racks := j.HostRacks
	j.HostRacks = map[traces.Node]string{}
	for host, rack := range racks {
		j.HostRacks[traces.Node(one(string(host)))] = rack
	}
	for _, t := range j.Tasks {
		rename(t.SplitHosts)
		for _, a := range t.Attempts {
			a.Host = one(a.Host)
		}
	}
}

// Racks returns the racks of all hosts in HostRacks and of the hosts of attempts
// that have a rack in the file.
func (j *Job) Racks() map[string]string {
	racks := map[string]string{}
	for host, rack := range j.HostRacks {
		racks[string(host)] = rack
	}
	own := map[string]bool{}
	for _, t := range j.Tasks {
		for _, a := range t.Attempts {
			if a.Host != "" && a.Rack != "" && !own[a.Host] { // the first rack of a host in two counts
				own[a.Host], racks[a.Host] = true, a.Rack
			}
		}
	}
	return racks
}

// Level returns the split locality under which Hadoop counts a map's attempt:
// node in DATA_LOCAL_MAPS, rack in RACK_LOCAL_MAPS, off in OTHER_LOCAL_MAPS.
// racks is the result of Job.Racks. The level is unknown for reduces, for files
// without localities, and if it depends on a rack that is not known.
//
// The ApplicationMaster counts an attempt when it assigns a container to it. For
// a re-run after a failed attempt or a lost node, it requests a container
// without naming hosts, and counts the attempt as off on any node, although the
// file may say NODE_LOCAL. It also counts all maps of an uberized job as off. A
// JobTracker counts each attempt by its host.
func (j *Job) Level(t *Task, a *Attempt, racks map[string]string) traces.Level {
	switch {
	case t.Type != "MAP" || a.Host == "":
		return traces.LevelUnknown
	case j.Uberized, !j.JobTracker && t.rerun(a):
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
	if a.StartMs != 0 && !j.JobTracker {
		return traces.LevelUnknown // job history files of Hadoop 0.23 do not have the locality of attempts
	}
	// The file has no locality for an attempt that was never launched, or before
	// Hadoop 1.2, so the locality is computed from hosts and racks.
	return format.SplitLevel(a.Host, t.SplitHosts, func(host string) string { return host }, func(host string) string {
		if host == a.Host {
			return cmp.Or(a.Rack, racks[host])
		}
		return racks[host]
	})
}

// nodeLost is the beginning of the error message of an attempt whose node was
// lost.
const nodeLost = traces.KilledWithNode

// rerun reports whether an earlier attempt of the task had failed, or was lost
// with its node, when the container for the attempt a was requested.
func (t *Task) rerun(a *Attempt) bool {
	for _, b := range t.Attempts {
		if b == a {
			return false
		}
		again := b.Status == "FAILED" || b.Status == "KILLED" && strings.HasPrefix(b.Error, nodeLost)
		// If a is a speculative attempt, its container may have been requested
		// before the earlier attempt b failed.
		if again && (a.StartMs == 0 || b.FinishMs <= a.StartMs) {
			return true
		}
	}
	return false
}
