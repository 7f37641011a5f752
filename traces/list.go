package traces

import (
	"fmt"
	"math"
)

// JobListed is a job of a list: what it reads and writes, and when it comes. Its
// tasks are what the header's ListRules say.
type JobListed struct {
	T   Time  `json:"t"`
	Job JobID `json:"job" range:"some"`
	// Name is the job's in the list, where two may have the same.
	Name   string `json:"name"`
	GapSec int64  `json:"gapSec"` // since the job before, as the list has it
	// InputBytes is what maps read, ShuffleBytes what goes to reduces (0 for jobs
	// without reduces), OutputBytes what the job writes.
	InputBytes   int64 `json:"inputBytes"`
	ShuffleBytes int64 `json:"shuffleBytes"`
	OutputBytes  int64 `json:"outputBytes"`
	// Path is the input's; jobs of the same read the same blocks. Empty: its own.
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

// ListRules make up what a list of jobs does not have.
type ListRules struct {
	// A job has a map for each started BlockBytes of its input, and one at least;
	// each block has Replication copies.
	BlockBytes  int64 `json:"blockBytes"`
	Replication int   `json:"replication"`
	// A job that shuffles has a reduce for each started BytesPerReduce of its
	// shuffle, MaxReduces at most.
	BytesPerReduce int64 `json:"bytesPerReduce"`
	MaxReduces     int   `json:"maxReduces"`
	// A task takes StartMs, and its bytes' time at these rates: a map for its
	// input, a reduce for its shuffle and for its output.
	StartMs     int64 `json:"taskStartMs"`
	MapRate     int64 `json:"mapBytesPerSec"`
	ShuffleRate int64 `json:"shuffleBytesPerSec"`
	OutputRate  int64 `json:"outputBytesPerSec"`
	// SpreadPercent makes tasks differ: each one's time is drawn evenly from that
	// much below the rule to that much above it.
	SpreadPercent int `json:"spreadPercent"`
}

// DefaultListRules are guesses, fitted to nothing: blocks of HDFS's usual size in
// three copies, one reduce a GiB and 999 at most (Hive's settings at the time of
// the lists that Facebook published), and rates of a disk shared by several tasks.
var DefaultListRules = ListRules{
	BlockBytes: 128 << 20, Replication: 3, BytesPerReduce: 1 << 30, MaxReduces: 999,
	StartMs: 2000, MapRate: 10e6, ShuffleRate: 20e6, OutputRate: 20e6, SpreadPercent: 25,
}

const (
	maxListedTasks = 1 << 20 // of a job and kind
	maxListedBytes = 1 << 60
	maxListedMs    = 10 * 365 * 24 * 3600 * 1000 // ten years
)

// Validate says what is wrong with the rules.
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

// Check says whether the rules can make the tasks of a job.
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

// LastSplitBytes is what the last map reads, of maps of which the others read a
// block.
func (r *ListRules) LastSplitBytes(j *JobListed) int64 {
	return j.InputBytes - (r.Maps(j)-1)*r.BlockBytes
}

// started is how many pieces of a size bytes begin.
func started(bytes, size int64) int64 {
	n := bytes / size
	if bytes%size > 0 {
		n++
	}
	return n
}

// MapMs is how long a map of so much input takes before the spread.
func (r *ListRules) MapMs(input int64) int32 { return taskMs(r.StartMs, millis(input, r.MapRate)) }

// ReduceMs is how long a reduce takes before the spread.
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

// millis is the time that bytes take, without floats, which round otherwise on
// other machines.
func millis(bytes, rate int64) int64 {
	whole, rest := bytes/rate, bytes%rate
	return min(whole, maxListedMs/1000)*1000 + rest*1000/rate
}
