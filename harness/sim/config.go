package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// Config is the input of a run.
type Config struct {
	Cluster Machines
	Source  Source
	// Model decides. nil means YARN's Capacity scheduler as shipped. It must be
	// new, since models keep counts.
	Model       sched.Model
	Actuator    Actuator
	Splits      Splits
	Costs       Costs // zero costs take no time: start from DefaultCosts
	Speculation Speculation
	Faults      []Fault // sorted by AtMs
	// Opportunities, if not nil, replace the heartbeats: nodes report at these
	// times only.
	Opportunities []Opportunity
	// MinAllocation is the smallest container that anyone asks for (YARN's
	// minimum allocation). Zero means 1 MB and 1 core.
	MinAllocation state.Resource
	// CacheReads lets each node keep in memory, up to its CacheBytes, the
	// Blocks of jobs that it read last.
	CacheReads bool
	Seed       uint64
	// Record gets every trace event, in order; may be nil.
	Record func(traces.Event)
	// Ended gets every attempt's end. It costs less than Record; may be nil.
	Ended func(AttemptEnd)
	// Interrupted is called now and then, like a context's Err. If it returns
	// an error, the run ends with ErrInterrupted. May be nil.
	Interrupted func() error
}

// Actuator says how a decision becomes a running task.
type Actuator uint8

// The ways in which a decision becomes a running task.
const (
	// Native: Model acts as the cluster's own scheduler. A decision gives the
	// job a container at once, and the ApplicationMaster binds a map to it at
	// its next heartbeat.
	Native Actuator = iota
	// Labels: the container comes after a time drawn from Costs.LabelMs, one at
	// a time on a node. It is bound as under Native.
	Labels
	// Ideal: the task named in the decision starts at once.
	Ideal
)

// Splits says which hosts the ApplicationMaster reads in a job's splits.
type Splits uint8

// The hosts that the ApplicationMaster can be told.
const (
	// AsSubmitted: JobSpec.SplitHosts, or all replicas if that is nil.
	AsSubmitted Splits = iota
	// CachedOnly: the nodes with a cached copy; all replicas for a map without
	// one.
	CachedOnly
	// Planned: the host in the plan of a Model that is a sched.JobPlanner.
	Planned
)

// Speculation is the rule by which slow attempts get a speculative attempt.
type Speculation uint8

// The rules by which an attempt is found slow.
const (
	NoSpeculation Speculation = iota
	// HadoopSpeculation is MapReduce's DefaultSpeculator.
	HadoopSpeculation
	// LATE is the rule of Zaharia et al., OSDI 2008.
	LATE
)

// Opportunity is the report of one node at one time.
type Opportunity struct {
	AtMs int64
	Node state.NodeID
}

// Fault is something that goes wrong at a given time.
type Fault struct {
	AtMs int64
	What FaultKind
	Node state.NodeID // the node it happens to; unused by AttemptsFail
	// Speed is a slow node's speed from then on, as in Node.Speed.
	Speed float64
	// Share is the share of attempts that fail from then on. Which ones is
	// drawn by task and attempt; when each fails is drawn within its duration.
	Share float64
}

// FaultKind says what goes wrong in a fault.
type FaultKind uint8

// Kinds of fault.
const (
	NodeDown FaultKind = iota
	NodeUp
	NodeSlow
	AttemptsFail
)
