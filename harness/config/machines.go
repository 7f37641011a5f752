package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"heddle/harness/internal/units"
	"heddle/traces"
)

// Machines describes a cluster's nodes, for simulations. Its keys are named
// like the flags of "heddle lab" that mean the same.
type Machines struct {
	// Nodes is the number of workers in the cluster. They are spread over as
	// many racks as Racks says. If they cannot be spread evenly, the first
	// racks get one worker more.
	Nodes int `yaml:"nodes" text:"Workers in all." required:"true" min:"1" max:"100000"`
	Racks int `yaml:"racks" text:"Racks that the workers are spread over." required:"true" min:"1" max:"100000"`
	// Slots is the number of containers that a worker can run at the same time.
	// Container is the memory of each container.
	Slots     int        `yaml:"slots" text:"Containers that a worker runs at once." required:"true" min:"1" max:"1000"`
	Container units.Size `yaml:"container" text:"The memory of a container." required:"true" min:"1MiB" max:"1TiB"`
	// CPUs lists the numbers of cores of the workers, in the order of their
	// names. If the list is shorter than the number of workers, it starts again
	// from its beginning. If the list is empty or a number is 0, tasks on the
	// worker do not slow each other down.
	CPUs []float64 `yaml:"cpus,omitempty" text:"Cores of the workers, in the order of their names; a short list starts again. 0 is no limit." min:"0" max:"4096"`
	// AMMemory is the memory of a node on which ApplicationMasters alone run, as a lab's
	// master. YARN counts it in the headroom of jobs. 0 means that workers run them, or that
	// it is not known.
	AMMemory units.Size `yaml:"amMemory,omitempty" text:"The memory of a node that runs ApplicationMasters alone, if there is one." max:"1024TiB"`
	// Cache is the size of each DataNode's HDFS cache.
	Cache units.Size `yaml:"cache,omitempty" text:"The size of each DataNode's HDFS cache."`
	// BlockSize and Replication are the HDFS block size and number of replicas
	// for new files.
	BlockSize   units.Size `yaml:"blockSize" text:"Of new files." required:"true" min:"64KiB"`
	Replication int        `yaml:"replication" text:"Of new files." required:"true" min:"1" max:"100000"`
	// NMHeartbeat and AMHeartbeat are the heartbeat intervals of NodeManagers
	// and ApplicationMasters.
	NMHeartbeat units.Duration `yaml:"nmHeartbeat" text:"The heartbeat interval of NodeManagers." required:"true" min:"1ms" max:"1m"`
	AMHeartbeat units.Duration `yaml:"amHeartbeat" text:"The heartbeat interval of ApplicationMasters." required:"true" min:"1ms" max:"1m"`
	// NodeExpiry is how long a node may send no heartbeat before it counts as
	// lost; 10m by default.
	NodeExpiry units.Duration `yaml:"nodeExpiry,omitempty" text:"How long a node may be silent before it counts as lost; 10m by default." max:"24h"`
	// Scheduler is the simulated YARN scheduler, "capacity" or "fair".
	Scheduler string `yaml:"scheduler,omitempty" text:"YARN's scheduler." values:"capacity,fair"`
	// Queues is the path of a capacity-scheduler.xml. ApplicationMasters then run on the workers.
	Queues string `yaml:"queues,omitempty" text:"A capacity-scheduler.xml, by which the cluster's own scheduler divides it."`
	// Labels has the number of nodes with each node label: the last ones, labels by name.
	Labels map[string]int `yaml:"labels,omitempty" text:"Node labels, and how many of the last nodes have each; for queues."`
	// Async makes the simulated Capacity scheduler allocate containers without
	// waiting for heartbeats of NodeManagers.
	Async bool `yaml:"async,omitempty" text:"The capacity scheduler allocates without waiting for heartbeats."`
	// Hadoop is the version of an emulated cluster's ResourceManager, one that a lab can have.
	Hadoop string `yaml:"hadoop,omitempty" text:"With --emulate, the ResourceManager's version; 3.4.2 by default."`
}

// Names of YARN properties. With them, a trace's header describes a simulated
// cluster.
const (
	settingScheduler = "yarn.resourcemanager.scheduler.class"
	settingNodeBeat  = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"
	settingAMBeat    = "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms"
	settingExpiry    = "yarn.nm.liveness-monitor.expiry-interval-ms"
	settingAsync     = "yarn.scheduler.capacity.schedule-asynchronously.enable"
	schedulerPackage = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
)

func (m *Machines) problems(p *problems, path string) {
	p.keys(*m, path)
	for key, n := range map[string]int{"racks": m.Racks, "replication": m.Replication} {
		if n > m.Nodes {
			p.addf(path+"."+key, "%d: want 1 to the number of nodes, %d", n, m.Nodes)
		}
	}
	labelled := 0
	for label, n := range m.Labels {
		if n < 1 || n > m.Nodes || label == "" {
			p.addf(path+".labels", "%q: %d: want a label, and 1 to %d nodes", label, n, m.Nodes)
			continue
		}
		labelled += n
	}
	if labelled > m.Nodes || labelled > 0 && m.Queues == "" {
		p.addf(path+".labels", "%d nodes have a label: want %d at most, and queues that use them", labelled, m.Nodes)
	}
}

// Facts returns the description of the nodes as it stands in a trace's header:
// the nodes, the rates of disks, links and uplinks, and the YARN properties
// that simulations use.
func (m *Machines) Facts(name string, rates Rates) (traces.ClusterFacts, map[string]string) {
	c := traces.ClusterFacts{Name: name, HostCores: rates.HostCores, AMMemoryBytes: int64(m.AMMemory)}
	rack, inRack := 0, 0
	for i := range m.Nodes {
		if r := RackOf(i, m.Nodes, m.Racks); r != rack {
			rack, inRack = r, 0
		}
		inRack++
		n := traces.NodeFacts{
			Node: traces.Node(fmt.Sprintf("r%dn%d", rack, inRack)), Rack: "/rack" + strconv.Itoa(rack), Worker: true,
			MemoryBytes: int64(m.Container) * int64(m.Slots), VCores: int32(m.Slots), CacheBytes: int64(m.Cache),
		}
		if len(m.CPUs) > 0 {
			n.Cores = m.CPUs[i%len(m.CPUs)]
		}
		c.Nodes = append(c.Nodes, n)
		if rates.Disk > 0 {
			c.Disks = append(c.Disks, traces.DiskFacts{Node: n.Node, BytesPerSec: int64(rates.Disk)})
		}
		if rates.Link > 0 {
			c.Links = append(c.Links, traces.LinkFacts{Node: n.Node, BytesPerSec: int64(rates.Link)})
		}
	}
	next := m.Nodes
	for _, label := range slices.Sorted(maps.Keys(m.Labels)) {
		for range min(next, m.Labels[label]) {
			next--
			c.Nodes[next].Label = label
		}
	}
	for r := range m.Racks {
		if rates.Uplink > 0 {
			c.Links = append(c.Links, traces.LinkFacts{Rack: "/rack" + strconv.Itoa(r+1), BytesPerSec: int64(rates.Uplink)})
		}
	}
	settings := map[string]string{
		settingNodeBeat:  strconv.FormatInt(time.Duration(m.NMHeartbeat).Milliseconds(), 10),
		settingAMBeat:    strconv.FormatInt(time.Duration(m.AMHeartbeat).Milliseconds(), 10),
		settingScheduler: schedulerPackage + "capacity.CapacityScheduler",
	}
	if m.NodeExpiry > 0 {
		settings[settingExpiry] = strconv.FormatInt(time.Duration(m.NodeExpiry).Milliseconds(), 10)
	}
	switch {
	case m.Scheduler == "fair":
		settings[settingScheduler] = schedulerPackage + "fair.FairScheduler"
	case m.Async:
		settings[settingAsync] = "true"
	}
	return c, settings
}

// RackOf returns the number of the rack, from 1, of worker number i. The first
// workers are in the first rack, and so on. If the workers cannot be spread
// evenly, the first racks get one more.
func RackOf(i, nodes, racks int) int {
	each, more := nodes/racks, nodes%racks
	if i < more*(each+1) {
		return i/(each+1) + 1
	}
	return (i-more*(each+1))/each + more + 1
}
