package workload

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"heddle/harness/config"
	"heddle/harness/replay"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/place"
	"heddle/harness/state"
	"heddle/traces"
)

// Twin is the simulated counterpart of a workload: its jobs and the input files
// that they read.
type Twin struct {
	Workload string // name of the workload; a calibration has the costs of tasks by this name
	Jobs     []Job
	Files    []File // input files; maps read them in this order
	// Costs are typical costs of the workload's tasks, such as computing times,
	// for simulations without a calibration.
	Costs replay.Workload
}

// Job is one job of a simulated workload, as YARN would run it. It reads all
// files of its stage.
type Job struct {
	Name                              string
	Stage                             int32 // a job is submitted after all jobs of the stages before have ended
	Queue                             string
	Priority                          int32
	Reduces                           int32
	SlowStart                         float64
	MapMemoryBytes, ReduceMemoryBytes int64
	MapVCores, ReduceVCores           int32
}

// File is an input file of a simulated workload. Cached says that its blocks
// are in the HDFS cache.
type File struct {
	Path   string
	Bytes  int64
	Cached bool
	Stage  int32 // stage of the jobs that read the file; above 0, a job of the stage before writes it
}

// cache marks the files that an experiment puts into the HDFS cache. It fails
// if these would be none.
func (t *Twin) cache(c config.Cache) error {
	if c.Fraction == 0 {
		return nil
	}
	lengths := make([]int64, len(t.Files))
	for i, f := range t.Files {
		lengths[i] = f.Bytes
	}
	chosen := ChooseFiles(lengths, c.Fraction, c.Seed)
	if len(chosen) == 0 {
		return fmt.Errorf("cache.fraction: %v of the %d files of %s is less than half a file, so nothing would be cached; give a larger fraction, or write the input with more maps", c.Fraction, len(t.Files), t.Workload)
	}
	for _, i := range chosen {
		t.Files[i].Cached = true
	}
	return nil
}

// Conf contains the cluster's values of those Hadoop properties that a
// simulated workload does not set.
type Conf struct {
	BlockBytes  int64
	Replication int
	TaskBytes   int64 // memory of the container of a task
	// CachedReplicas is the number of replicas of each block that are cached,
	// for files in the HDFS cache.
	CachedReplicas int
}

// Events returns the simulated workload as the events of a trace, from which a
// replay can start. All jobs of the first stage are submitted at time 0, and no
// task has run yet. Times of jobs in later stages count from the start of their
// stage; see Stages.
// Blocks are placed on the workers of c by the NameNode's rules. These depend
// on which worker writes a file. The writers are spread evenly over the
// workers, as YARN spreads maps without input, in an order that depends on the
// seed.
func (t *Twin) Events(c *traces.ClusterFacts, d Conf, seed uint64) ([]traces.Event, error) {
	splits, err := t.place(c, d, seed)
	if err != nil {
		return nil, fmt.Errorf("simulate %s: %w", t.Workload, err)
	}
	var events []traces.Event
	for _, s := range splits {
		events = append(events, s.replicas...)
	}
	byStage := map[int32][]split{}
	for _, s := range splits {
		byStage[s.stage] = append(byStage[s.stage], s)
	}
	for i, j := range t.Jobs {
		id, at, splits := jobID(i), traces.Time(0), byStage[j.Stage]
		if j.Stage > 0 {
			at = traces.Time(stageGap)
		}
		events = append(events, &traces.JobSubmitted{
			T: at, Job: id, Name: j.Name, Workload: t.Workload, User: "heddle", Queue: j.Queue, Priority: j.Priority,
			Maps: int32(len(splits)), Reduces: j.Reduces, SlowStart: j.SlowStart,
			MapMemoryBytes: cmp.Or(j.MapMemoryBytes, d.TaskBytes), MapVCores: j.MapVCores,
			ReduceMemoryBytes: cmp.Or(j.ReduceMemoryBytes, d.TaskBytes), ReduceVCores: j.ReduceVCores,
		})
		for m, s := range splits {
			events = append(events, &traces.TaskScheduled{
				T: at, Task: traces.Task{Job: id, Kind: traces.Map, Index: int32(m)}, SplitHosts: s.hosts,
				Path: s.path, OffsetBytes: s.offset, LengthBytes: s.bytes, Blocks: []traces.Block{s.block},
			})
		}
		for r := range j.Reduces {
			events = append(events, &traces.TaskScheduled{T: at, Task: traces.Task{Job: id, Kind: traces.Reduce, Index: r}})
		}
	}
	return events, nil
}

// stageGap is the time between the end of a stage's last job and the submission
// of the next, in which a client such as Hive prepares it.
const stageGap = 2 * time.Second

// jobID returns the id of the twin's job with index i in simulated traces.
func jobID(i int) traces.JobID { return traces.JobID(fmt.Sprintf("job_0_%04d", i+1)) }

// Stages returns the stage of each job that is not in the first, by the ids of
// the jobs in the twin's events.
func (t *Twin) Stages() map[traces.JobID]int32 {
	all := map[traces.JobID]int32{}
	for i := range t.Jobs {
		if t.Jobs[i].Stage > 0 {
			all[jobID(i)] = t.Jobs[i].Stage
		}
	}
	return all
}

// split is the block of an input file that one map reads.
type split struct {
	stage         int32 // stage of the jobs that read the file
	path          string
	offset, bytes int64
	block         traces.Block
	hosts         []traces.Node
	replicas      []traces.Event // trace events that say which nodes store the block
}

// place chooses the workers of c that store the files' blocks, and makes the
// splits. As in MapReduce, a last block shorter than a tenth of the block
// before belongs to the same split as that block.
func (t *Twin) place(c *traces.ClusterFacts, d Conf, seed uint64) ([]split, error) {
	var workers []traces.NodeFacts
	for _, n := range c.Nodes {
		if n.Worker {
			workers = append(workers, n)
		}
	}
	switch {
	case len(workers) == 0:
		return nil, fmt.Errorf("the cluster %s has no workers", strconv.Quote(c.Name))
	case d.BlockBytes <= 0:
		return nil, fmt.Errorf("block size %d: it must be above 0", d.BlockBytes)
	case d.Replication <= 0:
		return nil, fmt.Errorf("replication %d: it must be above 0", d.Replication)
	}
	racks, sizes := make([]string, len(workers)), make([]int64, len(workers))
	for i, n := range workers {
		racks[i], sizes[i] = n.Rack, n.CacheBytes
	}
	topology, room := place.InRacks(racks), place.NewCache(sizes)
	key := draw.Stream(seed, "input")
	writers := place.Shuffled(key.At(uint64(len(t.Files))), len(workers))
	var splits []split
	for i, f := range t.Files {
		blocks := int((f.Bytes + d.BlockBytes - 1) / d.BlockBytes)
		file := key.At(uint64(i))
		writer := writers[i%len(writers)]
		var replicas, cached state.Hosts
		topology.File(&replicas, file.At(0), blocks, writer, d.Replication)
		if f.Cached {
			room.File(&cached, file.At(1), &replicas, d.BlockBytes, place.Directive{Blocks: blocks, Copies: d.CachedReplicas})
		}
		for b := range blocks {
			s := split{stage: f.Stage, path: f.Path, offset: int64(b) * d.BlockBytes, block: traces.Block(len(splits) + 1)}
			s.bytes = min(d.BlockBytes, f.Bytes-s.offset)
			if last := len(splits) - 1; b > 0 && b == blocks-1 && s.bytes*10 < d.BlockBytes {
				splits[last].bytes += s.bytes
				continue
			}
			for _, n := range of(&replicas, b) {
				s.hosts = append(s.hosts, workers[n].Node)
				s.replicas = append(s.replicas, &traces.BlockReplica{
					Block: s.block, Node: workers[n].Node, Path: s.path, OffsetBytes: s.offset, LengthBytes: s.bytes,
				})
			}
			for _, n := range of(&cached, b) {
				s.replicas = append(s.replicas, &traces.BlockCached{Block: s.block, Node: workers[n].Node})
			}
			splits = append(splits, s)
		}
	}
	return splits, nil
}

// The method of returns the nodes that store the block with index b.
func of(h *state.Hosts, b int) []state.NodeID {
	if b >= len(h.Ends) {
		return nil
	}
	start := int32(0)
	if b > 0 {
		start = h.Ends[b-1]
	}
	return h.Nodes[start:h.Ends[b]]
}

// Cluster returns the trace header and the Hadoop configuration for a
// simulation of a cluster. A cluster file describes the cluster.
func Cluster(c *config.Cluster) (traces.Header, Conf, error) {
	m := c.Machines
	if m == nil {
		return traces.Header{}, Conf{}, fmt.Errorf("simulate cluster %s: its file has no machines; add, for example, machines: {nodes: 4, racks: 2, slots: 2, container: 1GiB, blockSize: 128MiB, replication: 3, nmHeartbeat: 1s, amHeartbeat: 1s}", c.Name)
	}
	h := traces.Header{Format: traces.FormatVersion, Origin: traces.Simulated, Writer: "heddle", Synthetic: []string{"input"}}
	h.Cluster, h.Settings = m.Facts(c.Name, c.Rates)
	return h, Conf{TaskBytes: int64(m.Container), BlockBytes: int64(m.BlockSize), Replication: m.Replication, CachedReplicas: 1}, nil
}
