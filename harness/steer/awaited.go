package steer

import (
	"slices"

	"heddle/harness/state"
)

// awaited are a job's openings with a container that is not granted or not bound, oldest
// first. It finds the maps of these that have their input on a node or in a rack, so that
// an opening need not look at all others to know whether it must wait.
type awaited struct {
	all   []*opening
	added int // number of openings added so far
	// nodes and racks have the decisions for maps by where their splits are. Those of
	// openings that are not awaited any more are removed when the list is next used.
	nodes map[state.NodeID][]*decision
	racks map[state.RackID][]*decision
}

// add adds an opening.
func (a *awaited) add(op *opening) {
	a.added++
	op.job.core.awaits++
	op.place = a.added
	op.awaited = true
	a.all = append(a.all, op)
	for _, dec := range op.decisions {
		a.addDecision(dec)
	}
}

// addDecision adds a decision of an opening that was added before.
func (a *awaited) addDecision(dec *decision) {
	if dec.opening.kind != state.Map || dec.predicted == state.None {
		return
	}
	if a.nodes == nil {
		a.nodes, a.racks = map[state.NodeID][]*decision{}, map[state.RackID][]*decision{}
	}
	v := dec.job.core.view
	for _, host := range v.SplitHosts(dec.job.id, dec.predicted) {
		a.nodes[host] = append(unbound(a.nodes[host]), dec)
		rack := v.Rack(host)
		if list := unbound(a.racks[rack]); len(list) == 0 || list[len(list)-1] != dec {
			a.racks[rack] = append(list, dec)
		}
	}
}

// unbound returns the decisions of a list whose maps are not known yet.
func unbound(list []*decision) []*decision {
	return slices.DeleteFunc(list, func(d *decision) bool { return !d.opening.awaited || d.bound() })
}

func (a *awaited) remove(op *opening) {
	if i := slices.Index(a.all, op); i >= 0 {
		a.all = slices.Delete(a.all, i, i+1)
		op.job.core.awaits--
	}
	op.awaited = false
}

// mustWait says whether the decisions in op must wait for an earlier decision of the
// same job on another node. They must if the ApplicationMaster could run on op's node
// the map that was meant for the other node. The ApplicationMaster assigns maps to all
// new containers together: first node-local maps, then rack-local ones, then the rest.
// A map that is assigned already is no reason to wait. Nor is a map whose granted
// container is at least as near to the map's input as op's node, nor one that is off-rack
// on both nodes: whichever container comes first may have it. Where very many decisions
// wait, those of a job with many need not: they would wait for each other in turn, each for about a heartbeat of
// the ApplicationMaster, while nodes are idle.
func (op *opening) mustWait() bool {
	if op.kind != state.Map || !op.awaited || len(op.job.awaited.all) > manyOfJob && op.job.core.awaits > manyWait {
		return false
	}
	level, last := op.lastMap() // only maps that come before it on op's node are a reason to wait
	if last == state.None {
		return false
	}
	if op.blocker != nil && op.blocked(op.blocker, level, last) {
		return true
	}
	op.blocker = nil
	find := func(list []*decision) bool {
		for _, theirs := range list {
			if op.blocked(theirs, level, last) {
				op.blocker = theirs
				return true
			}
		}
		return false
	}
	a, here := &op.job.awaited, op.node.id
	switch level {
	case state.LevelNode:
		a.nodes[here] = unbound(a.nodes[here])
		return find(a.nodes[here])
	case state.LevelRack:
		rack := op.job.core.view.Rack(here)
		a.racks[rack] = unbound(a.racks[rack])
		return find(a.racks[rack])
	}
	for _, other := range a.all {
		if other == op {
			break
		}
		if find(other.decisions) {
			return true
		}
	}
	return false
}

// Where more than manyWait openings wait in all, and more than manyOfJob of one job, idle nodes count more than
// which of the job's maps runs where.
const (
	manyWait  = 100
	manyOfJob = 16
)

// blocked says whether op must wait for the decision theirs. The map last is that of op's
// that the ApplicationMaster would choose last for a container on op's node, and level is
// how near to the node its input is.
func (op *opening) blocked(theirs *decision, level state.Level, last state.TaskID) bool {
	other, t := theirs.opening, theirs.predicted
	if !other.awaited || other.place >= op.place || other.kind != op.kind || other.node == op.node || t == state.None || theirs.bound() {
		return false
	}
	v, id := op.job.core.view, op.job.id
	ours, meant := v.SplitLevel(id, t, op.node.id), v.SplitLevel(id, t, other.node.id)
	if theirs.container != nil && ours >= meant {
		return false // the ApplicationMaster gives this map to the other container, which is at least as near to its input
	}
	if ours == state.LevelOff && meant == state.LevelOff {
		return false // op may take it, and the other node one of op's: op has waited for those between that others are nearer to
	}
	return ours < level || ours == level && t < last
}

// lastMap returns the one of op's maps that the ApplicationMaster would choose last for a
// container on op's node, and how near to the node its input is.
func (op *opening) lastMap() (level state.Level, last state.TaskID) {
	last = state.None
	for _, dec := range op.decisions {
		if u := dec.predicted; u != state.None {
			if l := op.job.core.view.SplitLevel(op.job.id, u, op.node.id); last == state.None || l > level || l == level && u > last {
				level, last = l, u
			}
		}
	}
	return level, last
}
