package sched

import "heddle/harness/state"

// nearness is how jobs wait for nodes near their input in YARN's Capacity scheduler.
type nearness struct {
	Reasoning
	NodeLocalityDelay           int64 `default:"40" unit:"nodes" min:"-1" text:"missed before rack-local maps, at most the nodes that are up; -1: none"`
	RackLocalityAdditionalDelay int64 `default:"-1" unit:"nodes" min:"-1" text:"missed besides before off-rack maps; -1: by the number of waiting maps and places asked for"`
	RackLocalityFullReset       bool  `default:"true" text:"a rack-local map starts the count of missed nodes anew"`

	missed PerJob[int64]
	asked  PerJob[asked]
	begun  []state.JobID // jobs with memory in asked
}

// tell keeps how many offered nodes the job has let pass, this one not counted, and the limit
// for a map at this level.
func (m *nearness) tell(v *state.View, id state.JobID, passed int64, level state.Level) {
	if v.Locations(id) == 0 {
		return
	}
	rack, off := m.allowed(v, id, passed+1)
	rackAfter, offAfter := m.limits(v, id)
	limit, farthest := rackAfter, state.LevelNode
	if level == state.LevelOff || level == state.LevelRack && !rack {
		limit = offAfter
	}
	switch {
	case off:
		farthest = state.LevelOff
	case rack:
		farthest = state.LevelRack
	}
	m.Wait(passed, limit, farthest)
}

// chooseMap returns the waiting map of the job that is nearest to its input on
// node n, or Surplus, if the job may start one there now. If no map is node-local, the node counts as a missed opportunity of
// the job. The reason says as what YARN counts the container, by what the job asks for.
func (m *nearness) chooseMap(v *state.View, id state.JobID, n state.NodeID) (Pick, bool) {
	missed := m.missed.Of(id)
	*missed++
	passed, level := *missed-1, state.LevelNode
	if !m.asksAt(v, id, n, level) || !m.asksAt(v, id, n, state.LevelRack) {
		level = state.LevelRack
		if rack, off := m.allowed(v, id, *missed); !rack || !m.asksAt(v, id, n, level) {
			if !off {
				return Pick{}, false
			}
			level = state.LevelOff
		}
	}
	t, _ := v.Nearest(id, n, state.LevelNode, state.LevelOff)
	if m.Keeps() {
		m.tell(v, id, passed, level)
	}
	if level == state.LevelNode || level == state.LevelRack && m.RackLocalityFullReset {
		*missed = 0
	}
	return MapPick(id, orSurplus(t), level), true
}

// allowed says whether a job may start rack-local and off-rack maps after
// missed opportunities: nodes offered to it on which it started no map nearby.
func (m *nearness) allowed(v *state.View, id state.JobID, missed int64) (rack, off bool) {
	rackAfter, offAfter := m.limits(v, id)
	return missed > rackAfter, missed > offAfter
}

// limits returns how many offered nodes the job must leave unused before it may start
// rack-local and off-rack maps.
func (m *nearness) limits(v *state.View, id state.JobID) (rack, off int64) {
	nodes, waiting := int64(v.ClusterNodes()), int64(m.wants(v, id, state.Map))
	rack = max(0, min(nodes, m.NodeLocalityDelay))
	if m.RackLocalityAdditionalDelay >= 0 {
		return rack, max(0, min(nodes, m.NodeLocalityDelay+m.RackLocalityAdditionalDelay))
	}
	return rack, offSwitchAfter(nodes, waiting, 1+int64(v.Locations(id)))
}

// offSwitchAfter returns how many offered nodes a job must leave unused before
// it may start off-rack maps: min(nodes, waiting·f), rounded down to a whole
// number of nodes.
func offSwitchAfter(nodes, waiting, asks int64) int64 {
	if nodes == 0 || asks > nodes {
		return min(nodes, waiting)
	}
	return min(nodes, waiting*(asks-1)/nodes)
}
