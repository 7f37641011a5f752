// Package capture records what happens on a cluster while jobs run, and joins
// it with the jobs' own history into a trace: every task and attempt, what each
// map read and how near it ran to it, where blocks and cached copies were, what
// nodes were doing.
//
// Session does that for jobs that it sees running. What it sees it writes down at
// once; in memory it keeps what it needs of the jobs that are alive, and each job's
// history is joined when the job has ended. Recover does what can be done after the
// fact, from history files alone. Neither changes anything on the cluster, starts a
// job or chooses a place.
package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"heddle/harness/clients"
	"heddle/harness/watch"
	"heddle/traces"
	"heddle/traces/tracefile"
	"heddle/yarnclient"
)

// Options say what a Session captures.
type Options struct {
	// Tags select the applications: those that carry any of them (YARN keeps
	// tags in lower case). None takes every MapReduce application submitted
	// since the start.
	Tags []string
	// Workload is noted with each job.
	Workload string
	// Header has the trace's seed, model, parameters, actuator and splits; zero is
	// YARN alone. What the cluster tells is added.
	Header traces.Header
	// Folder is where the trace is kept as it comes, of this capture alone, and each job's
	// own files below jobs and its id.
	Folder *os.Root
	// Intervals; zero means 1 s for locations, 200 ms for the ResourceManager,
	// 1 s for agents.
	EveryLocations, EveryRM, EveryAgents time.Duration
	// Progress hears of what is seen, from one goroutine at a time; may be nil.
	Progress func(Progress)
}

// Progress is how far the jobs of a Session are.
type Progress struct {
	Jobs, JobsEnded             int
	Maps, MapsDone              int
	Reduces, ReducesDone        int
	MapsRunning, ReducesRunning int
}

// Result is a finished capture. Its events are in its folder: Encode writes the
// trace, Clean then removes them.
type Result struct {
	Header traces.Header
	// Jobs are in order of submission.
	Jobs []Job
	// Warnings say what the trace lacks, and why.
	Warnings []string

	folder *os.Root
}

// Job is one captured job.
type Job struct {
	ID          traces.JobID
	Application string
	Name        string
	Tags        []string
	Outcome     traces.Outcome
	Diagnostics string
	// History is the name of its history file, empty where there was none.
	History string
}

// Session is a capture under way.
type Session struct {
	watch   *watch.Watcher
	options Options
	start   time.Time
	part    *tracefile.Writer
	jobs    *os.Root // their files
	// life ends with the capture; jobs are followed in it, whoever saw them first.
	life  context.Context
	stop  context.CancelFunc
	loops sync.WaitGroup
	// joining is held while one job's history is in memory.
	joining sync.Mutex

	mu         sync.Mutex
	alive      map[string]*jobRecord // by application id
	over       map[string]Job        // those that are in files of their own, by the same
	past       Progress              // of those
	nodes      map[string]*nodeRecord
	joiner     joiner
	labelsTold bool           // by Add
	warnings   map[string]int // with how often
	failed     error          // to write
	facts      traces.ClusterFacts
	software   map[string]string
	settings   map[string]string
}

// nodeRecord is what was last heard of a node.
type nodeRecord struct {
	yarn  yarnclient.Node
	label string
	up    bool
	cache int64 // bytes used of the HDFS cache, -1 unknown
	agent bool
}

// Start begins to capture. It fails where the cluster cannot be captured at
// all: no ResourceManager, NameNode or history server answers. The capture ends
// with Stop, which has to be called, or when ctx does.
func Start(ctx context.Context, w *watch.Watcher, o Options) (*Session, error) {
	if o.EveryLocations == 0 {
		o.EveryLocations = time.Second
	}
	if o.EveryRM == 0 {
		o.EveryRM = 200 * time.Millisecond
	}
	if o.EveryAgents == 0 {
		o.EveryAgents = time.Second
	}
	s := &Session{
		watch: w, options: o, start: time.Now(),
		alive: map[string]*jobRecord{}, over: map[string]Job{}, nodes: map[string]*nodeRecord{},
		warnings: map[string]int{}, software: map[string]string{}, settings: map[string]string{},
	}
	s.life, s.stop = context.WithCancel(ctx)
	ctx = s.life
	if err := s.look(ctx); err != nil {
		s.stop()
		return nil, fmt.Errorf("start capture: %w: %w", clients.ErrUnable, err)
	}
	s.joiner = joiner{start: s.start, workload: o.Workload, locations: newLocations(), racks: racksOf(s.facts.Nodes)}
	var err error
	if s.jobs, err = makeJobs(o.Folder); err == nil {
		s.part, err = tracefile.Create(filepath.Join(o.Folder.Name(), PartFile), s.header())
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("start capture: %w", err)
	}
	s.loops.Go(func() { _ = s.part.FlushEvery(ctx, flushInterval) }) // the Writer keeps the error
	s.loops.Go(func() { every(ctx, o.EveryRM, s.pollRM) })
	s.loops.Go(func() { every(ctx, o.EveryLocations, s.pollDataNodes) })
	for _, a := range w.Cluster.Agents {
		poll := s.agentPoll(a)
		s.loops.Go(func() { every(ctx, o.EveryAgents, poll) })
	}
	return s, nil
}

// lookLimit bounds some twenty short questions.
const lookLimit = 20 * time.Second

// look asks for what holds for the whole capture.
func (s *Session) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookLimit, fmt.Errorf("the cluster told not all that a capture begins with within %v", lookLimit))
	defer cancel()
	cluster := s.watch.Cluster
	info, err := cluster.RM.Active(ctx)
	if err != nil {
		return err
	}
	// First, since it is soon told that this daemon does not answer.
	if err := s.watch.Find(ctx); err != nil {
		return err
	}
	s.software["hadoop"] = info.HadoopVersion
	if java := javaVersion(ctx, cluster); java != "" {
		s.software["java"] = java
	}
	s.settings, err = readSettings(ctx, cluster)
	if err != nil {
		return err
	}
	if s.facts, err = facts(ctx, s.watch); err != nil {
		return err
	}
	for _, n := range s.facts.Nodes { // those are no news; their labels are
		s.nodes[string(n.Node)] = &nodeRecord{up: true, cache: -1}
	}
	for _, a := range cluster.Agents {
		info, err := a.Info(ctx)
		if err != nil {
			s.warnf("agent of %s: %v", a.Node, err)
			continue
		}
		s.software["kernel"] = info.Kernel
		for i := range s.facts.Nodes {
			if string(s.facts.Nodes[i].Node) == a.Node {
				s.facts.Nodes[i].Cores = float64(info.CPUs)
			}
		}
	}
	return nil
}

// Stop ends the capture and waits for the history of the jobs that have ended, or
// for ctx. A job that still runs stays in the trace as unfinished. The error is
// that not all could be kept.
func (s *Session) Stop(ctx context.Context) (Result, error) {
	s.stop()
	s.loops.Wait()
	for _, id := range slices.Sorted(maps.Keys(s.alive)) { // nobody else is left who changes it
		s.join(ctx, s.alive[id])
	}
	err := errors.Join(s.failed, s.part.CloseIncomplete("its jobs' histories are in files of their own"), s.jobs.Close())
	r := Result{Header: s.header(), Jobs: s.Jobs(), folder: s.options.Folder}
	for _, w := range slices.Sorted(maps.Keys(s.warnings)) {
		if n := s.warnings[w]; n > 1 {
			w = fmt.Sprintf("%s (%d times)", w, n)
		}
		r.Warnings = append(r.Warnings, w)
	}
	return r, err
}

// Wait returns when no job that was seen is left running, or ctx ends.
func (s *Session) Wait(ctx context.Context) error {
	return until(ctx, s.options.EveryRM, func() (bool, error) {
		if err := s.pollRM(ctx); err != nil {
			return false, nil // said as a warning already; the ResourceManager may come back
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, j := range s.alive {
			if !j.app.Ended() {
				return false, nil
			}
		}
		return true, nil
	})
}

// Jobs are the jobs seen so far, in order of submission.
func (s *Session) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Collect(maps.Values(s.over))
	for _, j := range s.alive {
		list = append(list, j.summary())
	}
	slices.SortFunc(list, func(a, b Job) int { return strings.Compare(a.Application, b.Application) })
	return list
}

func (s *Session) header() traces.Header {
	h := s.options.Header
	h.Origin, h.StartUnixNs, h.Writer = traces.Measured, s.start.UnixNano(), "heddle"
	h.Model, h.Actuator, h.Splits = cmp.Or(h.Model, "yarn"), cmp.Or(h.Actuator, "none"), cmp.Or(h.Splits, "asSubmitted")
	h.Cluster, h.Software, h.Settings = s.facts, s.software, s.settings
	return h
}

// record puts events into the part. What cannot be written Stop tells: the
// Writer keeps its first error.
func (s *Session) record(events ...traces.Event) {
	for _, e := range events {
		_ = s.part.Write(e)
	}
}

// now is the time since the start.
func (s *Session) now() traces.Time { return traces.Time(time.Since(s.start)) }

func (s *Session) warnf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warn(fmt.Sprintf(format, args...))
}

func (s *Session) warn(text string) { s.warnings[text]++ }

// every calls f at once and then at each interval, until ctx ends. What f
// could not do it has noted; the next call tries again.
func every(ctx context.Context, interval time.Duration, f func(context.Context) error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		_ = f(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// until calls f at each interval until it says true or fails, or ctx ends.
func until(ctx context.Context, interval time.Duration, f func() (bool, error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if done, err := f(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
