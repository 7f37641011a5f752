// Package capture records what happens on a cluster while jobs run, and joins
// it with the jobs' own history into a trace: every task and attempt, what each
// map read and how near it ran to it, where blocks and cached copies were, what
// nodes were doing.
//
// Session does that for jobs that it sees running. Recover does what can be
// done after the fact, from history files alone. Neither changes anything on
// the cluster, starts a job or chooses a place.
package capture

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"heddle/collectors/yarn"
	"heddle/harness/clients"
	"heddle/traces"
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
	// Folder is where each job's own files are kept, below its job id; nil keeps
	// none.
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

// Result is a finished capture.
type Result struct {
	Header traces.Header
	Events []traces.Event
	// Jobs are in order of submission.
	Jobs []Job
	// Warnings say what the trace lacks, and why.
	Warnings []string
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
	cluster *clients.Clients
	options Options
	start   time.Time
	paths   paths
	// life ends with the capture; jobs are followed in it, whoever saw them first.
	life  context.Context
	stop  context.CancelFunc
	loops sync.WaitGroup

	mu         sync.Mutex
	jobs       map[string]*jobRecord // by application id
	nodes      map[string]*nodeRecord
	locations  *locations
	events     []traces.Event          // nodes, labels, samples, notes
	labelsTold bool                    // by Add
	rewritten  map[traces.JobID][]byte // job.splitmetainfo, by Resplit
	warnings   map[string]int          // with how often
	facts      traces.ClusterFacts
	software   map[string]string
	settings   map[string]string
}

// paths is where the cluster keeps jobs' files in HDFS.
type paths struct {
	staging string // yarn.app.mapreduce.am.staging-dir
	history yarn.HistoryFolders
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
func Start(ctx context.Context, cluster *clients.Clients, o Options) (*Session, error) {
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
		cluster: cluster, options: o, start: time.Now(),
		jobs: map[string]*jobRecord{}, nodes: map[string]*nodeRecord{}, locations: newLocations(),
		rewritten: map[traces.JobID][]byte{}, warnings: map[string]int{}, software: map[string]string{}, settings: map[string]string{},
	}
	s.life, s.stop = context.WithCancel(ctx)
	ctx = s.life
	if err := s.look(ctx); err != nil {
		s.stop()
		s.loops.Wait()
		return nil, fmt.Errorf("start capture: %w: %w", clients.ErrUnable, err)
	}
	s.loops.Go(func() { every(ctx, o.EveryRM, s.pollRM) })
	s.loops.Go(func() { every(ctx, o.EveryLocations, s.pollDataNodes) })
	for _, a := range cluster.Agents {
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
	info, err := s.cluster.RM.Active(ctx)
	if err != nil {
		return err
	}
	// First, since it is soon told that this daemon does not answer.
	if s.paths, err = findPaths(ctx, s.cluster); err != nil {
		return err
	}
	s.software["hadoop"] = info.HadoopVersion
	if java := javaVersion(ctx, s.cluster); java != "" {
		s.software["java"] = java
	}
	s.settings, err = readSettings(ctx, s.cluster)
	if err != nil {
		return err
	}
	if s.facts, err = facts(ctx, s.cluster); err != nil {
		return err
	}
	for _, n := range s.facts.Nodes { // those are no news; their labels are
		s.nodes[string(n.Node)] = &nodeRecord{up: true, cache: -1}
	}
	if err := s.pollRM(ctx); err != nil {
		return err
	}
	for _, a := range s.cluster.Agents {
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

// Stop ends the capture, waits for the history of the jobs that have ended, or
// for ctx, and joins everything into a Result. A job that still runs stays in
// the trace as unfinished.
func (s *Session) Stop(ctx context.Context) Result {
	s.stop()
	s.loops.Wait()
	for _, j := range s.jobsInOrder() { // nobody else is left who changes them
		if !j.app.Ended() {
			s.warnf("%s was %s when the capture ended, so it has no history yet", j.id, strings.ToLower(j.app.State))
		} else if !j.launched() {
			s.warnf("%s ended before an ApplicationMaster ran, so it has no history", j.id)
		} else if herr := readHistory(ctx, s.cluster, s.paths.history, j, s.options.Folder); herr != nil {
			s.warnf("%v", herr)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Result{Header: s.header(), Jobs: s.jobList()}
	jn := joiner{start: s.start, workload: s.options.Workload, locations: s.locations, racks: racksOf(s.facts.Nodes)}
	for _, j := range s.jobsInOrder() {
		r.Events = append(r.Events, jn.events(j)...)
		r.Header.Inputs = append(r.Header.Inputs, j.inputs...)
	}
	r.Events = append(r.Events, s.locations.events()...)
	r.Events = append(r.Events, s.events...)
	bindLate(r.Events)
	traces.Sort(r.Events)
	for _, w := range slices.Sorted(maps.Keys(s.warnings)) {
		if n := s.warnings[w]; n > 1 {
			w = fmt.Sprintf("%s (%d times)", w, n)
		}
		r.Warnings = append(r.Warnings, w)
	}
	return r
}

// Wait returns when no job that was seen is left running, or ctx ends.
func (s *Session) Wait(ctx context.Context) error {
	return until(ctx, s.options.EveryRM, func() (bool, error) {
		if err := s.pollRM(ctx); err != nil {
			return false, nil // said as a warning already; the ResourceManager may come back
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, j := range s.jobs {
			if !j.app.Ended() {
				return false, nil
			}
		}
		return true, nil
	})
}

// Jobs are the jobs seen so far.
func (s *Session) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobList()
}

func (s *Session) jobList() []Job {
	var list []Job
	for _, j := range s.jobsInOrder() {
		list = append(list, j.summary())
	}
	return list
}

func (s *Session) jobsInOrder() []*jobRecord {
	return slices.SortedFunc(maps.Values(s.jobs), func(a, b *jobRecord) int { return strings.Compare(a.app.ID, b.app.ID) })
}

func (s *Session) header() traces.Header {
	return traces.Header{
		Origin: traces.Measured, StartUnixNs: s.start.UnixNano(), Writer: "heddle",
		Cluster: s.facts, Model: "yarn", Actuator: "none", Splits: "asSubmitted",
		Software: s.software, Settings: s.settings,
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
