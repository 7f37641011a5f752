// Package sim runs MapReduce jobs on a Hadoop cluster in virtual time, under
// the same scheduler models that steer a real cluster.
//
// It is a discrete-event simulator. Jobs arrive in order, nodes send
// heartbeats, and a timing wheel holds all other events. The simulator keeps
// the cluster in a state.State. At the heartbeats of nodes with room, it asks
// the sched.Model which tasks to start. It models containers by memory and
// cores, and the ApplicationMaster with its own heartbeat, which chooses the
// task of each container. It also models reduces that start before the maps
// are done, shuffles, shared disks and links (package fluid), caches (package
// place), speculative attempts, and faults. A read that shares its disk with nothing
// is no flow: its end is known beforehand, see bookings. If the caller or the model
// asks, the simulator samples the nodes' load as agents do; then nothing is booked.
//
// The same input, seed and model give the same schedule on any machine. Times
// are whole milliseconds. The simulator leaves out JVM reuse and uberised jobs,
// the load of NameNode and ResourceManager, spills and merges of maps,
// and re-replication after the loss of a DataNode.
//
// Words:
//
//	beat        a heartbeat of a NodeManager or an ApplicationMaster
//	master      an ApplicationMaster
//	grant       a container that a job got and that has no task yet
//	lost        said of a node that is down, whether or not the ResourceManager has noticed it
//	generation  a count of the uses of a place in memory; events of ended jobs and attempts have an old count
package sim

import (
	"errors"
	"fmt"

	"heddle/harness/sched"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
)

// Run simulates the jobs and the cluster of configuration c until the last job
// has ended. It fails if c is not valid, or if jobs wait and no event is left
// that could start their tasks.
func Run(c *Config) (*Result, error) {
	var s Sim
	r := new(Result)
	if err := s.Run(c, r); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	return r, nil
}

// base is what all parts of a simulator stand on: the time, the cluster, its jobs, and
// who is told what happens.
type base struct {
	Config
	state    *state.State
	view     *state.View
	r        *Result
	events   kernel.Events
	nodes    nodes
	jobs     jobs
	draws    draws
	recorder recorder
	hears    hearing
}

// Sim is a simulator that keeps its memory between runs. Its zero value is
// ready for use.
//
// Its parts stand in order: each knows those before it, and none after it. Sim itself
// only takes the events in their order and tells each part what is for it.
type Sim struct {
	base
	arrivals    arrivals
	splits      splits
	caches      caches
	clocks      clocks
	load        *load // nil: nobody wants samples of the nodes' load
	masters     masters
	attempts    attempts
	containers  containers
	speculation speculation
	offers      sched.Offers
	process     sched.Process // nil: the model is none
	preemption  preemption
	carry       func(sched.Decision) bool // containers.carryOut
	starvedTo   int64                     // up to when Result.StarvedMs counts
}

// Run simulates the jobs and the cluster of configuration c until the last job
// has ended, and stores the result in r.
func (s *Sim) Run(c *Config, r *Result) (err error) {
	if s.process, _ = sched.As[sched.Process](c.Model); s.process != nil {
		if err := s.process.Start(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.process.Close()) }()
	}
	if err := s.begin(c, r); err != nil {
		return err
	}
	for steps := 0; s.jobs.live > 0 || s.arrivals.left(); steps++ {
		if steps%askEvery == 0 && s.Interrupted != nil && s.Interrupted() != nil {
			return ErrInterrupted
		}
		if err := s.step(); err != nil {
			return err
		}
		if s.preemption.endless != nil {
			return s.preemption.endless
		}
		if s.process != nil && s.process.Failed() != nil {
			return s.process.Failed()
		}
	}
	r.Events = s.events.Handled + r.Beats
	for i := range r.Jobs {
		r.MakespanMs = max(r.MakespanMs, r.Jobs[i].EndMs-r.Jobs[0].SubmitMs)
	}
	if noter, ok := sched.As[sched.Noter](s.Model); ok {
		r.Notes = noter.Notes()
	}
	return nil
}

// step moves the simulated time to the next event, and handles all that happens at
// this time. Heartbeats of nodes come last within a millisecond.
func (s *Sim) step() error {
	t := s.events.Next()
	n, beat := s.nextBeat()
	if next := min(t, beat); next == kernel.Never || next > s.events.ProgressMs+patienceMs+s.Capacity.EveryMs && s.events.Stalled() {
		return s.stuck()
	}
	if now := min(t, beat); now > s.events.Now {
		s.events.Advance(now)
		s.state.SetNow(now * 1e6)
	}
	if beat < t {
		s.beat(n)
		s.attempts.bookFresh()
		return nil
	}
	for list := s.events.Take(); len(list) > 0; list = s.events.Take() {
		for _, e := range list {
			if e.Kind() != kernel.Arrival {
				s.handle(e)
			} else if err := s.arrive(); err != nil {
				return err
			}
		}
	}
	s.attempts.bookFresh()
	return nil
}

// ErrInterrupted is the error of a run that Config.Interrupted ended.
var ErrInterrupted = errors.New("the simulation was interrupted")

const askEvery = 1 << 8 // number of simulation steps between two calls of Config.Interrupted

// patienceMs is how long, in simulated ms, a scheduler model may refuse all
// nodes while nothing else happens. Then the run ends with an error.
const patienceMs = 3_600_000

func (s *Sim) stuck() error {
	j := s.jobs.of(s.view.Active()[0])
	const m, r = state.Map, state.Reduce
	return fmt.Errorf(
		"at %d ms job %q is stuck: of its %d maps %d wait and %d run, of its %d reduces %d wait and %d run, and no event is left; either no "+
			"node can hold its containers, or the model never starts them",
		s.events.Now,
		j.name,
		j.total[m],
		s.view.Waiting(j.id, m),
		s.view.Running(j.id, m),
		j.total[r],
		s.view.Waiting(j.id, r),
		s.view.Running(j.id, r),
	)
}
