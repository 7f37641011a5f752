package recorded

import (
	"cmp"
	"math"
	"slices"
	"time"

	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/traces"
)

// mishaps are the attempts of tasks in a trace that failed, were killed or ran in
// parallel to another attempt, and the nodes that were lost or came back.
type mishaps struct {
	tasks   map[taskKey][]life // attempts of those tasks that had a failed or killed attempt, or several attempts
	outages []outage
	speeds  []traces.NodeSpeed
}

// life is the start, end, node and outcome of a task attempt that was launched and
// has ended.
type life struct {
	start, end traces.Time
	node       traces.Node
	outcome    traces.Outcome
	preempted  bool
}

func (r *life) ms() float64 { return float64(r.end-r.start) / 1e6 }

type outage struct {
	t    traces.Time
	node traces.Node
	over bool // true: the node comes back; false: the node is lost
}

// add takes an event of the trace, and keeps what it says about a lost or slow node.
func (m *mishaps) add(e traces.Event) {
	switch e := e.(type) {
	case *traces.NodeDown:
		m.outages = append(m.outages, outage{e.T, e.Node, false})
	case *traces.NodeUp:
		if slices.ContainsFunc(m.outages, func(o outage) bool { return o.node == e.Node }) {
			m.outages = append(m.outages, outage{e.T, e.Node, true})
		}
	case *traces.NodeSpeed:
		m.speeds = append(m.speeds, *e)
	}
}

// started takes the start of an attempt: that of a further attempt says that its task
// had several.
func (m *mishaps) started(a attemptKey) {
	if a.number > 0 && !m.several(a.taskKey) {
		m.keep(a.taskKey, nil)
	}
}

// ended takes an attempt that was launched and has ended.
func (m *mishaps) ended(of taskKey, r life) {
	if r.outcome == traces.Failed || r.outcome == traces.Killed || m.several(of) {
		m.keep(of, append(m.tasks[of], r))
	}
}

func (m *mishaps) several(t taskKey) bool {
	_, known := m.tasks[t]
	return known
}

func (m *mishaps) keep(t taskKey, list []life) {
	if m.tasks == nil {
		m.tasks = map[taskKey][]life{}
	}
	m.tasks[t] = list
}

// lost returns the time at which YARN noticed the loss of the node on which the
// attempt ran; 0 if the attempt ended for another reason. The ApplicationMaster may
// have noticed the loss before the ResourceManager.
func (m *mishaps) lost(r *life) traces.Time {
	const early = traces.Time(10 * time.Second)
	for _, o := range m.outages {
		if !o.over && o.node == r.node && r.start < o.t && r.end > o.t-early && r.outcome == traces.Killed {
			return o.t
		}
	}
	return 0
}

// addPasts gives a simulated job the recorded failures, kills and speculative
// attempts of its tasks, if durations are recorded ones. If the simulated caches
// keep what jobs read, it also adds the blocks that the maps read.
func (m *Source) addPasts(j *Job, x *sim.Job) {
	if m.KeepReads {
		x.Cached.Reset()
		for i := range j.Tasks[traces.Map] {
			t := &j.Tasks[traces.Map][i]
			file := cmp.Or(t.file, m.Trace.hash(j, i))
			x.Cached.Add()
			x.Blocks = append(x.Blocks, traces.Block(draw.Key(file).At(uint64(t.OffsetBytes))>>1))
		}
	}
	if m.Costs != nil || m.roomMs != nil || len(m.Trace.mishaps.tasks) == 0 {
		return
	}
	last := j.LastMap()
	for k, tasks := range j.Tasks {
		for i := range tasks {
			kind := traces.TaskKind(k)
			list := m.Trace.mishaps.tasks[taskKey{j.number, tasks[i].Index, kind}]
			if m.Preempts {
				list = slices.DeleteFunc(slices.Clone(list), func(r life) bool { return r.preempted })
			}
			won, fromLast := tasks[i].Won, false
			if won != nil && kind == traces.Reduce {
				fromLast = won.Start < last
			}
			for _, p := range m.Trace.mishaps.pasts(list, last, won != nil, j.Outcome == traces.Succeeded, fromLast) {
				p.Kind, p.Task = kind, int32(i)
				p.Ms, p.SpeculateMs = m.atSpeed(p.Ms), m.atSpeed(p.SpeculateMs)
				x.Pasts = append(x.Pasts, p)
			}
		}
	}
}

func (m *Source) atSpeed(ms int32) int32 {
	return int32(min(scaled(float64(ms), m.Change.Speed), math.MaxInt32/2))
}

// mostFailures is how many attempts of a task may fail while the task can still
// succeed.
const mostFailures = 3

// pasts returns what the simulation must repeat of a task's attempts. The attempts
// are numbered in the order of their starts, because a restarted ApplicationMaster
// numbers its attempts differently.
//
// It leaves out what the simulation produces by itself: attempts that end on lost
// nodes, and reduces that are killed to make room for maps. Of two parallel attempts
// of a task, the slower one was killed; its full duration is assumed to be the time
// that it ran. The same holds for attempts that a node loss or the failure of their
// job ended, since more is not known. If the job succeeded without the task, it tolerated the
// task's last failure.
//
//nolint:gocyclo // the rules of Hadoop, one a case
func (m *mishaps) pasts(list []life, lastMap traces.Time, succeeded, jobSucceeded, fromLastMap bool) []sim.Past {
	slices.SortStableFunc(list, func(a, b life) int { return cmp.Compare(a.start, b.start) })
	var pasts []sim.Past
	failures, last := 0, -1
	if jobSucceeded && !succeeded {
		last = lastFailure(list)
	}
	for i := range list {
		r := &list[i]
		p := sim.Past{Number: int32(i), Outcome: r.outcome, Ms: wholeMs(r.ms())}
		if next := i + 1; next < len(list) && list[next].start < r.end && (i == 0 || list[i-1].end <= r.start) {
			p.SpeculateMs = max(1, wholeMs(float64(list[next].start-r.start)/1e6))
		}
		noticed := m.lost(r)
		switch {
		case noticed > 0 && !fromLastMap:
			p.Outcome, p.Ms = traces.Succeeded, wholeMs(float64(min(r.end, noticed)-r.start)/1e6)
		case r.outcome == traces.Failed:
			if p.Last = i == last; p.Last {
				break
			}
			if failures++; (succeeded || last >= 0) && failures > mostFailures {
				p.Outcome = traces.Killed // count this failure as a kill: the simulated job would fail if one task failed so often
			}
		case r.raced(list) || r.outcome == traces.Killed && !succeeded && last < 0:
			p.Outcome = traces.Succeeded
			if fromLastMap {
				p.Ms = wholeMs(float64(r.end-lastMap) / 1e6)
			}
		case r.outcome != traces.Killed || noticed > 0 || fromLastMap && r.end < lastMap:
			continue
		}
		pasts = append(pasts, p)
	}
	return pasts
}

// lastFailure returns which of the attempts failed last, -1 if none did.
func lastFailure(list []life) int {
	for i, r := range slices.Backward(list) {
		if r.outcome == traces.Failed {
			return i
		}
	}
	return -1
}

// raced reports whether another of the attempts succeeded while this one ran.
func (r *life) raced(list []life) bool {
	return slices.ContainsFunc(list, func(o life) bool { return o.outcome == traces.Succeeded && o.start < r.end && r.start < o.end })
}

func wholeMs(ms float64) int32 { return int32(min(max(1, math.Round(ms)), math.MaxInt32/2)) }

// FirstMs returns the time, in ms from the trace's start, at which the first job
// arrives in a replay.
func (t *Trace) FirstMs() int64 {
	if len(t.List) > 0 {
		return max(0, t.List[0].T.Milliseconds())
	}
	return max(0, t.Jobs[0].T.Milliseconds())
}

// Capacity returns the trace's changes of the capacity of nodes. Where the replay
// changes the size of nodes, a node keeps the recorded share of its size. There are
// none if the replay's cluster has other nodes.
func (m *Source) Capacity() (list state.Timetable) {
	if m.Change.Nodes > 0 || m.Change.Racks > 0 {
		return list
	}
	for _, c := range m.Trace.Capacity {
		n := slices.IndexFunc(m.machines.Nodes, func(n sim.Node) bool { return n.Name == string(c.Node) })
		was := slices.IndexFunc(m.Trace.Nodes, func(n traces.NodeFacts) bool { return n.Node == c.Node })
		if n < 0 || was < 0 {
			continue
		}
		full, recorded := m.machines.Nodes[n].Capacity, m.Trace.Nodes[was]
		list.Changes = append(list.Changes, state.CapacityChange{
			AtMs: m.moved(c.T), Node: string(c.Node),
			Left: state.Resource{
				MemoryMB: share(full.MemoryMB, c.MemoryBytes, recorded.MemoryBytes),
				VCores:   share(full.VCores, int64(c.VCores), int64(recorded.VCores)),
			},
		})
	}
	return list
}

// share returns the part of a node's size that is to the whole as left was to full.
func share(whole int32, left, full int64) int32 {
	if left >= full {
		return whole
	}
	return int32(float64(whole) * float64(left) / float64(full))
}

// moved returns the time, in ms, of something that happened to a node at the time t of
// the trace. A changed arrival rate of jobs also moves such times, in the same
// proportion.
func (m *Source) moved(t traces.Time) int64 {
	at, firstMs := t.Milliseconds(), m.Trace.FirstMs()
	if at > firstMs {
		at = firstMs + scaled(float64(at-firstMs), m.Change.Load)
	}
	return max(0, at)
}

// Outages returns the trace's node losses and slow nodes as faults of a simulation. A node
// stops before its recorded loss by the time that YARN needs to notice, expiryMs, and
// comes back as recorded. There are none if the replay's cluster has other nodes.
func (m *Source) Outages(expiryMs int32) (faults []sim.Fault) {
	if m.Change.Nodes > 0 || m.Change.Racks > 0 {
		return nil
	}
	place := func(name traces.Node) state.NodeID {
		return state.NodeID(slices.IndexFunc(m.machines.Nodes, func(n sim.Node) bool { return n.Name == string(name) }))
	}
	for _, x := range m.Trace.mishaps.speeds {
		if n := place(x.Node); n >= 0 && x.Speed > 0 {
			faults = append(faults, sim.Fault{
				AtMs: m.moved(x.T), Node: n, What: sim.NodeSlow,
				Speed: cmp.Or(m.machines.Nodes[n].Speed, 1) * x.Speed,
			})
		}
	}
	back := map[state.NodeID]int64{}
	for _, o := range m.Trace.mishaps.outages {
		n := place(o.node)
		if n < 0 {
			continue
		}
		at := m.moved(o.t)
		f := sim.Fault{AtMs: at, Node: n, What: sim.NodeUp}
		if o.over {
			back[n] = at
		} else {
			f.What, f.AtMs = sim.NodeDown, max(0, back[n], at-int64(expiryMs))
		}
		faults = append(faults, f)
	}
	return faults
}
