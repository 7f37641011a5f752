// Package qlearn is the learner of the CLQLMRS scheduler: a training
// environment of maps, nodes and slots, the SARSA algorithm that learns in it,
// and the resulting table.
//
// It follows Ghazali, Adabi, Rezaee, Down, Movaghar, "CLQLMRS: improving cache
// locality in MapReduce job scheduling using Q-learning", Journal of Cloud
// Computing 11:45 (2022): the sections on the environment and on both
// algorithms. The scheduler model is in the package above, with the list of
// differences from the paper. This package knows nothing of heartbeats and
// decisions.
//
// Words:
//
//	layout      a job's maps and a cluster's nodes: the locality class of each pair, and slots
//	assignment  the start of one map on one node, in training
//	episode     one pass over all maps of a layout, or over one wave of them
//	wave        the assignments until no slot is free; then all are free again
package qlearn

import "math/rand/v2"

// Rule says how a Q-table is learnt: learning rate, exploration, end of
// training and variant of the algorithm.
type Rule struct {
	Alpha float64 `default:"0.1" unit:"share" max:"1" text:"learning rate"`
	Gamma float64 `default:"0.95" unit:"share" max:"1" text:"discount of later rewards"`
	// Epsilon is the initial probability of a random action. It is multiplied
	// by Decay after every DecayEvery episodes.
	Epsilon    float64 `default:"1" unit:"share" max:"1" text:"of random actions in training, at first"`
	Decay      float64 `default:"0.999" unit:"factor" max:"1" text:"of epsilon, every so many episodes"`
	DecayEvery int     `default:"10" unit:"episodes" min:"1" text:"between decays"`
	// Training ends as soon as one of these is reached: this number of
	// episodes, this low an epsilon, or this number of assignments in all
	// episodes together.
	Episodes   int     `default:"50000" unit:"episodes" min:"1" max:"1e7" text:"of training a job, at most; not in the paper"`
	MinEpsilon float64 `default:"0.01" unit:"share" max:"1" text:"at which training ends; not in the paper"`
	Steps      int     `default:"12000000" unit:"maps" min:"1" text:"placed in training a job, at most: large jobs have fewer episodes; not in the paper"`

	OneWave    bool // option: an episode also ends when no slot is free, not only when no map is left
	Cumulative bool // option: a reward is multiplied by the number of the episode's assignments so far in the same locality class
	QLearning  bool // option: update the Q-value with the best next action (Q-learning), not with the action really taken (SARSA)
	ByClass    bool // option: an action is a locality class, not a pair of map and node; the Q-table has 5 x 5 values
}

// Episode is the result of one training episode: one pass over the maps.
type Episode struct {
	Number    int     // number of the training episode, counted from 1
	Epsilon   float64 // probability of a random action during the episode
	Return    float64 // sum of the rewards in the training episode
	LocalRate float64 // share of the episode's assignments that are cache-local or node-local (class CL or DL)
	CacheRate float64 // share of the episode's assignments that are cache-local (class CL)
	// Assignments is the number of maps that the episode placed.
	Assignments int
	// Table is the table in training, as it is after the episode. It changes
	// with the next one.
	Table *Table
}

// Train learns a Q-table for a layout (the locality class of each map on each
// node). The same seed gives the same table. Train calls after with the result
// of each episode and stops if after returns false. If all pairs of map and
// node have the same class, it runs no episode.
func Train(layout *Layout, rule Rule, seed uint64, after func(Episode) bool) *Table {
	t := NewTable(layout, rule)
	if layout.Wave() == 0 || layout.uniform() {
		return t
	}
	l := newLearner(t, rand.New(rand.NewPCG(seed, layout.Digest())))
	l.train(1, rule.EpisodesFor(layout), after)
	return t
}

// TrainClasses learns the Q-table over locality classes, which serves any job.
// It uses the environment of the CLQLMRS paper: 8 maps and 8 nodes with one
// slot each, odd nodes in one rack and even ones in another. The paper draws
// the places of the blocks once at random. TrainClasses draws them again every
// 1,000 episodes, so that every class occurs.
func TrainClasses(rule Rule, seed uint64, after func(Episode) bool) *Table {
	const each = 1000
	rule.ByClass = true
	rng := rand.New(rand.NewPCG(seed, 1))
	environment := func() *Layout { return Random(rng, 8, 8, 1, 3, 0.5) }
	t, epsilon := NewTable(environment(), rule), rule.Epsilon
	for from, last := 1, rule.EpisodesFor(t.layout); from <= last; from += each {
		l := newLearner(t, rng)
		l.epsilon = epsilon
		if !l.train(from, min(from+each-1, last), after) {
			break
		}
		epsilon, t.layout = l.epsilon, environment()
	}
	return t
}

// train runs the training episodes with these numbers, first and last included.
// It returns false if the callback after ended the training.
func (l *learner) train(from, to int, after func(Episode) bool) bool {
	l.learning = true
	for number := from; number <= to; number++ {
		done := Episode{Number: number, Epsilon: l.epsilon, Return: l.episode(l.epsilonGreedy), Table: l.Table}
		done.Assignments = l.started
		done.LocalRate = float64(l.counts[CacheLocal]+l.counts[DataLocal]) / float64(l.started)
		done.CacheRate = float64(l.counts[CacheLocal]) / float64(l.started)
		l.epsilon = l.rule.epsilonAfter(number, l.epsilon)
		if !after(done) {
			return false
		}
	}
	return true
}

// EpisodesFor returns the largest number of episodes that training for layout
// l may run.
func (r *Rule) EpisodesFor(l *Layout) int {
	number, epsilon := 0, r.Epsilon
	for steps := 0; number < r.Episodes && steps < r.Steps && (epsilon > r.MinEpsilon || epsilon == r.Epsilon); {
		number++
		steps += r.length(l)
		epsilon = r.epsilonAfter(number, epsilon)
	}
	return number
}

// length returns how many assignments of maps a training episode has.
func (r *Rule) length(l *Layout) int {
	if r.OneWave {
		return l.Wave()
	}
	return l.Maps
}

// epsilonAfter returns the probability of a random action (epsilon) in the
// episode that follows the one with this number.
func (r *Rule) epsilonAfter(number int, epsilon float64) float64 {
	if number%r.DecayEvery == 0 {
		return epsilon * r.Decay
	}
	return epsilon
}

// Random draws a layout of blocks and caches at random, for training and
// tests. Nodes alternate between two racks. The replicas of a block are on
// different nodes. A share of the blocks is cached, each by a node that stores
// it.
func Random(rng *rand.Rand, maps, nodes, slots, replicas int, cached float64) *Layout {
	l := &Layout{Maps: maps, Nodes: nodes, slots: make([]int32, nodes), class: make([]Class, maps*nodes)}
	for k := range l.slots {
		l.slots[k] = int32(slots)
	}
	withCache := int(cached * float64(maps))
	for i, order := range rng.Perm(maps) {
		holders := rng.Perm(nodes)[:replicas]
		for k := range nodes {
			c := NoLocality
			for at, holder := range holders {
				cache := at == 0 && order < withCache
				switch {
				case holder == k && cache:
					c = min(c, CacheLocal)
				case holder == k:
					c = min(c, DataLocal)
				case holder%2 == k%2 && cache:
					c = min(c, CacheRackLocal)
				case holder%2 == k%2:
					c = min(c, DataRackLocal)
				}
			}
			l.class[i*nodes+k] = c
		}
	}
	return l
}
