// Package steer lets a scheduler model decide on a real cluster, and says how its
// decisions are carried out with node labels: workers are parked in a label that
// no job asks for; a decision moves one into the label of its job and kind until
// the container is there, and parks it again. YARN and MapReduce are unmodified.
//
// It is pure: observations go in, actions come out. A Core knows no clock, makes no
// call and has no goroutine. The same observations give the same actions, so that
// what was seen on a cluster can be recorded and be gone through again. Package
// drive asks the cluster, carries actions out and keeps the recordings.
//
// A Core watches the jobs of its Submissions, keeps a state.State of them, offers
// nodes with room to the model, and records every decision with what became of it.
// What was not carried out as decided is told with its cause, made up for, and the
// model sees what really happened.
//
// It can also have rewritten what ApplicationMasters read of where their input is,
// before they start: only cached replicas, or the one host and the order that a
// model has planned; with labels or without (splits.go, gate.go).
//
// It starts no jobs; who may change the cluster, and that all is put back, is
// package lease's.
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
	// Model decides; nil if Actuator is config.ActuatorNone and no plan is asked
	// for.
	Model sched.Model
	// Actuator is config.ActuatorLabels, the default, or config.ActuatorNone:
	// nodes are left alone and nothing is decided, splits alone are rewritten.
	Actuator string
	// Splits is what ApplicationMasters are to read of where their input is:
	// config.SplitsAsSubmitted, the default, config.SplitsCachedOnly, or
	// config.SplitsPlan, which takes a Model that is a sched.JobPlanner.
	Splits string
	Setup  Setup
	// Origin is the trace's time 0.
	Origin time.Time
	// RM is the ResourceManager's epoch, Nodes are all of its nodes, when steering
	// starts.
	RM    int64
	Nodes []yarnclient.Node
}

// Core is the pure part of steering. Make one with New.
type Core struct {
	Options
	observer sched.Observer // nil if the model is none
	planner  sched.JobPlanner
	warmup   sched.Warmup
	acts     bool // decides, and moves workers

	now     time.Time
	out     []Action
	stats   Stats
	ended   bool
	number  int64                       // of the last question or change
	pending map[int64]func(Observation) // what follows the answers, by number
	alarms  alarms

	state *state.State
	view  *state.View
	nodes []*node          // by state.NodeID
	byID  map[string]*node // "host:port"
	jobs  []*job           // by state.JobID
	apps  map[string]*job  // by application id; nil while it is read
	// unread is since when an application's files could not be read.
	unread   map[string]time.Time
	trouble  string // why nothing is decided at present
	moves    moves
	gate     gate
	queued   []*node // with openings that wait
	lastID   int64   // of decisions
	offers   sched.Offers
	nextBeat int // node that is offered next
	watching watching
}

// Stats is how far steering is.
type Stats struct {
	// Decisions were made; Honoured of those that have been settled brought
	// exactly the container decided. Open are on their way.
	Decisions, Honoured, Open int64
	// Maps is how near the maps that started were to their data, by level.
	Maps [state.LevelOff + 1]int64
}

// New is a Core, and the labels that nodes have to be given before its first Step.
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
		return nil, nil, errors.New("the model plans no splits")
	}
	c.view = c.state.View()
	c.state.SetLateBinding(true)
	c.Setup.GrantLimit = cmp.Or(o.Setup.GrantLimit, max(5*time.Second, 10*o.Setup.Beat))
	if o.Setup.Smallest != (state.Resource{}) {
		c.state.SetSmallest(o.Setup.Smallest)
	}
	for _, name := range o.Setup.Keep {
		if !slices.ContainsFunc(o.Nodes, func(n yarnclient.Node) bool { return n.Host == name }) {
			return nil, nil, fmt.Errorf("keep node %s: YARN knows no such node", name)
		}
	}
	// Nodes for masters keep their label, but are noted with the others: whoever
	// puts things back after a crash lets held masters start on them.
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

// Step takes in what was observed since the last one, in the order in which it was
// received, and returns what is to be done, in order. It is to be called again with
// the next observation, and at the latest at the time wake; zero: whenever.
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
	if !c.ended { // what was decided together is carried out together
		c.openQueued()
		c.moves.flush()
	}
	actions, c.out = c.out, []Action{}
	if len(c.alarms) > 0 {
		wake = c.alarms[0].at
	}
	return actions, wake
}

// End ends what is on its way when steering ends, and returns what is to be noted.
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

// Stats is how far steering is.
func (c *Core) Stats() Stats { return c.stats }

// observed takes in one observation.
func (c *Core) observed(o Observation) {
	switch {
	case c.ended: // answers that come too late
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

// ask has the cluster looked at, and then handles the answer; sent is when it was
// asked.
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

// change has the cluster changed, and then handles what came of it.
func (c *Core) change(a Action, number *int64, then func(error)) {
	c.number++
	*number = c.number
	c.out = append(c.out, a)
	c.pending[c.number] = func(o Observation) { then(o.error()) }
}

// stop ends steering, because of err.
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

// at is the time since the trace's start.
func (c *Core) at() traces.Time { return traces.Time(c.now.Sub(c.Origin)) }

// holds says whether masters are held until their splits are rewritten.
func (c *Core) holdsMasters() bool { return c.Splits != config.SplitsAsSubmitted }

// alarm has something done at a time that may be moved.
type alarm struct {
	core   *Core
	do     func()
	at     time.Time
	number int64
	place  int // among the alarms that are set; -1: not set
}

func (c *Core) newAlarm(do func()) *alarm { return &alarm{core: c, do: do, place: -1} }

// in sets the alarm, to the earlier time if it is set already.
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

// ring does what is due by t.
func (c *Core) ring(t time.Time) {
	for !c.ended && len(c.alarms) > 0 && !c.alarms[0].at.After(t) {
		heap.Pop(&c.alarms).(*alarm).do()
	}
}

// alarms are those that are set, a heap by time and then by when they were set.
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

// Pop takes the last.
func (a *alarms) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	last.place = -1
	return last
}
