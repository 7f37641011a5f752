package traces

import (
	"fmt"
	"math"
)

// JobListed is a job in a list of jobs: when it is submitted, and how many bytes
// it reads and writes. The list has no tasks; the header's ListRules say which
// tasks a replay makes for the job.
type JobListed struct {
	T   Time  `json:"t"`
	Job JobID `json:"job" range:"some"`
	// Name is the job's name in the list. Two jobs may have the same name.
	Name   string `json:"name" file:"text"`
	GapSec int64  `json:"gapSec"` // time, in seconds, between the submissions of the previous job and of this job, as the list says
	// InputBytes is the number of bytes that the maps read, ShuffleBytes the
	// number that the reduces fetch (0 for a job without reduces), and
	// OutputBytes the number that the job writes.
	InputBytes   int64 `json:"inputBytes"`
	ShuffleBytes int64 `json:"shuffleBytes"`
	OutputBytes  int64 `json:"outputBytes"`
	// Path is the path of the input. Jobs with the same path read the same
	// blocks. A job without a path reads blocks that no other job reads.
	Path  string `json:"path,omitempty"`
	Terms `file:"later"`
	User  string `json:"user,omitempty" file:"later"`
	Queue string `json:"queue,omitempty" file:"later"`
}

// ListRules say how many tasks a job of a list gets, and how long they take.
type ListRules struct {
	// BlockBytes is the size of an HDFS block, and Replication the number of its
	// replicas. A job has one map for each block of its input, and at least one
	// map. The last block may be smaller.
	BlockBytes  int64 `json:"blockBytes" flag:"block-size" unit:"bytes" text:"lists of jobs: a map for each block of the input"`
	Replication int   `json:"replication"`
	// BytesPerReduce is the number of shuffle bytes that one reduce fetches. The
	// shuffle bytes of a job give its number of reduces, at most MaxReduces.
	BytesPerReduce int64 `json:"bytesPerReduce" flag:"reduce-size" key:"set" unit:"bytes" text:"lists of jobs: a reduce for so much of the shuffle (a guess)"`
	MaxReduces     int64 `json:"maxReduces" flag:"max-reduces" key:"set" text:"lists of jobs: reduces a job at most (a guess)"`
	// Durations of tasks; the rates are in bytes per second. A map takes StartMs
	// milliseconds, plus its input bytes divided by MapRate. A reduce takes
	// StartMs milliseconds, plus its shuffle bytes divided by ShuffleRate, plus
	// its output bytes divided by OutputRate.
	StartMs     int64 `json:"taskStartMs" flag:"task-start" key:"set" unit:"ms" text:"lists of jobs: time a task takes besides its bytes (a guess)"`
	MapRate     int64 `json:"mapBytesPerSec" flag:"map-rate" key:"set" unit:"rate" text:"lists of jobs: input a map reads and maps (a guess)"`
	ShuffleRate int64 `json:"shuffleBytesPerSec" flag:"shuffle-rate" key:"set" unit:"rate" text:"lists of jobs: what a reduce fetches (a guess)"`
	OutputRate  int64 `json:"outputBytesPerSec" flag:"output-rate" key:"set" unit:"rate" text:"lists of jobs: what a reduce writes (a guess)"`
	// SpreadPercent makes the durations of tasks differ: each is multiplied by a
	// random factor between 1 - SpreadPercent/100 and 1 + SpreadPercent/100.
	SpreadPercent int64 `json:"spreadPercent" flag:"spread" key:"set" text:"lists of jobs: tasks take up to so many percent more or less (a guess)"`
}

// DefaultListRules has HDFS's default block size and replication. The other
// values are guesses: one reduce per GiB of shuffle but at most 999, as in Hive
// when Facebook published its lists of jobs, and the rates of a disk that
// several tasks share.
var DefaultListRules = ListRules{
	BlockBytes: 128 << 20, Replication: 3, BytesPerReduce: 1 << 30, MaxReduces: 999,
	StartMs: 2000, MapRate: 10e6, ShuffleRate: 20e6, OutputRate: 20e6, SpreadPercent: 25,
}

const (
	maxListedTasks = 1 << 20 // greatest number of maps, or of reduces, of one job
	maxListedBytes = 1 << 60
	maxListedMs    = 10 * 365 * 24 * 3600 * 1000 // longest time in a list of jobs: ten years in milliseconds
)

// Validate returns an error if a value of the rules, such as the block size, is
// out of its range.
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

// Check returns an error if a number of the job is out of its range, or if the
// job would have too many maps.
func (r *ListRules) Check(j *JobListed) error {
	for _, bytes := range []int64{j.InputBytes, j.ShuffleBytes, j.OutputBytes} {
		if bytes < 0 || bytes > maxListedBytes {
			return fmt.Errorf("%d bytes, want 0 to 2^60", bytes)
		}
	}
	if n := r.Maps(j); n > maxListedTasks {
		return fmt.Errorf("%d maps are over the limit of %d a job, with blocks of %d bytes", n, maxListedTasks, r.BlockBytes)
	}
	if ms := int64(j.T) / 1e6; ms < 0 || ms > maxListedMs {
		return fmt.Errorf("submitted %d s after the start, want 0 s to ten years", ms/1000)
	}
	return nil
}

// Maps returns the number of maps that a replay makes for the job.
func (r *ListRules) Maps(j *JobListed) int64 { return max(1, started(j.InputBytes, r.BlockBytes)) }

// Reduces returns the number of reduces that a replay makes for the job.
func (r *ListRules) Reduces(j *JobListed) int64 {
	return min(started(j.ShuffleBytes, r.BytesPerReduce), int64(r.MaxReduces))
}

// LastSplitBytes returns the number of input bytes of the job's last map. Each
// other map reads a whole block.
func (r *ListRules) LastSplitBytes(j *JobListed) int64 {
	return j.InputBytes - (r.Maps(j)-1)*r.BlockBytes
}

// started returns how many blocks of the given size are needed for so many
// bytes: bytes divided by size, rounded up.
func started(bytes, size int64) int64 {
	n := bytes / size
	if bytes%size > 0 {
		n++
	}
	return n
}

// MapMs returns the duration in ms of a map that reads input bytes, before the
// random spread is added.
func (r *ListRules) MapMs(input int64) int32 { return taskMs(r.StartMs, millis(input, r.MapRate)) }

// ReduceMs returns the duration in ms of a reduce that fetches and writes so
// many bytes, before the random spread is added.
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

// millis returns the time in ms for transferring bytes at a rate in bytes per
// second. It uses integers only, since the rounding of floats may differ between
// machines.
func millis(bytes, rate int64) int64 {
	whole, rest := bytes/rate, bytes%rate
	return min(whole, maxListedMs/1000)*1000 + rest*1000/rate
}
