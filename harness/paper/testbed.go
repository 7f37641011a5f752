package paper

import (
	"errors"
	"fmt"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/option"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/place"
	"heddle/harness/state"
)

// Testbed is the set-up of a paper that brings none of its own: equal nodes in racks, and jobs
// whose blocks, sizes and arrivals are drawn.
type Testbed struct {
	Nodes       int            `flag:"nodes" min:"1" max:"10000"`
	Racks       int            `flag:"racks" min:"1"`
	Containers  int            `flag:"containers" min:"1" max:"1000"` // of a node, of 1 GB each
	Cores       float64        `flag:"cores" min:"0" max:"1e6"`       // of a node, which its tasks share; 0: each task has one of its own
	Disk        units.Rate     `flag:"disk"`                          // of a node; 0: no limit, as for the other rates
	Link        units.Rate     `flag:"link"`
	Uplink      units.Rate     `flag:"uplink"`                    // of a rack
	Beat        units.Duration `flag:"beat" min:"1ms" max:"100h"` // time between a node's heartbeats
	Actuator    string         `flag:"actuator" values:"ideal,labels"`
	Replication int            `flag:"replication" min:"1" max:"10"`
	Layout      string         `flag:"layout" values:"spread,hot"`  // hot: one node wrote all files, so it has a replica of each block
	CachedPct   float64        `flag:"cachedPct" min:"0" max:"100"` // blocks of which HDFS caches a replica
	Jobs        int            `flag:"jobs" min:"1"`
	Maps        int            `flag:"maps" min:"1"`               // of a job
	Sizes       string         `flag:"sizes" values:"equal,mixed"` // mixed: a quarter to four times as many maps
	Reduces     int            `flag:"reduces" min:"0"`
	Block       units.Size     `flag:"block" min:"1"`
	MapOutput   float64        `flag:"mapOutput" min:"0" max:"1000"` // bytes for each byte that a map reads
	Map         units.Duration `flag:"map" min:"0" max:"100h"`       // computing time of a map, within 20 % up and down, as that of a reduce
	Reduce      units.Duration `flag:"reduce" min:"0" max:"100h"`
	Arrival     string         `flag:"arrival" values:"poisson,even"`
	Every       units.Duration `flag:"every" min:"0" max:"100h"` // time from one job to the next in the mean
	Slowstart   float64        `flag:"slowstart" min:"0" max:"1"`
	Pools       int            `flag:"pools" min:"1"` // jobs are in them by turns
}

// testbed is what a paper's file changes with setup.
var testbed = Testbed{
	Nodes: 8, Racks: 2, Containers: 4, Cores: 4, Disk: 120e6, Link: 125e6, Uplink: 125e6, Beat: units.Duration(time.Second),
	Actuator: "ideal", Replication: 3, Layout: "spread", Jobs: 10, Maps: 20, Sizes: "equal", Reduces: 1, Block: 128 << 20,
	MapOutput: .1, Map: units.Duration(10 * time.Second), Reduce: units.Duration(5 * time.Second),
	Arrival: "poisson", Every: units.Duration(5 * time.Second), Slowstart: 1, Pools: 1,
}

// mostTasks is how many tasks the jobs of a testbed may have.
const mostTasks = 1_000_000

// With returns the testbed with one property changed.
func (x Testbed) With(name, value string) (Setting, error) {
	err := option.Set(option.Of(&x), name, value)
	switch tasks := float64(x.Jobs) * (4*float64(x.Maps) + float64(x.Reduces)); {
	case err != nil:
	case max(x.Racks, x.Replication) > x.Nodes:
		err = errors.New("want as many nodes as racks and replicas, or more")
	case tasks > mostTasks:
		err = fmt.Errorf("want at most %d tasks in all", mostTasks)
	}
	return x, err
}

// Stages returns the jobs on the cluster.
func (x Testbed) Stages(seed uint64) ([]Stage, error) {
	container := state.Resource{MemoryMB: 1024, VCores: 1}
	c := sim.Config{Costs: sim.DefaultCosts(), MinAllocation: container, Actuator: sim.Ideal}
	if x.Actuator == "labels" {
		c.Actuator = sim.Labels
	}
	c.Costs.NodeBeatMs = milliseconds(x.Beat)
	var racks []state.RackID
	for i := range x.Nodes {
		rack := i * x.Racks / x.Nodes
		racks = append(racks, state.RackID(rack))
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{
			Name: fmt.Sprint("node", i+1), Rack: fmt.Sprint("rack", rack+1), Capacity: container.Times(int32(x.Containers)),
			Cores: x.Cores, DiskBytesPerSec: int64(x.Disk), LinkBytesPerSec: int64(x.Link), MemoryBytesPerSec: 2e9,
		})
	}
	for i := range x.Racks {
		c.Cluster.Racks = append(c.Cluster.Racks, sim.Rack{Name: fmt.Sprint("rack", i+1), UplinkBytesPerSec: int64(x.Uplink)})
	}
	return []Stage{{Config: c, Jobs: x.jobs(draw.Stream(seed, "testbed"), place.New(racks), container)}}, nil
}

func (x Testbed) jobs(key draw.Key, topology *place.Topology, container state.Resource) (list []sim.Job) {
	room := make([]int64, x.Nodes)
	for i := range room {
		room[i] = 1 << 50
	}
	cache, writer, at := place.NewCache(room), state.NodeID(state.None), 0.0
	if x.Layout == "hot" {
		writer = 0
	}
	for i := range x.Jobs {
		key := key.At(uint64(i))
		maps := x.Maps
		if x.Sizes == "mixed" { // each factor is as likely as its inverse
			maps = max(1, x.Maps*[]int{1, 2, 4, 8, 16}[key.At(0).Below(5)]/4)
		}
		j := sim.Job{SubmitMs: int64(at), SlowStart: float32(x.Slowstart)}
		j.Name, j.User, j.Queue, j.Pool = fmt.Sprint("job", i+1), "bench", "default", fmt.Sprint("pool", i%x.Pools+1)
		j.Maps, j.Reduces, j.MapSize, j.ReduceSize = int32(maps), int32(x.Reduces), container, container
		topology.File(&j.Replicas, key.At(1), maps, writer, x.Replication)
		if n := int(x.CachedPct / 100 * float64(maps)); n > 0 {
			cache.File(&j.Cached, key.At(2), &j.Replicas, int64(x.Block), place.Directive{Blocks: n, Copies: 1})
		}
		out := int64(x.MapOutput * float64(x.Block))
		j.MapWork = []sim.Work{{InputBytes: int64(x.Block), OutputBytes: out, ComputeMs: milliseconds(x.Map), SpreadPercent: 20}}
		if x.Reduces > 0 {
			j.ReduceWork = []sim.Work{{ComputeMs: milliseconds(x.Reduce), SpreadPercent: 20}}
		}
		list = append(list, j)
		gap := 1.0
		if x.Arrival == "poisson" {
			gap = key.At(3).Exponential()
		}
		at += gap * float64(milliseconds(x.Every))
	}
	return list
}

func milliseconds(d units.Duration) int32 { return int32(time.Duration(d).Milliseconds()) }
