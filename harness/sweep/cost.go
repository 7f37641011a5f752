package sweep

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"heddle/harness/doc"
	"heddle/harness/internal/cputime"
	"heddle/harness/replay"
	"heddle/traces/printable"
)

// Cost is what a sweep would take, by a few of its replays. Other programs may rely on
// its JSON keys.
type Cost struct {
	Sweep    string `json:"sweep"`
	Sample   string `json:"sample"`
	Settings int    `json:"settings"`
	Traces   int    `json:"traces"`
	Replays  int    `json:"replays"`
	// MostReplays is how many they may become, if seeds are added; 0 if none are.
	MostReplays int   `json:"mostReplays,omitempty"`
	Tasks       int64 `json:"tasks"` // that all replays simulate
	// Tried is how many replays ran for the estimate. CPUSeconds is what all replays would
	// take of one core, and WallSeconds how long on all cores of this machine.
	Tried       int     `json:"tried"`
	CPUSeconds  float64 `json:"cpuSeconds"`
	Cores       int     `json:"cores"`
	WallSeconds float64 `json:"wallSeconds"`
	// MemoryBytes is what a process with one replay at a time needs.
	MemoryBytes int64 `json:"memoryBytes"`
}

// mostTried is how many replays run for an estimate at most, and triedFor how long further
// ones are begun.
const (
	mostTried = 8
	triedFor  = 10 * time.Second
)

// Expect estimates what the replays of a plan take. It runs a few that lie evenly among
// them, each alone, and counts CPU time by simulated tasks.
func Expect(ctx context.Context, p *Plan) (*Cost, error) {
	todo := p.Replays
	n := min(mostTried, len(todo))
	var some []Replay
	for i := range n {
		some = append(some, todo[i*len(todo)/n])
	}
	in, err := load(ctx, p, todo)
	if err != nil {
		return nil, err
	}
	c := &Cost{
		Sweep: p.Name, Sample: p.Sample, Settings: len(p.Settings), Traces: len(p.Traces), Replays: len(todo),
		Cores: runtime.GOMAXPROCS(0),
	}
	if p.MostSeeds > p.Seeds {
		c.MostReplays = len(p.Settings) * len(p.Traces) * p.MostSeeds
	}
	for i := range todo {
		x, err := in.config(ctx, p, &todo[i])
		if err != nil {
			return nil, err
		}
		c.Tasks += x.Tasks()
	}
	began, triedTasks, spent := time.Now(), int64(0), time.Duration(0)
	for i := range some {
		x, err := in.config(ctx, p, &some[i])
		if err != nil {
			return nil, err
		}
		before := cputime.Used()
		if _, err := replay.Outcomes([]replay.Config{x}); err != nil {
			return nil, err
		}
		spent += cputime.Used() - before
		triedTasks += x.Tasks()
		c.Tried++
		if time.Since(began) > triedFor {
			break
		}
	}
	c.CPUSeconds = spent.Seconds() * float64(c.Tasks) / math.Max(1, float64(triedTasks))
	c.WallSeconds = c.CPUSeconds / float64(min(c.Cores, c.Replays))
	c.MemoryBytes = peakBytes()
	return c, nil
}

// peakBytes returns the most memory that this process has had resident.
func peakBytes() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	kib := int64(1024)
	if runtime.GOOS == "darwin" { // which counts bytes
		kib = 1
	}
	return int64(u.Maxrss) * kib
}

// Doc returns the estimate for people.
func (c *Cost) Doc() doc.Doc {
	notes := doc.Notes{fmt.Sprintf("estimated from %s; other programs make it take longer", printable.Count(c.Tried, "replay"))}
	if c.MostReplays > 0 {
		notes = append(notes, fmt.Sprintf("settings that are not told from the best one get more seeds; at most, all replays are %d",
			c.MostReplays))
	}
	return doc.Doc{
		doc.Facts{
			{Name: "replays", Value: fmt.Sprintf("%d: %s, %s", c.Replays, printable.Count(c.Settings, "setting"),
				printable.Count(c.Traces, "trace"))},
			{Name: "tasks", Value: doc.Count(uint64(c.Tasks)).String()},
			{Name: "CPU time", Value: doc.DurationText(c.CPUSeconds * 1000)},
			{Name: "on this machine", Value: fmt.Sprintf("about %s on %s", doc.DurationText(c.WallSeconds*1000), printable.Count(c.Cores, "core"))},
			{Name: "memory", Value: doc.Bytes(c.MemoryBytes).String() + " a process with one replay at a time"},
		},
		notes,
	}
}
