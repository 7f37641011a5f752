package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// Config is the input of one simulated run.
type Config struct {
	Cluster Machines
	Source  Source
	// Model is the scheduler model that decides which tasks start where. nil means
	// YARN's Capacity scheduler with default settings. Pass a new Model for each
	// run, because a Model keeps counts of what happened in its run.
	Model       sched.Model
	Actuator    Actuator
	Splits      Splits
	Costs       Costs // times that Hadoop's own steps take; the zero value makes these steps take no time, DefaultCosts has realistic times
	Speculation Speculation
	Faults      []Fault // node losses and other faults, sorted by AtMs
	// Capacity is a timetable of the nodes' capacity. Running containers stay when
	// their node's capacity falls below what they use.
	Capacity state.Timetable
	// CapacityKills ends the youngest containers instead, until a node's capacity is enough.
	CapacityKills bool
	// Opportunities, if not nil, replace the NodeManagers' heartbeats: nodes
	// report to the scheduler only at these times.
	Opportunities []Opportunity
	// MinAllocation is the smallest container that a job asks for (YARN's minimum
	// allocation). Zero means 1 MB and 1 core.
	MinAllocation state.Resource
	// MapSlots and ReduceSlots, if one of them is above 0, limit how many maps and
	// reduces each node runs at the same time, as in Hadoop 1. Memory and cores
	// limit them too. ApplicationMasters and speculative attempts take no slot.
	MapSlots, ReduceSlots int32
	// CacheReads makes each node keep in memory the blocks that it read last, up
	// to the node's CacheBytes. Only the input blocks of jobs that have Job.Blocks
	// are kept so.
	CacheReads bool
	// NodeFetches makes each reduce fetch map output from the nodes on which the
	// maps ran, from at most Costs.Fetchers nodes at a time. What the reduce's own
	// node has takes nothing of the network. Otherwise a reduce fetches from whole
	// racks, whose nodes' links do not limit it. At most MaxFetchNodes nodes are
	// possible.
	NodeFetches bool
	// Shuffled makes the nodes register in an order that is drawn from Seed.
	// Asynchronous scheduling goes through the nodes in this order. Otherwise the
	// order is that of Cluster.Nodes.
	Shuffled bool
	Seed     uint64
	// SampleMs is the time between two samples of the nodes' load, which Record gets
	// and models hear. 0 means 1000 if the Model is a sched.HearsLoad, otherwise
	// that there are no samples.
	SampleMs int64
	// Loads, if not nil, are what the attempts of workloads, by their name and kind of task,
	// add to the load of their node as long as they run. Those of other workloads, or with
	// 0, load it by what they do. IdleLoad is the load of a node on which no task runs.
	Loads    map[string][2]float64
	IdleLoad float64
	// Record is called with every trace event, in order of time. If Record is nil,
	// no trace is made.
	Record func(traces.Event)
	// Reasons makes Record get, with each decision, what the Model saw when it decided.
	Reasons bool
	// Ended is called when an attempt ends. It may be nil. A caller that needs
	// only these ends saves computing time with Ended instead of Record.
	Ended func(AttemptEnd)
	// Interrupted is called every few hundred steps of the simulation, to learn
	// whether to stop. If it returns an error, the run ends with ErrInterrupted.
	// Interrupted may be nil, or the method Err of a context.
	Interrupted func() error
}

// Actuator says how a scheduler's decision becomes a running task.
type Actuator uint8

// The values of the type Actuator: how a scheduler's decision becomes a
// running task.
const (
	// Native: the Model acts as the cluster's own scheduler. A decision allocates
	// a container to the job at once. The ApplicationMaster chooses the
	// container's task at its own next heartbeat.
	Native Actuator = iota
	// Labels: a node label gives the node to the job, as when heddle steers a real
	// cluster. The container comes after a random time, drawn from Costs.LabelMs,
	// and a node gets one such container at a time. The ApplicationMaster then
	// chooses the container's task, as with Native.
	Labels
	// Ideal: the task that the scheduler's decision names starts at once.
	Ideal
)

// Splits is the choice of the hosts that a job's ApplicationMaster sees in the
// job's input splits.
type Splits uint8

// The values of the type Splits: which hosts a job's input splits name.
const (
	// AsSubmitted: the hosts in JobSpec.SplitHosts. If that is nil, all nodes with
	// a replica of the split's block.
	AsSubmitted Splits = iota
	// CachedOnly: the nodes that cache the split's block. If no node caches it,
	// all nodes with a replica of the block.
	CachedOnly
	// Planned: the one host that the Model's plan names for the split. The Model
	// must be a sched.JobPlanner.
	Planned
)

// Speculation is the rule that decides which slow attempts get a speculative
// attempt beside them.
type Speculation uint8

// The values of the type Speculation: by which rule slow attempts are found
// for speculative execution.
const (
	NoSpeculation Speculation = iota
	// HadoopSpeculation finds slow attempts by the rule of MapReduce's
	// DefaultSpeculator.
	HadoopSpeculation
	// LATE finds slow attempts by the rule of the LATE scheduler (Zaharia et al.,
	// OSDI 2008).
	LATE
)

// Opportunity is a time at which a given node reports to the scheduler, so
// that the scheduler may start tasks there.
type Opportunity struct {
	AtMs int64
	Node state.NodeID
}

// Fault is a node loss, a node's return, a slow node or a rise in failing
// attempts, at a given time.
type Fault struct {
	AtMs int64
	What FaultKind
	Node state.NodeID // node that is lost, returns or slows down; unused by AttemptsFail
	// Speed is the node's speed after a NodeSlow fault, in the unit of Node.Speed.
	Speed float64
	// Share is the share of attempts, from 0 to 1, that fail from the fault's time
	// on. Which attempts fail, and when during their run, is drawn at random from
	// the seed.
	Share float64
}

// FaultKind is the kind of a fault, such as the loss of a node.
type FaultKind uint8

// Kinds of fault: a node is lost, returns or slows down, or attempts fail.
const (
	NodeDown FaultKind = iota
	NodeUp
	NodeSlow
	AttemptsFail
)
