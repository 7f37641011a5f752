// Package capture records what happens on a cluster while jobs run, and joins that
// with the jobs' history files into a trace: every task and attempt, the input of
// each map and its locality, blocks and their cached copies, and metrics of nodes.
//
// A Session captures jobs while they run. It writes events at once to the part
// file. In memory it keeps only jobs that are not joined. Recover makes a trace
// from history files alone, after the jobs have ended. Neither changes the
// cluster, starts jobs or decides where tasks run.
//
// Words:
//
//	part      the file of events as they were seen, before any history file
//	join      read the history file of a job that has ended and combine it with
//	          what was seen of its input
//	sample    one answer about blocks, or one set of a node's metrics, with its
//	          time
//	follow    ask again and again about one job until it has ended
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
	// Tags select applications that carry any of them, in lower case. Without
	// tags, a Session captures each MapReduce application submitted after its
	// start.
	Tags []string
	// Workload is stored with each job.
	Workload string
	// Header has the trace's seed, model, parameters, actuator and splits; the
	// zero value means that YARN decides. The Session adds what the cluster tells.
	Header traces.Header
	// Folder holds the part, and below jobs a folder for each job. No other
	// capture may use it.
	Folder *os.Root
	// Intervals of the questions. 0 means 1 s for block locations, 200 ms for the
	// ResourceManager and 1 s for agents.
	EveryLocations, EveryRM, EveryAgents time.Duration
	// Progress, if not nil, is called with the progress of the jobs, by one
	// goroutine at a time.
	Progress func(Progress)
}

// Progress counts the jobs of a Session and their tasks.
type Progress struct {
	Jobs, JobsEnded             int
	Maps, MapsDone              int
	Reduces, ReducesDone        int
	MapsRunning, ReducesRunning int
}

// Result is a finished capture. Its events are in files: Encode writes them as one
// trace, then Clean removes the files.
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
	// History is the name of its history file; empty if there was none.
	History string
}

// Session is a capture that is running.
type Session struct {
	watch   *watch.Watcher
	options Options
	start   time.Time
	part    *tracefile.Writer
	jobs    *os.Root // folder of the jobs' own files
	// context of the capture, ended by Stop
	life  context.Context
	stop  context.CancelFunc
	loops sync.WaitGroup
	// joining is locked while a job's history is in memory, so that only one is.
	joining sync.Mutex

	mu             sync.Mutex
	alive          map[string]*jobRecord // jobs that are not joined, by application id
	joined         map[string]Job        // jobs that are joined, by application id
	joinedProgress Progress              // sum of their progress
	nodes          map[string]*nodeRecord
	joiner         joiner
	labelsAdded    bool           // Add was given a NodeLabel
	warnings       map[string]int // count, by text
	failed         error          // first error of writing a job's events
	facts          traces.ClusterFacts
	software       map[string]string
	settings       map[string]string
}

// nodeRecord is the last known state of a node.
type nodeRecord struct {
	yarn  yarnclient.Node
	label string
	up    bool
	cache int64 // bytes of the HDFS cache in use; -1: unknown
	agent bool
}

// Start starts a capture. It fails if the ResourceManager, the NameNode or the
// history server does not answer. The capture ends with Stop, which must be
// called, or with ctx.
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
		alive: map[string]*jobRecord{}, joined: map[string]Job{}, nodes: map[string]*nodeRecord{},
		warnings: map[string]int{}, software: map[string]string{}, settings: map[string]string{},
	}
	s.life, s.stop = context.WithCancel(ctx)
	ctx = s.life
	if err := s.readCluster(ctx); err != nil {
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
	s.loops.Go(func() { _ = s.part.FlushEvery(ctx, flushInterval) }) // CloseIncomplete returns the error
	s.loops.Go(func() {
		// Half an interval: the answer to the poll before is too old.
		every(ctx, o.EveryRM, func(ctx context.Context) error { return s.pollRM(ctx, o.EveryRM/2) })
	})
	s.loops.Go(func() { every(ctx, o.EveryLocations, s.pollDataNodes) })
	for _, a := range w.Cluster.Agents {
		poll := s.agentPoll(a)
		s.loops.Go(func() { every(ctx, o.EveryAgents, poll) })
	}
	return s, nil
}

// readClusterLimit bounds about twenty short calls.
const readClusterLimit = 20 * time.Second

// readCluster asks for the facts that hold for the whole capture.
func (s *Session) readCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readClusterLimit, fmt.Errorf("the cluster did not answer the questions about its nodes and settings within %v", readClusterLimit))
	defer cancel()
	cluster := s.watch.Cluster
	info, err := cluster.RM.Active(ctx)
	if err != nil {
		return err
	}
	// First, because a history server that is down fails quickly.
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
	for _, n := range s.facts.Nodes { // The header has these nodes, so they are no news. Their labels are.
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

// Stop ends the capture. It waits for the history of jobs that have ended, or for
// ctx. A job that still runs is unfinished in the trace. The error says what could
// not be written.
func (s *Session) Stop(ctx context.Context) (Result, error) {
	s.stop()
	s.loops.Wait()
	for _, id := range slices.Sorted(maps.Keys(s.alive)) { // no other goroutine is left
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

// Wait returns when all jobs seen have ended, or with ctx.
func (s *Session) Wait(ctx context.Context) error {
	return until(ctx, s.options.EveryRM, func() (bool, error) {
		// A job may have come and ended since the last poll.
		if err := s.pollRM(ctx, 0); err != nil {
			return false, nil // pollRM has warned; the ResourceManager may come back
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

// Jobs returns the jobs seen so far, in order of submission.
func (s *Session) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Collect(maps.Values(s.joined))
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

// record writes events to the part. The part keeps its first error, which Stop
// returns.
func (s *Session) record(events ...traces.Event) {
	for _, e := range events {
		_ = s.part.Write(e)
	}
}

// now is the time since Origin.
func (s *Session) now() traces.Time { return traces.Time(time.Since(s.start)) }

func (s *Session) warnf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warn(fmt.Sprintf(format, args...))
}

func (s *Session) warn(text string) { s.warnings[text]++ }

// every calls f at once and then at each interval, until ctx ends. f reports its
// errors itself.
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

// until calls f at once and then at each interval, until it returns true or an
// error, or ctx ends.
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
