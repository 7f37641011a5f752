package measure

import (
	"cmp"
	"iter"

	"heddle/harness/loadfit"
	"heddle/traces"
)

// Collector computes the figures of a run of jobs from the events of its trace.
// The function New makes a Collector.
type Collector struct {
	figures   Figures
	jobs      map[traces.JobID]*Job
	nodes     map[traces.Node]*Node
	undecided map[int64]*traces.Decision // decisions of the scheduler model whose outcome is not known yet, by decision number
	phases    [phaseCount]Durations
	reduceMs  Durations // durations of reduces, in which the time before the end of the job's last map does not count
	schedule  traces.Schedule
	digest    *traces.TraceDigest // nil: nobody asked for it
	first     traces.Time
	last      traces.Time
	list      *traces.ListRules
	// workerMiB is the memory, in MiB, that all workers have for containers.
	// usedMiBMs is the sum, over task attempts, of the container's memory in
	// MiB times its duration in ms. sizesKnown becomes false when the size of
	// an attempt's container is not known.
	// usefulMiBMs is the same sum over the attempts that succeeded.
	workerMiB, usedMiBMs, usefulMiBMs int64
	sizesKnown                        bool
	offered                           offered
	starved                           starved
	loads                             loadfit.Fit
	begun                             bool           // an attempt has started
	ran                               [2]traces.Time // start of the first attempt, and end of the last
}

// liveJob contains the running and waiting tasks of a job whose end is not yet
// in the trace's events.
type liveJob struct {
	waiting map[task]traces.Time // for each task without a container so far, the time since which it waits
	running map[attempt]start
	put     map[*Node]int64      // output of the maps that ran on each node; nil if it is not known
	planned map[task]traces.Node // for each map, the node that the scheduler model planned; nil if it planned no splits
	turn    turn
}

// task and attempt identify a task, and one attempt of a task, within one job: by kind and
// index, and the attempt's number.
type (
	task    uint64
	attempt [2]uint64
)

// start contains what is known of a running task attempt: its start time, its
// node and how near it is to its block.
type start struct {
	t       traces.Time
	node    *Node
	replica traces.Level
	load    int8 // its column in loads; 0: none
}

const (
	phaseMapWait = iota
	phaseMapRead
	phaseMapMerge
	phaseMap
	phaseReduceWait
	phaseShuffle
	phaseSort
	phaseReduceRun
	phaseReduce
	phaseCount
)

var phaseNames = [phaseCount]string{
	"map: wait for container", "map: read and map", "map: merge", WholeMap,
	"reduce: wait for container", "reduce: shuffle", "reduce: sort", "reduce: reduce and write", WholeReduce,
}

// New returns a Collector for a run whose trace has the header h.
func New(h traces.Header) *Collector {
	c := &Collector{
		figures: Figures{
			Format: h.Format, List: h.List, Origin: h.Origin, Model: h.Model, Actuator: h.Actuator, Synthetic: h.Synthetic,
			Mended: h.Mended,
		},
		jobs: map[traces.JobID]*Job{}, nodes: map[traces.Node]*Node{}, undecided: map[int64]*traces.Decision{},
		sizesKnown: true, list: h.List,
	}
	if h.Splits == "plan" {
		c.figures.Plan = &Plan{}
	}
	if c.figures.Synthetic == nil {
		c.figures.Synthetic = []string{}
	}
	for _, n := range h.Cluster.Nodes {
		x := c.node(n.Node)
		x.Rack, x.worker, x.cores = n.Rack, n.Worker, n.Cores
		if n.Worker {
			addTo(&c.workerMiB, n.MemoryBytes>>20)
			x.mib = n.MemoryBytes >> 20
			c.offered.mib += x.mib
		}
	}
	return c
}

// WithDigest makes the Collector compute the trace digest too, which takes half as long as
// all else. It is called before Add, for events of which no tracefile.Reader tells the digest.
func (c *Collector) WithDigest() *Collector {
	c.digest = traces.NewTraceDigest()
	return c
}

// Of returns the figures of a complete trace with the header h and the given
// events.
func Of(h traces.Header, events iter.Seq[traces.Event]) *Figures {
	c := New(h)
	for e := range events {
		c.Add(e)
	}
	return c.Figures()
}

// Add takes the next event of the trace into account. Events must come in the
// order that traces.Sort gives them.
func (c *Collector) Add(e traces.Event) {
	f, t := &c.figures, e.At()
	if f.Events == 0 {
		c.first, c.last = t, t
		c.starved.since = t
	}
	c.starvedUpTo(t)
	c.first, c.last = min(c.first, t), max(c.last, t)
	f.Events++
	if c.digest != nil {
		c.digest.Add(e)
	}
	switch e := e.(type) {
	case *traces.NodeUp, *traces.NodeDown, *traces.NodeCapacity, *traces.NodeSpeed, *traces.NodeSample:
		c.changedNode(e)
	case *traces.JobSubmitted:
		c.offered.begin(e.T)
		j := c.job(e.Job)
		j.Name, j.SubmitMs, j.submitted = cmp.Or(e.Workload, e.Name), ms(e.T), e.T
		j.containerBytes, j.Queue, j.User, j.pool = [2]int64{e.MapMemoryBytes, e.ReduceMemoryBytes}, e.Queue, e.User, e.Pool
		j.DeadlineMs = e.DeadlineMs
	case *traces.JobStarted:
		if j := c.jobs[e.Job]; j != nil {
			j.started = e.T
			c.mastered(j, e.AMNode, e.AMMemoryBytes)
		}
	case *traces.JobPredicted:
		c.predicted(e)
	case *traces.JobListed:
		c.listed(e)
	case *traces.JobFinished:
		c.ended(e)
	case *traces.TaskScheduled:
		c.scheduled(e)
	case *traces.AttemptStarted:
		c.started(e)
	case *traces.AttemptFinished:
		c.finished(e)
	case *traces.Decision:
		if j := c.jobs[e.Job]; j != nil && e.Values != "" {
			j.estimated(e)
		}
		if c.steered() {
			c.decided(e)
		}
	case *traces.Actuation:
		c.actuated(e)
	default:
		if e.Kind().IsSpark() {
			c.spark(e)
		}
	}
}

// changedNode takes an event of a node into account.
func (c *Collector) changedNode(e traces.Event) {
	switch e := e.(type) {
	case *traces.NodeUp:
		n := c.node(e.Node)
		n.Rack, n.down = e.Rack, false
	case *traces.NodeDown:
		c.lost(c.nodes[e.Node])
	case *traces.NodeCapacity:
		c.offered.change(c.node(e.Node), e.MemoryBytes>>20, e.T)
	case *traces.NodeSpeed:
		c.slowed(e)
	case *traces.NodeSample:
		n := c.node(e.Node)
		if sampled(e.CPUUser) && sampled(e.CPUSystem) {
			n.cpu += e.CPUUser + e.CPUSystem
			n.samples++
		}
		if sampled(e.Load1) {
			if c.begun {
				n.averaged(loadAt{e.T, e.Load1})
			}
			c.loads.Sampled(e.Node, e.T, e.Load1)
		}
	}
}

// AddCounted adds attempts that were counted elsewhere, so that Add need not be called for
// their events: their schedule, and maps that succeeded by level. Only figures that follow
// from these and from the events of jobs are then right.
func (c *Collector) AddCounted(schedule traces.ScheduleDigest, maps [traces.LevelOff + 1]int) {
	c.schedule.Include(schedule)
	for level, n := range maps {
		*c.figures.Locality.at(traces.Level(level)) += n
	}
}

// listed adds a job from a trace that was imported from a mere list of jobs.
// The rules of the import say how many maps and reduces the job has.
func (c *Collector) listed(e *traces.JobListed) {
	j := c.job(e.Job)
	j.Name, j.SubmitMs, j.submitted, j.Queue, j.User = e.Name, ms(e.T), e.T, e.Queue, e.User
	j.DeadlineMs, j.Bytes = e.DeadlineMs, Bytes{e.InputBytes, e.ShuffleBytes, e.OutputBytes}
	if c.list != nil && c.list.Check(e) == nil {
		j.Maps, j.Reduces = int(c.list.Maps(e)), int(c.list.Reduces(e))
	}
}

// ended takes the end of a job into account. Tasks of the job that still wait
// for a container then wait no longer.
func (c *Collector) ended(e *traces.JobFinished) {
	j := c.job(e.Job)
	j.hadoop = new(*e)
	c.offered.end(e.T)
	c.mastered(j, "", 0)
	if j.live != nil && len(j.live.running) == 0 {
		j.rest()
	}
}

// Diagnostics is what the cluster said at the end of the job; in a simulation, why the scheduler did not take it.
func (j *Job) Diagnostics() string {
	if j.hadoop == nil {
		return ""
	}
	return j.hadoop.Diagnostics
}

// rest frees the memory of the job's lists of running and waiting tasks.
func (j *Job) rest() { j.live = nil }

func (c *Collector) job(id traces.JobID) *Job {
	j := c.jobs[id]
	if j == nil {
		j = &Job{ID: id}
		c.jobs[id] = j
		c.figures.JobList = append(c.figures.JobList, j)
	}
	return j
}

// alive returns the record of running and waiting tasks of a job that has not
// ended. It makes the record if there is none.
func (c *Collector) alive(id traces.JobID) (*Job, *liveJob) {
	j := c.job(id)
	if j.live == nil {
		j.live = &liveJob{waiting: map[task]traces.Time{}, running: map[attempt]start{}}
	}
	return j, j.live
}

func (c *Collector) node(name traces.Node) *Node {
	n := c.nodes[name]
	if n == nil {
		n = &Node{Node: name}
		c.nodes[name] = n
		c.figures.Nodes = append(c.figures.Nodes, n)
	}
	return n
}

// addTo adds a count as traces.AddCount does.
func addTo[N ~int64](sum *N, count N) { *sum = N(traces.AddCount(int64(*sum), int64(count))) }

func (b *Bytes) add(input, shuffle, output int64) {
	addTo(&b.Input, input)
	addTo(&b.Shuffle, shuffle)
	addTo(&b.Output, output)
}

func taskOf(t traces.Task) task { return task(t.Kind)<<32 | task(uint32(t.Index)) }

func (a attempt) kind() traces.TaskKind { return traces.TaskKind(a[0] >> 32) }

func attemptOf(a traces.Attempt) attempt { return attempt{uint64(taskOf(a.Task)), uint64(a.Number)} }

func (l *SplitLocality) add(level traces.Level) {
	switch level {
	case traces.LevelNode:
		l.Node++
	case traces.LevelRack:
		l.Rack++
	case traces.LevelOff:
		l.Off++
	default:
		l.Unknown++
	}
}

// sampled says whether a figure of a sample is one: it is -1 if it was not measured, and
// sums of such as no node has would be no numbers.
func sampled(x float64) bool { return x >= 0 && x <= 1<<60 }
