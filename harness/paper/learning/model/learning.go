// Package model contains the scheduler model of the paper on pattern classification.
package model

import (
	"cmp"
	"math"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/harness/stats"
)

// learner (learning) starts a task on a node if a classifier, which learns from the
// nodes' load, says that the node will not be overloaded.
//
// Rule. Every period, 5 s as the paper's heartbeats, for each node:
//
//  1. Judge the node's decision of one period before (judgeAfter): bad if the node is
//     overloaded now, else good. The classifier learns the features of that decision's
//     job and node with this class.
//  2. With gate: if the node is overloaded, start nothing and record nothing.
//  3. Each job has a candidate map and a candidate reduce. Its expected utility is the
//     utility of the job times the classifier's P(good): negative if the class is bad.
//     The candidate of the highest expected utility is chosen.
//  4. If that is good, its task starts: the nearest map. If all are bad, nothing starts;
//     with escape, a task starts on a node that runs none, if its load is below 0.8 of
//     the limit, or after three refusals that turned out to be wrong.
//
// Overloaded means that ceil(bins·load) > bins·target·CPUs, with the 1-minute load
// average of the node's last sample.
//
// Source. Dhok, Varma, "Using Pattern Classification for Task Assignment in MapReduce"
// (as the paper prints it: the defaults), and the authors' code learnsched of December
// 2009 (as coded: gate=1, escape=forced, trainOn=all, boost=2, label=margin,
// unseen=one, cap=10000, choose=all, mapsUntil=ended). Example: two samples good at
// (CPU hint 5, load 2.0), two good at (5, 3.0), two bad at (5, 4.5). At (5, 4.5)
// good has 4/6·1·1/4 = 1/6 (a value not seen: 1/total) and bad 2/6·1·1 = 1/3: bad.
//
// Differs. Features that never vary here, such as swap space and clock rate, are left
// out. A job without hints has the most frequent ones, as the paper says. Samples of
// 0:0:0:0 for beats without an assignment are the code's, with trainOn=all.
type learner struct {
	settings
	spent   map[string]float64 // by pool
	chance  float64            // with which the Classifier none says good
	unlucky bool

	bayes      *bayes
	perceptron *perceptron
	samples    int64 // learnt so far
	given      [4][11]int64
	key        draw.Key // of the numbers that chance is held against
	draws      uint64   // how many of them there were
	nodes      []node
	judged     stats.Decided
	watch      func(assigned, overloaded bool)
	last       vector // features of the last decision
}

// node is what the model knows of a node.
type node struct {
	at           sample
	beats        int64 // periods so far
	lastMs       int64 // time of the last one
	due          bool  // whether the present period has no decision yet
	falseRefused int64 // refusals in a row that were wrong
	waiting      []decision
}

// decision waits to be judged.
type decision struct {
	x       vector
	assign  bool
	beat    int64
	relaxed bool // whether the node was below its limit when it was decided
}

// Watched is a model of this package. It tells of each decision that is judged: whether it
// assigned a task, and whether the node was overloaded afterwards.
type Watched interface {
	Watch(func(assigned, overloaded bool))
}

// Watch has f called for each judgement.
func (m *learner) Watch(f func(assigned, overloaded bool)) { m.watch = f }

func (m *learner) EveryHeartbeat() {}
func (m *learner) HearsLoad()      {}

// Observe counts hints and what pools spend, and judges a node's last decision at its report.
func (m *learner) Observe(v *state.View, e sched.Event) {
	switch e.What {
	case sched.JobSubmitted:
		m.count(v.Hints(e.Job, state.Map))
		m.count(v.Hints(e.Job, state.Reduce))
	case sched.TaskStarted:
		if m.Utility == "budget" {
			m.spent[v.PoolName(v.Pool(e.Job))] += cmp.Or(v.Price(e.Job), 1)
		}
	case sched.NodeReported:
		n := m.node(e.Node)
		n.at = m.sampleOf(v, e.Node, e.Sample)
		nowMs := v.Now() / 1e6
		if n.beats > 0 && nowMs-n.lastMs < m.Period.Milliseconds() {
			return
		}
		n.beats, n.lastMs, n.due = n.beats+1, nowMs, true
		m.judge(n)
	}
}

func (m *learner) node(id state.NodeID) *node {
	for int(id) >= len(m.nodes) {
		m.nodes = append(m.nodes, node{})
	}
	return &m.nodes[id]
}

// judge judges the decision of the node that is old enough.
func (m *learner) judge(n *node) {
	if len(n.waiting) == 0 || n.waiting[0].beat+m.JudgeAfter > n.beats {
		return
	}
	d := n.waiting[0]
	n.waiting = append(n.waiting[:0], n.waiting[1:]...)
	over := m.overloaded(&n.at, 1)
	m.judged.Add(d.assign, over)
	if m.watch != nil {
		m.watch(d.assign, over)
	}
	if d.assign || m.TrainOn == "all" && !over {
		m.train(d.x, classOf(over))
	}
	switch {
	case over:
	case d.assign:
		n.falseRefused = 0
	case d.relaxed:
		n.falseRefused++
	}
}

func (m *learner) train(x vector, c class) {
	times := int64(1)
	if c == good {
		times = m.Boost
	}
	if m.Cap > 0 && m.samples > m.Cap {
		return
	}
	m.samples += times
	if m.perceptron != nil {
		for range times {
			m.perceptron.train(x, c)
		}
		return
	}
	m.bayes.train(x, c, times)
}

// dist returns how good an assignment is by the classifier, above 0 if it is good.
func (m *learner) dist(x vector) (dist float64, c class) {
	const startSamples = 3
	switch {
	case m.Classifier == "none":
		if m.unlucky {
			return -1, bad
		}
		return 1, good
	case m.Start == "refuse" && m.goodSamples() == 0:
		return 0, bad
	case m.Start != "refuse" && m.samples <= startSamples:
		return 1, good
	case m.perceptron != nil:
		d := m.perceptron.margin(x)
		return d, classOf(!(d > 0))
	}
	pGood, pBad, c := m.bayes.classify(x)
	dist = pGood
	if m.Score == "posterior" && pGood+pBad > 0 {
		dist = pGood / (pGood + pBad)
	}
	if c == bad {
		dist = -dist
	}
	return dist, c
}

// goodSamples returns how many samples were good. A perceptron counts all.
func (m *learner) goodSamples() int64 {
	if m.perceptron != nil {
		return m.samples
	}
	return m.bayes.n[good]
}

// candidate is a task that could start.
type candidate struct {
	job  state.JobID
	kind state.Kind
	x    vector
	eu   float64
	c    class
	is   bool
}

// Choose decides once in each period.
func (m *learner) Choose(v *state.View, id state.NodeID) (sched.Pick, bool) {
	n := m.node(id)
	if !n.due {
		return sched.Pick{}, false
	}
	n.due = false
	if m.Gate > 0 && m.overloaded(&n.at, m.Gate) {
		return sched.Pick{}, false
	}
	m.unlucky = m.key.At(m.draws).Fraction() >= m.chance // once for all jobs
	m.draws++
	tasks := v.Taken(id, state.Map) + v.Taken(id, state.Reduce)
	best := m.best(v, m.vectorOf(&n.at, tasks))
	if !best.is {
		return sched.Pick{}, false
	}
	relaxed := !m.overloaded(&n.at, 1)
	assign := best.c == good && (best.eu > 0 || m.settings.Choose == "good")
	if !assign && best.eu < 0 && m.Escape == "forced" && tasks == 0 {
		assign = !m.overloaded(&n.at, 0.8) || n.falseRefused >= 3
	}
	m.last = best.x
	if !assign { // the code has hints of 0 for it
		best.x[jobCPU], best.x[jobDisk], best.x[jobNetwork], best.x[jobMemory] = 0, 0, 0, 0
	}
	n.waiting = append(n.waiting, decision{x: best.x, assign: assign, beat: n.beats, relaxed: relaxed})
	if !assign {
		return sched.Pick{}, false
	}
	return taskOf(v, best.job, best.kind, id)
}

// best returns the candidate with the highest expected utility: as printed of the good
// ones, and any of the bad ones if there are none.
func (m *learner) best(v *state.View, nodeX vector) (best candidate) {
	for jobs := v.Active(); len(jobs) > 0; jobs = jobs[1:] {
		var own candidate
		for _, kind := range []state.Kind{state.Map, state.Reduce} {
			if v.Tasks(jobs[0], kind) == 0 || m.settings.Choose == "good" && v.Waiting(jobs[0], kind) == 0 {
				continue
			}
			c := candidate{job: jobs[0], kind: kind, x: m.jobVector(nodeX, v.Hints(jobs[0], kind)), is: true}
			dist, class := m.dist(c.x)
			c.eu, c.c = m.utilityOf(v, jobs[0], kind)*dist, class
			if m.better(&c, &own) || own.is && c.eu == own.eu && c.c == own.c && m.TieKind != "map" {
				own = c
			}
		}
		if m.better(&own, &best) {
			best = own
		}
	}
	return best
}

// better reports whether a candidate goes before another.
func (m *learner) better(a, b *candidate) bool {
	if !a.is || !b.is {
		return a.is
	}
	if m.settings.Choose == "good" && a.c != b.c {
		return a.c == good
	}
	return a.eu > b.eu
}

// taskOf returns the job's task of this kind that would start on the node: the nearest
// map, or any reduce. It returns false if none waits.
func taskOf(v *state.View, job state.JobID, kind state.Kind, n state.NodeID) (sched.Pick, bool) {
	if kind == state.Reduce {
		t := v.NextReduce(job)
		return sched.Pick{Job: job, Task: t, Kind: kind, Reason: sched.Reduces}, t != state.None && v.Fits(n, job, kind)
	}
	if t := v.NextRerun(job); t != state.None && v.Fits(n, job, kind) {
		return sched.Pick{Job: job, Task: t, Kind: kind, Reason: sched.Rerun}, true
	}
	if !sched.WantsMap(v, job, n) {
		return sched.Pick{}, false
	}
	t, level := v.Nearest(job, n, state.LevelCache, state.LevelOff)
	return sched.MapPick(job, t, level), true
}

// Notes returns how many samples and judged decisions there were.
func (m *learner) Notes() map[string]float64 {
	j := &m.judged
	notes := map[string]float64{
		"samples": float64(m.samples), "assigned": j[1][0] + j[1][1], "assignedBad": j[1][1],
		"refused": j[0][0] + j[0][1], "refusedRight": j[0][1],
	}
	if j.Count() > 0 {
		notes["rightPct"] = math.Round(1e4*(j[1][0]+j[0][1])/j.Count()) / 100
	}
	return notes
}
