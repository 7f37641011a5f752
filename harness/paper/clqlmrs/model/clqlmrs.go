// Package model contains the scheduler model of the paper CLQLMRS.
package model

import (
	"math"
	"slices"

	"heddle/harness/paper/clqlmrs/model/qlearn"
	"heddle/harness/sched"
	"heddle/harness/state"
)

// cacheLearner (clqlmrs) places maps by a table of learnt values: it starts
// the map on the node whose value is highest. It learns the table by
// Q-learning in a training before the job's first map starts.
//
// Rule. An action (i,k) starts waiting map i on node k, which has a free slot.
// The state is the class of the job's last assignment, NO at the start. The
// class of (i,k) is the first of these that holds, with its weight: CL, k
// caches i's block (1); DL, k stores it (0.5); CRL, a node of k's rack caches
// it (-0.25); DRL, a node of k's rack stores it (-0.5); NO, none of these
// (-1). Each job has a table Q[s][i·K+k], zero at first. It is trained in a
// small environment of the job's N maps and the cluster's K nodes, with the
// replicas, cached copies and capacities in the View:
//
//	each episode: all maps wait, all slots are free, s = NO
//	  a = epsilon-greedy(s)   random valid action if u < epsilon, else the best
//	  until no map is left:
//	    s' = class of a; r = weight(s')/N; a' = epsilon-greedy(s')
//	    Q[s][a] += alpha·(r + gamma·Q[s'][a'] - Q[s][a])   r alone at the end
//	    s, a = s', a'
//	every 10 episodes: epsilon *= 0.999
//
// Then, on each opportunity, it takes the first job in FIFO order that has a
// waiting map which a free node can hold. It starts the action with the
// highest Q[s]; the class of this action is the next s. No job waits for
// locality.
//
// Source. Ghazali, Adabi, Rezaee, Down, Movaghar, "CLQLMRS: improving cache
// locality in MapReduce job scheduling using Q-learning", J. Cloud Computing
// 11:45 (2022): state, action, weights, the SARSA update, the schedule of
// epsilon, and Init, Step and Reset of its environment. Example: a job has
// three maps. T1 on DN1 (DL), T2 on DN3 (DRL) and T3 on DN4 (CL) get the
// rewards 1/6, -1/6 and 1/3. After one episode their values are 0.0166667,
// -0.0166667 and 0.0333333.
//
// Parameters. heddle models clqlmrs lists all. These change the rule:
//
//	update   sarsa (the paper's formulas and flow chart) | q (its title): the best
//	         next action in place of the one taken
//	reward   step | cumulative (the paper's five formulas): the weight times the
//	         number of maps of the episode in this class so far. Its example fits
//	         both. Cumulative favours the most frequent class, so that cache hits
//	         are given up for data locality
//	table    task | class: Q[s][class], 25 values, trained once in the paper's
//	         environment of 8 maps and 8 nodes, used for any job and layout
//	episode  job | wave (the paper's): whether slots are all free again when none
//	         is, until all maps are placed
//
// Differs. The paper does not say how a table serves a job of several waves.
// Here an episode is the whole job: in an episode of one wave, the maps that
// are best placed last are hardly learnt. Nor does the paper say how many
// episodes to train: here until epsilon is 0.01 or the limit on assignments is
// reached.
//
// The order of classes is the paper's; making them exclude each other is ours.
// So are ties: in training a shuffled order decides, in use the lowest map and
// the node that reported. Re-runs and reduces go first, to the node that
// reported, as in the other models: a reduce has no input block.
//
// Training sees every node that is up with the slots of its whole capacity,
// not what other jobs leave free. A job is trained when it is first decided
// for. It is trained again when a share of its maps' cached copies has come or
// gone, or when a node is offered that was down at its training. Live drivers
// train earlier, see Study.
//
// A job whose table would be too large uses the table of classes. For such
// jobs the paper suggests several tables with locality-sensitive hashing, but
// does not describe them. With classes, only four actions of a node are
// compared: its first cache-local, node-local and rack-local waiting map, and
// any.
//
// Where the ApplicationMaster binds late, a node has a single action: the map
// that WouldBind returns. A job whose splits were rewritten by the plan
// follows the plan.
type cacheLearner struct {
	settings

	classes         *qlearn.Table // the Q-table over locality classes, shared by all jobs; nil: not trained yet
	classesTraining *sched.Training
	jobs            sched.PerJob[*lesson]
	shelf           shelf // what was learnt for earlier jobs
	nodes           []state.NodeID
}

// lesson is the Q-table learnt for one job, with the state that the job is in:
// the locality class of its last assignment.
type lesson struct {
	table        *qlearn.Table // the job's own Q-table; nil: the Q-table over locality classes decides for this job
	training     *sched.Training
	seed         uint64
	inputChanges int32 // version of the job's cached input (View.InputChanges) when the job was trained
	state        qlearn.Class
	open         []assignment // decisions that are neither confirmed nor cancelled, oldest first
	plan         plan
}

// assignment is a decision that moved the job's state, and the state before it.
type assignment struct {
	task   state.TaskID
	node   state.NodeID
	before qlearn.Class
}

// Observe takes back what a cancelled decision did to the job's state: the state is
// the class of the last assignment, and a cancelled decision assigned nothing.
func (m *cacheLearner) Observe(_ *state.View, e sched.Event) {
	if e.What != sched.Cancelled && e.What != sched.Confirmed || e.Decision.Kind != state.Map {
		return
	}
	l := *m.jobs.Of(e.Decision.Job)
	if l == nil {
		return
	}
	i := slices.IndexFunc(l.open, func(a assignment) bool { return a.node == e.Decision.Node && a.task == e.Decision.Task })
	if i < 0 && e.What == sched.Confirmed { // another task than the one named has started
		i = slices.IndexFunc(l.open, func(a assignment) bool { return a.node == e.Decision.Node })
	}
	if i < 0 {
		return
	}
	if e.What == sched.Cancelled {
		if i+1 < len(l.open) {
			l.open[i+1].before = l.open[i].before
		} else {
			l.state = l.open[i].before
		}
	}
	l.open = slices.Delete(l.open, i, i+1)
}

// Info describes the model clqlmrs.
var Info = sched.Info{
	Name:    "clqlmrs",
	Use:     sched.ForLocality,
	Summary: "places maps where a table learnt before the job starts says cache hits pay most",
	Source:  "Ghazali et al., CLQLMRS, J. Cloud Computing 11:45 (2022)",
	Params:  sched.ParamsOf[settings](),
	Build: func(a sched.Args) (sched.Model, error) {
		m := &cacheLearner{settings: sched.ValuesOf[settings](a)}
		m.Rule.QLearning, m.Rule.Cumulative = m.Update == "q", m.Reward == "cumulative"
		m.Rule.ByClass, m.Rule.OneWave = m.Table == "class", m.Episode == "wave"
		return m, nil
	},
}

// settings are the parameters.
type settings struct {
	Update  string `values:"sarsa,q" text:"towards the next action that is taken (the paper's formula), or the best (its title)"`
	Reward  string `values:"step,cumulative" text:"weight of the class (ours), or that times the episode's maps of the class (as the paper prints)"`
	Table   string `values:"task,class" text:"of actions: a map and a node (the paper), or their class (ours), which any job can use"`
	Episode string `values:"job,wave" text:"ends when no map is left (ours), or when no slot is free (as the paper prints)"`
	qlearn.Rule
	Pairs   int64   `default:"1000000" unit:"pairs" max:"1e8" text:"of map and node that a table may have, at 48 bytes; larger jobs go by class"`
	Retrain float64 `default:"0.1" unit:"share of maps" text:"whose cached copies come or go before a job is trained anew"`
	Seed    uint64  `default:"1" text:"of training's random numbers"`
}

func (m *cacheLearner) Name() string { return "clqlmrs" }

func (m *cacheLearner) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	for jobs := sched.FIFOOrder(v); ; {
		id, ok := jobs.Next()
		if !ok {
			return out
		}
		if l := *m.jobs.Of(id); l != nil && l.plan.isInForce(v, id) {
			if d, ok := sched.AsPlanned(v, id, free); ok {
				return append(out, d)
			}
			continue
		}
		if c, ok := sched.RerunOrReduce(v, id, free[0]); ok {
			return append(out, c.On(free[0]))
		}
		if v.Waiting(id, state.Map) == 0 {
			continue
		}
		if d, ok := m.choose(v, id, free); ok {
			return append(out, d)
		}
	}
}

// choose returns the job's action (a map and a free node) with the highest
// learnt value. It returns false if no free node can hold a map of the job.
func (m *cacheLearner) choose(v *state.View, id state.JobID, free []state.NodeID) (sched.Decision, bool) {
	fits := func(n state.NodeID) bool { return v.Fits(n, id, state.Map) }
	if !slices.ContainsFunc(free, fits) {
		return sched.Decision{}, false
	}
	m.nodes = m.nodes[:0]
	if l := *m.jobs.Of(id); l != nil && l.table != nil ||
		!m.byClass(v, id) { // a job's own Q-table has one column for each pair of map and node, so all free nodes are compared
		for _, n := range free {
			if fits(n) {
				m.nodes = append(m.nodes, n)
			}
		}
	}
	l := m.lesson(v, id)
	task, node, best := state.TaskID(state.None), state.NodeID(state.None), math.Inf(-1)
	consider := func(t state.TaskID, n state.NodeID) {
		var q float64
		if l.table != nil {
			q = l.table.Value(l.state, int(t), int(n))
		} else {
			q = m.classes.ClassValue(l.state, qlearn.ClassOf(v, id, t, n))
		}
		if q > best {
			task, node, best = t, n, q
		}
	}
	switch {
	case v.LateBinding():
		for _, n := range free {
			if fits(n) {
				t, _ := v.WouldBind(id, n)
				consider(t, n)
			}
		}
	case l.table == nil:
		most := m.mostWorth(v, id, l.state)
		for _, n := range free {
			if !fits(n) {
				continue
			}
			for level := state.LevelCache; level <= state.LevelOff; level++ {
				if t := v.NextMap(id, n, level); t != state.None {
					consider(t, n)
				}
			}
			if best >= most {
				break // stop: no action after this one can have a higher value, and of equal values the first counts
			}
		}
	default:
		v.EachMap(id, m.nodes[0], state.LevelOff, func(t state.TaskID) bool {
			for _, n := range m.nodes {
				consider(t, n)
			}
			return true
		})
	}
	l.open = append(l.open, assignment{task, node, l.state})
	l.state = qlearn.ClassOf(v, id, task, node)
	return sched.MapPick(id, task, v.Level(id, task, node)).On(node), true
}

// mostWorth returns the highest Q-value in state s among the locality classes
// that the job's waiting maps can have.
func (m *cacheLearner) mostWorth(v *state.View, id state.JobID, s qlearn.Class) float64 {
	most := math.Inf(-1)
	for c := qlearn.CacheLocal; c <= qlearn.NoLocality; c++ {
		cached := c == qlearn.CacheLocal || c == qlearn.CacheRackLocal
		if !cached || v.WaitingCached(id) > 0 {
			most = max(most, m.classes.ClassValue(s, c))
		}
	}
	return most
}

// PlanJob returns where the trained policy would place the job's maps if the
// job were alone on the cluster: each map's node, in the order of placement.
// When the job's splits are rewritten to this plan, its maps start only on the
// planned nodes.
func (m *cacheLearner) PlanJob(v *state.View, id state.JobID) (sched.SplitPlan, bool) {
	if v.Tasks(id, state.Map) == 0 || m.tooLarge(v, id) {
		return nil, false
	}
	m.nodes = m.nodes[:0]
	l := m.lesson(v, id)
	var pairs []qlearn.Pair
	if l.table != nil {
		pairs = l.table.Rollout()
	} else {
		pairs = m.classes.RolloutFor(qlearn.NewLayout(v, id))
	}
	if len(pairs) == 0 { // the plan is empty, because no node is up
		return nil, false
	}
	p := make(sched.SplitPlan, len(pairs))
	for i, pair := range pairs {
		p[i] = sched.PlannedSplit{Split: state.TaskID(pair.Map), Node: state.NodeID(pair.Node)}
	}
	l.plan = plan{splits: p, checked: -1}
	return p, true
}
