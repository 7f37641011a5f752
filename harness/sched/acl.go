package sched

import (
	"math"

	"heddle/harness/state"
	"heddle/traces"
)

// acl (adaptive cache-local) lets a job wait for a node that caches its input.
// It waits the longer, the more of the input is cached. Then it waits for a
// node that stores the input on disk.
//
// Rule. f is the share of the job's waiting maps whose block is cached on some
// node. On a heartbeat of node n, for each job in FIFO order:
//
//	if it has a cache-local map for n   launch; skips = 0
//	elif skips < C·f                    skips++; the next job
//	elif it has a node-local map for n  launch; skips = 0
//	elif skips < C·f + D                skips++; the next job
//	else                                launch the nearest: rack, then off
//
// With f = 0 or C = 0 it acts like the model delay with nodeSkips = D and
// rackSkips = 0, except that cached maps go first. Re-runs and reduces do not
// wait.
//
// Source. Kwak, Hwang, Yoo, Nam, Choi, "In-Memory Caching Orchestration for
// Hadoop", CCGrid 2016, and Kwak's thesis (UNIST 2017). We know both from their
// abstracts only. C and D, both numbers of skips, are as Ghazali et al.,
// "CLQLMRS", J. Cloud Computing 11:45 (2022), describe them. Example: f = 0.6
// and C = 5 skip 3 times before a node-local launch; f = 0.2 and C = 2 skip
// once.
//
// Parameters.
//
//	c  skips (3)   C, waited in full when all of the input is cached
//	d  skips (-1)  D; -1: as many as nodes are up
//
// Differs. A skip is one opportunity, as in delay. Counting one skip for each
// round of all nodes gave the same cache rate and longer makespans. The paper
// also replaces cached blocks, which is not a scheduler's task here. f counts
// the waiting maps and leaves out reserved ones. Where the ApplicationMaster binds
// late, "has a map for n" is asked of the map that it would start there.
type acl struct {
	Reasoning
	C float64 `default:"3" unit:"skips" text:"C: skips for a cache-local node, times the cached share of the waiting input"`
	D int64   `default:"-1" unit:"skips" min:"-1" text:"D: further skips before a map starts off its node; -1: as many as nodes are up"`

	skips PerJob[int64]
}

var aclInfo = Info{
	Name:    "acl",
	Use:     ForLocality,
	Summary: "waits for a node that caches the input, the longer the more is cached, then for one that stores it",
	Source:  "Kwak et al., CCGrid 2016 (abstract); C and D after Ghazali et al., J. Cloud Computing 11:45 (2022)",
	Params:  ParamsOf[acl](),
	Build:   func(a Args) (Model, error) { return PerNode{new(ValuesOf[acl](a))}, nil },
}

func (m *acl) Name() string { return "acl" }

func (m *acl) Choose(v *state.View, n state.NodeID) (Pick, bool) {
	m.Begin(traces.WaitSkips)
	d := m.D
	if d < 0 {
		d = int64(v.NodesUp())
	}
	for jobs := FIFOOrder(v); ; {
		id, ok := jobs.Next()
		if !ok {
			return Pick{}, false
		}
		if d, ok := RerunOrReduce(v, id, n); ok {
			return d, true
		}
		if !WantsMap(v, id, n) {
			m.PassOver(id, traces.PassedNoRoom, 0)
			continue
		}
		skips := m.skips.Of(id)
		farthest := m.farthest(v, id, *skips, d)
		t, level := nearestToStart(v, id, n, farthest)
		if t == state.None {
			m.PassOver(id, traces.PassedWaits, *skips)
			*skips++
			continue
		}
		if m.Keeps() {
			m.tell(v, id, *skips, d, level, farthest)
		}
		if level <= state.LevelNode {
			*skips = 0
		}
		return MapPick(id, t, level), true
	}
}

// nearestToStart returns the nearest map that can start on the node, None if none is as near
// as allowed. Where the ApplicationMaster binds late, only its own choice can start.
func nearestToStart(v *state.View, id state.JobID, n state.NodeID, farthest state.Level) (state.TaskID, state.Level) {
	if !v.LateBinding() {
		return v.Nearest(id, n, state.LevelCache, farthest)
	}
	t, _ := v.WouldBind(id, n)
	if level := v.Level(id, t, n); level <= farthest {
		return t, level
	}
	return state.None, farthest
}

// farthest returns the farthest locality level at which the job may start a
// map, after it has been skipped this many times.
func (m *acl) farthest(v *state.View, id state.JobID, skips, d int64) state.Level {
	// The explicit conversion to float64 stops the compiler from fusing
	// multiplication and addition. So every machine computes the same number of
	// skips and decides the same.
	forCache := float64(m.C * float64(v.WaitingCached(id)) / float64(v.Waiting(id, state.Map)))
	switch {
	case float64(skips) < forCache:
		return state.LevelCache
	case v.Locations(id) > 0 && float64(skips) < forCache+float64(d):
		return state.LevelNode
	}
	return state.LevelOff
}

// tell keeps how often the job was skipped, and the limit for a map at this level.
func (m *acl) tell(v *state.View, id state.JobID, skips, d int64, level, farthest state.Level) {
	limit := float64(m.C * float64(v.WaitingCached(id)) / float64(v.Waiting(id, state.Map)))
	if level > state.LevelNode && v.Locations(id) > 0 {
		limit += float64(d)
	}
	m.Wait(skips, int64(math.Ceil(limit)), farthest)
}
