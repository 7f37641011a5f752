// Package capture records what happens on a cluster while jobs run, and combines this
// with the jobs' history files into a trace. The trace holds every task and attempt,
// the input of each map and its locality, blocks and their cached copies, and metrics
// of nodes.
//
// A Session captures jobs while they run. It writes events at once to a file, the part,
// and keeps in memory only jobs whose history file it has not read yet. Recover makes a
// trace from history files alone, after the jobs have ended. The package does not
// change the cluster, start jobs or decide where tasks run.
//
// Words:
//
//	part      the file of events as they were seen, before any history file
//	join      read the history file of a job that has ended and combine it with
//	          what was seen of its input
//	sample    one answer of the NameNode about blocks, or one set of a node's
//	          metrics, with its time
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
	"heddle/harness/internal/poll"
	"heddle/harness/watch"
	"heddle/traces"
	"heddle/traces/printable"
	"heddle/traces/tracefile"
	"heddle/yarnclient"
)

// Options say what a Session captures, where it keeps files, and how often it asks the
// cluster.
type Options struct {
	// Tags select applications that have any of these YARN tags, in lower case.
	// Without Tags, a Session captures each MapReduce application submitted after
	// its start. With Tags, load averages are those of what has run since the start: what
	// ran before, as the trial before this one, is taken out.
	Tags []string
	// Pools are the pools of applications, and Terms their deadlines, prices and
	// hints, by YARN tag; nil if there are none.
	Pools map[string]string
	Terms map[string]traces.Terms
	// Workload is the workload's name, recorded with each job.
	Workload string
	// Costs names what the workload's tasks cost, recorded with each job.
	Costs string
	// Header holds the seed, model, parameters, actuator and splits of the trace; the
	// zero value means that YARN places the tasks. The Session adds the cluster's
	// nodes, software versions and settings.
	Header traces.Header
	// Folder is where the events are written while the capture runs. Its subfolder
	// "jobs" has a folder for each job. No other capture may use the same Folder.
	Folder *os.Root
	// Intervals between two calls: to the NameNode for block locations (0 means 1 s),
	// to the ResourceManager (0 means 200 ms), and to each node's agent (0 means 1 s). The
	// ResourceManager is asked for its nodes once a second at most.
	EveryLocations, EveryRM, EveryAgents time.Duration
	// Sampled, if not nil, is called with the newest metrics of a node whenever its
	// agent has new ones. The agents are then asked twice in EveryAgents, so that the
	// metrics are at most half of it older than if this process measured them. Several
	// goroutines call it.
	Sampled func(traces.NodeSample)
	// Seen, if not nil, is called with each event that is recorded, and at first with
	// the nodes that are up. Only one goroutine calls it at a time.
	Seen func(traces.Event)
	// Progress, if not nil, is called with the counts of jobs and tasks whenever an
	// ApplicationMaster has reported its job's progress. Only one goroutine calls it at
	// a time.
	Progress func(Progress)
	// Warned, if not nil, is called with each warning when it is first given, such as
	// that the ResourceManager's answers cannot be read. Only one goroutine calls it at
	// a time.
	Warned func(text string)
}

// Progress counts the jobs that a Session has seen, and their tasks.
type Progress struct {
	Jobs, JobsEnded             int
	Maps, MapsDone              int
	Reduces, ReducesDone        int
	MapsRunning, ReducesRunning int
}

// Result is a finished capture. Its events are in several files: Encode combines them
// into one trace, then Clean removes these files.
type Result struct {
	Header traces.Header
	// Jobs are the captured jobs, sorted by application id and so in order of
	// submission.
	Jobs []Job
	// Warnings say what is missing in the trace, and why.
	Warnings []string

	folder *os.Root
}

// Job is one captured job: its ids, tags, outcome and history file.
type Job struct {
	ID          traces.JobID
	Application string
	Name        string
	Tags        []string
	Outcome     traces.Outcome
	Lost        bool // YARN no longer lists the job, so its outcome is not known
	Diagnostics string
	// YarnMs is the time from submission to end in ms, as the ResourceManager says;
	// 0 if the job has not ended.
	YarnMs int64
	// History is the name of the job's history file; empty if there is none.
	History string
}

// Session is a running capture.
type Session struct {
	watch   *watch.Watcher
	options Options
	start   time.Time
	part    *tracefile.Writer
	jobs    *os.Root // the capture's folder "jobs", which has a folder for each job
	// context of the capture; Stop ends it
	life  context.Context
	stop  context.CancelFunc
	loops sync.WaitGroup
	// joining is locked while a job's history file is in memory, so that only one such
	// file is in memory at a time.
	joining sync.Mutex

	mu    sync.Mutex
	alive map[string]*jobRecord // jobs whose history file is not read yet, by application id
	// jobs that have ended and whose history file was read, or is not waited for any more, by application id
	joined         map[string]Job
	joinedProgress Progress // task counts, summed over the jobs in the field joined, which have ended
	nodes          map[string]*nodeRecord
	joiner         joiner
	labelsAdded    bool           // whether Add was given a NodeLabel event; the Session then records no labels itself
	warnings       map[string]int // number of times that each warning occurred, by its text
	warned         map[string]int // number of different warnings about each topic of a daemon or agent
	failed         error          // first error in writing the event file of a job
	header         traces.Header
}

// nodeRecord is the last known state of a node: what YARN says about it, its label
// and its cache use.
type nodeRecord struct {
	yarn  yarnclient.Node
	label string
	up    bool
	cache int64 // bytes used in the DataNode's cache; -1: unknown
	agent bool
	// before is the load average when the session began, and beforeAt that time. Only
	// sessions with Tags have it.
	before   float64
	beforeAt traces.Time
}

// Start starts a capture. It fails if the ResourceManager, the NameNode or the history
// server does not answer. The capture ends when ctx ends or Stop is called; Stop must
// be called in any case.
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
		warnings: map[string]int{}, warned: map[string]int{}, header: o.Header,
	}
	h := &s.header
	h.Origin, h.StartUnixNs, h.Writer = cmp.Or(h.Origin, traces.Measured), s.start.UnixNano(), "heddle"
	h.Model, h.Actuator, h.Splits = cmp.Or(h.Model, "yarn"), cmp.Or(h.Actuator, "none"), cmp.Or(h.Splits, "asSubmitted")
	s.life, s.stop = context.WithCancel(ctx)
	ctx = s.life
	if err := s.readCluster(ctx); err != nil {
		s.stop()
		return nil, fmt.Errorf("start capture: %w: %w", clients.ErrUnable, err)
	}
	s.joiner = joiner{
		Options: o, start: s.start, locations: newLocations(), racks: racksOf(s.header.Cluster.Nodes), machines: &s.watch.Machines,
	}
	var err error
	if s.jobs, err = makeJobs(o.Folder); err == nil {
		s.part, err = tracefile.Create(filepath.Join(o.Folder.Name(), PartFile), s.header)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("start capture: %w", err)
	}
	for _, n := range h.Cluster.Nodes {
		if o.Seen != nil {
			o.Seen(&traces.NodeUp{NodeFacts: n})
		}
	}
	s.loops.Go(func() { _ = s.part.FlushEvery(ctx, flushInterval) }) // the error is ignored here, because CloseIncomplete returns it later
	s.loops.Go(func() {
		// Accept an answer of the ResourceManager that another part of the program got
		// less than half an interval ago. This loop's own last answer is a whole
		// interval old, and is not accepted.
		every(ctx, o.EveryRM, sparing(fourTimes, func(ctx context.Context) error { return s.pollRM(ctx, o.EveryRM/2) }))
	})
	s.loops.Go(func() {
		every(ctx, max(o.EveryRM, nodesInterval), sparing(fourTimes, func(ctx context.Context) error { return s.pollNodes(ctx, o.EveryRM/2) }))
	})
	s.loops.Go(func() { every(ctx, o.EveryLocations, s.pollDataNodes) })
	if o.Sampled != nil {
		o.EveryAgents /= 2
	}
	for _, a := range w.Agents() {
		poll := s.agentPoll(a)
		s.loops.Go(func() { every(ctx, o.EveryAgents, poll) })
	}
	return s, nil
}

// nodesInterval is the least interval between two calls for all nodes. The list is long, and
// they rarely change.
const nodesInterval = time.Second

// readClusterLimit is the time limit for all calls (about twenty short ones) with which
// a capture starts.
const readClusterLimit = 20 * time.Second

// readCluster asks the cluster for facts that stay the same during the capture: nodes,
// settings and software versions.
func (s *Session) readCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readClusterLimit, fmt.Errorf("the cluster did not answer the questions about its "+
		"nodes and settings within %v", readClusterLimit))
	defer cancel()
	cluster := s.watch.Cluster
	info, err := cluster.RM.Active(ctx)
	if err != nil {
		return err
	}
	// The history server is asked before HDFS and the agents, so that the start of a
	// capture fails quickly if that server is down.
	if err := s.watch.Find(ctx); err != nil {
		return err
	}
	h := &s.header
	h.Software = map[string]string{"hadoop": info.HadoopVersion}
	if java := cluster.JavaVersion(ctx); java != "" {
		h.Software["java"] = java
	}
	if h.Settings, err = readSettings(ctx, cluster); err != nil {
		return err
	}
	if h.Cluster, err = facts(ctx, s.watch); err != nil {
		return err
	}
	// The trace's header holds these nodes, so only changes of them are recorded as events. A node's label is recorded when it is first seen.
	for _, n := range h.Cluster.Nodes {
		s.node(string(n.Node)).up = true
	}
	s.readAgents(ctx)
	return nil
}

// Stop ends the capture. It waits for the history files of jobs that have ended, but no
// longer than until ctx ends. A job that still runs is marked as unfinished in the
// trace. The returned error says what could not be written.
func (s *Session) Stop(ctx context.Context) (Result, error) {
	s.stop()
	s.loops.Wait()
	for _, id := range slices.Sorted(maps.Keys(s.alive)) { // all goroutines of the capture have ended, so no lock is needed
		s.join(ctx, s.alive[id])
	}
	err := errors.Join(s.failed, s.part.CloseIncomplete("its jobs' histories are in files of their own"), s.jobs.Close())
	r := Result{Header: s.header, Jobs: s.Jobs(), folder: s.options.Folder}
	for _, w := range slices.Sorted(maps.Keys(s.warnings)) {
		if n := s.warnings[w]; n > 1 {
			w = fmt.Sprintf("%s (%d times)", w, n)
		}
		r.Warnings = append(r.Warnings, w)
	}
	r.Warnings = append(r.Warnings, s.joiner.names()...)
	return r, err
}

// Wait returns when all jobs that the capture has seen have ended, or when ctx ends. A
// job that the ResourceManager no longer lists counts as ended after a minute.
func (s *Session) Wait(ctx context.Context) error {
	return poll.Until(ctx, s.options.EveryRM, func() (bool, error) {
		// Make a new call, because a job may have started and ended since the last
		// call.
		if err := s.pollRM(ctx, 0); err != nil {
			return false, nil // pollRM has added a warning; the ResourceManager may answer the next call
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, j := range s.alive {
			if !j.gone() {
				return false, nil
			}
		}
		return true, nil
	})
}

// Jobs returns the jobs that the capture has seen, in order of submission.
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

// record writes events to the capture's event file. The file's writer keeps its
// first error, which Stop returns.
func (s *Session) record(events ...traces.Event) {
	for _, e := range events {
		_ = s.part.Write(e)
		if s.options.Seen != nil {
			s.options.Seen(e)
		}
	}
}

// The method now returns the time since the start of the capture, from which the trace
// counts its times.
func (s *Session) now() traces.Time { return traces.Time(time.Since(s.start)) }

func (s *Session) warnf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warn(fmt.Sprintf(format, args...))
}

func (s *Session) warn(text string) {
	text = printable.OneLine(text)
	if s.warnings[text]++; s.warnings[text] == 1 && s.options.Warned != nil {
		s.options.Warned(text)
	}
}

// mostWarnings is how many different warnings about one topic of one daemon or agent
// are kept. An error may have another text each time, such as one with the port of a
// connection.
const mostWarnings = 3

// warnAbout adds a warning about one daemon or agent, which subject names, and a topic
// such as its clock.
func (s *Session) warnAbout(subject, topic, text string) {
	text = printable.OneLine(subject + ": " + text)
	if s.warnings[text] == 0 {
		if s.warned[subject+topic] == mostWarnings {
			text = subject + ": more about " + topic + ", not listed"
		} else {
			s.warned[subject+topic]++
		}
	}
	s.warn(text)
}

// The function every calls f at once and then at each interval, until ctx ends. If f
// fails, it must report the error itself.
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

// The function sparing leaves out calls of f, for as long after each as pause says of the time that it took.
func sparing(pause func(took time.Duration) time.Duration, f func(context.Context) error) func(context.Context) error {
	var next time.Time
	return func(ctx context.Context) error {
		begun := time.Now()
		if begun.Before(next) {
			return nil
		}
		err := f(ctx)
		next = time.Now().Add(pause(time.Since(begun)))
		return err
	}
}

// fourTimes is the pause after a list of the ResourceManager's, so that such lists take at most a fifth of
// the time: those of a large cluster keep it from scheduling.
func fourTimes(took time.Duration) time.Duration { return 4 * took }
