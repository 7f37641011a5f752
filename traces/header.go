package traces

// Formats that this program writes into Header.Format. A reader refuses a higher
// one and reads every lower one.
const (
	FormatVersion = 1
	// ListFormatVersion is that of traces with a List, in which a reader of
	// FormatVersion would find no jobs.
	ListFormatVersion = 2
)

// Origin says where a trace's events come from.
type Origin string

// Origins.
const (
	Measured  Origin = "measured"  // captured from a cluster while jobs ran
	Recovered Origin = "recovered" // put together after the fact, from history files
	Simulated Origin = "simulated" // a replay's
	Imported  Origin = "imported"  // another tool's trace
)

// Header is what holds for a whole run.
type Header struct {
	Format int    `json:"format"`
	Origin Origin `json:"origin"`
	// StartUnixNs is the wall clock at Time 0; 0 where the trace has no date.
	StartUnixNs int64 `json:"startUnixNs"`
	// Writer is the program and version that wrote the trace.
	Writer  string       `json:"writer"`
	Cluster ClusterFacts `json:"cluster"`
	// Model and Params name the scheduler that decided; "yarn" is the
	// cluster's own.
	Model    string            `json:"model"`
	Params   map[string]string `json:"params,omitempty"`
	Actuator string            `json:"actuator,omitempty"` // none, labels, ideal
	Splits   string            `json:"splits,omitempty"`   // asSubmitted, cachedOnly, plan
	Seed     uint64            `json:"seed"`
	// Software maps a component ("hadoop", "java", "kernel") to its version.
	Software map[string]string `json:"software,omitempty"`
	// Settings are the cluster's and jobs' settings that placement depends on.
	Settings map[string]string `json:"settings,omitempty"`
	// List, where not nil, makes the trace a list of jobs: its events of them are
	// JobListed, and these rules make their tasks.
	List *ListRules `json:"list,omitempty"`
	// Inputs are the files the trace was made from.
	Inputs []Input `json:"inputs,omitempty"`
	// Synthetic names what was made up by a rule and not recorded
	// ("durations", "replicas", …).
	Synthetic []string `json:"synthetic,omitempty"`
	// Mended counts, by kind, what an import had to decide for itself because
	// its input was at odds with itself or with its format.
	Mended map[string]int `json:"mended,omitempty"`
}

// Input is a file that a trace was made from.
type Input struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// ClusterFacts is what a cluster was at the run's start. Nodes that come later are
// NodeUp events.
type ClusterFacts struct {
	Name  string      `json:"name,omitempty"`
	Nodes []NodeFacts `json:"nodes"`
	Links []LinkFacts `json:"links,omitempty"`
	Disks []DiskFacts `json:"disks,omitempty"`
	// HostCores are the cores that all nodes share where they are on one machine.
	HostCores float64      `json:"hostCores,omitempty"`
	Queue     []QueueFacts `json:"queues,omitempty"`
}

// NodeFacts are a node's place and size.
type NodeFacts struct {
	Node Node   `json:"node" range:"some"`
	Rack string `json:"rack"`
	// MemoryBytes and VCores are what YARN may hand out.
	MemoryBytes int64 `json:"memoryBytes"`
	VCores      int32 `json:"vcores" range:"cores"`
	// CacheBytes is the HDFS cache's capacity.
	CacheBytes int64 `json:"cacheBytes,omitempty"`
	// Cores is the CPU the node really has, 0 unknown.
	Cores float64 `json:"cores,omitempty" range:"cores"`
	// Workers run tasks; ApplicationMasters may have nodes of their own.
	Worker bool `json:"worker"`
}

// LinkFacts is the rate of a node's link or, where Node is empty, of a rack's
// uplink.
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

// QueueFacts is a leaf queue.
type QueueFacts struct {
	Name     string  `json:"name"`
	Capacity float64 `json:"capacity"` // share of the cluster, 0 to 1
}
