package replay

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/place"
	"heddle/harness/state"
	"heddle/traces"
)

// jobMaker makes the jobs of a replay when they arrive, from the trace's jobs or job
// list.
type jobMaker struct {
	*Config
	machines *sim.Machines
	ids      []state.NodeID       // for each nodeIndex of the trace, the replay's node; None: the replay's cluster lacks the node
	workers  map[traces.Node]bool // worker nodes of the trace
	topology *place.Topology      // chooses new nodes for blocks by HDFS's rules; nil: blocks stay where the trace has them
	replicas draw.Key
	roomMs   map[*Attempt]float64 // if recorded heartbeats are followed: for how many ms each attempt keeps its container; otherwise nil
	cached   map[blockKey]bool    // cached block copies that fit into the cache of their node
	cacheUse []int64              // for each node: bytes of the cached blocks placed there so far
	jobs     []*Job               // jobs of the trace that have tasks
	next     int                  // index of the next job to make, in jobs or in the trace's job list
	scratch  []state.NodeID
}

// blockKey identifies a cached copy of a block: file, offset in the file, and node.
type blockKey struct {
	file   uint64
	offset int64
	node   state.NodeID
}

func newJobMaker(c *Config, x *sim.Machines) *jobMaker {
	m := &jobMaker{
		Config: c, machines: x, workers: map[traces.Node]bool{},
		replicas: draw.Stream(c.Seed, "replicas"),
		cached:   map[blockKey]bool{}, cacheUse: make([]int64, len(x.Nodes)),
	}
	for _, j := range c.Trace.Jobs {
		if len(j.Tasks[0])+len(j.Tasks[1]) > 0 {
			m.jobs = append(m.jobs, j)
		}
	}
	for _, n := range c.Trace.Nodes {
		m.workers[n.Node] = true
	}
	ids := map[traces.Node]state.NodeID{}
	racks := make([]string, len(x.Nodes))
	for i, n := range x.Nodes {
		ids[traces.Node(n.Name)], racks[i] = state.NodeID(i), n.Rack
	}
	for _, name := range c.Trace.nodes {
		id, ok := ids[name]
		if !ok {
			id = state.None
		}
		m.ids = append(m.ids, id)
	}
	if c.Change.placesBlocks() || len(c.Trace.List) > 0 {
		m.topology = place.InRacks(racks)
	}
	return m
}

// check returns an error if a job of the trace cannot be made. It runs before the
// replay, because the method Next cannot return an error.
func (m *jobMaker) check() error {
	if len(m.jobs)+len(m.Trace.List) == 0 {
		return fmt.Errorf("trace %s: none of its events names a task, so there is nothing to replay", m.Trace.Name)
	}
	var err error
	for _, j := range m.jobs {
		if w, ok := m.Work[j.Job]; ok {
			if len(w.Maps) != len(j.Tasks[traces.Map]) || len(w.Reduces) != len(j.Tasks[traces.Reduce]) {
				err = cmp.Or(err, fmt.Errorf("trace %s: work of %d maps and %d reduces is given for job %s, which has %d and %d", m.Trace.Name, len(w.Maps), len(w.Reduces), j.Job, len(j.Tasks[traces.Map]), len(j.Tasks[traces.Reduce])))
			}
			continue
		}
		_, _, bad := m.costsOf(j.workload())
		err = cmp.Or(err, bad)
	}
	for i := range m.Trace.List {
		_, _, bad := m.costsOf(m.Trace.List[i].Name)
		err = cmp.Or(err, bad)
	}
	return err
}

// Next makes the next job of the trace, so that the simulator can submit it. It
// implements sim.Source.
func (m *jobMaker) Next(x *sim.Job) bool {
	if m.next == len(m.jobs) {
		return false
	}
	j := m.jobs[m.next]
	m.next++
	maps, reduces := len(j.Tasks[0]), len(j.Tasks[1])
	*x = sim.Job{
		ID: j.Job, Workload: j.Workload, SlowStart: float32(j.SlowStart), SubmitMs: m.submitMs(j.T, m.Trace.Jobs[0].T),
		JobSpec: state.JobSpec{
			Name: cmp.Or(j.Name, string(j.Job)), User: j.User, Queue: j.Queue, Pool: j.Pool, Priority: j.Priority,
			Maps: int32(maps), Reduces: int32(reduces), Replicas: x.Replicas, Cached: x.Cached,
		},
		MapWork: cleared(x.MapWork, maps), ReduceWork: cleared(x.ReduceWork, reduces),
	}
	if x.After = m.After[j.Job]; x.After != "" {
		x.AfterMs = afterMs
	}
	x.MapSize, x.ReduceSize, x.AMSize = m.sizes(j)
	m.hosts(j, x)
	if m.Modelled {
		m.model(j, x)
		if m.Repeats {
			m.vary(x)
		}
	} else {
		m.record(j, x)
	}
	m.addPasts(j, x)
	return true
}

// afterMs is how long, in ms, a program takes from the end of one of its jobs to the
// submission of its next. grep on a lab took 1800 to 2700 ms.
const afterMs = 2000

// cleared returns a list of zeroes for the work of n tasks. It reuses the memory of
// list if that is large enough.
func cleared(list []sim.Work, n int) []sim.Work {
	if cap(list) < n {
		return make([]sim.Work, n)
	}
	list = list[:n]
	clear(list)
	return list
}

// sizes returns the memory and cores of the job's containers, by their use. The
// result am, for the ApplicationMaster, is zero if ApplicationMasters take no room on
// workers.
func (m *jobMaker) sizes(j *Job) (forMap, forReduce, am state.Resource) {
	if m.workers[j.AMNode] && j.AMMemoryBytes > 0 {
		am = sizeOf(j.AMMemoryBytes, 1)
	}
	return sizeOf(j.MapMemoryBytes, j.MapVCores), sizeOf(j.ReduceMemoryBytes, j.ReduceVCores), am
}

// submitMs returns the time, in ms from the start of the replay, at which a job
// arrives.
func (m *jobMaker) submitMs(t, first traces.Time) int64 {
	return scaled(float64((t-first).Milliseconds()), m.Change.Load) + max(0, first.Milliseconds())
}

// scaled returns a time of ms divided by the speed of the nodes; a speed of 0 counts
// as 1.
func scaled(ms, speed float64) int64 {
	if speed > 0 {
		ms /= speed
	}
	return int64(math.Round(ms))
}

// hosts sets where the job's input is, on disk and in caches, and which hosts the
// job's input splits name.
func (m *jobMaker) hosts(j *Job, x *sim.Job) {
	x.Replicas.Reset()
	x.Cached.Reset()
	narrowed := false
	var read state.Hosts
	for i := range j.Tasks[traces.Map] {
		t := &j.Tasks[traces.Map][i]
		m.scratch = m.scratch[:0]
		replicas, cached, split := m.idsOf(t.replicas), m.idsOf(t.cached), m.idsOf(t.splitHosts)
		file := t.file
		if file == 0 {
			file = m.Trace.hash(j, i)
		}
		if m.topology != nil && int(t.replicas.count)+m.Change.Replication > 0 {
			n := cmp.Or(m.Change.Replication, int(t.replicas.count))
			replicas = m.topology.Block(nil, m.replicas.At(file).At(uint64(t.OffsetBytes)), state.None, n)
			cached = replicas[:min(int(t.cached.count), len(replicas))]
			if t.splitHosts.count < t.replicas.count {
				split = replicas[:min(int(t.splitHosts.count), len(replicas))]
			} else {
				split = replicas
			}
		}
		cached = m.fitting(cached, file, t)
		x.Replicas.Add(replicas...)
		x.Cached.Add(cached...)
		read.Add(split...)
		narrowed = narrowed || !sameNodes(replicas, split)
	}
	// use the hosts that splits name only if splits are as submitted: otherwise a
	// plan or a cache rule may have rewritten these hosts
	if narrowed && (m.Trace.Header.Splits == "" || m.Trace.Header.Splits == SplitsAsSubmitted) {
		x.SplitHosts = &read
	}
}

// hash returns a number that stands for the input file of map i, if the trace names
// no file.
func (t *Trace) hash(j *Job, i int) uint64 {
	return uint64(draw.Key(traces.HashName(string(j.Job))).At(uint64(i)))
}

// idsOf returns those nodes of a host list that the replay's cluster has. The next
// call overwrites the result, to save memory.
func (m *jobMaker) idsOf(h hostList) []state.NodeID {
	from := len(m.scratch)
	for _, n := range m.Trace.list(h) {
		if id := m.ids[n]; id != state.None {
			m.scratch = append(m.scratch, id)
		}
	}
	return slices.Clip(m.scratch[from:])
}

func sameNodes(a, b []state.NodeID) bool {
	if len(a) != len(b) {
		return false
	}
	return !slices.ContainsFunc(a, func(n state.NodeID) bool { return !slices.Contains(b, n) })
}

// fitting returns the nodes that have a task's block in their cache. If the replay
// changes cache sizes or block placement, a block counts only on nodes whose cache
// had room for it. Blocks are put into caches in the order in which jobs read them.
func (m *jobMaker) fitting(nodes []state.NodeID, file uint64, t *Task) []state.NodeID {
	if !m.Change.Cache.Given && m.topology == nil {
		return nodes
	}
	var kept []state.NodeID
	for _, n := range nodes {
		k := blockKey{file, t.OffsetBytes, n}
		size := m.machines.Nodes[n].CacheBytes
		unknown := size == 0 && !m.Change.Cache.Given
		if !m.cached[k] && (unknown || m.cacheUse[n]+t.LengthBytes <= size) {
			m.cached[k] = true
			m.cacheUse[n] += t.LengthBytes
		}
		if m.cached[k] {
			kept = append(kept, n)
		}
	}
	return kept
}

// record gives tasks their recorded durations. A reduce that waited for maps takes
// as long after the end of the last map as it took in the trace.
func (m *jobMaker) record(j *Job, x *sim.Job) {
	last := j.lastMap()
	if j.Started > j.T {
		x.AMStartMs = int32(max(1, (j.Started - j.T).Milliseconds()))
	}
	if end := j.lastEnd(); j.Finished > end && end > 0 {
		x.FinishMs = int32(max(1, (j.Finished - end).Milliseconds()))
	}
	for k, tasks := range j.Tasks {
		var known []float64
		work := [2][]sim.Work{x.MapWork, x.ReduceWork}[k]
		for i := range tasks {
			a := tasks[i].Won
			work[i].InputBytes = tasks[i].input()
			if a == nil {
				continue
			}
			ms, held := m.roomMs[a]
			if !held {
				ms = a.Ms()
			}
			if traces.TaskKind(k) == traces.Reduce {
				work[i].OutputBytes = a.written
				work[i].FromLastMap = a.Start < last && !held
				if work[i].FromLastMap {
					ms = float64(a.End-last) / 1e6
				}
			}
			work[i].FixedMs = int32(min(max(1, scaled(ms, m.Change.Speed)), math.MaxInt32/2))
			known = append(known, float64(work[i].FixedMs))
		}
		usual := int32(1)
		if len(known) > 0 {
			usual = int32(max(1, median(known)))
		}
		for i := range work {
			if work[i].FixedMs == 0 {
				work[i].FixedMs = usual
			}
		}
	}
	spreadOutput(j, x.MapWork)
}

// The method input returns how many bytes the map task read.
func (t *Task) input() int64 {
	if t.LengthBytes > 0 {
		return t.LengthBytes
	}
	if t.Won != nil {
		return t.Won.read
	}
	return 0
}

// spreadOutput divides the bytes that the job's reduces fetched among its maps, in
// proportion to each map's output before combiner and compression: no more is known
// of a single map. In a job without reduces, a map's output is the bytes that it
// wrote.
func spreadOutput(j *Job, work []sim.Work) {
	total, parts := j.shuffled(), make([]float64, len(work))
	sum := 0.0
	for i := range work {
		if a := j.Tasks[traces.Map][i].Won; a != nil {
			if len(j.Tasks[traces.Reduce]) == 0 {
				work[i].OutputBytes = a.written
				continue
			}
			parts[i] = float64(a.mapOutput)
			sum += parts[i]
		}
	}
	for i := range work {
		if sum > 0 && total > 0 {
			work[i].OutputBytes = int64(float64(total) * parts[i] / sum)
		}
	}
}

// shuffled returns how many bytes the job's reduces fetched from maps, all together.
func (j *Job) shuffled() int64 {
	var sum int64
	for i := range j.Tasks[traces.Reduce] {
		if a := j.Tasks[traces.Reduce][i].Won; a != nil {
			sum += a.shuffled
		}
	}
	return sum
}

// lastMap returns the time when the job's last map ended; 0 if it has no maps.
func (j *Job) lastMap() traces.Time {
	var last traces.Time
	for i := range j.Tasks[traces.Map] {
		if a := j.Tasks[traces.Map][i].Won; a != nil {
			last = max(last, a.End)
		}
	}
	return last
}

// lastEnd returns the time when the last task of the job ended.
func (j *Job) lastEnd() traces.Time {
	last := j.lastMap()
	for i := range j.Tasks[traces.Reduce] {
		if a := j.Tasks[traces.Reduce][i].Won; a != nil {
			last = max(last, a.End)
		}
	}
	return last
}

// The method workload returns the job's kind, such as sort, by which a calibration
// finds the job's costs.
func (j *Job) workload() string { return cmp.Or(j.Workload, j.Name) }
