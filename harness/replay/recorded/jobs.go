package recorded

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"heddle/harness/config"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/sim/place"
	"heddle/harness/state"
	"heddle/harness/stats"
	"heddle/traces"
)

// Settings say which jobs a Source makes, and how.
type Settings struct {
	Trace  *Trace
	Change Change
	Seed   uint64
	// After has the jobs that are submitted once another job has ended, each with the
	// id of that job, which stands before it in Trace. They do not arrive at their
	// recorded times.
	After map[traces.JobID]traces.JobID
	// KeepReads says that caches keep what maps read last, and not what was cached at
	// the start.
	KeepReads bool
	// Preempts says that the model takes containers from jobs. What YARN took when they ran is then not repeated.
	Preempts bool
	// Masters says that the model decides where ApplicationMasters start, also those of which no node is known.
	Masters bool
	// Costs, if not nil, sets what tasks take in place of the recorded durations.
	// Tasks then have none of their recorded failures and speculative attempts.
	Costs Costs
}

// Costs sets what the tasks of a job take and write: of a job that ran, or of one that
// a job list names.
type Costs interface {
	Set(j *Job, x *sim.Job)
	SetListed(j *traces.JobListed, x *sim.Job)
}

// Source makes the jobs of a replay when they arrive, from the trace's jobs or job
// list. It is a sim.Source.
type Source struct {
	Settings
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
	ended    map[traces.JobID]traces.Time // when jobs ended, if some wait for others
	network  bool                         // for a job list: true: reduces fetch over the simulated network; false: fetching takes a fixed time
}

// blockKey identifies a cached copy of a block: file, offset in the file, and node.
type blockKey struct {
	file   uint64
	offset int64
	node   state.NodeID
}

// NewSource returns the source of the jobs of a replay on the given machines.
func NewSource(c Settings, x *sim.Machines) *Source {
	m := &Source{
		Settings: c, machines: x, workers: map[traces.Node]bool{},
		replicas: draw.Stream(c.Seed, "replicas"),
		cached:   map[blockKey]bool{}, ended: map[traces.JobID]traces.Time{}, cacheUse: make([]int64, len(x.Nodes)),
		network: slices.ContainsFunc(x.Nodes, func(n sim.Node) bool { return n.LinkBytesPerSec > 0 }),
	}
	for _, j := range c.Trace.Jobs {
		if j.HasTasks() {
			m.jobs = append(m.jobs, j)
		}
		if len(c.After) > 0 {
			m.ended[j.Job] = j.Finished
		}
	}
	for _, n := range slices.Concat(c.Trace.former, c.Trace.Nodes) {
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
	if c.Change.PlacesBlocks() || len(c.Trace.List) > 0 {
		m.topology = place.InRacks(racks)
	}
	return m
}

// Next makes the next job of the trace, so that the simulator can submit it. It
// implements sim.Source.
func (m *Source) Next(x *sim.Job) bool {
	if len(m.Trace.List) > 0 {
		return m.nextListed(x)
	}
	if m.next == len(m.jobs) {
		return false
	}
	j := m.jobs[m.next]
	m.next++
	maps, reduces := len(j.Tasks[0]), len(j.Tasks[1])
	*x = sim.Job{
		ID: j.Job, Workload: j.Workload, Costs: j.Costs, SlowStart: m.Trace.slowStart(j), SubmitMs: m.submitMs(j.T, m.Trace.Jobs[0].T),
		JobSpec: state.JobSpec{
			Name: cmp.Or(j.Name, string(j.Job)), User: j.User, Queue: j.Queue, Pool: j.Pool, Priority: j.Priority, Label: j.MapLabel,
			Maps: int32(maps), Reduces: int32(reduces), Replicas: x.Replicas, Cached: x.Cached,
		},
		ReduceAskMs: m.Trace.ExecutorAskMs[j.Job],
		MapWork:     Cleared(x.MapWork, maps), ReduceWork: Cleared(x.ReduceWork, reduces),
	}
	x.SetTerms(&j.Terms)
	if x.After = m.After[j.Job]; x.After != "" {
		x.AfterMs = afterMs
		if ended := m.ended[x.After]; ended > 0 && ended <= j.T {
			x.AfterMs = (j.T - ended).Milliseconds()
		}
	}
	x.MapSize, x.ReduceSize, x.AMSize = m.sizes(j)
	m.hosts(j, x)
	if m.Costs != nil {
		m.Costs.Set(j, x)
	} else {
		m.record(j, x)
	}
	m.addPasts(j, x)
	return true
}

// afterMs is how long, in ms, a program takes from the end of one of its jobs to the
// submission of its next. grep on a lab took 1800 to 2700 ms.
const afterMs = 2000

// Cleared returns a list of zeroes for the work of n tasks. It reuses the memory of
// list if that is large enough.
func Cleared(list []sim.Work, n int) []sim.Work {
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
func (m *Source) sizes(j *Job) (forMap, forReduce, am state.Resource) {
	if j.AMMemoryBytes > 0 && (m.workers[j.AMNode] || j.AMNode == "" && m.Masters) {
		am = sizeOf(j.AMMemoryBytes, 1)
	}
	return sizeOf(j.MapMemoryBytes, j.MapVCores), sizeOf(j.ReduceMemoryBytes, j.ReduceVCores), am
}

// submitMs returns the time, in ms from the start of the replay, at which a job
// arrives.
func (m *Source) submitMs(t, first traces.Time) int64 {
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
func (m *Source) hosts(j *Job, x *sim.Job) {
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
	if narrowed && (m.Trace.Header.Splits == "" || m.Trace.Header.Splits == config.SplitsAsSubmitted) {
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
func (m *Source) idsOf(h hostList) []state.NodeID {
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
func (m *Source) fitting(nodes []state.NodeID, file uint64, t *Task) []state.NodeID {
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
func (m *Source) record(j *Job, x *sim.Job) {
	last := j.LastMap()
	if j.Started > j.T {
		x.AMStartMs = int32(max(1, (j.Started - j.T).Milliseconds()))
	}
	if end := j.LastEnd(); j.Finished > end && end > 0 {
		x.FinishMs = int32(max(1, (j.Finished - end).Milliseconds()))
	}
	for k, tasks := range j.Tasks {
		var known []float64
		work := [2][]sim.Work{x.MapWork, x.ReduceWork}[k]
		for i := range tasks {
			a := tasks[i].Won
			work[i].InputBytes = tasks[i].Input()
			if a == nil {
				continue
			}
			ms, held := m.roomMs[a]
			if !held {
				ms = a.Ms()
			}
			if traces.TaskKind(k) == traces.Reduce {
				work[i].OutputBytes = a.WrittenBytes
				work[i].FromLastMap = a.Start < last && !held
				if work[i].FromLastMap {
					ms = float64(a.End-last) / 1e6
				}
			}
			work[i].FixedMs = int32(min(max(1, scaled(ms, m.Change.Speed)), math.MaxInt32/2))
			work[i].CoresPercent = a.coresPercent()
			known = append(known, float64(work[i].FixedMs))
		}
		usual := int32(1)
		if len(known) > 0 {
			usual = int32(max(1, stats.Quantile(known, 0.5)))
		}
		for i := range work {
			if work[i].FixedMs == 0 {
				work[i].FixedMs = usual
			}
		}
	}
	SpreadOutput(j, x.MapWork)
}

// Input returns how many bytes the map task read.
func (t *Task) Input() int64 {
	if t.LengthBytes > 0 {
		return t.LengthBytes
	}
	if t.Won != nil {
		return t.Won.read
	}
	return 0
}

// HasTasks reports whether events name a task of the job.
func (j *Job) HasTasks() bool { return len(j.Tasks[0])+len(j.Tasks[1]) > 0 }

// HasTasks returns an error if there is nothing to replay.
func (t *Trace) HasTasks() error {
	if len(t.List) > 0 || slices.ContainsFunc(t.Jobs, (*Job).HasTasks) {
		return nil
	}
	first := t.Jobs[0]
	return fmt.Errorf("trace %s: there is nothing to replay: none of its events names a task; %s is %v without any",
		t.Name, first.Job, first.Outcome)
}

// SpreadOutput divides the bytes that the job's reduces fetched among its maps, in
// proportion to each map's output before combiner and compression: no more is known
// of a single map. In a job without reduces, a map's output is the bytes that it
// wrote.
func SpreadOutput(j *Job, work []sim.Work) {
	total, parts := j.Shuffled(), make([]float64, len(work))
	sum := 0.0
	for i := range work {
		if a := j.Tasks[traces.Map][i].Won; a != nil {
			if len(j.Tasks[traces.Reduce]) == 0 {
				work[i].OutputBytes = a.WrittenBytes
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

// Shuffled returns how many bytes the job's reduces fetched from maps, all together.
func (j *Job) Shuffled() int64 {
	var sum int64
	for i := range j.Tasks[traces.Reduce] {
		if a := j.Tasks[traces.Reduce][i].Won; a != nil {
			sum += a.shuffled
		}
	}
	return sum
}
