package swim

import (
	"fmt"

	"heddle/traces"
	"heddle/traces/internal/invent"
)

// Rules make up what a list does not have. Whatever is drawn is drawn by name
// (seed, quantity, job, task): two programs with the same rules, or one with
// its jobs in another order, make up the same.
type Rules struct {
	Seed uint64
	// A job has a map for each started BlockBytes of its input, and one at least.
	BlockBytes int64
	// A job that shuffles has a reduce for each started BytesPerReduce of its
	// shuffle, MaxReduces at most.
	BytesPerReduce int64
	MaxReduces     int
	// A task takes StartMs, and its bytes' time at these rates in bytes a
	// second: a map for its input, a reduce for its shuffle and for its output.
	StartMs                          int64
	MapRate, ShuffleRate, OutputRate int64
	// SpreadPercent makes tasks differ: each one's time is drawn evenly from
	// that much below the rule to that much above it.
	SpreadPercent int
}

// DefaultRules are guesses, fitted to nothing: blocks of HDFS's usual size, one
// reduce a GiB and 999 at most (Hive's settings at the time of the Facebook
// lists), and rates of a disk shared by several tasks.
var DefaultRules = Rules{
	Seed: 1, BlockBytes: 128 << 20, BytesPerReduce: 1 << 30, MaxReduces: 999,
	StartMs: 2000, MapRate: 10e6, ShuffleRate: 20e6, OutputRate: 20e6, SpreadPercent: 25,
}

// maxTasks bounds a job's maps, and so memory.
const maxTasks = 1 << 20

// maxMs bounds a task's time: ten years.
const maxMs = 10 * 365 * 24 * 3600 * 1000

// Validate says what is wrong with the rules.
func (r Rules) Validate() error {
	for _, v := range []struct {
		name       string
		value, max int64
	}{
		{"block size", r.BlockBytes, 1 << 50},
		{"bytes a reduce", r.BytesPerReduce, 1 << 50},
		{"most reduces", int64(r.MaxReduces), maxTasks},
		{"map rate", r.MapRate, 1 << 50},
		{"shuffle rate", r.ShuffleRate, 1 << 50},
		{"output rate", r.OutputRate, 1 << 50},
	} {
		if v.value < 1 || v.value > v.max {
			return fmt.Errorf("rules for lists of jobs: %s is %d, want 1 to %d", v.name, v.value, v.max)
		}
	}
	if r.StartMs < 0 || r.StartMs > maxMs {
		return fmt.Errorf("rules for lists of jobs: start time is %d ms, want 0 to %d", r.StartMs, maxMs)
	}
	if r.SpreadPercent < 0 || r.SpreadPercent > 100 {
		return fmt.Errorf("rules for lists of jobs: spread is %d %%, want 0 to 100", r.SpreadPercent)
	}
	return nil
}

// Maps is a job's number of maps.
func (r Rules) Maps(j Job) int64 { return max(1, ceil(j.InputBytes, r.BlockBytes)) }

// Reduces is a job's number of reduces.
func (r Rules) Reduces(j Job) int64 {
	return min(ceil(j.ShuffleBytes, r.BytesPerReduce), int64(r.MaxReduces))
}

func ceil(bytes, by int64) int64 {
	n := bytes / by
	if bytes%by > 0 {
		n++
	}
	return n
}

// SplitBytes is what map i reads: a block, the last one the rest.
func (r Rules) SplitBytes(j Job, i int64) int64 {
	return min(r.BlockBytes, j.InputBytes-i*r.BlockBytes)
}

var (
	mapTime    = invent.Named("map time")
	reduceTime = invent.Named("reduce time")
)

// MapMs is how long map i takes. Pass the job's traces.HashName as key.
func (r Rules) MapMs(j Job, key uint64, i int64) int64 {
	return r.spread(r.StartMs+millis(r.SplitBytes(j, i), r.MapRate), mapTime.Of(r.Seed, key, uint64(i)))
}

// ReduceMs is how long reduce i takes, its shuffle included. Pass the job's
// traces.HashName as key.
func (r Rules) ReduceMs(j Job, key uint64, i int64) int64 {
	n := r.Reduces(j)
	ms := r.StartMs + millis(share(j.ShuffleBytes, n, i), r.ShuffleRate) + millis(share(j.OutputBytes, n, i), r.OutputRate)
	return r.spread(ms, reduceTime.Of(r.Seed, key, uint64(i)))
}

// Key is what a job's draws are named by.
func (j Job) Key() uint64 { return traces.HashName(j.ID) }

// share is part i of n even parts of bytes; the first take what is over.
func share(bytes, n, i int64) int64 {
	s := bytes / n
	if i < bytes%n {
		s++
	}
	return s
}

// millis is the time that bytes take, without floats, which round otherwise on
// other machines.
func millis(bytes, rate int64) int64 {
	whole, rest := bytes/rate, bytes%rate
	if whole >= maxMs/1000 {
		return maxMs
	}
	if rest < 1<<53 {
		return whole*1000 + rest*1000/rate
	}
	return whole * 1000
}

// spread moves ms by up to SpreadPercent, to at least 1.
func (r Rules) spread(ms int64, bits uint64) int64 {
	ms = min(max(ms, 1), maxMs)
	per10000 := 10000 + int64(r.SpreadPercent)*(int64(bits>>44)-1<<19)*100/(1<<19)
	return max(ms*per10000/10000, 1)
}
