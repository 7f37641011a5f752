package why_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/errtest"
)

// world is a simulated run with all its events in the order in which they were recorded.
type world struct {
	rng      *rand.Rand
	model    string
	params   sched.Params
	config   *sim.Config
	header   traces.Header
	events   []traces.Event
	sorted   []traces.Event
	racks    map[traces.Node]string
	jobs     map[traces.JobID]*sim.Job
	attempts int
	annotate bool // the trace has the blocks' replicas and caches
	mapsOnly bool // no job has reduces
	calm     bool // nothing fails
	views    map[traces.Node][]step
	places   map[traces.JobID][]int // of the events of a job's master and decisions
	skips    map[int]map[traces.JobID]counted
}

func pick[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

func newWorld(t *testing.T, seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 31))
	w := &world{rng: rng, racks: map[traces.Node]string{}, jobs: map[traces.JobID]*sim.Job{}}
	c := &sim.Config{
		Costs: sim.NoCosts(), Seed: seed, Actuator: pick(rng, sim.Native, sim.Native, sim.Labels, sim.Ideal, sim.Ideal),
		Reasons: rng.IntN(4) > 0,
	}
	if rng.IntN(2) == 0 {
		c.Costs = sim.DefaultCosts()
		c.Costs.NodeExpiryMs = 5000
	}
	w.config = c
	w.annotate, w.mapsOnly, w.calm = c.Reasons || rng.IntN(2) == 0, rng.IntN(3) > 0, rng.IntN(3) > 0
	racks := 1 + rng.IntN(3)
	nodes := 2 + rng.IntN(6)
	for n := range nodes {
		x := sim.Node{
			Name: fmt.Sprintf("r%dn%d", n%racks, n), Rack: fmt.Sprint("/r", n%racks),
			Capacity: state.Resource{MemoryMB: int32(1024 * (1 + rng.IntN(4))), VCores: int32(2 + rng.IntN(4))},
		}
		c.Cluster.Nodes = append(c.Cluster.Nodes, x)
		w.racks[traces.Node(x.Name)] = x.Rack
		w.header.Cluster.Nodes = append(w.header.Cluster.Nodes,
			traces.NodeFacts{
				Node: traces.Node(x.Name), Rack: x.Rack, MemoryBytes: int64(x.Capacity.MemoryMB) << 20, VCores: x.Capacity.VCores,
				Worker: true,
			})
	}
	if rng.IntN(4) == 0 {
		c.MapSlots, c.ReduceSlots = int32(1+rng.IntN(3)), int32(1+rng.IntN(2))
	}
	masters := rng.IntN(2) == 0
	if !w.calm {
		w.faults(c, nodes, masters)
	}
	if !c.Reasons {
		c.Speculation = sim.Speculation(rng.IntN(2))
		c.Splits = sim.Splits(rng.IntN(2))
	}
	c.Source = &sim.Jobs{List: w.drawJobs(nodes, masters)}
	w.drawModel()
	m := errtest.Must(sched.New(w.model, w.params))
	c.Model = m
	c.Record = func(e traces.Event) { w.record(e) }
	if _, err := sim.Run(c); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	w.header.Origin, w.header.Model, w.header.Reasons = traces.Simulated, w.model, c.Reasons
	w.header.Splits = []string{"asSubmitted", "cachedOnly"}[c.Splits]
	w.header.MapSlots, w.header.ReduceSlots = c.MapSlots, c.ReduceSlots
	w.sorted = slices.Clone(w.events)
	traces.Sort(w.sorted)
	for _, e := range w.events {
		if e, ok := e.(*traces.AttemptFinished); ok && e.Unlaunched {
			w.attempts++
		}
		if _, ok := e.(*traces.AttemptStarted); ok {
			w.attempts++
		}
	}
	return w
}

func (w *world) faults(c *sim.Config, nodes int, masters bool) {
	at := int64(0)
	for range w.rng.IntN(4) {
		at += int64(w.rng.IntN(20_000))
		if n := state.NodeID(1 + w.rng.IntN(nodes-1)); w.rng.IntN(2) == 0 && !masters {
			c.Faults = append(c.Faults, sim.Fault{AtMs: at, What: sim.NodeDown, Node: n})
			at += int64(w.rng.IntN(40_000))
			c.Faults = append(c.Faults, sim.Fault{AtMs: at, What: sim.NodeUp, Node: n})
		} else {
			c.Faults = append(c.Faults, sim.Fault{AtMs: at, What: sim.AttemptsFail, Share: pick(w.rng, 0, 0.05, 0.2)})
		}
	}
	at = 0
	for range w.rng.IntN(3) {
		at += int64(w.rng.IntN(30_000))
		x := &c.Cluster.Nodes[w.rng.IntN(nodes)]
		c.Capacity.Changes = append(c.Capacity.Changes,
			state.CapacityChange{AtMs: at, Node: x.Name, Left: state.Resource{MemoryMB: x.Capacity.MemoryMB / 2, VCores: x.Capacity.VCores}},
			state.CapacityChange{AtMs: at + 20_000, Node: x.Name, Left: x.Capacity})
		at += 20_001
	}
}

func (w *world) drawJobs(nodes int, masters bool) (list []sim.Job) {
	rng := w.rng
	at := int64(0)
	for i := range 3 + rng.IntN(5) {
		at += int64(rng.IntN(2500))
		size := func() state.Resource { return state.Resource{MemoryMB: pick[int32](rng, 512, 1024), VCores: 1} }
		j := sim.Job{SubmitMs: at, SlowStart: 0.5, ID: traces.JobID(fmt.Sprintf("job_7_%04d", i+1))}
		j.JobSpec = state.JobSpec{
			Name: fmt.Sprint("job", i), Queue: pick(rng, "a", "b"), Priority: pick[int32](rng, 0, 0, 1),
			Maps: int32(1 + rng.IntN(25)), MapSize: size(), ReduceSize: size(),
		}
		j.MapWork = []sim.Work{{InputBytes: 64 << 20, ComputeMs: int32(1000 + rng.IntN(9000)), SpreadPercent: 50}}
		if !w.mapsOnly {
			j.Reduces = int32(rng.IntN(4))
			j.ReduceWork = []sim.Work{{ComputeMs: int32(1000 + rng.IntN(5000))}}
		}
		if masters {
			j.AMSize = state.Resource{MemoryMB: 512, VCores: 1}
		}
		for m := range j.Maps {
			replicas := rng.Perm(nodes)[:min(nodes, 1+rng.IntN(2))]
			if rng.IntN(3) > 0 { // inputs are on few nodes, so that these are full
				replicas = rng.Perm(min(nodes, 2))
			}
			for len(j.Replicas.Ends) < int(m) {
				j.Replicas.Add()
			}
			var hosts, cached []state.NodeID
			for _, n := range replicas {
				hosts = append(hosts, state.NodeID(n))
			}
			if rng.IntN(3) == 0 {
				cached = append(cached, hosts[0])
			}
			j.Replicas.Add(hosts...)
			j.Cached.Add(cached...)
		}
		list = append(list, j)
	}
	for i := range list {
		w.jobs[list[i].ID] = &list[i]
	}
	return list
}

func (w *world) drawModel() {
	a, b := w.rng.IntN(5), w.rng.IntN(5)
	n := strconv.Itoa
	w.model = pick(w.rng, "fifo", "delay", "delay", "delay", "acl", "acl", "capacity", "fair", "random")
	switch {
	case w.model == "delay" && w.rng.IntN(3) == 0:
		w.params = sched.Params{"form": "time", "nodeWait": n(a) + "s", "rackWait": n(b) + "s"}
	case w.model == "delay":
		w.params = sched.Params{"nodeSkips": n(a), "rackSkips": n(b)}
	case w.model == "acl":
		w.params = sched.Params{"c": n(a), "d": n(b)}
	case w.model == "fair":
		w.params = sched.Params{"nodeThreshold": pick(w.rng, "0.3", "0.9"), "rackThreshold": "0.5"}
	case w.model == "capacity":
		w.params = sched.Params{"nodeLocalityDelay": n(a)}
	}
}

// record keeps an event. The simulator does not record where blocks are: it is added, unless
// the trace is to have the hosts of splits only.
func (w *world) record(e traces.Event) {
	s, ok := e.(*traces.TaskScheduled)
	if ok && w.annotate && s.Task.Kind == traces.Map {
		j := w.jobs[s.Task.Job]
		b := traces.Block(traces.HashName(string(s.Task.Job))<<8 + uint64(s.Task.Index))
		for _, n := range hostsOf(&j.Replicas, s.Task.Index) {
			w.events = append(w.events, &traces.BlockReplica{T: e.At(), Block: b, Node: w.name(n)})
		}
		for _, n := range hostsOf(&j.Cached, s.Task.Index) {
			w.events = append(w.events, &traces.BlockCached{T: e.At(), Block: b, Node: w.name(n)})
		}
		s.Blocks = []traces.Block{b}
	}
	w.events = append(w.events, e)
}

func (w *world) name(n state.NodeID) traces.Node { return traces.Node(w.config.Cluster.Nodes[n].Name) }

func hostsOf(h *state.Hosts, i int32) []state.NodeID {
	if int(i) >= len(h.Ends) {
		return nil
	}
	from := int32(0)
	if i > 0 {
		from = h.Ends[i-1]
	}
	return h.Nodes[from:h.Ends[i]]
}

func (w *world) names(list []state.NodeID) (names []traces.Node) {
	for _, n := range list {
		names = append(names, w.name(n))
	}
	return names
}

// room is memory in MB, cores, and slots of maps and reduces.
type room [4]int64

func (r room) holds(o room) bool {
	for i := range r {
		if r[i] < o[i] {
			return false
		}
	}
	return true
}

// step is a change of what a node has free, at a place in the order of events. The place is -1
// if it is not known which of the events of its time came before it.
type step struct {
	place int
	t     traces.Time
	by    room
}

// need is what a container of a job takes.
func (w *world) need(id traces.JobID, k traces.TaskKind) room {
	j := w.jobs[id]
	size := [2]state.Resource{j.MapSize, j.ReduceSize}[k]
	r := room{int64(size.MemoryMB), int64(size.VCores)}
	r[2+k] = 1
	return r
}

func (r room) times(n int64) room { return room{r[0] * n, r[1] * n, r[2] * n, r[3] * n} }

func (w *world) capacity(n traces.Node) room {
	for i := range w.config.Cluster.Nodes {
		if x := &w.config.Cluster.Nodes[i]; x.Name == string(n) {
			r := room{int64(x.Capacity.MemoryMB), int64(x.Capacity.VCores), 1 << 40, 1 << 40}
			if w.config.MapSlots > 0 {
				r[2], r[3] = int64(w.config.MapSlots), int64(w.config.ReduceSlots)
			}
			return r
		}
	}
	panic("no such node")
}

// view lists the changes of a node's room as the scheduler saw them: a container takes room
// from its decision until it is given up or its attempt ends, a master from its start.
func (w *world) view(n traces.Node) (steps []step) {
	for i, e := range w.events {
		switch e := e.(type) {
		case *traces.Decision:
			if e.Node != n {
				continue
			}
			need := w.need(e.Job, e.What)
			steps = append(steps, step{i, e.T, need.times(-1)})
			if end := w.endOf(i, e); end >= 0 {
				steps = append(steps, step{end, w.events[end].At(), need})
			}
		case *traces.JobStarted:
			if e.AMNode == n {
				takes := room{e.AMMemoryBytes >> 20, int64(w.jobs[e.Job].AMSize.VCores)}
				steps = append(steps, step{-1, e.T - traces.Time(w.config.Costs.AMStartMs)*1e6, takes.times(-1)})
				for k := i; k < len(w.events); k++ {
					if end, ok := w.events[k].(*traces.JobFinished); ok && end.Job == e.Job {
						steps = append(steps, step{k, end.T, takes})
						break
					}
				}
			}
		}
	}
	return append(steps, w.resized(n)...)
}

// resized lists the changes of a node's capacity.
func (w *world) resized(n traces.Node) (steps []step) {
	has := w.capacity(n)
	for i, e := range w.events {
		if e, ok := e.(*traces.NodeCapacity); ok && e.Node == n {
			now := room{e.MemoryBytes >> 20, int64(e.VCores), has[2], has[3]}
			steps = append(steps, step{i, e.T, room{now[0] - has[0], now[1] - has[1]}})
			has = now
		}
	}
	return steps
}

// endOf returns the place of the event at which the container of a decision is free again.
func (w *world) endOf(place int, d *traces.Decision) int {
	var bound *traces.Attempt
	for i := place; i < len(w.events); i++ {
		switch e := w.events[i].(type) {
		case *traces.Actuation:
			if e.Decision != d.ID {
				continue
			}
			if e.Outcome != "honoured" {
				return i
			}
			bound = &e.Bound
		case *traces.AttemptFinished:
			if bound != nil && e.Attempt == *bound {
				return i
			}
		case *traces.JobFinished:
			if e.Job == d.Job {
				return i
			}
		}
	}
	return -1
}

// launched lists the changes of a node's room by the attempts that ran there, for a trace
// that does not say what the scheduler saw.
func (w *world) launched(n traces.Node) (steps []step) {
	for i, e := range w.events {
		switch e := e.(type) {
		case *traces.AttemptStarted:
			if e.Node != n {
				continue
			}
			need := w.need(e.Attempt.Job, e.Attempt.Kind)
			steps = append(steps, step{i, e.T, need.times(-1)})
			for k, end := range w.events {
				if end, ok := end.(*traces.AttemptFinished); ok && end.Attempt == e.Attempt {
					steps = append(steps, step{k, end.T, need})
				}
			}
		case *traces.JobStarted:
			if e.AMNode != n || e.AMMemoryBytes == 0 {
				continue
			}
			takes := room{e.AMMemoryBytes >> 20, 1}
			steps = append(steps, step{i, e.T, takes.times(-1)})
			for k, end := range w.events {
				if end, ok := end.(*traces.JobFinished); ok && end.Job == e.Job {
					steps = append(steps, step{k, end.T, takes})
				}
			}
		}
	}
	return append(steps, w.resized(n)...)
}

// full says whether a node lacked room at a time, and since when. Steps count if the function
// counts says so. It also returns whether that is not certain.
func (w *world) full(n traces.Node, need room, at traces.Time, steps []step, counts func(step) bool) (full bool, since traces.Time,
	unsure bool,
) {
	var list []step
	for _, s := range steps {
		if s.t == at && s.place < 0 {
			unsure = true
		}
		if counts(s) {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b step) int { return cmp.Compare(a.t, b.t) })
	free := w.capacity(n)
	for i := 0; i < len(list); {
		now := list[i].t
		if free.holds(need) {
			since = now // it had room until now
		}
		for ; i < len(list) && list[i].t == now; i++ {
			for k := range free {
				free[k] += list[i].by[k]
			}
		}
	}
	return !free.holds(need), since, unsure
}
