// Package traces defines the parts of a trace: ids, times, the Header, and the
// events that happened on a real or simulated cluster (type Event).
//
// The events are ordered by time. Package tracefile reads and writes trace
// files, and FORMAT.md describes their bytes. This package also computes two
// digests: two runs with equal digests had the same events or the same schedule.
//
// How the fields of events are stored, hashed and checked is read from the structs and
// their tags once (fields.go), so an event has no code of its own for that.
package traces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Time is the number of nanoseconds since the run's start (Header.StartUnixNs).
type Time int64

// Milliseconds returns the time t in whole milliseconds, rounded down.
func (t Time) Milliseconds() int64 { return int64(t) / 1e6 }

// JobID is the job's name as the cluster prints it, "job_1795236380513_0001".
type JobID string

// Node is the host name of a node. The node's NodeManager and DataNode and the
// hosts of map splits have the same name.
type Node string

// Block is the id of an HDFS block, without the generation stamp. In a trace
// whose blocks were made up, it is any number that no other block has.
type Block uint64

// TaskKind is the kind of a task: Map or Reduce.
type TaskKind uint8

// The two kinds of task in a MapReduce job.
const (
	Map TaskKind = iota
	Reduce
)

// Letter is the letter of the task kind in Hadoop's ids: "m" or "r".
func (k TaskKind) Letter() string {
	if k == Reduce {
		return "r"
	}
	return "m"
}

var taskKindNames = []string{"map", "reduce"}

func (k TaskKind) String() string { return nameOf(taskKindNames, k, "task") }

// Valid reports whether k is Map or Reduce.
func (k TaskKind) Valid() bool { return k <= Reduce }

// MarshalText writes the name of the task kind: "map" or "reduce".
func (k TaskKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText sets the task kind from the text that MarshalText writes.
func (k *TaskKind) UnmarshalText(text []byte) error {
	return numberOf(taskKindNames, text, "task", k)
}

// Task identifies a map or a reduce of a job. Index counts the job's maps, or
// its reduces, from 0. A map's index is the position of its split in
// job.splitmetainfo.
type Task struct {
	Job   JobID    `json:"job" range:"some"`
	Kind  TaskKind `json:"kind"`
	Index int32    `json:"index" range:"tasks"`
}

// String is Hadoop's id of the task, "task_1795236380513_0001_m_000003".
func (t Task) String() string { return "task_" + t.suffix() }

func (t Task) suffix() string {
	return fmt.Sprintf("%s_%s_%06d", strings.TrimPrefix(string(t.Job), "job_"), t.Kind.Letter(), t.Index)
}

// Attempt identifies an attempt to run a task. Number is the attempt number in
// Hadoop's id: it counts from 0, or from 1000 if a second ApplicationMaster
// started the attempt.
type Attempt struct {
	Task
	Number int32 `json:"number" range:"tasks"`
}

// String is Hadoop's id of the attempt, "attempt_1795236380513_0001_m_000003_0".
func (a Attempt) String() string { return "attempt_" + a.suffix() + "_" + strconv.Itoa(int(a.Number)) }

// ParseTask reads Hadoop's id of a task, "task_1795236380513_0001_m_000003".
func ParseTask(id string) (Task, error) {
	rest, ok := strings.CutPrefix(id, "task_")
	parts := strings.Split(rest, "_")
	if !ok || len(parts) != 4 {
		return Task{}, fmt.Errorf("parse task id %q: want task_TIMESTAMP_JOB_m|r_INDEX", id)
	}
	return parseTask("task id", id, parts)
}

// ParseAttempt reads Hadoop's id of an attempt,
// "attempt_1795236380513_0001_m_000003_0".
func ParseAttempt(id string) (Attempt, error) {
	rest, ok := strings.CutPrefix(id, "attempt_")
	parts := strings.Split(rest, "_")
	if !ok || len(parts) != 5 {
		return Attempt{}, fmt.Errorf("parse attempt id %q: want attempt_TIMESTAMP_JOB_m|r_INDEX_NUMBER", id)
	}
	task, err := parseTask("attempt id", id, parts[:4])
	if err != nil {
		return Attempt{}, err
	}
	number, err := strconv.ParseInt(parts[4], 10, 32)
	if err != nil || number < 0 {
		return Attempt{}, fmt.Errorf("parse attempt id %q: bad attempt number %q", id, parts[4])
	}
	return Attempt{Task: task, Number: int32(number)}, nil
}

// parseTask reads a task from the parts of Hadoop's id: timestamp, job number,
// "m" or "r", and index.
func parseTask(what, id string, parts []string) (Task, error) {
	t := Task{Job: JobID("job_" + parts[0] + "_" + parts[1])}
	switch parts[2] {
	case "m":
		t.Kind = Map
	case "r":
		t.Kind = Reduce
	default:
		return Task{}, fmt.Errorf("parse %s %q: task type %q is neither m nor r", what, id, parts[2])
	}
	index, err := strconv.ParseInt(parts[3], 10, 32)
	if err != nil || index < 0 {
		return Task{}, fmt.Errorf("parse %s %q: bad task number %q", what, id, parts[3])
	}
	t.Index = int32(index)
	return t, nil
}

// Level is a level of locality: whether an attempt's input was in the node's
// HDFS cache, on the same node, in the same rack, or further away.
type Level uint8

// Levels of locality, from near to far. Split locality compares hosts only, so
// it is never LevelCache.
const (
	LevelUnknown Level = iota
	LevelCache
	LevelNode
	LevelRack
	LevelOff
)

var levelNames = []string{"unknown", "cache", "node", "rack", "off"}

func (l Level) String() string { return nameOf(levelNames, l, "level") }

// Valid reports whether l is one of the known locality levels.
func (l Level) Valid() bool { return int(l) < len(levelNames) }

// MarshalText writes the name of the locality level, such as "node".
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText sets the locality level from the text that MarshalText writes.
func (l *Level) UnmarshalText(text []byte) error {
	return numberOf(levelNames, text, "level", l)
}

// Room says whether a node could take a container.
type Room uint8

// Whether a node could take a container of a job.
const (
	RoomFree  Room = iota // the node had room for it
	RoomFull              // its memory or cores were taken
	RoomDown              // it was lost or removed
	RoomSlots             // its slots for such tasks were taken, and its memory and cores were not
)

var roomNames = []string{"free", "full", "down", "slots"}

func (r Room) String() string { return nameOf(roomNames, r, "room") }

// MarshalText writes the name of the room, such as "full".
func (r Room) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText sets the room from the text that MarshalText writes.
func (r *Room) UnmarshalText(text []byte) error {
	return numberOf(roomNames, text, "room", r)
}

// PassedWhy is why a scheduler model passed over a job.
type PassedWhy uint8

// Why a model passed over a job.
const (
	PassedModel  PassedWhy = iota // the model says no more
	PassedNoRoom                  // the node could not hold a container of the job
	PassedWaits                   // the job waits for a node nearer to its input
)

var passedNames = []string{"model", "noRoom", "waits"}

func (p PassedWhy) String() string { return nameOf(passedNames, p, "why") }

// MarshalText writes the name of the reason, such as "waits".
func (p PassedWhy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText sets the reason from the text that MarshalText writes.
func (p *PassedWhy) UnmarshalText(text []byte) error {
	return numberOf(passedNames, text, "why", p)
}

// WaitUnit is the unit in which a scheduler model counts how long a job has waited for nodes
// near its input.
type WaitUnit uint8

// Units of waits.
const (
	WaitNone   WaitUnit = iota // the model counts nothing
	WaitSkips                  // how often the job was passed over
	WaitMs                     // milliseconds
	WaitOffers                 // nodes that were offered to the job
)

var waitNames = []string{"none", "skips", "ms", "offers"}

func (u WaitUnit) String() string { return nameOf(waitNames, u, "unit") }

// MarshalText writes the name of the unit, such as "skips".
func (u WaitUnit) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText sets the unit from the text that MarshalText writes.
func (u *WaitUnit) UnmarshalText(text []byte) error {
	return numberOf(waitNames, text, "unit", u)
}

// Outcome is how a job, task or attempt ended.
type Outcome uint8

// Outcomes of jobs, tasks and attempts. Unfinished means that the trace does not
// say how the job, task or attempt ended.
const (
	Unfinished Outcome = iota
	Succeeded
	Failed
	Killed
)

var outcomeNames = []string{"unfinished", "succeeded", "failed", "killed"}

func (o Outcome) String() string { return nameOf(outcomeNames, o, "outcome") }

// Valid reports whether o is one of the known outcomes.
func (o Outcome) Valid() bool { return int(o) < len(outcomeNames) }

// MarshalText writes the name of the outcome, such as "succeeded".
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText sets the outcome from the text that MarshalText writes.
func (o *Outcome) UnmarshalText(text []byte) error {
	return numberOf(outcomeNames, text, "outcome", o)
}

// nameOf returns the name at position n of a list of names. If the list is too
// short, it returns a text such as "level(7)", made of the parameter what and
// the position.
func nameOf[N ~uint8](names []string, n N, what string) string {
	if int(n) < len(names) && names[n] != "" {
		return names[n]
	}
	return what + "(" + strconv.Itoa(int(n)) + ")"
}

// numberOf is the reverse of nameOf: it sets n to the position of a name in a
// list of names.
func numberOf[N ~uint8](names []string, text []byte, what string, n *N) error {
	if i := slices.Index(names, string(text)); i >= 0 && len(text) > 0 {
		*n = N(i)
		return nil
	}
	if digits, ok := strings.CutPrefix(string(text), what+"("); ok {
		v, err := strconv.ParseUint(strings.TrimSuffix(digits, ")"), 10, 8)
		if err == nil {
			*n = N(v)
			return nil
		}
	}
	return fmt.Errorf("read %s: %q is not one of %s", what, text, strings.Join(names, " "))
}
