package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/harness/internal/cputime"
	"heddle/harness/sim"
	"heddle/traces"
)

// Measure has the figures of one run of a benchmark: time, memory, and what was
// simulated.
type Measure struct {
	Load            string  `json:"load"`
	Nodes           int     `json:"nodes"`
	Tasks           int64   `json:"tasks"` // number of attempts that succeeded, over all simulations
	Seconds         float64 `json:"seconds"`
	TasksPerSecond  float64 `json:"tasksPerSecond"`
	EventsPerSecond float64 `json:"eventsPerSecond"`
	AllocsPerEvent  float64 `json:"allocsPerEvent"`
	// peak resident memory of this process, in bytes; 0 if the operating system does not tell
	PeakBytes      int64                 `json:"peakBytes"`
	CPUSeconds     float64               `json:"cpuSeconds"`
	Jobs           int                   `json:"jobs"`
	Beats          int64                 `json:"heartbeats"`
	Locality       map[string]float64    `json:"locality"` // by level (cache, node, rack, off): share of the maps whose input was that near
	VirtualSeconds float64               `json:"virtualSeconds"`
	PeakTasks      int64                 `json:"peakTasks"`
	Digest         traces.ScheduleDigest `json:"-"`
	ScheduleDigest string                `json:"scheduleDigest"`
}

// Run runs a benchmark once. The measured time includes reading the
// benchmark's input.
func (l *Load) Run(ctx context.Context) (*Measure, error) {
	runtime.GC()
	debug.FreeOSMemory()
	forgetPeak()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, cpu := time.Now(), cputime.Used()
	results := make([]sim.Result, l.Runs)
	if l.Runs > 1 {
		if _, err := l.config(1); err != nil { // reads the file of jobs once; all simulations of the benchmark share the jobs
			return nil, err
		}
	}
	var g errgroup.Group
	for core := range l.Cores {
		g.Go(func() error {
			var s sim.Sim
			for i := core; i < l.Runs; i += l.Cores {
				c, err := l.config(uint64(i + 1))
				if err != nil {
					return err
				}
				c.Interrupted = ctx.Err
				if err := s.Run(c, &results[i]); err != nil {
					return fmt.Errorf("load %s, seed %d: %w", l.Name, i+1, err)
				}
				if l.Runs > 1 {
					results[i].Jobs = nil
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	m := &Measure{
		Load: l.Name, Nodes: l.Nodes, Seconds: time.Since(start).Seconds(), CPUSeconds: (cputime.Used() - cpu).Seconds(),
		PeakBytes: peak(),
	}
	runtime.ReadMemStats(&after)
	events, maps := int64(0), int64(0)
	m.Locality = map[string]float64{}
	for i := range results {
		r := &results[i]
		m.Tasks += r.Attempts.Succeeded
		m.Jobs += len(r.Jobs)
		m.Beats += r.Beats
		m.PeakTasks = max(m.PeakTasks, r.PeakTasks)
		m.VirtualSeconds += float64(r.MakespanMs) / 1000
		m.Digest += r.Digest
		events += r.Events
		for level, n := range r.Maps {
			maps += n
			m.Locality[traces.Level(level).String()] += float64(n)
		}
	}
	for level := range m.Locality {
		m.Locality[level] /= float64(max(1, maps))
	}
	m.ScheduleDigest = m.Digest.String()
	m.TasksPerSecond, m.EventsPerSecond = float64(m.Tasks)/m.Seconds, float64(events)/m.Seconds
	m.AllocsPerEvent = float64(after.Mallocs-before.Mallocs) / float64(max(1, events))
	return m, nil
}

// forgetPeak makes the kernel set this process's peak memory back to the
// present memory.
func forgetPeak() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peak returns the process's largest resident memory, in bytes, since
// forgetPeak was called, or 0 if the operating system does not tell.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(rest, "kB")
	kb, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}
