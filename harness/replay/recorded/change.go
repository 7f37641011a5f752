package recorded

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/option"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// Change says in what a replay differs from its trace: nodes, rates, speed and so on.
// The zero value changes nothing. Its flags have the names of those of "heddle lab" that
// mean the same.
type Change struct {
	// Nodes and Racks, above 0, are the numbers of nodes and racks in the replay.
	// Blocks are then placed anew, by HDFS's rules. The replay's nodes are copies of
	// the trace's nodes, in turn.
	Nodes int `flag:"nodes" text:"workers in all; blocks are placed again" without:"as recorded" min:"1" max:"1000000"`
	Racks int `flag:"racks" text:"racks that the workers are in" without:"as recorded" min:"1" max:"1000000"`
	// Slots, above 0, is how many containers of the largest size each node can hold
	// in the replay.
	Slots int `flag:"slots" text:"containers per node" without:"as recorded" min:"1" max:"1000"`
	// Cores, if not nil, are the numbers of cores of the nodes, in order; if there
	// are more nodes than numbers, the list is used again from its start.
	Cores []float64 `flag:"cpus" list:"," text:"cores per node; a list makes nodes differ; 0 is no limit" without:"as recorded" min:"0" max:"1e6"`
	// HostCores, above 0, is the number of cores that the tasks of all nodes share,
	// as if all nodes ran on one machine.
	HostCores float64 `flag:"host-cores" key:"set" text:"cores that all nodes share, on one machine" without:"as recorded" min:"0" max:"1e6"`
	// Others is how many of these shared cores other programs take from the tasks.
	Others float64 `flag:"others" key:"set" text:"how many of these cores other programs take from the tasks" min:"0" max:"1e6"`
	// Link, Uplink and Disk are the rates of each node's link, each rack's uplink and
	// each node's disk, in bytes/s. 0 means no limit.
	Disk   Rate `flag:"disk" text:"rate at which a node reads from its disk; 0 is no limit" without:"as recorded"`
	Link   Rate `flag:"link" text:"rate of a node's link; 0 is no limit" without:"as recorded"`
	Uplink Rate `flag:"uplink" text:"rate of a rack's uplink, such as 30Mbit; 0 is no limit" without:"as recorded"`
	// Cache is how many bytes of blocks a DataNode can cache.
	Cache Size `flag:"cache" text:"HDFS cache per DataNode; blocks that do not fit are not cached" without:"as recorded"`
	// Replication, above 0, is the number of replicas of each block. Blocks are then
	// placed anew.
	Replication int `flag:"replication" text:"replicas per block, which are placed again" without:"as recorded" min:"1" max:"512"`
	// NMHeartbeat and AMHeartbeat, above 0, are the heartbeat intervals of
	// NodeManagers and ApplicationMasters.
	NMHeartbeat units.Duration `flag:"nm-heartbeat" text:"heartbeat interval of NodeManagers" without:"as recorded" max:"10m"`
	AMHeartbeat units.Duration `flag:"am-heartbeat" text:"heartbeat interval of ApplicationMasters" without:"as recorded" max:"10m"`
	// Speed, above 0, is the speed of the nodes' processors relative to the trace: at
	// 2, tasks compute in half the time.
	Speed float64 `flag:"speed" key:"set" text:"speed of nodes; at 2 they compute in half the time" min:"1e-6" max:"1e6"`
	// Load, above 0, is the arrival rate of jobs relative to the recorded one: at 2,
	// the times between arrivals are halved.
	Load float64 `flag:"load" key:"set" text:"rate of job arrivals; at 2 all jobs arrive in half the time" min:"1e-6" max:"1e6"`
}

// Rate is a rate in bytes/s of a disk or link; if it is not given, the trace's rate
// stays. It is a flag.Value.
type Rate struct {
	units.Rate
	Given bool
}

// Set parses a rate from text, such as "80MB/s", into r.
func (r *Rate) Set(text string) error {
	r.Given = true
	return r.Rate.Set(text)
}

func (r Rate) or(recorded int64) int64 {
	if r.Given {
		return int64(r.Rate)
	}
	return recorded
}

// Size is a number of bytes, of a block or a cache; if it is not given, the trace's
// size stays. It is a flag.Value.
type Size struct {
	units.Size
	Given bool
}

// Set parses a number of bytes from text, such as "64MiB", into s.
func (s *Size) Set(text string) error {
	s.Given = true
	return s.Size.Set(text)
}

// LongestBeat is the longest heartbeat interval that is accepted. Hadoop counts a
// node that sends no heartbeat for so long as lost.
const LongestBeat = 10 * time.Minute

// Check returns an error if a change is out of bounds.
func (c *Change) Check() error {
	if err := option.CheckAll(c); err != nil {
		return err
	}
	if c.Nodes > 0 && c.Racks > c.Nodes {
		return fmt.Errorf("%d racks: there are only %d nodes", c.Racks, c.Nodes)
	}
	return nil
}

// PlacesBlocks reports whether the replay places HDFS blocks on nodes anew.
func (c *Change) PlacesBlocks() bool { return c.Nodes > 0 || c.Racks > 0 || c.Replication > 0 }

// Assumed if the trace does not tell: the memory of a container, in MB, as
// MapReduce's default, and the number of containers that a node holds, as in heddle's
// lab.
const (
	unknownMB    = 1024
	unknownSlots = 2
	uncounted    = 1 << 10 // VCores of a node if its scheduler does not count cores: more than containers can use
)

// sizeOf returns the size of a container as memory in whole MB and cores. Unknown
// memory gets MapReduce's default.
func sizeOf(bytes int64, cores int32) state.Resource {
	if bytes <= 0 {
		bytes = unknownMB << 20
	}
	return state.Resource{MemoryMB: int32(min(max(1, (bytes+1<<20-1)>>20), math.MaxInt32)), VCores: max(1, cores)}
}

// container returns the largest size of a container of the trace.
func (t *Trace) container() state.Resource {
	largest := state.Resource{MemoryMB: 1, VCores: 1}
	if len(t.List) > 0 {
		largest = sizeOf(0, 0)
	}
	for _, j := range t.Jobs {
		largest = larger(largest, larger(sizeOf(j.MapMemoryBytes, j.MapVCores), sizeOf(j.ReduceMemoryBytes, j.ReduceVCores)))
	}
	return largest
}

// SmallestMB returns the memory of the trace's smallest container of a task, in MB.
func (t *Trace) SmallestMB() int32 {
	least := int32(unknownMB)
	for _, j := range t.Jobs {
		for k, bytes := range [2]int64{j.MapMemoryBytes, j.ReduceMemoryBytes} {
			if len(j.Tasks[k]) > 0 {
				least = min(least, sizeOf(bytes, 1).MemoryMB)
			}
		}
	}
	return least
}

// Machines returns the cluster of the trace with the changes in c applied.
func (t *Trace) Machines(c *Change) (sim.Machines, error) {
	facts := t.Nodes
	if len(facts) == 0 {
		if c.Nodes == 0 {
			return sim.Machines{}, fmt.Errorf("trace %s names no node: give the number of nodes with --nodes", t.Name)
		}
		facts = []traces.NodeFacts{{Node: "node", Rack: "/rack1"}}
	}
	var origin []traces.Node
	for _, f := range facts {
		origin = append(origin, f.Node)
	}
	if c.Nodes > 0 || c.Racks > 0 {
		facts = renewed(facts, c.Nodes, c.Racks)
	}
	told := t.Rates()
	largest := t.container()
	var x sim.Machines
	var memoryMB, vcores int64 // memory and vcores of all nodes together
	seen := map[string]bool{}
	for i, f := range facts {
		n := sim.Node{Name: string(f.Node), Rack: f.Rack, Label: f.Label, Cores: f.Cores, Speed: c.Speed, CacheBytes: f.CacheBytes}
		if c.Cache.Given {
			n.CacheBytes = int64(c.Cache.Size)
		}
		n.Capacity = state.Resource{MemoryMB: int32(min(f.MemoryBytes>>20, math.MaxInt32)), VCores: f.VCores}
		used := t.usedAtOnce(i, len(facts))
		switch {
		case c.Slots > 0:
			n.Capacity = largest.Times(int32(c.Slots))
		case n.Capacity.MemoryMB <= 0:
			n.Capacity = larger(largest.Times(unknownSlots), used)
		default:
			n.Capacity.MemoryMB = max(n.Capacity.MemoryMB, used.MemoryMB)
		}
		if n.Capacity.VCores <= 0 || n.Capacity.VCores < used.VCores {
			n.Capacity.VCores = uncounted
		}
		if len(c.Cores) > 0 {
			n.Cores = c.Cores[i%len(c.Cores)]
		}
		n.LinkBytesPerSec = c.Link.or(told.Link[origin[i%len(origin)]])
		n.DiskBytesPerSec = c.Disk.or(told.Disk[origin[i%len(origin)]])
		x.Nodes = append(x.Nodes, n)
		memoryMB, vcores = memoryMB+int64(n.Capacity.MemoryMB), vcores+int64(n.Capacity.VCores)
		if !seen[f.Rack] {
			seen[f.Rack] = true
			uplink := cmp.Or(told.Uplink[f.Rack], anyOf(told.Uplink, t.Nodes))
			x.Racks = append(x.Racks, sim.Rack{Name: f.Rack, UplinkBytesPerSec: c.Uplink.or(uplink)})
		}
	}
	mastersMB := t.Header.Cluster.AMMemoryBytes >> 20
	x.Masters = int32(min(max(0, mastersMB), 1))
	for _, n := range t.masters() {
		if n.MemoryBytes > 0 {
			x.Masters++
			mastersMB += n.MemoryBytes >> 20
		}
	}
	x.MastersMB = int32(min(max(0, mastersMB), math.MaxInt32/4))
	if memoryMB > math.MaxInt32 || vcores > math.MaxInt32 {
		return x, fmt.Errorf("trace %s: its %d nodes have %d TiB and %d cores for containers, more than the simulator can add up; make nodes "+
			"smaller with --slots", t.Name, len(x.Nodes), memoryMB>>20, vcores)
	}
	return x, nil
}

// Rates are the rates of disks, links and racks' uplinks that a trace gives, in
// bytes/s.
type Rates struct {
	Disk, Link map[traces.Node]int64
	Uplink     map[string]int64 // rate of each rack's uplink, in bytes/s
}

// Rates returns the rates that the trace gives.
func (t *Trace) Rates() Rates {
	r := Rates{map[traces.Node]int64{}, map[traces.Node]int64{}, map[string]int64{}}
	for _, l := range t.Header.Cluster.Links {
		if l.Node != "" {
			r.Link[l.Node] = l.BytesPerSec
		} else {
			r.Uplink[l.Rack] = l.BytesPerSec
		}
	}
	for _, d := range t.Header.Cluster.Disks {
		r.Disk[d.Node] = d.BytesPerSec
	}
	return r
}

// renewed returns the given count of nodes. They copy the nodes in facts in turn, and
// fill the racks one after the other.
func renewed(facts []traces.NodeFacts, count, racks int) []traces.NodeFacts {
	if count == 0 {
		count = len(facts)
	}
	if racks == 0 {
		var names []string
		for _, f := range facts {
			if !slices.Contains(names, f.Rack) {
				names = append(names, f.Rack)
			}
		}
		racks = len(names)
	}
	racks = min(racks, count)
	list := make([]traces.NodeFacts, count)
	for i := range list {
		rack := i * racks / count
		first := (rack*count + racks - 1) / racks
		list[i] = facts[i%len(facts)]
		list[i].Rack = "/rack" + strconv.Itoa(rack+1)
		list[i].Node = traces.Node("r" + strconv.Itoa(rack+1) + "n" + strconv.Itoa(i-first+1))
	}
	return list
}

// anyOf returns the uplink rate of the first rack that has a known one, for use in
// racks that the trace lacks.
func anyOf(uplink map[string]int64, nodes []traces.NodeFacts) int64 {
	for _, n := range nodes {
		if u := uplink[n.Rack]; u > 0 {
			return u
		}
	}
	return 0
}
