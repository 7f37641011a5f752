// Package qlearn is the learner of the CLQLMRS scheduler: an environment of
// maps, nodes and slots, SARSA in it, and the table that comes of it.
//
// It follows Ghazali, Adabi, Rezaee, Down, Movaghar, "CLQLMRS: improving cache
// locality in MapReduce job scheduling using Q-learning", Journal of Cloud
// Computing 11:45 (2022): sections on the environment and both algorithms. The
// scheduler model around it, with where it differs from the paper, is in
// package sched; nothing here knows of heartbeats or decisions.
package qlearn

import "math/rand/v2"

// Rule is how a table is learnt.
type Rule struct {
	Alpha, Gamma float64 // learning rate, discount
	// Epsilon is the share of random actions at first; it is multiplied by Decay
	// after every DecayEvery episodes.
	Epsilon, Decay float64
	DecayEvery     int
	// Training ends with the first of these: so many episodes, epsilon that low,
	// so many assignments in all episodes together.
	Episodes   int
	MinEpsilon float64
	Steps      int
	OneWave    bool // an episode ends when no slot is free, not only when no map is left
	Cumulative bool // reward: times how often the episode has reached the class, not once
	QLearning  bool // update: with the best next action, not the one taken
	ByClass    bool // an action is a class, not a map and a node: 5 x 5 values
}

// Episode is what one pass of training came to.
type Episode struct {
	Number    int     // from 1
	Epsilon   float64 // during it
	Return    float64 // sum of rewards
	LocalRate float64 // share of assignments that were cache- or data-local
	CacheRate float64 // … cache-local
}

// Train learns a table for a layout, the same for the same seed. after is
// told of every episode and ends training by returning false. Where all pairs
// are of one class there is nothing to learn and no episode.
func Train(layout *Layout, rule Rule, seed uint64, after func(Episode) bool) *Table {
	t := NewTable(layout, rule)
	if layout.Wave() == 0 || layout.uniform() {
		return t
	}
	l := newLearner(t, rand.New(rand.NewPCG(seed, layout.Digest())))
	l.train(1, rule.EpisodesFor(layout), after)
	return t
}

// TrainClasses learns the table of classes, which any job can use, in the
// paper's own environment: 8 maps, 8 nodes with a slot each, odd ones in one
// rack and even ones in the other. The paper draws one layout at random; this
// draws another after every 1,000 episodes, lest a class be missing.
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

// train carries out episodes from one number to another; false: that is enough.
func (l *learner) train(from, to int, after func(Episode) bool) bool {
	l.learning = true
	for number := from; number <= to; number++ {
		done := Episode{Number: number, Epsilon: l.epsilon, Return: l.episode(l.epsilonGreedy)}
		done.LocalRate = float64(l.counts[CacheLocal]+l.counts[DataLocal]) / float64(l.started)
		done.CacheRate = float64(l.counts[CacheLocal]) / float64(l.started)
		l.epsilon = l.rule.epsilonAfter(number, l.epsilon)
		if !after(done) {
			return false
		}
	}
	return true
}

// EpisodesFor is how many episodes training for a layout has.
func (r *Rule) EpisodesFor(l *Layout) int {
	number, epsilon := 0, r.Epsilon
	for steps := 0; number < r.Episodes && steps < r.Steps && (epsilon > r.MinEpsilon || epsilon == r.Epsilon); {
		number++
		steps += r.length(l)
		epsilon = r.epsilonAfter(number, epsilon)
	}
	return number
}

// length is how many assignments an episode has.
func (r *Rule) length(l *Layout) int {
	if r.OneWave {
		return l.Wave()
	}
	return l.Maps
}

// epsilonAfter is epsilon after an episode with a number.
func (r *Rule) epsilonAfter(number int, epsilon float64) float64 {
	if number%r.DecayEvery == 0 {
		return epsilon * r.Decay
	}
	return epsilon
}

// Random is a layout drawn at random, for training and tests: nodes in two
// racks by turns, blocks with so many replicas on different nodes, a share of
// them cached by one of those.
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
