package traces

// Format versions, in Header.Format. This program reads all of them and refuses
// higher ones.
const (
	FormatVersion = 1
	// ListFormatVersion is the version of lists of jobs. A program that reads
	// only FormatVersion would find no jobs in them.
	ListFormatVersion = 2
)

// Origin says how a trace was made.
type Origin string

// Origins.
const (
	Measured  Origin = "measured"  // captured from a cluster while jobs ran
	Recovered Origin = "recovered" // put together after the fact, from history files
	Simulated Origin = "simulated" // a replay's
	Imported  Origin = "imported"  // another tool's trace
)

// Header describes a run as a whole.
type Header struct {
	Format int    `json:"format"`
	Origin Origin `json:"origin"`
	// StartUnixNs is the wall clock time at Time 0; 0 means that it is not known.
	StartUnixNs int64 `json:"startUnixNs"`
	// Writer is the program and version that wrote the trace.
	Writer  string       `json:"writer"`
	Cluster ClusterFacts `json:"cluster"`
	// Model and Params are the scheduler that decided. "yarn" is the cluster's
	// own scheduler.
	Model    string            `json:"model"`
	Params   map[string]string `json:"params,omitempty"`
	Actuator string            `json:"actuator,omitempty"` // none, labels, ideal
	Splits   string            `json:"splits,omitempty"`   // asSubmitted, cachedOnly, plan
	Seed     uint64            `json:"seed"`
	// Software maps a component ("hadoop", "java", "kernel") to its version.
	Software map[string]string `json:"software,omitempty"`
	// Settings are the settings of the cluster and the jobs that decide about
	// placement.
	Settings map[string]string `json:"settings,omitempty"`
	// List is set in lists of jobs, whose jobs are JobListed events without
	// tasks. The rules say which tasks a replay makes of them.
	List *ListRules `json:"list,omitempty"`
	// Inputs are the files that the trace was made from.
	Inputs []Input `json:"inputs,omitempty"`
	// Synthetic lists what was not recorded but made up by a rule, such as
	// "durations" or "replicas".
	Synthetic []string `json:"synthetic,omitempty"`
	// Mended counts the defects that an import found in its files, by kind; see
	// package mend.
	Mended map[string]int `json:"mended,omitempty"`
}

// Input is a file that a trace was made from.
type Input struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// ClusterFacts describes a cluster at the start of a run. Nodes that join later
// are NodeUp events.
type ClusterFacts struct {
	Name  string      `json:"name,omitempty"`
	Nodes []NodeFacts `json:"nodes"`
	Links []LinkFacts `json:"links,omitempty"`
	Disks []DiskFacts `json:"disks,omitempty"`
	// HostCores is the number of cores of the machine, if all nodes are on one.
	HostCores float64      `json:"hostCores,omitempty"`
	Queue     []QueueFacts `json:"queues,omitempty"`
}

// NodeFacts describe a node.
type NodeFacts struct {
	Node Node   `json:"node" range:"some"`
	Rack string `json:"rack"`
	// MemoryBytes and VCores are what YARN may give to containers.
	MemoryBytes int64 `json:"memoryBytes"`
	VCores      int32 `json:"vcores" range:"cores"`
	// CacheBytes is the HDFS cache's capacity.
	CacheBytes int64 `json:"cacheBytes,omitempty"`
	// Cores is the number of real cores of the node; 0 means unknown.
	Cores float64 `json:"cores,omitempty" range:"cores"`
	// Worker is true for a node that runs tasks. A node may be there for
	// ApplicationMasters only.
	Worker bool `json:"worker"`
}

// LinkFacts is the rate of a node's network link or, if Node is empty, of a
// rack's uplink.
type LinkFacts struct {
	Node        Node   `json:"node,omitempty"`
	Rack        string `json:"rack,omitempty"`
	BytesPerSec int64  `json:"bytesPerSec"`
}

// DiskFacts is the rate at which a node reads its disk.
type DiskFacts struct {
	Node        Node  `json:"node"`
	BytesPerSec int64 `json:"bytesPerSec"`
}

// QueueFacts describes a queue without queues below it.
type QueueFacts struct {
	Name     string  `json:"name"`
	Capacity float64 `json:"capacity"` // share of the cluster, 0 to 1
}
