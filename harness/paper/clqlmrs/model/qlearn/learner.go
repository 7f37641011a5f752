package qlearn

import "math/rand/v2"

// action is one choice of the learner: to start map i on node k.
type action struct{ i, k int32 }

// learner is a Q-table in training, with the state of the present episode.
type learner struct {
	*Table
	rng      *rand.Rand
	epsilon  float64
	learning bool

	// The field maps lists the job's maps, those that have not started first.
	// The field nodes lists the nodes, those with a free slot first. The order
	// among these changes at random.
	maps, nodes shuffled
	free        []int32 // number of free slots of each node in the present wave of maps
	counts      [classes]int
	started     int

	best [classes]ranking
}

func newLearner(t *Table, rng *rand.Rand) *learner {
	l := &learner{Table: t, rng: rng, epsilon: t.rule.Epsilon, free: make([]int32, t.layout.Nodes)}
	l.maps = newShuffled(t.layout.Maps)
	for k, slots := range t.layout.slots {
		if slots > 0 {
			l.nodes.list = append(l.nodes.list, int32(k))
		}
	}
	l.nodes.place = make([]int32, t.layout.Nodes)
	for at, k := range l.nodes.list {
		l.nodes.place[k] = int32(at)
	}
	if !t.rule.ByClass {
		for s := range l.best {
			l.best[s].rows = make([]row, t.layout.Maps)
			for i := range l.best[s].rows {
				l.best[s].rows[i].k = none
			}
		}
	}
	return l
}

// episode assigns maps to slots until choose returns false, and learns from
// each assignment. choose gets the present state, a locality class. episode
// returns the sum of the rewards.
func (l *learner) episode(choose func(Class) (action, bool)) (sum float64) {
	l.maps.reset()
	l.counts, l.started = [classes]int{}, 0
	l.freeSlots()
	n := float64(l.rule.length(l.layout))
	s := NoLocality
	a, ok := choose(s)
	for ok {
		next := l.take(a)
		reward := weights[next] / n
		if l.rule.Cumulative {
			reward = float64(weights[next]*float64(l.counts[next])) / n
		}
		sum += reward
		target := reward
		b, more := choose(next)
		if more {
			after := b // by default SARSA, which learns from the action that is really taken next
			if l.rule.QLearning {
				after, _ = l.greedy(next)
			}
			target += float64(l.rule.Gamma * *l.value(next, after))
		}
		l.learn(s, a, target)
		s, a, ok = next, b, more
	}
	return sum
}

// take starts a map in the simulated environment, as the action says, and
// returns the map's locality class, which is the next state.
func (l *learner) take(a action) Class {
	l.maps.remove(a.i)
	if l.free[a.k]--; l.free[a.k] == 0 {
		l.nodes.remove(a.k)
	}
	c := l.layout.Class(int(a.i), int(a.k))
	l.counts[c]++
	l.started++
	return c
}

// learn moves the Q-value of action a in state s towards target, by a part that
// the learning rate gives.
func (l *learner) learn(s Class, a action, target float64) {
	q := l.value(s, a)
	*q += float64(l.rule.Alpha * (target - *q))
	if !l.rule.ByClass {
		l.best[s].changed(a, *q)
	}
}

// freeSlots makes all slots of all nodes free, at the start of a wave of maps.
func (l *learner) freeSlots() {
	copy(l.free, l.layout.slots)
	l.nodes.reset()
	for s := range l.best {
		l.best[s].made = false
	}
}

// epsilonGreedy returns a random valid action with probability epsilon,
// otherwise the action with the highest Q-value. It returns false if no map is
// left or no slot is free.
func (l *learner) epsilonGreedy(s Class) (action, bool) {
	if !l.more() {
		return action{}, false
	}
	if l.rng.Float64() < l.epsilon {
		return action{l.maps.list[l.rng.IntN(l.maps.n)], l.nodes.list[l.rng.IntN(l.nodes.n)]}, true
	}
	return l.greedy(s)
}

// more reports whether an action is possible. If no slot is free, it frees all
// slots for the next wave of maps, unless an episode has only one wave.
func (l *learner) more() bool {
	if l.nodes.n == 0 && !l.rule.OneWave {
		l.freeSlots()
	}
	return l.maps.n > 0 && l.nodes.n > 0
}

// greedy returns the valid action (map and node) with the highest Q-value in
// state s.
func (l *learner) greedy(s Class) (action, bool) {
	if !l.more() {
		return action{}, false
	}
	b := &l.best[s]
	if !b.made || l.rule.ByClass && l.learning { // in training by locality class, Q-values change, so rank again for each choice
		b.made = true
		b.heap = b.heap[:0]
		for _, i := range l.maps.list[:l.maps.n] {
			b.heap = append(b.heap, l.bestOf(s, i))
		}
		for at := len(b.heap)/2 - 1; at >= 0; at-- {
			b.sink(at)
		}
	}
	for {
		switch top := &b.heap[0]; {
		case !l.maps.has(top.i):
			last := len(b.heap) - 1
			b.heap[0], b.heap = b.heap[last], b.heap[:last]
		case l.free[top.k] == 0:
			*top = l.scan(s, top.i, l.nodes.list[:l.nodes.n])
		default:
			return action{top.i, top.k}, true
		}
		b.sink(0)
	}
}

// bestOf returns an upper bound for the Q-value of map i: that of its best
// action over all nodes with slots, even if no slot is free.
func (l *learner) bestOf(s Class, i int32) row {
	if l.rule.ByClass {
		return l.scan(s, i, l.nodes.list[:l.nodes.n])
	}
	r := &l.best[s].rows[i]
	if r.k == none {
		*r = l.scan(s, i, l.nodes.list)
	}
	return *r
}

func (l *learner) scan(s Class, i int32, nodes []int32) row {
	best := row{i: i, k: none}
	for _, k := range nodes {
		if q := *l.value(s, action{i, k}); best.k == none || q > best.q {
			best.q, best.k = q, k
		}
	}
	return best
}

// ranking finds the action with the highest Q-value without looking at all
// actions. Its heap has one row for each map that had not started when the
// heap was made. Rows are ordered by the highest value that any action of the
// map had then. The map's highest value now cannot be greater: nodes only fill
// up, and no value changes while the map can still start.
type ranking struct {
	made bool
	heap []row
	rows []row // for each map, its best action over all nodes; the action's node k is none until it is computed
}

const none = -1

// row is an entry of the ranking: the best action of one map, with the action's
// Q-value.
type row struct {
	q    float64
	i, k int32
}

// The method changed tells the ranking that the Q-value of action a is now q.
func (b *ranking) changed(a action, q float64) {
	switch r := &b.rows[a.i]; {
	case r.k == none:
	case q >= r.q:
		*r = row{q, a.i, a.k}
	case r.k == a.k:
		r.k = none
	}
}

func (b *ranking) sink(at int) {
	if at >= len(b.heap) {
		return
	}
	x := b.heap[at]
	for child := 2*at + 1; child < len(b.heap); child = 2*at + 1 {
		if child+1 < len(b.heap) && b.heap[child+1].q > b.heap[child].q {
			child++
		}
		if b.heap[child].q <= x.q {
			break
		}
		b.heap[at] = b.heap[child]
		at = child
	}
	b.heap[at] = x
}

// shuffled is a set of whole numbers, kept so that a random member is quickly
// drawn. The first n entries of list are in the set.
type shuffled struct {
	list, place []int32
	n           int
}

func newShuffled(n int) shuffled {
	s := shuffled{list: make([]int32, n), place: make([]int32, n)}
	for i := range s.list {
		s.list[i], s.place[i] = int32(i), int32(i)
	}
	return s
}

func (s *shuffled) reset() { s.n = len(s.list) }

func (s *shuffled) has(x int32) bool { return int(s.place[x]) < s.n }

func (s *shuffled) remove(x int32) {
	s.n--
	at, last := s.place[x], s.list[s.n]
	s.list[at], s.list[s.n] = last, x
	s.place[last], s.place[x] = at, int32(s.n)
}
