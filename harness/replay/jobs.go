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

// jobMaker makes a replay's jobs.
type jobMaker struct {
	*Config
	machines *sim.Machines
	ids      map[traces.Node]state.NodeID
	workers  map[traces.Node]bool // the trace's
	topology *place.Topology      // nil: blocks stay where they were
	replicas draw.Key
	compute  draw.Key
	holds    map[traces.Attempt]float64 // see follow; nil: attempts take their own time
	cached   map[blockKey]bool          // copies that fit, on a node
	cacheUse []int64                    // by node
}

// blockKey is a cached copy.
type blockKey struct {
	file   uint64
	offset int64
	node   state.NodeID
}

func newJobMaker(c *Config, x *sim.Machines) *jobMaker {
	m := &jobMaker{
		Config: c, machines: x, ids: map[traces.Node]state.NodeID{}, workers: map[traces.Node]bool{},
		replicas: draw.Stream(c.Seed, "replicas"), compute: draw.Stream(c.Seed, "task compute"),
		cached: map[blockKey]bool{}, cacheUse: make([]int64, len(x.Nodes)),
	}
	for _, n := range c.Trace.Nodes {
		m.workers[n.Node] = true
	}
	racks := map[string]state.RackID{}
	rackOf := make([]state.RackID, len(x.Nodes))
	for i, n := range x.Nodes {
		m.ids[traces.Node(n.Name)] = state.NodeID(i)
		if _, ok := racks[n.Rack]; !ok {
			racks[n.Rack] = state.RackID(len(racks))
		}
		rackOf[i] = racks[n.Rack]
	}
	if c.Change.moves() {
		m.topology = place.New(rackOf)
	}
	return m
}

// jobs are the trace's, by submission.
func (m *jobMaker) jobs() ([]sim.Job, error) {
	var list []sim.Job
	first := m.Trace.Jobs[0].T
	for _, j := range m.Trace.Jobs {
		x := sim.Job{
			ID: j.Job, Workload: j.Workload, SlowStart: float32(j.SlowStart),
			SubmitMs: scaled(float64((j.T-first).Milliseconds()), m.Change.Load) + max(0, first.Milliseconds()),
			JobSpec: state.JobSpec{
				Name: cmp.Or(j.Name, string(j.Job)), User: j.User, Queue: j.Queue, Priority: j.Priority,
				Maps: int32(len(j.Tasks[0])), Reduces: int32(len(j.Tasks[1])),
				MapSize: sizeOf(j.MapMemoryBytes, j.MapVCores), ReduceSize: sizeOf(j.ReduceMemoryBytes, j.ReduceVCores),
			},
		}
		if x.Maps+x.Reduces == 0 {
			continue
		}
		if m.workers[j.AMNode] && j.AMMemoryBytes > 0 {
			x.AMSize = sizeOf(j.AMMemoryBytes, 1)
		}
		m.hosts(j, &x)
		if m.Modelled {
			if err := m.model(j, &x); err != nil {
				return nil, err
			}
		} else {
			m.record(j, &x)
		}
		m.recall(j, &x)
		list = append(list, x)
	}
	if m.holds != nil {
		m.asFollowed(list)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("trace %s: no event of it names a task of any job: there is nothing to replay", m.Trace.Name)
	}
	return list, nil
}

// scaled is ms at a speed, 0 standing for 1.
func scaled(ms, speed float64) int64 {
	if speed > 0 {
		ms /= speed
	}
	return int64(math.Round(ms))
}

// hosts says where the job's input is, on disk and cached, and what its master
// reads of it.
func (m *jobMaker) hosts(j *Job, x *sim.Job) {
	narrowed := false
	var read state.Hosts
	for i := range j.Tasks[traces.Map] {
		t := &j.Tasks[traces.Map][i]
		replicas, cached := m.idsOf(t.Replicas), m.idsOf(t.Cached)
		split := m.idsOf(t.SplitHosts)
		file := traces.HashName(t.Path)
		if t.Path == "" {
			file = m.Trace.hash(j, i)
		}
		if m.topology != nil && len(t.Replicas)+m.Change.Replication > 0 {
			n := cmp.Or(m.Change.Replication, len(t.Replicas))
			replicas = m.topology.Block(nil, m.replicas.At(file).At(uint64(t.OffsetBytes)), state.None, n)
			cached = replicas[:min(len(t.Cached), len(replicas))]
			if len(t.SplitHosts) < len(t.Replicas) {
				split = replicas[:min(len(t.SplitHosts), len(replicas))]
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
	// What a plan or the cache had the master read is not how the job was submitted.
	if narrowed && (m.Trace.Header.Splits == "" || m.Trace.Header.Splits == SplitsAsSubmitted) {
		x.SplitHosts = &read
	}
}

// hash names a split without a file.
func (t *Trace) hash(j *Job, i int) uint64 {
	return uint64(draw.Key(traces.HashName(string(j.Job))).At(uint64(i)))
}

func (m *jobMaker) idsOf(nodes []traces.Node) []state.NodeID {
	var list []state.NodeID
	for _, n := range nodes {
		if id, ok := m.ids[n]; ok {
			list = append(list, id)
		}
	}
	return list
}

func sameNodes(a, b []state.NodeID) bool {
	if len(a) != len(b) {
		return false
	}
	return !slices.ContainsFunc(a, func(n state.NodeID) bool { return !slices.Contains(b, n) })
}

// fitting are the cached copies for which caches have room, where these or what
// is in them is not the trace's: the first that jobs read.
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

// record has tasks take as long as they did. A reduce that waited for maps takes
// from the last of them on what it took from there.
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
		work := make([]sim.Work, len(tasks))
		for i := range tasks {
			a := tasks[i].Won
			work[i].InputBytes = tasks[i].input()
			if a == nil {
				continue
			}
			ms, held := m.holds[a.ID]
			if !held {
				ms = a.Ms()
			}
			if traces.TaskKind(k) == traces.Reduce {
				work[i].OutputBytes = max(0, a.Counters.HDFSWrittenBytes)
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
		if k == 0 {
			x.MapWork = work
		} else {
			x.ReduceWork = work
		}
	}
	spreadOutput(j, x.MapWork)
}

// input is how many bytes a map reads.
func (t *Task) input() int64 {
	if t.LengthBytes > 0 {
		return t.LengthBytes
	}
	if t.Won != nil {
		return max(0, t.Won.Counters.HDFSReadBytes)
	}
	return 0
}

// spreadOutput gives maps their part of what the job's reduces fetched, or of
// what maps wrote where there are none: by what they put out before it was
// combined and compressed, which is all that is known of each.
func spreadOutput(j *Job, work []sim.Work) {
	total, parts := j.shuffled(), make([]float64, len(work))
	sum := 0.0
	for i := range work {
		if a := j.Tasks[traces.Map][i].Won; a != nil {
			if len(j.Tasks[traces.Reduce]) == 0 {
				work[i].OutputBytes = max(0, a.Counters.HDFSWrittenBytes)
				continue
			}
			parts[i] = float64(max(0, a.Counters.MapOutputBytes))
			sum += parts[i]
		}
	}
	for i := range work {
		if sum > 0 && total > 0 {
			work[i].OutputBytes = int64(float64(total) * parts[i] / sum)
		}
	}
}

// shuffled is what the job's reduces fetched.
func (j *Job) shuffled() int64 {
	var sum int64
	for i := range j.Tasks[traces.Reduce] {
		if a := j.Tasks[traces.Reduce][i].Won; a != nil {
			sum += max(0, a.Counters.ShuffleBytes)
		}
	}
	return sum
}

// lastMap is when the job's last map ended, 0 where it has none.
func (j *Job) lastMap() traces.Time {
	var last traces.Time
	for i := range j.Tasks[traces.Map] {
		if a := j.Tasks[traces.Map][i].Won; a != nil {
			last = max(last, a.End)
		}
	}
	return last
}

// lastEnd is when its last task did.
func (j *Job) lastEnd() traces.Time {
	last := j.lastMap()
	for i := range j.Tasks[traces.Reduce] {
		if a := j.Tasks[traces.Reduce][i].Won; a != nil {
			last = max(last, a.End)
		}
	}
	return last
}

// workload is the name that a job's costs are kept by.
func (j *Job) workload() string { return cmp.Or(j.Workload, j.Name) }

// model has tasks take what tasks of their workload did in the calibration's
// traces: launch, reading and shuffling by where the data is, and computing.
func (m *jobMaker) model(j *Job, x *sim.Job) error {
	w := m.Calibration.workload(j.workload())
	standIn := w == nil
	if standIn {
		w = m.Calibration.workload(m.Workload)
	}
	if w == nil || standIn && m.Workload == "" {
		return fmt.Errorf("trace %s: no jobs of workload %q in the calibration, which has %s; --workload names one that stands in for it", m.Trace.Name, j.workload(), m.Calibration.names())
	}
	key := m.compute.At(traces.HashName(string(j.Job)))
	x.MapWork = make([]sim.Work, x.Maps)
	var out int64
	for i := range x.MapWork {
		t := &j.Tasks[traces.Map][i]
		bytes := t.input()
		x.MapWork[i] = sim.Work{
			InputBytes: bytes, OutputBytes: int64(w.MapOutputPerByte * float64(bytes)),
			ComputeMs: w.Map.draw(bytes, key.At(0).At(uint64(i))),
		}
	}
	if standIn {
		spreadOutput(j, x.MapWork)
	}
	for i := range x.MapWork {
		out += x.MapWork[i].OutputBytes
	}
	x.ReduceWork = make([]sim.Work, x.Reduces)
	for i := range x.ReduceWork {
		share := out / int64(x.Reduces)
		x.ReduceWork[i] = sim.Work{
			OutputBytes: int64(w.ReduceOutputPerByte * float64(share)),
			ComputeMs:   w.Reduce.draw(share, key.At(1).At(uint64(i))),
		}
		if a := j.Tasks[traces.Reduce][i].Won; standIn && a != nil {
			x.ReduceWork[i].OutputBytes = max(0, a.Counters.HDFSWrittenBytes)
		}
	}
	return nil
}
