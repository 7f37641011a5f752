// Package sim runs MapReduce jobs on a Hadoop cluster in virtual time, under
// the same scheduler models that steer a real cluster.
//
// It is a discrete-event simulator: jobs arrive in order, nodes send heartbeats
// (beats), and a timing wheel holds all other events. It changes a state.State,
// and asks the sched.Model at the heartbeats of nodes with room. It models
// containers by memory and cores, the ApplicationMaster with its own heartbeat
// and late binding, reduces that start before the maps are done, shuffles,
// shared disks and links (package fluid), caches (package place), speculative
// attempts, and faults.
//
// The same input, seed and model give the same schedule on any machine. Times
// are whole milliseconds. It leaves out JVM reuse and uberised jobs, the load
// of NameNode and ResourceManager, spills and merges of maps, preemption
// between queues, and re-replication after the loss of a DataNode.
//
// Words:
//
//	beat        a heartbeat, of a NodeManager or an ApplicationMaster
//	master      an ApplicationMaster
//	grant       a container that a job got and that has no task bound yet
//	lost        said of a node that is down, whether or not that has been noticed
//	generation  a count that tells the events of a past use of a slot from present ones
package sim

import (
	"errors"
	"fmt"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/fluid"
	"heddle/harness/state"
)

// Run simulates until the last job has ended. It fails if c is not valid, or if
// the run is stuck: jobs wait and no event is left.
func Run(c *Config) (*Result, error) {
	var s Sim
	r := new(Result)
	if err := s.Run(c, r); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	return r, nil
}

// Sim is a simulator that keeps its memory between runs. The zero value is
// ready for use.
type Sim struct {
	Config
	state     *state.State
	view      *state.View
	offers    sched.Offers
	carry     func(sched.Decision) bool
	r         *Result
	now       int64 // the present time, in ms
	wheel     wheel
	beats     beats
	shared    *fluid.System // nil: disks, links and cores have no limit
	coming    Job           // the next job to arrive
	comes     int64         // when it arrives, or never
	nodes     []node
	racks     int32
	jobs      []job
	slot      []int32 // by state.JobID: the index in jobs
	spare     []int32 // indexes in jobs to be reused
	live      int     // jobs that have not ended
	tasks     int64   // tasks of the jobs that have not ended
	queued    []int32 // jobs whose ApplicationMaster waits for room
	mastersMB int64   // memory that ApplicationMasters take

	attempts       []attempt
	idle           []int32 // indexes in attempts to be reused
	running        int
	grants         []grant
	spareGrant     uint32
	fetches        []fetch
	spareFetch     []int32
	observer       sched.Observer
	failing        float64 // share of attempts that fail
	losesNodes     bool
	rates          []float64
	caching        following
	splits         splits
	wanted         []wanted // speculative attempts that wait for room
	opportunity    int      // index of the next one
	streams        struct{ compute, label, read, fetch, fail draw.Key }
	idleEvents     int   // pending events that may change nothing: heartbeats of masters, scans for slow attempts
	lastProgressMs int64 // time of the last event that changed something; heartbeats that started nothing do not count
}

// Run simulates as the function Run does, and puts the result into r.
func (s *Sim) Run(c *Config, r *Result) error {
	if err := s.begin(c, r); err != nil {
		return err
	}
	for steps := 0; s.live > 0 || s.comes != never; steps++ {
		if steps%askEvery == 0 && s.Interrupted != nil && s.Interrupted() != nil {
			return ErrInterrupted
		}
		if err := s.step(); err != nil {
			return err
		}
	}
	for i := range r.Jobs {
		r.MakespanMs = max(r.MakespanMs, r.Jobs[i].EndMs-r.Jobs[0].SubmitMs)
	}
	return nil
}

// step goes to the next time at which something happens, and handles it. Within
// one millisecond the order is: ends of flows, events of the wheel, arrivals,
// heartbeats.
func (s *Sim) step() error {
	t := min(s.wheel.next(), s.comes)
	if s.shared != nil {
		t = min(t, s.shared.Next())
	}
	n, beat := s.nextBeat()
	if next := min(t, beat); next == never || next > s.lastProgressMs+patienceMs && s.stalled() {
		return s.stuck()
	}
	if beat < t {
		s.advance(beat)
		s.beat(n)
		return nil
	}
	s.advance(t)
	if s.shared != nil && s.shared.Next() <= t {
		for {
			tag, ok := s.shared.Pop(t)
			if !ok {
				break
			}
			s.r.Events++
			s.flowEnded(tag)
		}
	}
	for _, e := range s.wheel.take() {
		s.r.Events++
		s.handle(e.tag, e.id)
	}
	for s.comes == t {
		s.r.Events++
		if err := s.arrive(); err != nil {
			return err
		}
	}
	return nil
}

// ErrInterrupted is returned by a run that Config.Interrupted ended.
var ErrInterrupted = errors.New("the simulation was interrupted")

const askEvery = 1 << 8 // number of steps between two calls of Interrupted; they take less than 1 ms together, unless models are slow

// patienceMs is how long models may refuse all nodes while nothing else
// happens.
const patienceMs = 3_600_000

// stalled reports whether nothing is pending but heartbeats and scans for slow
// attempts.
func (s *Sim) stalled() bool {
	return s.wheel.count == s.idleEvents && s.comes == never && (s.shared == nil || s.shared.Next() == never)
}

func (s *Sim) stuck() error {
	j := &s.jobs[s.slot[s.view.Active()[0]]]
	const m, r = state.Map, state.Reduce
	return fmt.Errorf("at %d ms job %q is stuck: of its %d maps %d wait and %d run, of its %d reduces %d wait and %d run, and no event is left; either no node can hold its containers, or the model never starts them",
		s.now, j.name, j.total[m], s.view.Waiting(j.id, m), s.view.Running(j.id, m), j.total[r], s.view.Waiting(j.id, r), s.view.Running(j.id, r))
}

func (s *Sim) advance(t int64) {
	if t > s.now {
		s.now = t
		s.wheel.advance(t)
		s.state.SetNow(t * 1e6)
	}
}
