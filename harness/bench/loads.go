// Package bench measures the simulator's own speed. The package has standard
// benchmarks, and measures the time and memory that each takes.
package bench

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/place"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/swim"
)

// Load is the input of a benchmark of the simulator: a cluster and jobs. The
// loads simulate the Capacity scheduler with queues and delay scheduling, slow
// start, node heartbeats, replicas and cached copies. But loads with "fair" in
// their name, and every second run of "fb2009-100", simulate the Fair
// scheduler. Disks and links are shared, except in loads with "nonet" in their
// name. In loads with "late" in their name, the ApplicationMaster chooses each
// container's task; in the other loads, the scheduler does.
type Load struct {
	Name  string
	About string
	Nodes int
	// Runs is the number of simulations in the benchmark, each with its own seed.
	// Cores is how many of them run at the same time.
	Runs, Cores int
	Needs       string // path of a file that the benchmark reads; "" if it reads no file

	config func(seed uint64) (*sim.Config, error)
}

// Loads returns the standard inputs of the simulator's benchmarks. The
// parameter data is the folder with the job lists of SWIM, which the
// benchmarks named "fb" read.
func Loads(data string) []Load {
	const million = 1_000_000
	fb2009, fb2010 := data+"/FB-2009_samples_24_times_1hr_0.tsv", data+"/FB-2010_samples_24_times_1hr_0.tsv"
	return []Load{
		synthetic("synthetic-1k", 1000, million, setting{network: true}),
		synthetic("synthetic-3k", 3_000, million, setting{network: true}),
		synthetic("synthetic-10k", 10_000, million, setting{network: true}),
		synthetic("synthetic-30k", 30_000, million, setting{network: true}),
		synthetic("synthetic-100k", 100_000, million, setting{network: true}),
		synthetic("synthetic-1k-nonet", 1000, million, setting{}),
		synthetic("synthetic-10k-nonet", 10_000, million, setting{}),
		synthetic("synthetic-1k-fair", 1000, million, setting{network: true, fair: true}),
		synthetic("synthetic-1k-late", 1000, million, setting{network: true, late: true}),
		synthetic("huge", 100_000, 10*million, setting{network: true}),
		facebook("fb2009", fb2009, 600, 64<<20, 1, setting{network: true}),
		facebook("fb2009-nonet", fb2009, 600, 64<<20, 1, setting{}),
		facebook("fb2009-100", fb2009, 600, 64<<20, 100, setting{network: true}),
		facebook("fb2010", fb2010, 3000, 128<<20, 1, setting{network: true}),
		facebook("fb2010-nonet", fb2010, 3000, 128<<20, 1, setting{}),
	}
}

// setting has the options in which the benchmarks' inputs differ: limits of
// disks and links, the Fair scheduler, and the ApplicationMaster's choice of
// tasks.
type setting struct{ network, fair, late bool }

var container = state.Resource{MemoryMB: 1024, VCores: 1}

const slotsPerNode, nodesPerRack = 8, 40

// machines returns a cluster of nodes with 8 containers each, in racks of 40.
// If network is true, disks read 400 MB/s, links carry 10 Gbit/s and rack
// uplinks 80 Gbit/s. Otherwise disks and links have no limit.
func machines(nodes int, network bool) sim.Machines {
	c := sim.Machines{WritesWait: true}
	for n := range nodes {
		x := sim.Node{
			Name: "n" + strconv.Itoa(n), Rack: "r" + strconv.Itoa(n/nodesPerRack), Capacity: container.Times(slotsPerNode),
		}
		if network {
			x.DiskBytesPerSec, x.LinkBytesPerSec = 400e6, 1250e6
		}
		c.Nodes = append(c.Nodes, x)
	}
	if network {
		for r := range (nodes + nodesPerRack - 1) / nodesPerRack {
			c.Racks = append(c.Racks, sim.Rack{Name: "r" + strconv.Itoa(r), UplinkBytesPerSec: 10e9})
		}
	}
	return c
}

func topology(nodes int) *place.Topology {
	racks := make([]state.RackID, nodes)
	for n := range racks {
		racks[n] = state.RackID(n / nodesPerRack)
	}
	return place.New(racks)
}

func config(nodes int, source sim.Source, how setting, seed uint64) (*sim.Config, error) {
	model, params := "capacity", sched.Params{"capacities": "q0=40,q1=30,q2=20,q3=10", "offSwitchPerHeartbeat": "0"}
	if how.fair {
		model, params = "fair", sched.Params{"weights": "q1=2", "nodeThreshold": "0.04", "rackThreshold": "0.04"}
	}
	m, err := sched.New(model, params)
	if err != nil {
		return nil, err
	}
	c := &sim.Config{
		Cluster: machines(nodes, how.network), Source: source, Model: m, Actuator: sim.Ideal, Costs: sim.DefaultCosts(), Seed: seed,
		MinAllocation: container,
	}
	if how.late {
		c.Actuator = sim.Native
	}
	return c, nil
}

// blocks gives the jobs of a benchmark their input blocks. The replicas of a
// block are placed by HDFS's rules. One block in ten also has a cached copy,
// on the node of its first replica.
type blocks struct {
	at     *place.Topology
	places draw.Key
}

func (b *blocks) lay(j *sim.Job, file uint64) {
	j.Replicas.Reset()
	j.Cached.Reset()
	key := b.places.At(file)
	b.at.File(&j.Replicas, key, int(j.Maps), state.None, 3)
	for m := range j.Maps {
		if key.At(uint64(m)).At(99).Below(10) == 0 {
			j.Cached.Add(j.Replicas.Nodes[3*m])
		} else {
			j.Cached.Add()
		}
	}
}

var queues = [...]string{"q0", "q1", "q2", "q3"}

func (how setting) String() string {
	switch {
	case !how.network:
		return ", nothing shared"
	case how.fair:
		return ", Fair scheduler"
	case how.late:
		return ", masters bind late"
	}
	return ""
}

// synthetic returns a benchmark input of generated jobs. A job has 1 to 2,000
// maps, drawn evenly on a logarithmic scale, and a tenth as many reduces. Tasks
// compute for 10 to 30 s. Jobs arrive at a rate that keeps about 80 % of the
// containers in use.
func synthetic(name string, nodes, tasks int, how setting) Load {
	return Load{
		Name: name, Nodes: nodes, Runs: 1, Cores: 1,
		About: fmt.Sprintf("%d tasks of jobs of 1 to 2,000 maps on %d nodes%s", tasks, nodes, how),
		config: func(seed uint64) (*sim.Config, error) {
			s := &made{blocks: blocks{topology(nodes), draw.Stream(seed, "places")}, sizes: draw.Stream(seed, "sizes"), left: tasks}
			// ms between arrivals for each task: after a job with n tasks, the next job arrives n times
			// gapMs later
			s.gapMs = 22_000.0 / (0.8 * float64(nodes*slotsPerNode))
			return config(nodes, s, how, seed)
		},
	}
}

type made struct {
	blocks
	sizes draw.Key
	n     uint64
	left  int
	at    float64
	gapMs float64
}

func (s *made) Next(j *sim.Job) bool {
	if s.left <= 0 {
		return false
	}
	key := s.sizes.At(s.n)
	maps := min(int(math.Exp(key.At(0).Fraction()*math.Log(2000))), s.left)
	reduces := min(maps/10, s.left-maps)
	s.left -= maps + reduces
	j.Name, j.User, j.Queue = "job"+strconv.FormatUint(s.n, 10), "u", queues[key.At(1).Below(len(queues))]
	j.Maps, j.Reduces = int32(maps), int32(reduces)
	j.MapSize, j.ReduceSize, j.AMSize = container, container, state.Resource{}
	j.SubmitMs, j.SlowStart = int64(s.at), 0.5
	j.MapWork = append(j.MapWork[:0], sim.Work{InputBytes: 128 << 20, OutputBytes: 32 << 20, ComputeMs: 20_000, SpreadPercent: 50})
	j.ReduceWork = append(j.ReduceWork[:0], sim.Work{OutputBytes: 64 << 20, ComputeMs: 20_000, SpreadPercent: 50})
	s.lay(j, s.n)
	s.at += float64(maps+reduces) * s.gapMs
	s.n++
	return true
}

// facebook returns a benchmark input with one day of a SWIM job list from
// Facebook. The numbers of tasks and the tasks' times follow heddle's rules
// for importing SWIM lists.
func facebook(name, file string, nodes int, blockBytes int64, runs int, how setting) Load {
	l := Load{
		Name: name, Nodes: nodes, Runs: runs, Cores: min(runs, 2), Needs: file,
		About: fmt.Sprintf("a day of Facebook's jobs on %d nodes%s", nodes, how),
	}
	var jobs []traces.JobListed // the list of jobs; kept in memory if several simulations use it
	l.config = func(seed uint64) (*sim.Config, error) {
		list := jobs
		if list == nil {
			var err error
			if list, err = readJobs(file); err != nil {
				return nil, err
			}
		}
		if runs > 1 && jobs == nil {
			jobs = list
		}
		rules := traces.DefaultListRules
		rules.BlockBytes = blockBytes
		s := &listed{blocks: blocks{topology(nodes), draw.Stream(seed, "places")}, rules: rules, jobs: list}
		return config(nodes, s, setting{network: how.network, fair: seed%2 == 0}, seed)
	}
	return l
}

func readJobs(file string) ([]traces.JobListed, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the load's jobs: %w", err)
	}
	defer f.Close()
	var jobs []traces.JobListed
	for j, err := range swim.Read(f) {
		if err != nil {
			return nil, fmt.Errorf("read the load's jobs from %s: %w", file, err)
		}
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		return nil, errors.New("read the load's jobs from " + file + ": there are none")
	}
	return jobs, nil
}

type listed struct {
	blocks
	rules traces.ListRules
	jobs  []traces.JobListed
	next  int
}

func (s *listed) Next(j *sim.Job) bool {
	if s.next == len(s.jobs) {
		return false
	}
	x := &s.jobs[s.next]
	j.SetListed(&s.rules, x, true)
	j.Name, j.User, j.Queue = x.Name, "u", queues[s.next%len(queues)]
	j.MapSize, j.ReduceSize = container, container
	j.SubmitMs, j.SlowStart = x.T.Milliseconds(), 0.5
	s.lay(j, uint64(s.next))
	s.next++
	return true
}
