// Package traces defines what a trace is: ids, times, a Header and the Events
// that happened on a cluster, whether it was real or simulated.
//
// The events are ordered by time. Package tracefile reads and writes them, and
// FORMAT.md describes the bytes of the file. This package also computes two
// digests, which tell whether two runs are the same. It knows neither Hadoop's
// protocols nor any scheduler.
//
// Each event lists its fields in one place, its method Fields. Encoders, decoders
// and digests are Visitors of that list.
package traces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Time is nanoseconds since the run's start (Header.StartUnixNs).
type Time int64

// Milliseconds is t in whole milliseconds, rounded down.
func (t Time) Milliseconds() int64 { return int64(t) / 1e6 }

// JobID is the job's name as the cluster prints it, "job_1795236380513_0001".
type JobID string

// Node is a node's host name. Hadoop uses the same one for the NodeManager, the
// DataNode and the hosts of splits.
type Node string

// Block is an HDFS block id, without the generation stamp. In traces that were
// made up it is any number that no other block has.
type Block uint64

// TaskKind is the kind of a task: Map or Reduce.
type TaskKind uint8

// Kinds of task.
const (
	Map TaskKind = iota
	Reduce
)

// Letter is the kind as Hadoop's ids write it, "m" or "r".
func (k TaskKind) Letter() string {
	if k == Reduce {
		return "r"
	}
	return "m"
}

var taskKindNames = []string{"map", "reduce"}

func (k TaskKind) String() string { return nameOf(taskKindNames, uint8(k), "task") }

// Valid reports whether the number is a kind.
func (k TaskKind) Valid() bool { return k <= Reduce }

// MarshalText writes the kind's name.
func (k TaskKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (k *TaskKind) UnmarshalText(text []byte) error {
	return numberOf(taskKindNames, string(text), "task", (*uint8)(k))
}

// Task is a map or reduce of a job. Index counts the job's tasks of that kind
// from 0; for a map it is the position of its split in job.splitmetainfo.
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

// Attempt is an attempt to run a task. Number is Hadoop's: it counts from 0, and
// from 1000 under a second ApplicationMaster.
type Attempt struct {
	Task
	Number int32 `json:"number" range:"tasks"`
}

// String is Hadoop's id of the attempt, "attempt_1795236380513_0001_m_000003_0".
func (a Attempt) String() string { return "attempt_" + a.suffix() + "_" + strconv.Itoa(int(a.Number)) }

// ParseTask reads Hadoop's id of a task.
func ParseTask(id string) (Task, error) {
	rest, ok := strings.CutPrefix(id, "task_")
	parts := strings.Split(rest, "_")
	if !ok || len(parts) != 4 {
		return Task{}, fmt.Errorf("parse task id %q: want task_TIMESTAMP_JOB_m|r_INDEX", id)
	}
	return parseTask("task id", id, parts)
}

// ParseAttempt reads Hadoop's id of an attempt.
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

// parseTask reads TIMESTAMP, JOB, LETTER, INDEX.
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

// Level is a level of locality: how near an attempt ran to its data.
type Level uint8

// Levels, from near to far. Split locality has no LevelCache.
const (
	LevelUnknown Level = iota
	LevelCache
	LevelNode
	LevelRack
	LevelOff
)

var levelNames = []string{"unknown", "cache", "node", "rack", "off"}

func (l Level) String() string { return nameOf(levelNames, uint8(l), "level") }

// Valid reports whether the number is a level.
func (l Level) Valid() bool { return int(l) < len(levelNames) }

// MarshalText writes the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (l *Level) UnmarshalText(text []byte) error {
	return numberOf(levelNames, string(text), "level", (*uint8)(l))
}

// Outcome is how a job, task or attempt ended.
type Outcome uint8

// Outcomes. Jobs, tasks and attempts without an end are Unfinished.
const (
	Unfinished Outcome = iota
	Succeeded
	Failed
	Killed
)

var outcomeNames = []string{"unfinished", "succeeded", "failed", "killed"}

func (o Outcome) String() string { return nameOf(outcomeNames, uint8(o), "outcome") }

// Valid reports whether the number is an outcome.
func (o Outcome) Valid() bool { return int(o) < len(outcomeNames) }

// MarshalText writes the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (o *Outcome) UnmarshalText(text []byte) error {
	return numberOf(outcomeNames, string(text), "outcome", (*uint8)(o))
}

// nameOf returns the name of a number, or "what(n)" if it has none.
func nameOf(names []string, n uint8, what string) string {
	if int(n) < len(names) && names[n] != "" {
		return names[n]
	}
	return what + "(" + strconv.Itoa(int(n)) + ")"
}

// numberOf reads what nameOf writes.
func numberOf(names []string, text, what string, n *uint8) error {
	if i := slices.Index(names, text); i >= 0 && text != "" {
		*n = uint8(i)
		return nil
	}
	if digits, ok := strings.CutPrefix(text, what+"("); ok {
		v, err := strconv.ParseUint(strings.TrimSuffix(digits, ")"), 10, 8)
		if err == nil {
			*n = uint8(v)
			return nil
		}
	}
	return fmt.Errorf("read %s: %q is not one of %s", what, text, strings.Join(names, " "))
}
