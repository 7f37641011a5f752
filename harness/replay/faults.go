package replay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"heddle/harness/config"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/traces"
)

// mishaps are the attempts of tasks in a trace that failed, were killed or ran in
// parallel to another attempt, and the nodes that were lost or came back.
type mishaps struct {
	running map[traces.Attempt]life
	tasks   map[traces.Task][]life // attempts of those tasks that had a failed or killed attempt, or several attempts
	outages []outage
}

// life is the start, end, node and outcome of a task attempt that was launched and
// has ended.
type life struct {
	start, end traces.Time
	node       traces.Node
	outcome    traces.Outcome
}

func (r *life) ms() float64 { return float64(r.end-r.start) / 1e6 }

type outage struct {
	t    traces.Time
	node traces.Node
	over bool // true: the node comes back; false: the node is lost
}

// add takes an event of the trace, and keeps what it says about a failed or killed
// attempt or a lost node.
func (m *mishaps) add(e traces.Event) {
	switch e := e.(type) {
	case *traces.NodeDown:
		m.outages = append(m.outages, outage{e.T, e.Node, false})
	case *traces.NodeUp:
		if slices.ContainsFunc(m.outages, func(o outage) bool { return o.node == e.Node }) {
			m.outages = append(m.outages, outage{e.T, e.Node, true})
		}
	case *traces.AttemptStarted:
		if m.running == nil {
			m.running, m.tasks = map[traces.Attempt]life{}, map[traces.Task][]life{}
		}
		m.running[e.Attempt] = life{start: e.T, node: e.Node}
		if list, known := m.tasks[e.Attempt.Task]; e.Attempt.Number > 0 && !known {
			m.tasks[e.Attempt.Task] = list
		}
	case *traces.AttemptFinished:
		r, launched := m.running[e.Attempt]
		delete(m.running, e.Attempt)
		list, known := m.tasks[e.Attempt.Task]
		if launched && (known || e.Outcome == traces.Failed || e.Outcome == traces.Killed) {
			r.end, r.outcome = e.T, e.Outcome
			m.tasks[e.Attempt.Task] = append(list, r)
		}
	}
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
func (m *jobMaker) addPasts(j *Job, x *sim.Job) {
	if m.CachePolicy == config.CacheLRU {
		x.Cached.Reset()
		for i := range j.Tasks[traces.Map] {
			t := &j.Tasks[traces.Map][i]
			file := cmp.Or(t.file, m.Trace.hash(j, i))
			x.Cached.Add()
			x.Blocks = append(x.Blocks, traces.Block(draw.Key(file).At(uint64(t.OffsetBytes))>>1))
		}
	}
	if m.Modelled || m.Follow || len(m.Trace.mishaps.tasks) == 0 {
		return
	}
	last := j.lastMap()
	for k, tasks := range j.Tasks {
		for i := range tasks {
			kind := traces.TaskKind(k)
			list := m.Trace.mishaps.tasks[traces.Task{Job: j.Job, Kind: kind, Index: tasks[i].Index}]
			won, fromLast := tasks[i].Won, false
			if won != nil && kind == traces.Reduce {
				fromLast = won.Start < last
			}
			for _, p := range m.Trace.mishaps.pasts(list, last, won != nil, fromLast) {
				p.Kind, p.Task = kind, int32(i)
				p.Ms, p.SpeculateMs = m.atSpeed(p.Ms), m.atSpeed(p.SpeculateMs)
				x.Pasts = append(x.Pasts, p)
			}
		}
	}
}

func (m *jobMaker) atSpeed(ms int32) int32 {
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
// job ended, since more is not known.
func (m *mishaps) pasts(list []life, lastMap traces.Time, succeeded, fromLastMap bool) []sim.Past {
	slices.SortStableFunc(list, func(a, b life) int { return cmp.Compare(a.start, b.start) })
	var pasts []sim.Past
	failures := 0
	for i := range list {
		r := &list[i]
		p := sim.Past{Number: int32(i), Outcome: r.outcome, Ms: wholeMs(r.ms())}
		raced := slices.ContainsFunc(list, func(o life) bool { return o.outcome == traces.Succeeded && o.start < r.end && r.start < o.end })
		if next := i + 1; next < len(list) && list[next].start < r.end && (i == 0 || list[i-1].end <= r.start) {
			p.SpeculateMs = max(1, wholeMs(float64(list[next].start-r.start)/1e6))
		}
		noticed := m.lost(r)
		switch {
		case noticed > 0 && !fromLastMap:
			p.Outcome, p.Ms = traces.Succeeded, wholeMs(float64(min(r.end, noticed)-r.start)/1e6)
		case r.outcome == traces.Failed:
			if failures++; succeeded && failures > mostFailures {
				p.Outcome = traces.Killed // count this failure as a kill: the simulated job would fail if one task failed so often
			}
		case raced || r.outcome == traces.Killed && !succeeded:
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

func wholeMs(ms float64) int32 { return int32(min(max(1, math.Round(ms)), math.MaxInt32/2)) }

// expirySetting is YARN's property for the time without a heartbeat after which a
// node counts as lost.
const expirySetting = "yarn.nm.liveness-monitor.expiry-interval-ms"

// addFaults sets the node losses, speculation and cache policy of the simulation, as
// the trace and the replay's settings say.
func (c *Config) addFaults(x *sim.Config) error {
	switch c.Speculation {
	case "", config.SpeculationNone:
	case config.SpeculationHadoop:
		x.Speculation = sim.HadoopSpeculation
	case config.SpeculationLATE:
		x.Speculation = sim.LATE
	default:
		return fmt.Errorf("replay: speculation %q is not one of %s, %s, %s", c.Speculation, config.SpeculationNone, config.SpeculationHadoop, config.SpeculationLATE)
	}
	switch c.CachePolicy {
	case "", config.CacheStatic:
	case config.CacheLRU:
		x.CacheReads = true
		if len(c.Trace.List) > 0 {
			return fmt.Errorf("replay: cache policy %s: a job list does not say which jobs read the same blocks", config.CacheLRU)
		}
		if !slices.ContainsFunc(x.Cluster.Nodes, func(n sim.Node) bool { return n.CacheBytes > 0 }) {
			return fmt.Errorf("replay: cache policy %s: no node has a cache; give its size (--cache, or cache: in the cluster's machines)", config.CacheLRU)
		}
	default:
		return fmt.Errorf("replay: cache policy %q is not one of %s, %s", c.CachePolicy, config.CacheStatic, config.CacheLRU)
	}
	if c.Follow {
		if len(c.Faults) > 0 || x.Speculation != sim.NoSpeculation || x.CacheReads {
			return errors.New("replay: recorded heartbeats can only be followed with the recorded faults, speculation and cache policy")
		}
		return nil
	}
	if ms, err := strconv.Atoi(c.Trace.Header.Settings[expirySetting]); err == nil && ms > 0 {
		x.Costs.NodeExpiryMs = int32(min(ms, math.MaxInt32/4))
	}
	firstMs := c.firstMs()
	for i := range c.Faults {
		if err := c.fault(x, &c.Faults[i], firstMs); err != nil {
			return err
		}
	}
	c.outages(x, firstMs)
	slices.SortStableFunc(x.Faults, func(a, b sim.Fault) int { return cmp.Compare(a.AtMs, b.AtMs) })
	return nil
}

// firstMs returns the time, in ms from the trace's start, at which the first job
// arrives in the replay.
func (c *Config) firstMs() int64 {
	t := c.Trace
	if len(t.List) > 0 {
		return max(0, t.List[0].T.Milliseconds())
	}
	return max(0, t.Jobs[0].T.Milliseconds())
}

func (c *Config) fault(x *sim.Config, f *config.Fault, firstMs int64) error {
	at := firstMs + time.Duration(f.At).Milliseconds()
	if f.What == config.FaultFailAttempts {
		x.Faults = append(x.Faults, sim.Fault{AtMs: at, What: sim.AttemptsFail, Share: f.Share})
		return nil
	}
	if f.What == config.FaultSlow && !c.computes() {
		return errors.New("replay: faults: a slow node has no effect on recorded durations; give a calibration (--calibration) to model durations")
	}
	on, err := f.On(facts(c.Trace, &x.Cluster).Nodes)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	for n := range x.Cluster.Nodes {
		node := &x.Cluster.Nodes[n]
		if slices.Contains(on, traces.Node(node.Name)) {
			x.Faults = append(x.Faults, sim.Fault{
				AtMs: at, Node: state.NodeID(n), Speed: cmp.Or(node.Speed, 1) * f.Speed,
				What: map[string]sim.FaultKind{config.FaultDown: sim.NodeDown, config.FaultUp: sim.NodeUp, config.FaultSlow: sim.NodeSlow}[f.What],
			})
		}
	}
	return nil
}

// outages adds the trace's node losses to the simulation. A node stops before its
// recorded loss by the time that YARN needs to notice, and comes back as recorded. It
// leaves out all losses if the replay's cluster has other nodes.
func (c *Config) outages(x *sim.Config, firstMs int64) {
	if c.Change.Nodes > 0 || c.Change.Racks > 0 {
		return
	}
	back := map[state.NodeID]int64{}
	for _, o := range c.Trace.mishaps.outages {
		n := state.NodeID(slices.IndexFunc(x.Cluster.Nodes, func(n sim.Node) bool { return n.Name == string(o.node) }))
		if n < 0 {
			continue
		}
		at := o.t.Milliseconds()
		if at > firstMs { // a changed arrival rate of jobs also moves node losses, in the same proportion
			at = firstMs + scaled(float64(at-firstMs), c.Change.Load)
		}
		f := sim.Fault{AtMs: at, Node: n, What: sim.NodeUp}
		if o.over {
			back[n] = at
		} else {
			f.What, f.AtMs = sim.NodeDown, max(0, back[n], at-int64(x.Costs.NodeExpiryMs))
		}
		x.Faults = append(x.Faults, f)
	}
}
