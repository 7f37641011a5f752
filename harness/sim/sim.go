// Package sim runs MapReduce jobs on a Hadoop cluster in virtual time, under the
// scheduler models that also steer a real one.
//
// A discrete-event kernel (arrivals in order, a ring of heartbeats, a wheel for
// the rest) drives state.State and asks sched.Model on the heartbeats of nodes
// with room. On top of it: containers by memory and cores, the
// ApplicationMaster with its own heartbeat and late binding, reduces that start
// before the maps are done, shuffles, disks and links that are shared (package
// fluid), caches (package place), speculation, and faults.
//
// Same input, seed and model give the same schedule, on any machine. Times are
// whole milliseconds. What it leaves out: JVM reuse and uberised jobs, the
// NameNode's and the ResourceManager's own load, spills and merges of maps,
// preemption between queues, replication after a DataNode's loss.
package sim

import (
	"errors"
	"fmt"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/fluid"
	"heddle/harness/state"
)

// Run carries out a run to the end of its last job. An error says what of c
// cannot be, or that jobs wait for what will not come.
func Run(c *Config) (*Result, error) {
	var s Sim
	r := new(Result)
	if err := s.Run(c, r); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	return r, nil
}

// Sim is a simulator that keeps its memory between runs. The zero value is
// ready.
type Sim struct {
	Config
	state     *state.State
	view      *state.View
	offers    sched.Offers
	carry     func(sched.Decision) bool
	r         *Result
	now       int64 // ms
	wheel     wheel
	beats     beats
	shared    *fluid.System // nil: nothing limits but slots
	coming    Job           // the next to arrive
	comes     int64         // when, or never
	nodes     []node
	racks     int32
	jobs      []job
	slot      []int32 // by state.JobID, the index in jobs
	spare     []int32 // jobs
	live      int     // jobs that have not ended
	tasks     int64   // of them
	queued    []int32 // jobs whose ApplicationMaster waits for room
	mastersMB int64   // that ApplicationMasters take

	attempts    []attempt
	idle        []int32 // attempts
	running     int
	grants      []grant
	spareGrant  uint32
	fetches     []fetch
	spareFetch  []int32
	observer    sched.Observer
	failing     float64 // share of attempts
	losesNodes  bool
	rates       []float64
	caching     following
	splits      splits
	copies      []wanted // speculative attempts that wait for room
	opportunity int      // the next
	streams     struct{ compute, label, read, fetch, fail draw.Key }
	looks       int   // events to come that may change nothing: heartbeats of masters, looks for slow attempts
	moved       int64 // when something last happened but heartbeats in vain
}

// Run carries out a run, with its result in r.
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

// step goes to the next time at which something happens, and has it happen.
// Within a millisecond flows end first, then come the wheel's events, arrivals,
// and heartbeats last.
func (s *Sim) step() error {
	t := min(s.wheel.next(), s.comes)
	if s.shared != nil {
		t = min(t, s.shared.Next())
	}
	n, beat := s.nextBeat()
	if next := min(t, beat); next == never || next > s.moved+patienceMs && s.stands() {
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

// ErrInterrupted is the error of a run that Config.Interrupted has ended.
var ErrInterrupted = errors.New("interrupted")

const askEvery = 1 << 8 // steps, well below a millisecond but for models that take long

// patienceMs is how long models may refuse all nodes while nothing else happens.
const patienceMs = 3_600_000

// stands says whether nothing is to come but heartbeats and looks for slow
// attempts.
func (s *Sim) stands() bool {
	return s.wheel.count == s.looks && s.comes == never && (s.shared == nil || s.shared.Next() == never)
}

func (s *Sim) stuck() error {
	j := &s.jobs[s.slot[s.view.Active()[0]]]
	const m, r = state.Map, state.Reduce
	return fmt.Errorf("at %d ms: job %q waits, of %d maps for %d and of %d reduces for %d, with %d and %d running, and nothing is to come: no node can hold what it needs, or the model never starts it",
		s.now, j.name, j.total[m], s.view.Waiting(j.id, m), j.total[r], s.view.Waiting(j.id, r), s.view.Running(j.id, m), s.view.Running(j.id, r))
}

func (s *Sim) advance(t int64) {
	if t > s.now {
		s.now = t
		s.wheel.advance(t)
		s.state.SetNow(t * 1e6)
	}
}
