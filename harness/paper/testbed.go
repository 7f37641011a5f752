package paper

import (
	"errors"
	"fmt"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/place"
	"heddle/harness/state"
)

// Testbed is the set-up of a paper that brings none of its own: equal nodes in racks, and jobs
// whose blocks, sizes and arrivals are drawn.
type Testbed struct {
	Nodes       int            `set:"nodes"`
	Racks       int            `set:"racks"`
	Containers  int            `set:"containers"` // of a node, of 1 GB each
	Cores       float64        `set:"cores"`      // of a node, which its tasks share; 0: each task has one of its own
	Disk        units.Rate     `set:"disk"`       // of a node; 0: no limit, as for the other rates
	Link        units.Rate     `set:"link"`
	Uplink      units.Rate     `set:"uplink"` // of a rack
	Beat        units.Duration `set:"beat"`   // time between a node's heartbeats
	Actuator    string         `set:"actuator" of:"ideal labels"`
	Replication int            `set:"replication"`
	Layout      string         `set:"layout" of:"spread hot"` // hot: one node wrote all files, so it has a replica of each block
	CachedPct   float64        `set:"cachedPct"`              // blocks of which HDFS caches a replica
	Jobs        int            `set:"jobs"`
	Maps        int            `set:"maps"`                   // of a job
	Sizes       string         `set:"sizes" of:"equal mixed"` // mixed: a quarter to four times as many maps
	Reduces     int            `set:"reduces"`
	Block       units.Size     `set:"block"`
	MapOutput   float64        `set:"mapOutput"` // bytes for each byte that a map reads
	Map         units.Duration `set:"map"`       // computing time of a map, within 20 % up and down, as that of a reduce
	Reduce      units.Duration `set:"reduce"`
	Arrival     string         `set:"arrival" of:"poisson even"`
	Every       units.Duration `set:"every"` // time from one job to the next in the mean
	Slowstart   float64        `set:"slowstart"`
	Pools       int            `set:"pools"` // jobs are in them by turns
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
	if err := SetField(&x, name, value); err != nil {
		return x, err
	}
	between := func(x, least, most float64) bool { return x >= least && x <= most }
	hours := units.Duration(100 * time.Hour)
	switch tasks := float64(x.Jobs) * (4*float64(x.Maps) + float64(x.Reduces)); {
	case !between(float64(x.Nodes), 1, 10_000) || x.Racks < 1 || x.Racks > x.Nodes || !between(float64(x.Containers), 1, 1000):
		return x, errors.New("want 1 to 10,000 nodes in as many racks or fewer, of 1 to 1,000 containers")
	case !between(tasks, 4, mostTasks) || x.Maps < 1 || x.Jobs < 1:
		return x, fmt.Errorf("want jobs with maps, and at most %d tasks in all", mostTasks)
	case !between(float64(x.Replication), 1, min(10, float64(x.Nodes))) || x.Pools < 1 || x.Block < 1:
		return x, errors.New("want 1 to 10 replicas, on nodes of their own, one pool or more and blocks of a byte or more")
	case x.CachedPct > 100 || x.Slowstart > 1 || x.MapOutput > 1000 || x.Beat < units.Duration(time.Millisecond):
		return x, errors.New("want cachedPct up to 100, slowstart up to 1, mapOutput up to 1000 and a beat of 1ms or more")
	case max(x.Map, x.Reduce, x.Every, x.Beat) > hours || min(x.Map, x.Reduce, x.Every) < 0:
		return x, errors.New("want times of 0 to 100h")
	}
	return x, nil
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
