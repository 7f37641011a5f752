// Package sim runs MapReduce jobs on a Hadoop cluster in virtual time, under the
// scheduler models that also steer a real one.
//
// A discrete-event kernel (arrivals in order, a ring of heartbeats, a wheel for
// the rest) drives cluster.State and asks sched.Model on the heartbeats of nodes
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
	"fmt"

	"heddle/harness/cluster"
	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/fluid"
	"heddle/traces"
)

// Config is a run.
type Config struct {
	Cluster Cluster
	Source  Source
	// Model decides; nil is YARN's Capacity scheduler as it ships. It must be
	// new: models keep counts.
	Model       sched.Model
	Actuator    Actuator
	Splits      Splits
	Costs       Costs // 0 is no time: start from DefaultCosts
	Speculation Speculation
	Faults      []Fault // by AtMs
	// Opportunities, where not nil, replace heartbeats: nodes are offered at these
	// times and no others.
	Opportunities []Opportunity
	// MinAllocation is the smallest container anyone asks for, YARN's minimum
	// allocation; zero is 1 MB and 1 core.
	MinAllocation cluster.Resource
	// AllBeats has every heartbeat take place, also those that change nothing.
	// The result is the same but for Events and Beats; models that observe
	// heartbeats get them all.
	AllBeats bool
	Seed     uint64
	// Record is given every event, in order; nil: none.
	Record func(traces.Event)
}

// Actuator is how decisions become running tasks.
type Actuator uint8

// Actuators.
const (
	// Native: Model is the cluster's own scheduler. A decision is a container at
	// once; which map runs in it the ApplicationMaster says at its heartbeat.
	Native Actuator = iota
	// Labels: the container comes after a time drawn from Costs.LabelMs, one at a
	// time on a node, and is bound like a Native one.
	Labels
	// Ideal: the task that the decision names starts at once.
	Ideal
)

// Splits is what ApplicationMasters read as the hosts of their splits.
type Splits uint8

// Ways to tell.
const (
	// AsSubmitted: JobSpec.SplitHosts, or all replicas.
	AsSubmitted Splits = iota
	// CachedOnly: the nodes with a cached copy; for maps without one, all
	// replicas.
	CachedOnly
	// Planned: as a Model that is a sched.JobPlanner says.
	Planned
)

// Speculation is the rule by which slow attempts get a copy.
type Speculation uint8

// Rules.
const (
	NoSpeculation Speculation = iota
	// HadoopSpeculation is MapReduce's DefaultSpeculator.
	HadoopSpeculation
	// LATE is that of Zaharia et al., OSDI 2008.
	LATE
)

// Opportunity is one node's report at a time.
type Opportunity struct {
	AtMs int64
	Node cluster.NodeID
}

// Fault is something that goes wrong at a time.
type Fault struct {
	AtMs int64
	What FaultKind
	Node cluster.NodeID // for all but AttemptFails
	// Speed is a slow node's from then on, as Node.Speed.
	Speed float64
	// Share is the part of attempts that fail from then on, drawn by task and
	// attempt; each fails at a drawn part of its time.
	Share float64
}

// FaultKind is what goes wrong.
type FaultKind uint8

// Faults.
const (
	NodeDown FaultKind = iota
	NodeUp
	NodeSlow
	AttemptsFail
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
	state  *cluster.State
	view   *cluster.View
	offers sched.Offers
	carry  func(sched.Decision) bool
	r      *Result
	now    int64 // ms
	wheel  wheel
	beats  beats
	shared *fluid.System // nil: nothing limits but slots
	coming Job           // the next to arrive
	comes  int64         // when, or never
	nodes  []node
	racks  int32
	jobs   []job
	slot   []int32 // by cluster.JobID, the index in jobs
	spare  []int32 // jobs
	live   int     // jobs that have not ended
	tasks  int64   // of them
	queued []int32 // jobs whose ApplicationMaster waits for room

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
	splits      splits
	copies      []wanted // speculative attempts that wait for room
	opportunity int      // the next
	streams     struct{ compute, label, read, fetch, fail draw.Key }
	decided     int64 // when something last happened but heartbeats in vain
}

// Run carries out a run, with its result in r.
func (s *Sim) Run(c *Config, r *Result) error {
	if err := s.begin(c, r); err != nil {
		return err
	}
	for s.live > 0 || s.comes != never {
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
	if n, beat := s.nextBeat(); beat < t {
		if beat > s.decided+patienceMs && t == never {
			return s.stuck()
		}
		s.advance(beat)
		s.beat(n)
		return nil
	}
	if t == never {
		return s.stuck()
	}
	s.advance(t)
	s.decided = t
	if s.shared != nil && s.shared.Next() <= t {
		for {
			a, ok := s.shared.Pop(t)
			if !ok {
				break
			}
			s.r.Events++
			s.flowEnded(a)
		}
	}
	for _, i := range s.wheel.take() {
		s.r.Events++
		s.handle(s.wheel.free(i))
	}
	for s.comes == t {
		s.r.Events++
		if err := s.arrive(); err != nil {
			return err
		}
	}
	return nil
}

// patienceMs is how long models may refuse all nodes while nothing else happens.
const patienceMs = 3_600_000

func (s *Sim) stuck() error {
	j := &s.jobs[s.slot[s.view.Active()[0]]]
	return fmt.Errorf("at %d ms: job %q waits, with nothing running and nothing to come: no node can hold what it needs, or the model never starts it", s.now, j.name)
}

func (s *Sim) advance(t int64) {
	if t > s.now {
		s.now = t
		s.wheel.advance(t)
		s.state.SetNow(t * 1e6)
	}
}
