package clqlmrs

import (
	"fmt"
	"math"

	"heddle/harness/paper"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/place"
	"heddle/harness/state"
)

// testbed is the paper's cluster with jobs of one benchmark program, such as
// WordCount, or with one job of each of the paper's five programs. What the paper does not specify has the
// values in the variable standard.
type testbed struct {
	app         string // name of the application; "" means that all five run at the same time
	maps        int
	blockMiB    int64
	cacheGiB    float64 // size of the HDFS caches of all nodes together
	containerGB float64 // RAM of a node divided by its number of containers, so it includes the RAM for the system and the HDFS cache
	beatMs      int32
	diskMBs     int64
	linkMbit    int64
	computePct  int32   // scales the computing times of all tasks, in percent; 100 leaves them as in the variable applications
	slowStart   float32 // share of maps that must be done before the job's reduces start
	actuator    sim.Actuator
	splits      sim.Splits
}

// standard is the cluster and job on which all figures of the paper are based.
// Each figure changes some of its values.
var standard = testbed{
	app: "wordcount", maps: 100, blockMiB: 128, cacheGiB: 8, containerGB: 2, beatMs: 1000,
	diskMBs: 120, linkMbit: 10_000, computePct: 100, slowStart: 1, actuator: sim.Ideal,
}

// ramGB is the RAM in GB of the paper's DataNodes 1 to 6. Each DataNode has as
// many cores as cores says.
var ramGB = []float64{4, 6, 8, 4, 6, 8}

const cores, replication, reduces = 4, 3, 8

// application is one of the paper's five programs. It says how a job changes
// the amount of data, and how long it computes. The paper gives none of these
// numbers. Their ratios follow from what the programs do: WordCount's combiner
// leaves almost nothing of a small vocabulary, sorting keeps all bytes, and
// Hive's queries keep some columns and rows.
type application struct {
	name, title      string
	mapOut           float64 // bytes that maps put out for each byte that they read
	mapMs, reduceMs  float64 // computing time in ms: of a map for each MiB read, of a reduce for each MiB fetched
	reduceOutPerByte float64 // bytes that reduces write for each byte that they fetch
}

var applications = []application{
	{"wordcount", "WordCount", 0.001, 80, 40, 0.5},
	{"sort", "Sort", 1, 15, 15, 1},
	{"terasort", "TeraSort", 1, 20, 20, 1},
	{"join", "Join", 0.25, 40, 40, 0.1},
	{"aggregation", "Aggregation", 0.1, 50, 30, 0.2},
}

var container = state.Resource{MemoryMB: 1024, VCores: 1}

// nodes returns n nodes in two racks: nodes with an odd number in one rack,
// those with an even number in the other.
func nodes(n int, of func(i int) sim.Node) ([]sim.Node, *place.Topology) {
	list, racks := make([]sim.Node, n), make([]state.RackID, n)
	for i := range list {
		list[i] = of(i)
		list[i].Name, list[i].Rack = fmt.Sprintf("dn%d", i+1), []string{"odd", "even"}[i%2]
		racks[i] = state.RackID(i % 2)
	}
	return list, place.New(racks)
}

// cachedMaps returns for how many maps of one job the block is cached, if all
// jobs share the cache evenly. A job's part of the cache is rounded to whole
// blocks.
func (x testbed) cachedMaps(job, jobs int) int {
	upTo := func(n int) int { return int(math.Round(x.cacheBlocks() * float64(n) / float64(jobs))) }
	return min(x.maps, upTo(job+1)-upTo(job))
}

func (x testbed) cacheBlocks() float64 { return x.cacheGiB * (1 << 30) / float64(x.blockMiB<<20) }

// cacheBytes returns the HDFS cache size of each node in bytes. Each node gets
// the same number of whole blocks. Blocks that remain go to the nodes with the
// most memory. At last each node gets some more blocks: as many as the argument
// more says.
func (x testbed) cacheBytes(more int) []int64 {
	all, bytes := int(math.Round(x.cacheBlocks())), make([]int64, len(ramGB))
	for i, gb := range ramGB {
		rank := 0 // position of the node by memory, largest first; of two equal nodes the one with the lower index is first
		for k, other := range ramGB {
			if other > gb || other == gb && k < i {
				rank++
			}
		}
		blocks := all/len(ramGB) + more
		if rank < all%len(ramGB) {
			blocks++
		}
		bytes[i] = int64(blocks) * x.blockMiB << 20
	}
	return bytes
}

// Config returns a simulation whose blocks are placed by HDFS's rules. In each
// job's input, as many blocks are cached as cachedMaps says, spread over the
// input.
func (x testbed) Config(seed uint64) (sim.Config, []sim.Job, error) {
	c := sim.Config{Actuator: x.actuator, Splits: x.splits, Costs: sim.DefaultCosts(), MinAllocation: container}
	c.Costs.NodeBeatMs = x.beatMs
	c.Cluster.WritesWait = true
	var topology *place.Topology
	c.Cluster.Nodes, topology = nodes(len(ramGB), func(i int) sim.Node {
		slots := max(1, int32(math.Floor(ramGB[i]/x.containerGB)))
		return sim.Node{
			Capacity: state.Resource{MemoryMB: slots * container.MemoryMB, VCores: slots}, Cores: cores,
			DiskBytesPerSec: x.diskMBs * 1e6, LinkBytesPerSec: x.linkMbit * 1e6 / 8, MemoryBytesPerSec: 2e9,
		}
	})
	apps := applications
	if x.app != "" {
		apps = apps[:0:0]
		for _, a := range applications {
			if a.name == x.app {
				apps = append(apps, a)
			}
		}
	}
	var jobs []sim.Job
	for i, a := range apps {
		// The place of a block depends on the seed and the job's index, not on
		// the application. So what a scheduler learns in the simulation of one
		// application also serves the others.
		jobs = append(jobs, x.job(a, blocksOf(seed, i), topology))
	}
	// HDFS may place the replicas so that one node's cache stays empty while
	// others are full. All caches then grow by one block at a time, until all
	// blocks that are to be cached fit.
	for more := 0; !x.fill(place.NewCache(x.cacheBytes(more)), jobs, seed); more++ {
	}
	return c, jobs, nil
}

func blocksOf(seed uint64, job int) draw.Key { return draw.Stream(seed, "blocks").At(uint64(job)) }

// fill puts blocks of the jobs' inputs into the simulated HDFS cache. It
// returns false if the cache is too small for them.
func (x testbed) fill(cache *place.Cache, jobs []sim.Job, seed uint64) bool {
	for i := range jobs {
		j, want := &jobs[i], x.cachedMaps(i, len(jobs))
		j.Cached = state.Hosts{}
		if cache.File(&j.Cached, blocksOf(seed, i).At(1), &j.Replicas, x.blockMiB<<20, place.Directive{Blocks: want, Copies: 1}) < want {
			return false
		}
	}
	return true
}

func (x testbed) job(a application, key draw.Key, topology *place.Topology) sim.Job {
	block := x.blockMiB << 20
	j := sim.Job{SlowStart: x.slowStart}
	j.Name, j.User, j.Queue = a.name, "bench", "default"
	j.Maps, j.Reduces, j.MapSize, j.ReduceSize = int32(x.maps), reduces, container, container
	out := int64(a.mapOut * float64(block))
	compute := func(ms float64) int32 { return int32(ms * float64(x.computePct) / 100) }
	j.MapWork = []sim.Work{{InputBytes: block, OutputBytes: out, ComputeMs: compute(a.mapMs * float64(x.blockMiB)), SpreadPercent: 10}}
	fetched := float64(out) * float64(x.maps) / reduces
	j.ReduceWork = []sim.Work{{
		OutputBytes: int64(a.reduceOutPerByte * fetched), ComputeMs: compute(a.reduceMs * fetched / (1 << 20)), SpreadPercent: 10,
	}}
	topology.File(&j.Replicas, key.At(0), x.maps, state.None, replication)
	return j
}

// environment is a small cluster with one job, like those with which the paper
// trains CLQLMRS. Nodes have free slots, blocks are placed at random, and maps
// are equally long. Nothing but running maps takes time.
type environment struct {
	nodes, slots, maps, replication int
	cachedPct                       int
	layout                          int // selects one of several random placements of the blocks, counted from 0
}

// Config returns a simulation whose blocks are placed on nodes at random. A
// share of the blocks is cached, each on one of its nodes.
func (x environment) Config(seed uint64) (sim.Config, []sim.Job, error) {
	c := sim.Config{Actuator: sim.Ideal, Costs: sim.NoCosts(), MinAllocation: container}
	c.Costs.NodeBeatMs = standard.beatMs
	c.Cluster.Nodes, _ = nodes(x.nodes, func(int) sim.Node { return sim.Node{Capacity: container.Times(int32(x.slots))} })
	j := sim.Job{MapWork: []sim.Work{{FixedMs: 60_000}}}
	j.Name, j.User, j.Queue, j.Maps, j.MapSize = "episode", "bench", "default", int32(x.maps), container
	key := draw.Stream(seed, "environment").At(uint64(x.layout))
	order := place.Shuffled(key.At(0), x.maps)
	cached := x.maps * x.cachedPct / 100
	for i := range x.maps {
		holders := place.Shuffled(key.At(1).At(uint64(i)), x.nodes)[:x.replication]
		j.Replicas.Add(holders...)
		if int(order[i]) < cached {
			j.Cached.Add(holders[0])
		} else {
			j.Cached.Add()
		}
	}
	return c, []sim.Job{j}, nil
}

// scheduler is a scheduler model with its parameters, and the name that the
// paper uses for it.
type scheduler struct {
	label, model string
	params       sched.Params
}

var (
	fifo     = scheduler{"FIFO", "fifo", nil}
	delay    = scheduler{"Delay", "delay", nil}
	acl      = scheduler{"ACL", "acl", sched.Params{"c": "3"}}
	acl2     = scheduler{"ACL C=2", "acl", sched.Params{"c": "2"}}
	acl5     = scheduler{"ACL C=5", "acl", sched.Params{"c": "5"}}
	learner  = scheduler{"CLQLMRS", "clqlmrs", nil}
	learnerR = scheduler{"CLQLMRS, cumulative reward", "clqlmrs", sched.Params{"reward": "cumulative"}}
	learnerQ = scheduler{"CLQLMRS, Q-learning", "clqlmrs", sched.Params{"update": "q"}}
	learnerC = scheduler{"CLQLMRS, Q-learning, cumulative", "clqlmrs", sched.Params{"update": "q", "reward": "cumulative"}}
	classes  = scheduler{"CLQLMRS, by class", "clqlmrs", sched.Params{"table": "class"}}
	matching = scheduler{"matching", "matching", nil}
	patient  = scheduler{"ACL, C = D = 2000", "acl", sched.Params{"c": "2000", "d": "2000"}}
)

// four contains the four schedulers that the paper compares in all figures
// except Figure 5.
var four = []scheduler{fifo, delay, acl, learner}

func (s scheduler) in(x paper.Setting) paper.Case {
	return paper.Case{Setting: x, Model: s.model, Params: s.params}
}
