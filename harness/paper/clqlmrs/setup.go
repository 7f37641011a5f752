package clqlmrs

import (
	"fmt"
	"math"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/option"
	"heddle/harness/paper"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/place"
	"heddle/harness/state"
)

// testbed is the paper's cluster with one job, or with one of each of the
// paper's five applications.
type testbed struct {
	App   string     `flag:"app" values:"wordcount,sort,terasort,join,aggregation,all"`
	Maps  int        `flag:"maps" min:"1" max:"10000"`
	Block units.Size `flag:"block" min:"1MiB" max:"1GiB"`
	Cache units.Size `flag:"cache"` // HDFS caches of all nodes together
	// percentage of the maps whose block is cached; 0: as many as the cache holds
	CachedPct  float64        `flag:"cachedPct" min:"0" max:"100"`
	CacheBy    string         `flag:"cacheBy" values:"equal,spare"`
	Cut        string         `flag:"cut" values:"whole,node"`
	Containers string         `flag:"containers" values:"ram,1,2,3,4,6,8"`
	Join       string         `flag:"join" values:"stages,single"`
	Beat       units.Duration `flag:"beat" min:"1ms" max:"1h"`
	Disk       units.Rate     `flag:"disk"`
	Link       units.Rate     `flag:"link"`
	Compute    float64        `flag:"compute" min:"0" max:"1e12"` // scales the computing times of all tasks
	SlowStart  float64        `flag:"slowstart" min:"0" max:"1"`  // share of maps that must be done before reduces start
	Actuator   string         `flag:"actuator" values:"ideal,labels,none"`
	Tasks      string         `flag:"tasks" values:"work,equal"` // equal: maps take a minute anywhere and nothing else takes time
	Layout     int            `flag:"layout" min:"0"`            // selects one of several random placements of the blocks
}

// standard has what the paper says, and where it is silent what clqlmrs.go
// lists.
var standard = testbed{
	App: "wordcount", Maps: 100, Block: 128 << 20, Cache: 8 << 30, CacheBy: "equal", Cut: "whole", Containers: "8", Join: "stages",
	Beat: units.Duration(time.Second), Disk: 120e6, Link: 1.25e9, Compute: 1, SlowStart: 1, Actuator: "ideal", Tasks: "work",
}

// ramGB is the RAM in GB of the paper's DataNodes 1 to 6, each with four cores.
var ramGB = []float64{4, 6, 8, 4, 6, 8}

const cores, replication, reduces = 4, 3, 8

// usedGB is the RAM in GB that we leave for a node's system and daemons where
// caches are cut by what is spare, spareGB on all nodes.
const usedGB, spareGB = 3, 36 - 6*3

// application is one of the paper's five programs: how a job changes the amount
// of data, and how long it computes. The paper gives none of these numbers. The
// ratios follow from what the programs do: WordCount's combiner leaves almost
// nothing, sorting keeps all bytes, and Hive's queries keep some columns and
// rows. Later counts the jobs that follow the first, on its output.
type application struct {
	name, title      string
	mapOut           float64 // bytes that maps put out for each byte that they read
	mapMs, reduceMs  float64 // computing time in ms: of a map for each MiB read, of a reduce for each MiB fetched
	reduceOutPerByte float64 // bytes that reduces write for each byte that they fetch
	later            int
}

var applications = []application{
	{"wordcount", "WordCount", 0.001, 80, 40, 0.5, 0},
	{"sort", "Sort", 1, 15, 15, 1, 0},
	{"terasort", "TeraSort", 1, 20, 20, 1, 0},
	{"join", "Join", 0.25, 40, 40, 0.1, 2},
	{"aggregation", "Aggregation", 0.1, 50, 30, 0.2, 0},
}

var container = state.Resource{MemoryMB: 1024, VCores: 1}

// With returns the testbed with one property changed.
func (x testbed) With(name, value string) (paper.Setting, error) {
	err := option.Set(option.Of(&x), name, value)
	return x, err
}

// Stages returns the jobs on the cluster: the application's job or all of them,
// and the later jobs of a query that runs alone.
func (x testbed) Stages(seed uint64) ([]paper.Stage, error) {
	config, topology := x.cluster()
	first := paper.Stage{Config: config}
	var apps []application
	for i, a := range applications {
		if x.App == a.name || x.App == "all" {
			apps = append(apps, a)
			first.Jobs = append(first.Jobs, x.job(a, x.key(seed, i), topology))
		}
	}
	x.cacheBlocks(first.Jobs, seed)
	stages := []paper.Stage{first}
	if len(apps) > 1 || x.Join == "single" || x.Tasks == "equal" {
		return stages, nil
	}
	// A later job reads what the reduces before it wrote: one file each, in no
	// cache, too small to fill a block.
	a, bytes := apps[0], float64(x.Maps)*float64(x.Block)
	for stage := range a.later {
		bytes *= a.mapOut * a.reduceOutPerByte
		y := x
		y.Maps, y.Block = reduces, units.Size(max(1, bytes/reduces))
		stages = append(stages, paper.Stage{Config: config, Jobs: []sim.Job{y.job(a, x.key(seed, 100+stage), topology)}})
	}
	return stages, nil
}

// key is what the places of an application's blocks are drawn with. Each
// application has blocks of its own.
func (x testbed) key(seed uint64, app int) draw.Key {
	return draw.Stream(seed, "blocks").At(uint64(app)).At(uint64(x.Layout))
}

func (x testbed) cluster() (sim.Config, *place.Topology) {
	c := sim.Config{Costs: sim.DefaultCosts(), MinAllocation: container}
	if x.Tasks == "equal" {
		c.Costs = sim.NoCosts()
	}
	c.Actuator = map[string]sim.Actuator{"ideal": sim.Ideal, "labels": sim.Labels, "none": sim.Native}[x.Actuator]
	c.Costs.NodeBeatMs = int32(time.Duration(x.Beat).Milliseconds())
	c.Cluster.WritesWait = true
	var racks []state.RackID
	for i, gb := range ramGB {
		slots := int32(gb / 2)
		if x.Containers != "ram" {
			slots = int32(x.Containers[0] - '0')
		}
		racks = append(racks, state.RackID(i%2))
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{
			Name: fmt.Sprintf("dn%d", i+1), Rack: []string{"odd", "even"}[i%2],
			Capacity: container.Times(slots), Cores: cores,
			DiskBytesPerSec: int64(x.Disk), LinkBytesPerSec: int64(x.Link), MemoryBytesPerSec: 2e9,
		})
	}
	return c, place.New(racks)
}

func (x testbed) job(a application, key draw.Key, topology *place.Topology) sim.Job {
	block := int64(x.Block)
	j := sim.Job{SlowStart: float32(x.SlowStart)}
	j.Name, j.User, j.Queue = a.name, "bench", "default"
	j.Maps, j.MapSize, j.ReduceSize = int32(x.Maps), container, container
	topology.File(&j.Replicas, key.At(0), x.Maps, state.None, replication)
	if x.Tasks == "equal" {
		j.MapWork = []sim.Work{{FixedMs: 60_000}}
		return j
	}
	out, mib := int64(a.mapOut*float64(block)), float64(block)/(1<<20)
	compute := func(ms float64) int32 { return int32(min(ms*x.Compute, math.MaxInt32)) }
	fetched := float64(out) * float64(x.Maps) / reduces
	j.Reduces = reduces
	j.MapWork = []sim.Work{{InputBytes: block, OutputBytes: out, ComputeMs: compute(a.mapMs * mib), SpreadPercent: 10}}
	j.ReduceWork = []sim.Work{
		{OutputBytes: int64(a.reduceOutPerByte * fetched), ComputeMs: compute(a.reduceMs * fetched / (1 << 20)), SpreadPercent: 10},
	}
	return j
}

// cacheBlocks fills the HDFS caches with blocks of the jobs' inputs, spread over
// each input. Jobs share the caches evenly.
func (x testbed) cacheBlocks(jobs []sim.Job, seed uint64) {
	all := float64(x.Cache) / float64(x.Block)
	if x.CachedPct > 0 {
		all = x.CachedPct / 100 * float64(x.Maps*len(jobs))
	}
	// HDFS may place the replicas so that one node's cache stays empty while
	// others are full. If the caches are not cut by node, all of them then grow
	// by one block at a time, until all blocks that are to be cached fit.
	for more := 0; ; more++ {
		sizes, fit := x.cacheSizes(all, more)
		cache := place.NewCache(sizes)
		done := true
		for i := range jobs {
			j, upTo := &jobs[i], func(n int) int { return int(math.Round(min(all, fit) * float64(n) / float64(len(jobs)))) }
			want := min(x.Maps, upTo(i+1)-upTo(i))
			j.Cached = state.Hosts{}
			got := cache.File(&j.Cached, x.key(seed, i).At(1), &j.Replicas, int64(x.Block), place.Directive{Blocks: want, Copies: 1})
			done = done && got == want
		}
		if done || x.Cut == "node" && x.CachedPct == 0 {
			return
		}
	}
}

// cacheSizes returns the HDFS cache size of each node in bytes, and how many
// blocks fit. Whole blocks are given out: the nodes' parts are rounded up if the
// cache is cut as a whole, and down if it is cut by node.
func (x testbed) cacheSizes(blocks float64, more int) (sizes []int64, fit float64) {
	for _, gb := range ramGB {
		part := blocks / float64(len(ramGB))
		if x.CacheBy == "spare" {
			part = blocks * (gb - usedGB) / spareGB
		}
		n := math.Ceil(part)
		if x.Cut == "node" && x.CachedPct == 0 {
			n = math.Floor(part)
		}
		sizes, fit = append(sizes, (int64(n)+int64(more))*int64(x.Block)), fit+n
	}
	return sizes, fit
}
