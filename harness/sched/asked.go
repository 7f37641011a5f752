package sched

import (
	"slices"

	"heddle/harness/state"
)

// asked is what YARN takes a job to ask for, beyond the tasks that wait.
//
// A map asks for a container at each replica of its input. When YARN has given it one, only that
// node is asked for less, until the ApplicationMaster has heard of the container and says so. And with
// each such message YARN replaces its own count of the containers wanted by the ApplicationMaster's, which
// has not heard of the newest: so many are given once more, and the ApplicationMaster gives them back.
//
// Source: Hadoop 3.4 LocalityAppPlacementAllocator, RMContainerRequestor. Of a hundred jobs under a
// ResourceManager with a full cluster 11 % of all containers were given back.
type asked struct {
	hears  bool            // its driver tells of heartbeats
	given  []state.TaskID  // maps that were given a container since the last heartbeat
	count  [2]int32        // tasks that were, by kind
	before [2]int32        // tasks that were before, whose containers the ApplicationMaster heard of with it
	more   [2]int32        // containers wanted beyond the tasks that wait, by kind
	places map[int32]int32 // maps that ask at a node or, by ^rack, in a rack beyond those that wait
}

// Surplus is the task of a pick that asks for a container which YARN takes the job to want, though none of its
// tasks waits for one. Its ApplicationMaster gives it back.
const Surplus state.TaskID = -2

// orSurplus returns a task that waits, or Surplus.
func orSurplus(t state.TaskID) state.TaskID {
	if t == state.None {
		return Surplus
	}
	return t
}

// HearsMasters is a model to which it matters when ApplicationMasters send heartbeats: as YARN, it knows
// what they ask for from these.
type HearsMasters interface {
	// Beat tells of a heartbeat of a job's ApplicationMaster, before it hears of what it was given.
	Beat(v *state.View, id state.JobID)
}

// Beat implements HearsMasters.
func (m *nearness) Beat(v *state.View, id state.JobID) {
	if m.asked.Of(id).places == nil {
		m.open(v, id)
	}
	a := m.asked.Of(id)
	a.hears = true
	for k, n := range a.before {
		if n > 0 {
			a.more[k] = a.count[k]
		}
	}
	if a.before[state.Map] > 0 {
		clear(a.places)
		for _, t := range a.given {
			a.add(v, id, t)
		}
	}
	a.given, a.before, a.count = a.given[:0], a.count, [2]int32{}
}

// open gives a job memory, if possible that of one that has ended.
func (m *nearness) open(v *state.View, id state.JobID) {
	a := asked{}
	if i := slices.IndexFunc(m.begun, v.Ended); i >= 0 {
		old := m.asked.Of(m.begun[i])
		a.places, a.given, *old = old.places, old.given[:0], asked{}
		m.begun[i] = id
	} else {
		m.begun, a.places = append(m.begun, id), map[int32]int32{}
	}
	clear(a.places)
	*m.asked.Of(id) = a
}

// forget notes that nothing is known of what a job asks for.
func (m *nearness) forget(id state.JobID) {
	a := m.asked.Of(id)
	clear(a.places)
	*a = asked{places: a.places, given: a.given[:0]}
}

// add has a map ask at all places of its input.
func (a *asked) add(v *state.View, id state.JobID, t state.TaskID) {
	hosts := v.SplitHosts(id, t)
	for i, n := range hosts {
		a.places[int32(n)]++
		again := false
		for _, other := range hosts[:i] {
			again = again || v.Rack(other) == v.Rack(n)
		}
		if !again {
			a.places[^int32(v.Rack(n))]++
		}
	}
}

// gave notes a container that a job was given on node n.
func (m *nearness) gave(v *state.View, p Pick, n state.NodeID) {
	a := m.asked.Of(p.Job)
	if !a.hears || p.Reason == Rerun || p.Reason == Master {
		return
	}
	if p.Task == Surplus {
		a.more[p.Kind]--
	} else {
		a.count[p.Kind]++
	}
	if p.Kind == state.Reduce {
		return
	}
	if p.Task != Surplus {
		a.given = append(a.given, p.Task)
		a.add(v, p.Job, p.Task)
	}
	if p.Reason <= Node {
		a.places[int32(n)]--
	}
	if p.Reason <= Rack {
		a.places[^int32(v.Rack(n))]--
	}
}

// asksAt reports whether YARN takes a job to ask for a map's container on node n, or in its rack.
func (m *nearness) asksAt(v *state.View, id state.JobID, n state.NodeID, level state.Level) bool {
	a := m.asked.Of(id)
	place := int32(n)
	if level == state.LevelRack {
		place = ^int32(v.Rack(n))
	}
	more := a.places[place]
	if more == 0 {
		return v.NextMap(id, n, level) != state.None
	}
	if more < 0 {
		v.EachMap(id, n, level, func(state.TaskID) bool {
			more++
			return more <= 0
		})
	}
	return more > 0
}

// wants returns how many containers of a kind YARN takes a job to wait for.
func (m *nearness) wants(v *state.View, id state.JobID, k state.Kind) int32 {
	return v.Waiting(id, k) + m.asked.Of(id).more[k]
}
