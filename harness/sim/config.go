package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// Config is a run.
type Config struct {
	Cluster Machines
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
	MinAllocation state.Resource
	// CacheReads has nodes keep in memory, up to their CacheBytes, what they read
	// last of jobs' Blocks.
	CacheReads bool
	Seed       uint64
	// Record is given every event, in order; nil: none.
	Record func(traces.Event)
	// Ended is told of every attempt's end, at less cost than Record; nil: nobody is.
	Ended func(AttemptEnd)
	// Interrupted is asked now and then, as a context's Err; an error ends the run
	// with ErrInterrupted. Nil: it is not.
	Interrupted func() error
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
	Node state.NodeID
}

// Fault is something that goes wrong at a time.
type Fault struct {
	AtMs int64
	What FaultKind
	Node state.NodeID // for all but AttemptFails
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
