package traces

import (
	"fmt"
	"math"
)

// JobListed is a job in a list of jobs: what it reads and writes, and when it is
// submitted. It has no tasks; the header's ListRules say which ones it gets.
type JobListed struct {
	T   Time  `json:"t"`
	Job JobID `json:"job" range:"some"`
	// Name is the job's name in the list. Two jobs may have the same name.
	Name   string `json:"name"`
	GapSec int64  `json:"gapSec"` // since the job before, as the list has it
	// InputBytes is what the maps read, ShuffleBytes what the reduces fetch (0 for
	// a job without reduces), OutputBytes what the job writes.
	InputBytes   int64 `json:"inputBytes"`
	ShuffleBytes int64 `json:"shuffleBytes"`
	OutputBytes  int64 `json:"outputBytes"`
	// Path is the path of the input. Jobs with the same path read the same blocks;
	// a job without a path has blocks of its own.
	Path string `json:"path,omitempty"`
}

// Fields implements Event.
func (e *JobListed) Fields(v Visitor) {
	v.When(&e.T)
	v.Name((*string)(&e.Job))
	v.Text(&e.Name)
	v.Int64(&e.GapSec)
	v.Int64(&e.InputBytes)
	v.Int64(&e.ShuffleBytes)
	v.Int64(&e.OutputBytes)
	v.Name(&e.Path)
}

// ListRules say which tasks the jobs of a list get, and how long they take.
type ListRules struct {
	// BlockBytes is the size of a block. A job has one map for each block of its
	// input, the last of which may be smaller, and at least one map. A block has
	// Replication replicas.
	BlockBytes  int64 `json:"blockBytes"`
	Replication int   `json:"replication"`
	// BytesPerReduce is the shuffle that one reduce fetches. A job has as many
	// reduces as its shuffle needs, but not more than MaxReduces.
	BytesPerReduce int64 `json:"bytesPerReduce"`
	MaxReduces     int   `json:"maxReduces"`
	// A task takes StartMs plus the time that its bytes take at these rates: the
	// input of a map, the shuffle and the output of a reduce.
	StartMs     int64 `json:"taskStartMs"`
	MapRate     int64 `json:"mapBytesPerSec"`
	ShuffleRate int64 `json:"shuffleBytesPerSec"`
	OutputRate  int64 `json:"outputBytesPerSec"`
	// SpreadPercent makes the times of tasks differ: each is drawn evenly between
	// so many percent less and so many percent more.
	SpreadPercent int `json:"spreadPercent"`
}

// DefaultListRules are guesses: HDFS's default block size and replication, one
// reduce per GiB but at most 999 (Hive's settings when Facebook published its
// lists), and the rate of a disk that several tasks share.
var DefaultListRules = ListRules{
	BlockBytes: 128 << 20, Replication: 3, BytesPerReduce: 1 << 30, MaxReduces: 999,
	StartMs: 2000, MapRate: 10e6, ShuffleRate: 20e6, OutputRate: 20e6, SpreadPercent: 25,
}

const (
	maxListedTasks = 1 << 20 // of a job and kind
	maxListedBytes = 1 << 60
	maxListedMs    = 10 * 365 * 24 * 3600 * 1000 // ten years
)

// Validate returns an error if a rule is out of its range.
func (r *ListRules) Validate() error {
	for _, v := range []struct {
		name             string
		value, min, most int64
	}{
		{"block size", r.BlockBytes, 1, 1 << 50},
		{"replication", int64(r.Replication), 1, 512},
		{"bytes a reduce", r.BytesPerReduce, 1, 1 << 50},
		{"most reduces", int64(r.MaxReduces), 1, maxListedTasks},
		{"start time in ms", r.StartMs, 0, maxListedMs},
		{"map rate", r.MapRate, 1, 1 << 50},
		{"shuffle rate", r.ShuffleRate, 1, 1 << 50},
		{"output rate", r.OutputRate, 1, 1 << 50},
		{"spread in percent", int64(r.SpreadPercent), 0, 100},
	} {
		if v.value < v.min || v.value > v.most {
			return fmt.Errorf("rules for lists of jobs: %s is %d, want %d to %d", v.name, v.value, v.min, v.most)
		}
	}
	return nil
}

// Check returns an error if a job is out of range or would have too many maps.
func (r *ListRules) Check(j *JobListed) error {
	for _, bytes := range []int64{j.InputBytes, j.ShuffleBytes, j.OutputBytes} {
		if bytes < 0 || bytes > maxListedBytes {
			return fmt.Errorf("%d bytes, want 0 to 2^60", bytes)
		}
	}
	if n := r.Maps(j); n > maxListedTasks {
		return fmt.Errorf("%d maps are over the limit of %d a job; larger blocks make fewer", n, maxListedTasks)
	}
	if ms := int64(j.T) / 1e6; ms < 0 || ms > maxListedMs {
		return fmt.Errorf("submitted %d s after the start, want 0 s to ten years", ms/1000)
	}
	return nil
}

// Maps is a job's number of maps.
func (r *ListRules) Maps(j *JobListed) int64 { return max(1, started(j.InputBytes, r.BlockBytes)) }

// Reduces is a job's number of reduces.
func (r *ListRules) Reduces(j *JobListed) int64 {
	return min(started(j.ShuffleBytes, r.BytesPerReduce), int64(r.MaxReduces))
}

// LastSplitBytes is the input of the last map. All other maps read a whole
// block.
func (r *ListRules) LastSplitBytes(j *JobListed) int64 {
	return j.InputBytes - (r.Maps(j)-1)*r.BlockBytes
}

// started divides bytes by size and rounds up.
func started(bytes, size int64) int64 {
	n := bytes / size
	if bytes%size > 0 {
		n++
	}
	return n
}

// MapMs is the time that a map with so much input takes, without the spread.
func (r *ListRules) MapMs(input int64) int32 { return taskMs(r.StartMs, millis(input, r.MapRate)) }

// ReduceMs is the time that a reduce takes, without the spread.
func (r *ListRules) ReduceMs(shuffle, output int64) int32 {
	return taskMs(r.StartMs, millis(shuffle, r.ShuffleRate), millis(output, r.OutputRate))
}

func taskMs(parts ...int64) int32 {
	sum := int64(0)
	for _, ms := range parts {
		sum += ms
	}
	return int32(min(max(1, sum), math.MaxInt32/2))
}

// millis is the time that bytes take at a rate. It uses no floats, since their
// rounding differs between machines.
func millis(bytes, rate int64) int64 {
	whole, rest := bytes/rate, bytes%rate
	return min(whole, maxListedMs/1000)*1000 + rest*1000/rate
}
