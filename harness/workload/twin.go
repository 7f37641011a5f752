package workload

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/place"
	"heddle/harness/state"
	"heddle/hibench"
	"heddle/traces"
)

// Twin is the simulated counterpart of a workload: its jobs and the input files
// that they read.
type Twin struct {
	Workload string // label of the workload
	Jobs     []Job
	Files    []File // input files; maps read them in this order
	// Costs are typical costs of the workload's tasks, such as computing times,
	// for simulations without a calibration. A calibration has its costs by the
	// same name, which is that of the function Costs.
	Costs calibration.Workload
	// Warnings say what the workload leaves out or makes up.
	Warnings []string
}

// Job is one job of a simulated workload, as YARN would run it.
type Job struct {
	Name string
	At   time.Duration // when it is submitted, counted from the first job
	User string        // empty means heddle
	// After is the number of the job, counted from 1 in Twin.Jobs, after whose end
	// this job is submitted; 0 means that it is submitted at its time At.
	After int
	// FollowMaps, if above 0, is how many maps the job has that read none of the
	// workload's files. Each reads FollowBytes, such as what the job before wrote. It
	// is not known on which nodes these are.
	FollowMaps                        int32
	FollowBytes                       int64
	Queue                             string
	Pool                              string // group of jobs among which a model shares slots; empty means the queue
	Terms                             traces.Terms
	Priority                          int32
	Reduces                           int32
	SlowStart                         float64
	MapMemoryBytes, ReduceMemoryBytes int64
	MapVCores, ReduceVCores           int32
	// Maps and Work say what each map reads and what each task does. If Maps is
	// nil, the job has one map for each block of all files of the workload, and
	// its tasks cost what the calibration says.
	Maps []Split
	Work replay.JobWork
	// Asked is what the job is asked to do; nil if nobody says.
	Asked *Asked
}

// Split is the part of an input file that one map reads.
type Split struct {
	File                     int // index in Twin.Files
	OffsetBytes, LengthBytes int64
}

// File is an input file of a simulated workload. Cached says that its blocks
// are in the HDFS cache.
type File struct {
	Path   string
	Bytes  int64
	Cached bool
}

// blocks returns the number of the file's blocks.
func (f *File) blocks(blockBytes int64) int64 {
	n := f.Bytes / blockBytes
	if f.Bytes%blockBytes > 0 {
		n++
	}
	return n
}

// twinOf returns the twin of a workload, without its files and jobs.
func twinOf(w config.Workload) *Twin {
	return &Twin{Workload: w.Label, Costs: calibration.Workload{Workload: Costs(w)}}
}

// copies adds the equal jobs of a workload, which are submitted at once.
func (t *Twin) copies(w config.Workload, job Job) {
	for i := range max(w.Jobs, 1) {
		job.Pool = w.Pool(i)
		t.Jobs = append(t.Jobs, job)
	}
}

// parts adds the input files that a job of HiBench's reads.
func (t *Twin) parts(s *hibench.Shape) {
	for i := range s.Files {
		t.Files = append(t.Files, File{Path: path.Join("/heddle", t.Workload, fmt.Sprintf("part-m-%05d", i)), Bytes: s.FileBytes})
	}
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
		return fmt.Errorf("cache.fraction: %v of the %d files of %s is less than half a file, so nothing would be cached; give a larger "+
			"fraction, or write the input with more maps", c.Fraction, len(t.Files), t.Workload)
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

// Limits of a simulated workload. At these limits a simulation takes some 3 GB of
// memory.
const (
	maxTwinTasks    = 2_000_000
	maxTwinReplicas = 4_000_000 // replicas of the blocks of all input files
)

// Check returns an error if the workload cannot be simulated on a cluster with the
// configuration d, because its input has too many blocks or its jobs have too many
// tasks.
func (t *Twin) Check(d Conf) error {
	switch {
	case d.BlockBytes <= 0:
		return fmt.Errorf("workload %s: block size %d: it must be above 0", t.Workload, d.BlockBytes)
	case d.Replication <= 0:
		return fmt.Errorf("workload %s: replication %d: it must be above 0", t.Workload, d.Replication)
	}
	var blocks, tasks int64 // sums that stop at the greatest number instead of overflowing
	for _, f := range t.Files {
		blocks = traces.AddCount(blocks, f.blocks(d.BlockBytes))
	}
	if most := maxTwinReplicas / int64(d.Replication); blocks > most {
		return fmt.Errorf("workload %s: its input has %d blocks of %v with %d replicas each, and a simulation takes at most %d such "+
			"blocks; give a smaller size or scale, or a cluster with larger blocks",
			t.Workload, blocks, units.Size(d.BlockBytes), d.Replication, most)
	}
	for i := range t.Jobs {
		j, maps := &t.Jobs[i], blocks
		switch {
		case j.FollowMaps > 0:
			maps = int64(j.FollowMaps)
		case j.Maps != nil:
			maps = int64(len(j.Maps))
		}
		tasks = traces.AddCount(tasks, maps+int64(j.Reduces))
	}
	if tasks > maxTwinTasks {
		return fmt.Errorf("workload %s: its %d jobs have %d tasks, and a simulation takes at most %d; give fewer jobs, or a smaller "+
			"size or scale", t.Workload, len(t.Jobs), tasks, maxTwinTasks)
	}
	return nil
}

// Events returns the simulated workload as the events of a trace, from which a
// replay can start. No task has run yet. The jobs must be in order of submission.
// The method After says which jobs a replay has to submit later.
// Blocks are placed on the workers of c by the NameNode's rules. These depend
// on which worker writes a file. The writers are spread evenly over the
// workers, as YARN spreads maps without input, in an order that depends on the
// seed.
func (t *Twin) Events(c *traces.ClusterFacts, d Conf, seed uint64) ([]traces.Event, error) {
	if err := t.Check(d); err != nil {
		return nil, err
	}
	blocks, err := t.place(c, d, seed)
	if err != nil {
		return nil, fmt.Errorf("simulate %s: %w", t.Workload, err)
	}
	var events []traces.Event
	for _, f := range blocks {
		for i := range f {
			events = append(events, f[i].replicas...)
		}
	}
	whole := wholeBlocks(blocks)
	for i := range t.Jobs {
		j, id, at := &t.Jobs[i], jobID(i), traces.Time(t.Jobs[i].At)
		splits := whole
		switch {
		case j.FollowMaps > 0:
			splits = make([]split, j.FollowMaps)
			for m := range splits {
				splits[m].bytes = j.FollowBytes
			}
		case j.Maps != nil:
			splits = make([]split, len(j.Maps))
			for m, s := range j.Maps {
				splits[m] = mainBlock(blocks[s.File], s, d.BlockBytes)
			}
		}
		events = append(events, &traces.JobSubmitted{
			T: at, Job: id, Name: j.Name, Workload: t.Workload, Costs: t.Costs.Workload,
			User: cmp.Or(j.User, "heddle"), Queue: j.Queue, Pool: j.Pool, Terms: j.Terms, Priority: j.Priority,
			Maps: int32(len(splits)), Reduces: j.Reduces, SlowStart: j.SlowStart,
			MapMemoryBytes: cmp.Or(j.MapMemoryBytes, d.TaskBytes), MapVCores: j.MapVCores,
			ReduceMemoryBytes: cmp.Or(j.ReduceMemoryBytes, d.TaskBytes), ReduceVCores: j.ReduceVCores,
		})
		for m, s := range splits {
			events = append(events, &traces.TaskScheduled{
				T: at, Task: traces.Task{Job: id, Kind: traces.Map, Index: int32(m)}, SplitHosts: s.hosts,
				Path: s.path, OffsetBytes: s.offset, LengthBytes: s.bytes, Blocks: s.blocks(),
			})
		}
		for r := range j.Reduces {
			events = append(events, &traces.TaskScheduled{T: at, Task: traces.Task{Job: id, Kind: traces.Reduce, Index: r}})
		}
	}
	return events, nil
}

// jobID returns the id of the twin's job with index i in simulated traces.
func jobID(i int) traces.JobID { return traces.JobID(fmt.Sprintf("job_0_%04d", i+1)) }

// Work returns the work of those jobs that say what each of their tasks does,
// by the ids of the jobs in the twin's events.
func (t *Twin) Work() map[traces.JobID]replay.JobWork {
	all := map[traces.JobID]replay.JobWork{}
	for i := range t.Jobs {
		if t.Jobs[i].Maps != nil {
			all[jobID(i)] = t.Jobs[i].Work
		}
	}
	return all
}

// Achieved compares what the twin's jobs did in a simulation with what they were
// asked to do. It is nil if they were asked for nothing.
func (t *Twin) Achieved(jobs []*measure.Job) *Achieved {
	byID := map[traces.JobID]*measure.Job{}
	for _, j := range jobs {
		byID[j.ID] = j
	}
	var done []Done
	for i := range t.Jobs {
		d := Done{Asked: t.Jobs[i].Asked}
		if j := byID[jobID(i)]; j != nil {
			d.Jobs = []*measure.Job{j}
		}
		done = append(done, d)
	}
	return Achieve(done)
}

// wholeBlocks returns splits of which each is a block. As in MapReduce, a last
// block shorter than a tenth of the block before belongs to the same split as
// that block.
func wholeBlocks(files [][]split) []split {
	var splits []split
	for _, f := range files {
		for b, s := range f {
			if last := len(splits) - 1; b > 0 && b == len(f)-1 && s.bytes*10 < f[0].bytes {
				splits[last].bytes += s.bytes
				continue
			}
			splits = append(splits, s)
		}
	}
	return splits
}

// mainBlock returns the split that a map reads, in the block that has most of
// it. Its hosts are those that Hadoop would give the split.
func mainBlock(file []split, s Split, blockBytes int64) split {
	end := s.OffsetBytes + s.LengthBytes
	best, most := 0, int64(-1)
	for b := s.OffsetBytes / blockBytes; b < int64(len(file)) && b*blockBytes < end; b++ {
		if part := min(end, (b+1)*blockBytes) - max(s.OffsetBytes, b*blockBytes); part > most {
			best, most = int(b), part
		}
	}
	out := file[best]
	out.offset, out.bytes, out.replicas = s.OffsetBytes, s.LengthBytes, nil
	return out
}

// split is a block of an input file, or what one map reads of it.
type split struct {
	path          string
	offset, bytes int64
	block         traces.Block
	hosts         []traces.Node
	replicas      []traces.Event // trace events that say which nodes store the block
}

// blocks returns the split's block; none if the split is no part of an input
// file.
func (s *split) blocks() []traces.Block {
	if s.block == 0 {
		return nil
	}
	return []traces.Block{s.block}
}

// After returns the jobs that follow another one, each with the id of that one,
// for replay.Config.
func (t *Twin) After() map[traces.JobID]traces.JobID {
	after := map[traces.JobID]traces.JobID{}
	for i, j := range t.Jobs {
		if j.After > 0 {
			after[jobID(i)] = jobID(j.After - 1)
		}
	}
	return after
}

// place chooses the workers of c that store the files' blocks. It returns the
// blocks of each file.
func (t *Twin) place(c *traces.ClusterFacts, d Conf, seed uint64) ([][]split, error) {
	var workers []traces.NodeFacts
	for _, n := range c.Nodes {
		if n.Worker {
			workers = append(workers, n)
		}
	}
	if len(workers) == 0 {
		return nil, fmt.Errorf("the cluster %s has no workers", strconv.Quote(c.Name))
	}
	racks, sizes := make([]string, len(workers)), make([]int64, len(workers))
	for i, n := range workers {
		racks[i], sizes[i] = n.Rack, n.CacheBytes
	}
	topology, room := place.InRacks(racks), place.NewCache(sizes)
	key := draw.Stream(seed, "input")
	writers := place.Shuffled(key.At(uint64(len(t.Files))), len(workers))
	files, number := make([][]split, len(t.Files)), traces.Block(0)
	for i, f := range t.Files {
		blocks := int(f.blocks(d.BlockBytes))
		file := key.At(uint64(i))
		writer := writers[i%len(writers)]
		var replicas, cached state.Hosts
		topology.File(&replicas, file.At(0), blocks, writer, d.Replication)
		if f.Cached {
			room.File(&cached, file.At(1), &replicas, d.BlockBytes, place.Directive{Blocks: blocks, Copies: d.CachedReplicas})
		}
		for b := range blocks {
			s := split{path: f.Path, offset: int64(b) * d.BlockBytes, block: number + 1}
			number++
			s.bytes = min(d.BlockBytes, f.Bytes-s.offset)
			for _, n := range of(&replicas, b) {
				s.hosts = append(s.hosts, workers[n].Node)
				s.replicas = append(s.replicas, &traces.BlockReplica{
					Block: s.block, Node: workers[n].Node, Path: s.path, OffsetBytes: s.offset, LengthBytes: s.bytes,
				})
			}
			for _, n := range of(&cached, b) {
				s.replicas = append(s.replicas, &traces.BlockCached{Block: s.block, Node: workers[n].Node})
			}
			files[i] = append(files[i], s)
		}
	}
	return files, nil
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
		return traces.Header{}, Conf{}, fmt.Errorf("simulate cluster %s: its file has no machines; add, for example, machines: {nodes: "+
			"4, racks: 2, slots: 2, container: 1GiB, blockSize: 128MiB, replication: 3, nmHeartbeat: 1s, amHeartbeat: 1s}", c.Name)
	}
	h := traces.Header{Format: traces.FormatVersion, Origin: traces.Simulated, Writer: "heddle", Synthetic: []string{"input"}}
	h.Cluster, h.Settings = m.Facts(c.Name, c.Rates)
	if m.Queues != "" {
		f, err := config.ReadQueues(m.Queues)
		if err != nil {
			return h, Conf{}, fmt.Errorf("cluster %s: machines.queues: %w", c.Name, err)
		}
		f.AddTo(h.Settings)
		h.Settings["yarn.scheduler.minimum-allocation-mb"] = "128" // as of an emulated cluster and a lab
	}
	return h, Conf{TaskBytes: int64(m.Container), BlockBytes: int64(m.BlockSize), Replication: m.Replication, CachedReplicas: 1}, nil
}
