package modfair

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/option"
	"heddle/harness/paper"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/place"
	"heddle/harness/state"
)

// testbed is the paper's cluster with the jobs of experiment A, which are all of
// one size, or of experiment B, which are of five sizes.
type testbed struct {
	Experiment string         `flag:"experiment" values:"A,B"`
	Jobs       int            `flag:"jobs" min:"1" max:"1000"`
	Size       int            `flag:"size" min:"1" max:"10000"`   // maps of a job in experiment A
	MapSlots   int            `flag:"mapSlots" min:"0" max:"100"` // of a node; 0: 4 in experiment A and 2 in B
	Layout     string         `flag:"layout" values:"hot,hotRack,spread"`
	Input      string         `flag:"input" values:"drawn,same"` // same: all seeds have the same blocks, in the same order of jobs
	Order      string         `flag:"order" values:"shuffled,ascending,descending"`
	Arrival    string         `flag:"arrival" values:"together,apart,poisson"`
	Cores      float64        `flag:"cores" min:"0" max:"1e12"` // of a node; 0: each task has one of its own
	Map        units.Duration `flag:"map" min:"1ms" max:"100h"`
	Reduce     units.Duration `flag:"reduce" min:"0" max:"100h"`
	Block      units.Size     `flag:"block" min:"1"`
	Link       units.Rate     `flag:"link"`
	Uplink     units.Rate     `flag:"uplink"`
	SlowStart  float64        `flag:"slowstart" min:"0" max:"1"`
	Beat       units.Duration `flag:"beat" min:"1ms"`
}

// standard has what the paper says, and where it is silent what modfair.go lists.
var standard = testbed{
	Experiment: "B", Jobs: 5, Size: 6, Layout: "hot", Input: "drawn", Order: "shuffled", Arrival: "together", Cores: 2,
	Map: units.Duration(40 * time.Second), Reduce: units.Duration(20 * time.Second), Block: 64 << 20, Link: 125e6, Uplink: 25e6,
	SlowStart: 0.05, Beat: units.Duration(300 * time.Millisecond),
}

// nodes is the number of slaves, half of them on each of two servers. pools are
// the users' pools.
const nodes, reduceSlots, pools = 8, 1, 3

// sizes are the numbers of maps of the jobs of experiment B, each of which occurs
// once, twice or three times.
var sizes = []int{6, 10, 16, 21, 25}

// apart is the time between two submissions with arrival "apart", and its mean
// with arrival "poisson".
const apart = 2 * time.Second

var container = state.Resource{MemoryMB: 200, VCores: 1}

// With returns the testbed with one property changed.
func (x testbed) With(name, value string) (paper.Setting, error) {
	err := option.Set(option.Of(&x), name, value)
	return x, err
}

// mapSlots returns the number of map slots of a node.
func (x testbed) mapSlots() int {
	return cmp.Or(x.MapSlots, map[string]int{"A": 4, "B": 2}[x.Experiment])
}

// Stages returns the jobs on the cluster.
func (x testbed) Stages(seed uint64) ([]paper.Stage, error) {
	c := sim.Config{
		Actuator:      sim.Ideal,
		Costs:         sim.NoCosts(),
		MinAllocation: container,
		MapSlots:      int32(x.mapSlots()),
		ReduceSlots:   reduceSlots,
	}
	c.Costs.NodeBeatMs = int32(time.Duration(x.Beat).Milliseconds())
	var racks []state.RackID
	for n := range nodes {
		rack := n / (nodes / 2)
		racks = append(racks, state.RackID(rack))
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{
			Name: fmt.Sprintf("vm%d", n+1), Rack: serverName(rack), Capacity: container.Times(int32(x.mapSlots() + reduceSlots)),
			Cores: x.Cores, LinkBytesPerSec: int64(x.Link),
		})
	}
	for rack := range 2 {
		c.Cluster.Racks = append(c.Cluster.Racks, sim.Rack{Name: serverName(rack), UplinkBytesPerSec: int64(x.Uplink)})
	}
	return []paper.Stage{{Config: c, Jobs: x.jobs(seed, place.New(racks))}}, nil
}

func serverName(rack int) string { return fmt.Sprint("server", rack+1) }

func (x testbed) jobs(seed uint64, topology *place.Topology) []sim.Job {
	if x.Input == "same" {
		seed = 0
	}
	key := draw.Stream(seed, "modfair")
	var list []sim.Job
	at := 0.0
	for i, maps := range x.sizes(key.At(0)) {
		j := sim.Job{SubmitMs: int64(at), SlowStart: float32(x.SlowStart)}
		j.Name, j.User, j.Queue, j.Pool = fmt.Sprintf("job%02d", i+1), "bench", "default", fmt.Sprint("pool", i%pools+1)
		j.Maps, j.Reduces, j.MapSize, j.ReduceSize = int32(maps), 1, container, container
		blocks := key.At(1).At(uint64(i))
		for b := range uint64(maps) {
			j.Replicas.Add(x.placeOf(blocks.At(b), topology))
		}
		j.MapWork = []sim.Work{{InputBytes: int64(x.Block), OutputBytes: int64(x.Block) / 20, ComputeMs: milliseconds(x.Map), SpreadPercent: 20}}
		j.ReduceWork = []sim.Work{{ComputeMs: milliseconds(x.Reduce), SpreadPercent: 20}}
		list = append(list, j)
		switch x.Arrival {
		case "apart":
			at += float64(apart.Milliseconds())
		case "poisson":
			at += float64(apart.Milliseconds()) * key.At(2).At(uint64(i)).Exponential()
		}
	}
	return list
}

func milliseconds(d units.Duration) int32 { return int32(time.Duration(d).Milliseconds()) }

// sizes returns the jobs' numbers of maps, in the order of submission.
func (x testbed) sizes(key draw.Key) []int {
	list := make([]int, x.Jobs)
	for i := range list {
		list[i] = x.Size
		if x.Experiment == "B" {
			list[i] = sizes[i%len(sizes)]
		}
	}
	slices.Sort(list)
	switch x.Order {
	case "descending":
		slices.Reverse(list)
	case "shuffled":
		sorted := slices.Clone(list)
		for i, at := range place.Shuffled(key, len(list)) {
			list[i] = sorted[at]
		}
	}
	return list
}

// placeOf returns the node that stores a block's only replica.
func (x testbed) placeOf(key draw.Key, topology *place.Topology) state.NodeID {
	switch x.Layout {
	case "hot": // the file was written by a task or a client on that node
		return 0
	case "hotRack":
		return state.NodeID(key.Below(nodes / 2))
	}
	return topology.Block(nil, key, state.None, 1)[0]
}
