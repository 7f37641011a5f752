package traces

import "strings"

// Versions of the trace format, for Header.Format. This program reads both
// versions and refuses higher ones.
const (
	FormatVersion = 1
	// ListFormatVersion is the format version of traces that are lists of jobs
	// without tasks. A program that reads only FormatVersion would find no jobs
	// in them.
	ListFormatVersion = 2
)

// Origin says how a trace was made: measured (captured while jobs ran),
// recovered (from job history files), simulated (by a replay in virtual time)
// emulated (captured, of nodes and tasks that a real ResourceManager schedules and that are not there)
// or imported (from the trace of another tool).
type Origin string

// The ways in which a trace can be made.
const (
	Measured  Origin = "measured"  // the trace was captured from a cluster while jobs ran
	Recovered Origin = "recovered" // the trace was made from job history files, after the jobs had ended
	Simulated Origin = "simulated" // the trace was written by a replay in virtual time
	Emulated  Origin = "emulated"  // the trace was captured from a real ResourceManager whose nodes and tasks are emulated
	Imported  Origin = "imported"  // the trace was converted from a trace of another tool
)

// Header is the first part of a trace. It describes the cluster, the scheduler
// model and the settings of the run.
type Header struct {
	Format int    `json:"format"`
	Origin Origin `json:"origin"`
	// StartUnixNs is the start of the run, in nanoseconds since 1970; 0 means
	// that it is not known.
	StartUnixNs int64 `json:"startUnixNs"`
	// Writer is the name and version of the program that wrote the trace.
	Writer  string       `json:"writer"`
	Cluster ClusterFacts `json:"cluster"`
	// Model is the name of the scheduler model that placed the tasks, Params are
	// its parameters. "yarn" is the cluster's own scheduler.
	Model  string            `json:"model"`
	Params map[string]string `json:"params,omitempty"`
	// Actuator says how the model's decisions about placement were carried out:
	// none (YARN decided alone), labels (through YARN node labels), ideal
	// (exactly; only in simulations).
	Actuator string `json:"actuator,omitempty"`
	// Splits says which hosts the jobs' splits name: asSubmitted (hosts of all
	// replicas), cachedOnly (hosts of cached replicas), plan (hosts that the
	// model chose).
	Splits string `json:"splits,omitempty"`
	// MapSlots and ReduceSlots are how many maps and how many reduces the model
	// ran on a node at the same time at most. If both are 0, only memory and
	// cores set a limit.
	MapSlots    int32 `json:"mapSlots,omitempty"`
	ReduceSlots int32 `json:"reduceSlots,omitempty"`
	// Told says what the model was told ahead of the changes of nodes' capacity.
	Told Telling `json:"told,omitzero"`
	// Reasons is true if decisions say what the model saw, see Decision.Seen.
	Reasons bool   `json:"reasons,omitempty"`
	Seed    uint64 `json:"seed"`
	// Software maps the name of a program ("hadoop", "java", "kernel") to its
	// version.
	Software map[string]string `json:"software,omitempty"`
	// Settings are those settings of the cluster and of the jobs that influence
	// where tasks run.
	Settings map[string]string `json:"settings,omitempty"`
	// List is set if the trace is a list of jobs: JobListed events without
	// tasks. Its rules say which tasks a replay makes for each job.
	List *ListRules `json:"list,omitempty"`
	// Inputs are the files from which the trace was made.
	Inputs []Input `json:"inputs,omitempty"`
	// Synthetic names the parts of the trace that were not recorded but made up
	// by a rule, such as "durations" or "replicas".
	Synthetic []string `json:"synthetic,omitempty"`
	// Mended counts the defects that an import found in its input files. The
	// keys are the kinds of defects in package mend.
	Mended map[string]int `json:"mended,omitempty"`
}

// Telling says how well models know ahead when the capacity of nodes changes. The zero
// value is: exactly.
type Telling struct {
	// None says that models are told nothing.
	None bool `json:"none,omitempty"`
	// LagMs is how late each change is in what models are told.
	LagMs int64 `json:"lagMs,omitempty"`
	// Noise is the largest relative error of the load in what models are told. The
	// load is what a node lacks of its full size. All nodes that change at the same
	// time have the same error.
	Noise float64 `json:"noise,omitempty"`
}

// Input is a file from which a trace was made.
type Input struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// ClusterFacts describes a cluster at the start of a run. A NodeUp event
// describes a node that joins later.
type ClusterFacts struct {
	Name  string      `json:"name,omitempty"`
	Nodes []NodeFacts `json:"nodes"`
	Links []LinkFacts `json:"links,omitempty"`
	Disks []DiskFacts `json:"disks,omitempty"`
	// HostCores is the number of CPU cores of the machine, if all nodes run on
	// one machine; 0 otherwise.
	HostCores float64 `json:"hostCores,omitempty"`
	// OthersCores is how many cores of that machine other programs used on average, while
	// the jobs ran: neither the cluster nor heddle.
	OthersCores float64 `json:"othersCores,omitempty"`
	// AMMemoryBytes, in a simulation, is the memory of nodes on which ApplicationMasters
	// alone run, and which are not among Nodes.
	AMMemoryBytes int64        `json:"amMemoryBytes,omitempty"`
	Queue         []QueueFacts `json:"queues,omitempty"`
}

// CountsCores reports whether a node is full when its cores are taken. YARN counts them only
// with one of its calculators, simulations always do.
func (h *Header) CountsCores() bool {
	return h.Origin == Simulated ||
		strings.HasSuffix(h.Settings["yarn.scheduler.capacity.resource-calculator"], "DominantResourceCalculator")
}

// Racks returns the rack of each node.
func (c *ClusterFacts) Racks() map[Node]string {
	racks := map[Node]string{}
	for _, n := range c.Nodes {
		racks[n.Node] = n.Rack
	}
	return racks
}

// NodeFacts describes a node: its rack, its resources, and whether it runs
// tasks.
type NodeFacts struct {
	Node Node   `json:"node" range:"some"`
	Rack string `json:"rack"`
	// MemoryBytes and VCores are the memory and the virtual cores of the node
	// that YARN may give to containers.
	MemoryBytes int64 `json:"memoryBytes"`
	VCores      int32 `json:"vcores" range:"cores"`
	// CacheBytes is the capacity of the node's HDFS cache.
	CacheBytes int64 `json:"cacheBytes,omitempty"`
	// Cores is the number of CPU cores that the node really has; 0 means
	// unknown.
	Cores float64 `json:"cores,omitempty" range:"cores"`
	// Worker is true for a node that runs tasks, and false for a node that only
	// runs ApplicationMasters.
	Worker bool `json:"worker"`
	// Label is the node's label, if YARN says so: only jobs that ask for it run there.
	Label string `json:"label,omitempty"`
}

// LinkFacts gives the rate of a node's network link. If Node is empty, the rate
// is that of the rack's uplink.
type LinkFacts struct {
	Node        Node   `json:"node,omitempty"`
	Rack        string `json:"rack,omitempty"`
	BytesPerSec int64  `json:"bytesPerSec"`
}

// DiskFacts gives the rate at which a node reads from its disk, in bytes per
// second.
type DiskFacts struct {
	Node        Node  `json:"node"`
	BytesPerSec int64 `json:"bytesPerSec"`
}

// QueueFacts describes a leaf queue of the YARN scheduler.
type QueueFacts struct {
	Name     string  `json:"name"`
	Capacity float64 `json:"capacity"` // share of the cluster's resources for this queue, from 0 to 1
}
