// Package steer lets a scheduler model place tasks on a real YARN cluster. YARN
// and MapReduce run unmodified: node labels carry the model's decisions out. All
// workers are parked in a label that no job asks for. For a decision one worker
// gets the label of the job and kind of task, until YARN has started the container
// there. Then it is parked again.
//
// A Core is pure: observations go in, actions come out. It reads no clock, makes
// no call and starts no goroutine. The same observations give the same actions, so
// a run can be recorded and replayed. Package drive makes the calls and keeps the
// recordings.
//
// A Core follows the jobs of its Submissions in a state.State. It offers nodes
// with room to the model and records each decision with its outcome. Where YARN
// did something else, it records the cause, gives the decision back, and tells the
// model what really runs.
//
// A Core can also change what ApplicationMasters read about the location of their
// input: only the cached replicas, or the host and order that the model planned.
// It does so before they start, with labels or without.
//
// It starts no jobs. Package lease says who may change a cluster, and restores it.
//
// Words:
//
//	master       a job's ApplicationMaster
//	triple       the three labels of a Submission: aNN for its masters, mNN
//	             for its maps, rNN for its reduces
//	opening      the time during which one node carries a job's label, for one
//	             decision or several of the same job and kind
//	park         give a node the label idle, which no job asks for
//	move         change the label of a node
//	grant        YARN starts a container on a node
//	bind         a master chooses the task that runs in a granted container;
//	             until it tells, the container is unbound
//	awaited      an opening whose containers are granted or bound not yet
//	spare        a container that YARN granted without a decision; for a short
//	             time the model may still decide it
//	surplus      a spare container that the model did not decide; it is killed
//	held master  one that YARN cannot start yet, for no node has its label aNN
//	gate         lets held masters start, one after the other, by giving a node
//	             for masters the label aNN
//	in trouble   the ResourceManager does not answer as it should, and nothing
//	             is decided
package steer

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"time"

	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// Options say how to steer.
type Options struct {
	// Model makes the decisions; nil if Actuator is config.ActuatorNone and Splits
	// takes no plan.
	Model sched.Model
	// Actuator is config.ActuatorLabels, the default, or config.ActuatorNone. With
	// the latter no node is moved and nothing is decided; only splits are
	// rewritten.
	Actuator string
	// Splits says what masters read about the location of their input:
	// config.SplitsAsSubmitted, the default, config.SplitsCachedOnly, or
	// config.SplitsPlan. The last needs a Model that is a sched.JobPlanner.
	Splits string
	Setup  Setup
	// Origin is time 0 of the trace.
	Origin time.Time
	// RM is the ResourceManager's epoch: it changes whenever a ResourceManager
	// starts or becomes active. Nodes are all nodes when steering starts.
	RM    int64
	Nodes []yarnclient.Node
}

// Core is the pure part of steering. Make one with New.
type Core struct {
	Options
	observer sched.Observer // nil if Model is no sched.Observer
	planner  sched.JobPlanner
	warmup   sched.Warmup
	acts     bool // decides and moves workers: Actuator is not none

	now     time.Time
	out     []Action
	stats   Stats
	ended   bool
	number  int64                       // number of the last Look or change
	pending map[int64]func(Observation) // handlers of answers, by number
	alarms  alarms

	state *state.State
	view  *state.View
	nodes []*node          // by state.NodeID
	byID  map[string]*node // "host:port"
	jobs  []*job           // by state.JobID
	apps  map[string]*job  // by application id; nil while it is read
	// unread has the time of the first failure to read an application's files.
	unread   map[string]time.Time
	trouble  string // why nothing is decided at present; empty: all is well
	moves    moves
	gate     gate
	queued   []*node // nodes with openings in their queue
	lastID   int64   // id of the last decision
	offers   sched.Offers
	nextBeat int // index of the node that is offered next
	watching watching
}

// Stats is the progress of steering.
type Stats struct {
	// Decisions counts those made. Honoured of them brought exactly the container
	// decided; Open have no outcome yet.
	Decisions, Honoured, Open int64
	// Maps counts started maps by the locality of their input: cache, node, rack,
	// off.
	Maps [state.LevelOff + 1]int64
}

// New makes a Core. It also returns labels by node ("host:port"): the caller gives
// these before the first Step.
func New(o Options) (*Core, map[string]string, error) {
	c := &Core{
		Options: o, pending: map[int64]func(Observation){}, state: state.New(),
		byID: map[string]*node{}, apps: map[string]*job{}, unread: map[string]time.Time{},
	}
	c.gate.core, c.moves.core = c, c
	c.acts = o.Actuator != config.ActuatorNone
	c.Splits = cmp.Or(o.Splits, config.SplitsAsSubmitted)
	c.observer, _ = o.Model.(sched.Observer)
	c.planner, _ = o.Model.(sched.JobPlanner)
	c.warmup, _ = o.Model.(sched.Warmup)
	if c.Splits == config.SplitsPlan && c.planner == nil {
		return nil, nil, fmt.Errorf("splits %s: the model plans no splits", c.Splits)
	}
	c.view = c.state.View()
	c.state.SetLateBinding(true)
	c.Setup.GrantLimit = cmp.Or(o.Setup.GrantLimit, max(5*time.Second, 10*o.Setup.Beat))
	if o.Setup.Smallest != (state.Resource{}) {
		c.state.SetSmallest(o.Setup.Smallest)
	}
	for _, name := range o.Setup.Keep {
		if !slices.ContainsFunc(o.Nodes, func(n yarnclient.Node) bool { return n.Host == name }) {
			return nil, nil, fmt.Errorf("keep node %s: YARN has no node of that name", name)
		}
	}
	// Nodes for masters keep their label. They are in the map so that the caller's
	// journal has them: after a crash, held masters are then let start on them.
	parked := map[string]string{}
	masters := 0
	for _, n := range o.Nodes {
		switch {
		case c.Setup.worker(n):
			c.addNode(n)
			if c.acts {
				parked[n.ID] = idleLabel
			}
		case n.State == "RUNNING" && n.Label() == c.Setup.AMLabel:
			masters++
			if c.holdsMasters() {
				parked[n.ID] = c.Setup.AMLabel
			}
		}
	}
	switch {
	case len(c.nodes) == 0:
		return nil, nil, errors.New("no running node to steer: all are kept for ApplicationMasters or carry labels of others; heddle doctor says what is missing")
	case masters == 0 && c.holdsMasters():
		return nil, nil, fmt.Errorf("no running node has label %s, which ApplicationMasters start on; heddle doctor says how to set one up", c.Setup.AMLabel)
	}
	return c, parked, nil
}

// Step takes in what was observed since the last Step, in the order received, and
// returns the actions to do, in order. The caller calls it again with the next
// observation, and not later than wake; a zero wake sets no limit.
func (c *Core) Step(now time.Time, batch []Observation) (actions []Action, wake time.Time) {
	c.now = now
	if c.out == nil {
		c.begin()
	}
	for _, o := range batch {
		c.ring(o.Received)
		c.observed(o)
	}
	c.ring(now)
	if !c.ended { // decisions of one batch are carried out together
		c.openQueued()
		c.moves.flush()
	}
	actions, c.out = c.out, []Action{}
	if len(c.alarms) > 0 {
		wake = c.alarms[0].at
	}
	return actions, wake
}

// End cancels the openings when steering ends, and returns the events and notes to
// record.
func (c *Core) End(now time.Time) []Action {
	c.now = now
	for _, n := range c.nodes {
		for _, op := range append(n.queue, n.active, n.last) {
			if op != nil {
				op.end("cancelled", "steering ended")
			}
		}
	}
	for _, j := range c.jobs {
		for _, op := range j.closing {
			op.end("cancelled", "steering ended")
		}
		j.settleUnbound()
	}
	return c.out
}

// Stats returns the progress of steering.
func (c *Core) Stats() Stats { return c.stats }

// observed handles one observation.
func (c *Core) observed(o Observation) {
	switch {
	case c.ended: // the answer came too late
	case o.Submitted != nil:
		c.watch(o.Submitted)
	case o.Released != "":
		c.unwatch(o.Released)
	default:
		if then := c.pending[o.Answers]; then != nil {
			delete(c.pending, o.Answers)
			then(o)
		}
	}
}

// callLimit bounds one call to the ResourceManager.
const callLimit = 3 * time.Second

// ask sends a Look. then handles its answer; sent is the time at which the call
// began.
func ask[T any](c *Core, l Look, then func(answer T, sent time.Time, err error)) {
	c.number++
	l.Number = c.number
	l.Limit = cmp.Or(l.Limit, callLimit)
	c.out = append(c.out, &l)
	c.pending[l.Number] = func(o Observation) {
		var answer T
		if o.Answer != nil {
			answer, _ = o.Answer.(T)
		}
		then(answer, o.Sent, o.error())
	}
}

// change sends an action that changes the cluster. then handles its result.
func (c *Core) change(a Action, number *int64, then func(error)) {
	c.number++
	*number = c.number
	c.out = append(c.out, a)
	c.pending[c.number] = func(o Observation) { then(o.error()) }
}

// stop ends steering with err.
func (c *Core) stop(err error) {
	if !c.ended {
		c.ended = true
		c.out = append(c.out, &Stop{Err: err})
	}
}

func (c *Core) record(e traces.Event) { c.out = append(c.out, &Record{Event: e}) }

func (c *Core) log(level Level, text string, args ...any) {
	c.out = append(c.out, &Log{Level: level, Text: text, Args: args})
}

func (c *Core) note(text string) {
	c.log(Info, text)
	c.record(&traces.Note{T: c.at(), Text: text})
}

// at is the current time in the trace.
func (c *Core) at() traces.Time { return traces.Time(c.now.Sub(c.Origin)) }

// holdsMasters says whether masters are held until their splits are rewritten.
func (c *Core) holdsMasters() bool { return c.Splits != config.SplitsAsSubmitted }

// alarm calls a function once, at a time that can be changed until then.
type alarm struct {
	core   *Core
	do     func()
	at     time.Time
	number int64
	place  int // index in Core.alarms; -1: not set
}

func (c *Core) newAlarm(do func()) *alarm { return &alarm{core: c, do: do, place: -1} }

// in sets the alarm to go off after wait. An alarm that is set goes off at the
// earlier of both times.
func (a *alarm) in(wait time.Duration) {
	at := a.core.now.Add(wait)
	switch {
	case a.place < 0:
		a.core.number++
		a.at, a.number = at, a.core.number
		heap.Push(&a.core.alarms, a)
	case at.Before(a.at):
		a.at = at
		heap.Fix(&a.core.alarms, a.place)
	}
}

func (a *alarm) off() {
	if a.place >= 0 {
		heap.Remove(&a.core.alarms, a.place)
	}
}

// ring calls the functions of all alarms due by t.
func (c *Core) ring(t time.Time) {
	for !c.ended && len(c.alarms) > 0 && !c.alarms[0].at.After(t) {
		heap.Pop(&c.alarms).(*alarm).do()
	}
}

// alarms are the alarms that are set: a heap, by time and then by the order in
// which they were set.
type alarms []*alarm

func (a alarms) Len() int { return len(a) }

func (a alarms) Less(i, j int) bool {
	if a[i].at.Equal(a[j].at) {
		return a[i].number < a[j].number
	}
	return a[i].at.Before(a[j].at)
}

func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push and Pop are for container/heap.
func (a *alarms) Push(x any) {
	x.(*alarm).place = len(*a)
	*a = append(*a, x.(*alarm))
}

func (a *alarms) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	last.place = -1
	return last
}
