package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// Counters says what the processor did for each task of a benchmark, in the
// program itself and without the kernel's work for it.
type Counters struct {
	Cycles       float64 `json:"cyclesPerTask"`
	Instructions float64 `json:"instructionsPerTask"`
	CacheMisses  float64 `json:"cacheMissesPerTask"` // reads that the last level of cache did not have
}

// event is what a counter counts. The kernel has numbers for these events that are the
// same for every processor.
type event uint64

const (
	cycles event = iota
	instructions
	_ // references of the cache
	cacheMisses
)

// counted is the order in which a counting keeps its events.
var counted = [...]event{cycles, instructions, cacheMisses}

// counting is a set of counters that run: one of each event for each thread that
// this process had when they began. A thread that begins later is counted by the
// counter of the thread that made it.
type counting [len(counted)][]*os.File

// startCounting begins to count. The parameter open makes the kernel count one
// event of one thread. Counting is an extra: where the kernel refuses it, the
// error says so, and nothing counts.
func startCounting(threads []int, open func(event, int) (*os.File, error)) (counting, error) {
	var c counting
	for i, e := range counted {
		for _, thread := range threads {
			f, err := open(e, thread)
			if err != nil {
				c.end()
				return counting{}, fmt.Errorf("count cycles, instructions and cache misses: %w", err)
			}
			c[i] = append(c[i], f)
		}
	}
	return c, nil
}

func (c *counting) end() {
	for _, files := range c {
		for _, f := range files {
			f.Close()
		}
	}
}

// sums returns how often each event happened until now.
func (c *counting) sums() (sums [len(counted)]float64, err error) {
	for i, files := range c {
		for _, f := range files {
			// The kernel takes counters in turn if the processor has fewer than are
			// asked for. A counter then says for how long it was wanted and for how
			// long it ran, in ns.
			var now struct{ Count, WantedNs, RanNs uint64 }
			if err := binary.Read(f, binary.NativeEndian, &now); err != nil {
				return sums, fmt.Errorf("read the processor's counters: %w", err)
			}
			if now.RanNs > 0 {
				sums[i] += float64(now.Count) * float64(now.WantedNs) / float64(now.RanNs)
			}
		}
	}
	if sums[0] == 0 {
		return sums, errors.New("read the processor's counters: they stood still")
	}
	return sums, nil
}

func perTask(sums [len(counted)]float64, tasks int64) *Counters {
	n := float64(max(1, tasks))
	return &Counters{Cycles: sums[0] / n, Instructions: sums[1] / n, CacheMisses: sums[2] / n}
}
