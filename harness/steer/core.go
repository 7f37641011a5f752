// Package steer lets a scheduler model place tasks on a real YARN cluster. YARN and
// MapReduce run unmodified: node labels carry the model's decisions out. All workers
// are parked: they have a label that no job asks for. For a decision, one worker gets
// the label of the job and kind of task, until YARN has started the container on that
// worker. Then the worker is parked again.
//
// A Core is pure: observations go in, actions come out. It reads no clock, makes
// no call and starts no goroutine. The same observations give the same actions, so
// a run can be recorded and replayed. Package drive makes the calls and keeps the
// recordings.
//
// A Core follows the jobs of its Submissions in a state.State. It offers nodes with
// room to the model and records each decision with its outcome. If YARN did something
// else than decided, the Core records the cause, cancels the decision, and tells the
// model what really runs.
//
// A Core can also change what ApplicationMasters read about the location of their
// input: only the hosts with cached replicas, or the hosts and the order of splits that
// the model planned. It does so before they start, whether or not node labels place the
// tasks.
//
// This package starts no jobs. Package change makes its changes, and restores the
// cluster afterwards.
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
//	             until the task is known, the container is unbound
//	awaited      an opening with a container that is not granted or not bound
//	spare        a container that YARN granted without a decision; for a short
//	             time the model may still decide it
//	surplus      a spare container that the model did not decide; it is killed
//	held master  a master that YARN cannot start yet: no node has its label aNN
//	gate         lets held masters start, one after the other, by giving a node
//	             for masters the label aNN
//	in trouble   the ResourceManager does not answer as it should, and nothing
//	             is decided
package steer

import (
	"cmp"
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

// Options say which scheduler model decides on which node each task of a job starts,
// and by which changes of the cluster YARN is made to start it there.
type Options struct {
	// Model makes the decisions. It may be nil if Actuator is config.ActuatorNone
	// and Splits is not config.SplitsPlan.
	Model sched.Model `json:"-"`
	// Actuator is config.ActuatorLabels (the default) or config.ActuatorNone. With
	// config.ActuatorNone no worker gets another label and the model decides nothing;
	// only splits are rewritten.
	Actuator string `json:"actuator"`
	// Splits says which hosts ApplicationMasters read for their jobs' input:
	// config.SplitsAsSubmitted (the default), config.SplitsCachedOnly or
	// config.SplitsPlan. For config.SplitsPlan, the Model must be a sched.JobPlanner.
	Splits string `json:"splits"`
	// Capacity says what other load leaves of the nodes, from the first job on.
	Capacity config.Capacity `json:"capacity,omitzero"`
	// Seed is that of the errors with which the Model is told the Capacity ahead.
	Seed uint64 `json:"seed"`
	// Reasons makes recorded decisions say what the Model saw.
	Reasons bool  `json:"-"`
	Setup   Setup `json:"setup"`
	// Origin is the moment from which the trace counts its times.
	Origin time.Time `json:"origin"`
	// RM is the cluster id that the ResourceManager reports. It changes when a
	// ResourceManager restarts or another becomes active. Nodes are all nodes of YARN
	// when steering starts.
	RM    int64             `json:"rm"`
	Nodes []yarnclient.Node `json:"nodes"`
}

// Core is the logic of steering, without I/O: it takes observations of the cluster and
// returns the actions to be taken. Make one with New.
type Core struct {
	Options
	hears   hearing
	planner sched.JobPlanner
	warmup  sched.Warmup
	// unready are jobs for which the model is not trained yet, in order of submission.
	unready  []*job
	studying bool // whether a training is under way
	// usesOutput says whether the model uses View.MapOutput, so that counters of finished
	// maps are asked for.
	usesOutput bool
	acts       bool // whether steering changes the workers' node labels: the option Actuator is not "none"

	now     time.Time
	out     []Action
	stats   Stats
	begun   bool // whether Step has been called
	ended   bool
	number  int64                       // number of the last query or change sent to the cluster
	pending map[int64]func(Observation) // functions that handle the answers to calls under way, by the number of the call
	alarms  alarms

	state *state.State
	view  *state.View
	nodes []*node          // all steered nodes; the index is the state.NodeID
	byID  map[string]*node // steered nodes by NodeManager id, "host:port"
	jobs  []*job           // all steered jobs; the index is the state.JobID
	apps  map[string]*job  // steered jobs by application id; nil while a job's staging directory is being read
	lost  map[string]int64 // memory in MB that a node label lacks, see job.inVain
	// unread holds, by application id, the time when reading the job's staged files
	// failed for the first time.
	unread map[string]time.Time
	// restartedAt is the time when steering noticed that the ResourceManager had
	// restarted last; zero: it has not.
	restartedAt time.Time
	trouble     string    // why steering makes no decisions at present, such as a failed call; empty: it makes decisions
	resumedAt   time.Time // when steering last made decisions again after trouble
	relapses    int       // how often trouble came back within a second of resumedAt, in a row
	moves       moves
	awaits      int // openings that are awaited, of all jobs
	capacity    timetable
	gate        gate
	grantWait   grantWait
	queued      []*node  // nodes for which decisions wait until the node has carried out earlier ones
	givenUp     []*group // groups of decisions that have just failed
	lastID      int64    // id of the decision that the scheduler model made last
	offers      sched.Offers
	sight       *sched.Sight // nil: what the model sees is not recorded
	nextBeat    int          // index (in nodes) of the node that the model is asked about next
	watching    watching
}

// Stats are counts of the decisions made so far, and of started maps by locality.
type Stats struct {
	// Decisions counts the decisions made. Honoured counts those for which YARN granted
	// exactly one container, as decided. Open counts those without an outcome yet.
	Decisions, Honoured, Open int64
	// Maps counts started maps by the locality of their input: cache, node, rack or
	// off-rack.
	Maps [state.LevelOff + 1]int64
}

// New makes a Core, the logic of steering. It also returns the label that each node
// ("host:port") must get; the caller sets these labels before the first Step.
func New(o Options) (*Core, map[string]string, error) {
	c := &Core{
		Options: o, pending: map[int64]func(Observation){}, state: state.New(),
		byID: map[string]*node{}, apps: map[string]*job{}, lost: map[string]int64{}, unread: map[string]time.Time{},
	}
	c.gate.core, c.moves.core = c, c
	c.acts = o.Actuator != config.ActuatorNone
	c.Splits = cmp.Or(o.Splits, config.SplitsAsSubmitted)
	if err := c.beginHearing(); err != nil {
		return nil, nil, err
	}
	_, c.usesOutput = sched.As[sched.UsesMapOutput](o.Model)
	c.planner, _ = sched.As[sched.JobPlanner](o.Model)
	c.warmup, _ = sched.As[sched.Warmup](o.Model)
	if c.Splits == config.SplitsPlan && c.planner == nil {
		return nil, nil, fmt.Errorf("splits %s: the model plans no splits", c.Splits)
	}
	if o.Setup.Beat < time.Millisecond {
		return nil, nil, fmt.Errorf("NodeManagers send a heartbeat every %v: want 1ms or more", o.Setup.Beat)
	}
	c.view = c.state.View()
	if o.Reasons && o.Model != nil {
		c.state.FollowRoom()
		c.sight = sched.NewSight(o.Model, func(id state.JobID) traces.JobID { return c.jobs[id].jobID() })
	}
	c.state.SetLateBinding(true)
	c.grantWait.least = cmp.Or(o.Setup.GrantLimit, max(5*time.Second, 10*o.Setup.Beat))
	if o.Setup.Smallest != (state.Resource{}) {
		c.state.SetSmallest(o.Setup.Smallest)
	}
	c.state.SetSlots(o.Setup.MapSlots, o.Setup.ReduceSlots)
	for _, name := range o.Setup.Keep {
		if !slices.ContainsFunc(o.Nodes, func(n yarnclient.Node) bool { return n.Host == name }) {
			return nil, nil, fmt.Errorf("keep node %s: YARN has no node of that name", name)
		}
	}
	// Nodes for ApplicationMasters keep their label. The returned map holds them too,
	// so that the caller's journal of label changes names them: after a crash,
	// ApplicationMasters that still wait can then start on them.
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
	if err := c.readCapacity(o.Nodes); err != nil {
		return nil, nil, err
	}
	switch {
	case len(c.nodes) == 0:
		return nil, nil, errors.New("no running node to steer: all are kept for ApplicationMasters or carry labels of others; heddle " +
			"doctor says what is missing")
	case masters == 0 && c.holdsMasters():
		return nil, nil, fmt.Errorf("no running node has label %s, which ApplicationMasters start on; heddle doctor says how to set one up",
			c.Setup.AMLabel)
	}
	return c, parked, nil
}

// Step takes in the observations received since its last call, oldest first. It returns
// the actions that the caller must do, in the order of the slice. The caller must call
// Step again at the next observation, and at the latest at the time wake; if wake is
// zero, there is no latest time.
func (c *Core) Step(now time.Time, batch []Observation) (actions []Action, wake time.Time) {
	c.now = now
	if !c.begun {
		c.begun = true
		c.begin()
	}
	for _, o := range batch {
		if !o.Received.After(now) { // else an alarm that is set again from now on would be due for ever
			c.ring(o.Received)
		}
		c.observed(o)
	}
	c.ring(now)
	c.endIfFailed()
	if !c.ended { // done after the loop, so that label changes due to all observations of one Step go to YARN together
		c.giveUpGroups()
		c.openQueued()
		c.moves.flush()
	}
	actions, c.out = c.out, []Action{}
	if len(c.alarms) > 0 {
		wake = c.alarms[0].at
	}
	return actions, wake
}

// End cancels the decisions without an outcome when steering ends. It returns the
// actions that record this in the trace.
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
	for _, g := range c.givenUp {
		for _, m := range g.members {
			m.settleHeld()
		}
	}
	return c.out
}

// Stats returns the counts of decisions and started maps so far.
func (c *Core) Stats() Stats { return c.stats }

// observed handles one Observation. If it is the answer to a call, observed passes it
// to the function that waits for this answer.
func (c *Core) observed(o Observation) {
	switch {
	case c.ended: // drop observations that come after steering has ended
	case o.Submitted != nil:
		c.watch(o.Submitted)
	case o.Released != "":
		c.unwatch(o.Released)
	case o.Sampled != nil:
		c.sampled(o.Sampled)
	default:
		if then := c.pending[o.Answers]; then != nil {
			delete(c.pending, o.Answers)
			then(o)
		}
	}
}

// callLimit is the time limit of a call to the ResourceManager, unless the call sets
// another.
const callLimit = 3 * time.Second

// ask sends a query to the cluster. The argument then is the function that handles the
// answer; its parameter sent is the time when the call began.
func ask[T any](c *Core, l Look, then func(answer T, sent time.Time, err error)) {
	c.number++
	l.Number = c.number
	l.Limit = cmp.Or(l.Limit, callLimit)
	c.out = append(c.out, &l)
	c.pending[l.Number] = func(o Observation) {
		answer, _ := o.Answer.(T)
		then(answer, o.Sent, o.error())
	}
}

// change sends an action that changes the cluster. The argument then is a function that
// is called with the result: nil or the error.
func (c *Core) change(a Action, number *int64, then func(error)) {
	c.number++
	*number = c.number
	c.out = append(c.out, a)
	c.pending[c.number] = func(o Observation) { then(o.error()) }
}

// stop ends steering with the error err.
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

// The method at returns the current time, counted from the start of the trace. The
// current time is the one that the caller gave to Step or End.
func (c *Core) at() traces.Time { return traces.Time(c.now.Sub(c.Origin)) }

// holdsMasters says whether ApplicationMasters must wait to start until their jobs'
// splits are rewritten.
func (c *Core) holdsMasters() bool { return c.Splits != config.SplitsAsSubmitted }
