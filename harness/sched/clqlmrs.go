package sched

import (
	"math"
	"slices"

	"heddle/harness/sched/qlearn"
	"heddle/harness/state"
)

// cacheLearner, clqlmrs, places maps where a table of values says that it pays
// most, and has learnt the table in training, before the job's first map.
//
// Rule. An action (i,k) starts waiting map i on node k, which has a free slot.
// The state is the class of the job's last assignment, NO at the start. The
// class of (i,k), first match wins: k caches i's block, CL, worth 1; stores it,
// DL, 0.5; shares a rack with a node that caches it, CRL, -0.25; with one that
// stores it, DRL, -0.5; else NO, -1. Per job, a table Q[state][i·K+k] of zeroes is
// trained in an environment of its own, of N maps and K nodes that the View
// shows as replicas, cached copies and capacity:
//
//	each episode: all maps wait, all slots are free, s = NO
//	  a = epsilon-greedy(s)   random valid action if u < epsilon, else the best
//	  until no map is left:
//	    s' = class of a; r = weight(s')/N; a' = epsilon-greedy(s')
//	    Q[s][a] += alpha·(r + gamma·Q[s'][a'] - Q[s][a])   r alone at the end
//	    s, a = s', a'
//	every 10 episodes: epsilon *= 0.999
//
// Then on each opportunity, for the first job in FIFO order with a waiting map
// that a free node can hold: the action with the highest Q[s], and s its class.
// Nothing waits for locality.
//
// Source. Ghazali, Adabi, Rezaee, Down, Movaghar, "CLQLMRS: improving cache
// locality in MapReduce job scheduling using Q-learning", J. Cloud Computing
// 11:45 (2022): state, action, weights, the SARSA update, the schedule of epsilon
// and Init, Step, Reset of its environment. Worked: T1 to DN1 (DL), T2 to DN3
// (DRL), T3 to DN4 (CL) of three pay 1/6, -1/6, 1/3; their values after one
// episode are 0.0166667, -0.0166667, 0.0333333.
//
// Parameters. See heddle models clqlmrs; those that change the rule:
//
//	update   sarsa (the paper's formulas and flow chart) | q (its title): the best
//	         next action in place of the one taken
//	reward   step | cumulative (its prose): times how many maps of the episode have
//	         reached the class. Its example fits both. Cumulative pays ever more for
//	         the most frequent class, so cache hits are given up for data locality
//	table    task | class: Q[s][class], 25 values, trained once in the paper's
//	         environment of 8 maps and 8 nodes, good for any job and layout
//	episode  job | wave (the paper's): whether slots are all free again when none
//	         is, until all maps are placed
//
// Differs. The paper does not say how a table serves a job of several waves:
// here an episode is the whole job, because in one wave the maps that are best
// placed last hardly learn. Nor how many episodes: until epsilon is 0.01, or the
// bound on assignments. The order of classes is the paper's list; making them
// exclusive is ours, and so are ties, which go by an order that exploration
// shuffles in training, and to the lowest map and the node that reported in use.
// Reduces have no input block: they and re-runs go first, to the node that
// reported, as the other models' do. Training sees each node that is up with the
// slots of its capacity, not what other jobs leave. A job that comes later, has
// another layout (more than a share of its maps' cached copies came or went), or
// is offered a node that was down when it was trained, is trained (anew) when
// it next has to be decided for; live drivers train before, see Warmup. A job
// whose table would be too large goes by class: several tables with
// locality-sensitive hashing, which the paper suggests, it does not describe. By
// class, a node's action is its first waiting map that is cache-, node- or
// rack-local, or any, so that maps need not be gone through. Where the
// ApplicationMaster binds late, the only action of a node is the map that
// WouldBind says; a job whose splits were rewritten by the plan follows that.
type cacheLearner struct {
	rule    qlearn.Rule
	seed    uint64
	pairs   int     // of map and node, that a table of tasks may have
	retrain float64 // share of the job's maps

	classes         *qlearn.Table // nil: not trained yet
	classesTraining *Training
	jobs            perJob[*lesson]
	nodes           []state.NodeID
}

// lesson is what has been learnt for a job, and where it stands.
type lesson struct {
	table    *qlearn.Table // nil: by class
	training *Training
	seed     uint64
	moves    int32 // see View.Moves, when it was trained
	state    qlearn.Class
	plan     plan
}

var clqlmrsInfo = Info{
	Name: "clqlmrs", Summary: "places maps where a table learnt before the job starts says cache hits pay most",
	Source: "Ghazali et al., CLQLMRS, J. Cloud Computing 11:45 (2022)",
	Params: []Param{
		{Name: "update", Type: Choice, Default: "sarsa", Choices: []string{"sarsa", "q"}, Doc: "towards the next action that is taken (the paper's formula), or the best (its title)"},
		{Name: "reward", Type: Choice, Default: "step", Choices: []string{"step", "cumulative"}, Doc: "weight of the class, or that times the episode's maps of the class (the paper's prose)"},
		{Name: "table", Type: Choice, Default: "task", Choices: []string{"task", "class"}, Doc: "of actions: a map and a node, or their class, which any job can use"},
		{Name: "episode", Type: Choice, Default: "job", Choices: []string{"job", "wave"}, Doc: "ends when no map is left, or when no slot is free (the paper)"},
		{Name: "alpha", Type: Float, Default: "0.1", Unit: "share", Max: 1, Doc: "learning rate"},
		{Name: "gamma", Type: Float, Default: "0.95", Unit: "share", Max: 1, Doc: "discount of later rewards"},
		{Name: "epsilon", Type: Float, Default: "1", Unit: "share", Max: 1, Doc: "of random actions in training, at first"},
		{Name: "decay", Type: Float, Default: "0.999", Unit: "factor", Max: 1, Doc: "of epsilon, every so many episodes"},
		{Name: "decayEvery", Type: Int, Default: "10", Unit: "episodes", Min: 1, Doc: "between decays"},
		{Name: "minEpsilon", Type: Float, Default: "0.01", Unit: "share", Max: 1, Doc: "at which training ends; not in the paper"},
		{Name: "episodes", Type: Int, Default: "50000", Unit: "episodes", Min: 1, Max: 1e7, Doc: "of training a job, at most; not in the paper"},
		{Name: "steps", Type: Int, Default: "12000000", Unit: "maps", Min: 1, Doc: "placed in training a job, at most: large jobs have fewer episodes; not in the paper"},
		{Name: "pairs", Type: Int, Default: "1000000", Unit: "pairs", Max: 1e8, Doc: "of map and node that a table may have, at 48 bytes; larger jobs go by class"},
		{Name: "retrain", Type: Float, Default: "0.1", Unit: "share of maps", Doc: "whose cached copies come or go before a job is trained anew"},
		{Name: "seed", Type: Int, Default: "1", Doc: "of training's random numbers"},
	},
	build: func(a args) (Model, error) {
		return &cacheLearner{
			rule: qlearn.Rule{
				QLearning: a.text("update") == "q", Cumulative: a.text("reward") == "cumulative",
				ByClass: a.text("table") == "class", OneWave: a.text("episode") == "wave",
				Alpha: a.float("alpha"), Gamma: a.float("gamma"),
				Epsilon: a.float("epsilon"), Decay: a.float("decay"), DecayEvery: int(a.int("decayEvery")), MinEpsilon: a.float("minEpsilon"),
				Episodes: int(a.int("episodes")), Steps: int(a.int("steps")),
			},
			seed: uint64(a.int("seed")), pairs: int(a.int("pairs")), retrain: a.float("retrain"),
		}, nil
	},
}

func (m *cacheLearner) Name() string { return "clqlmrs" }

func (m *cacheLearner) Round(v *state.View, free []state.NodeID, out []Decision) []Decision {
	for jobs := fifoOrder(v); ; {
		id, ok := jobs.next()
		if !ok {
			return out
		}
		if l := *m.jobs.of(id); l != nil && l.plan.holds(v, id) {
			if d, ok := asPlanned(v, id, free); ok {
				return append(out, d)
			}
			continue
		}
		if c, ok := unplaced(v, id, free[0]); ok {
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

// choose is the best action on the free nodes that can hold one, false if none
// can.
func (m *cacheLearner) choose(v *state.View, id state.JobID, free []state.NodeID) (Decision, bool) {
	fits := func(n state.NodeID) bool { return v.Fits(n, id, state.Map) }
	if !slices.ContainsFunc(free, fits) {
		return Decision{}, false
	}
	m.nodes = m.nodes[:0]
	if l := *m.jobs.of(id); l != nil && l.table != nil || !m.byClass(v, id) { // a table of tasks has a column a node
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
				break // no other is better, and the first of equals counts
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
	l.state = qlearn.ClassOf(v, id, task, node)
	return mapAt(id, task, v.Level(id, task, node)).On(node), true
}

// mostWorth is the highest value of a class that the job's maps can be of.
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

// PlanJob is what the trained policy would do with the job alone on the
// cluster: maps in the order in which it places them. Once the job's splits say
// so, its maps start as planned and nowhere else.
func (m *cacheLearner) PlanJob(v *state.View, id state.JobID) (SplitPlan, bool) {
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
	if len(pairs) == 0 { // no node is up
		return nil, false
	}
	p := make(SplitPlan, len(pairs))
	for i, pair := range pairs {
		p[i] = PlannedSplit{Split: state.TaskID(pair.Map), Node: state.NodeID(pair.Node)}
	}
	l.plan = plan{splits: p, checked: -1}
	return p, true
}
