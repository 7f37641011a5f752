package why

import (
	"slices"

	"heddle/harness/state"
	"heddle/traces"
)

// mostNearer is how many nearer nodes an Explanation has.
const mostNearer = 8

// resolve notes which nodes were nearer to the input of the attempts that started at the
// time now, and whether these were full. It is called when all events of that time are known.
//
// A node was full if it had no room before that time and has none after it: that a container
// ended and another one started at one moment left no room.
func (r *reader) resolve() {
	for _, a := range r.fresh {
		a.resolved = true
		if a.tries > 0 {
			a.x.Before = before(&a.input.tries[a.tries-1])
		}
		if !a.x.Seen && a.x.Attempt.Kind == traces.Map {
			r.findNearer(a)
		}
		r.offer(a)
	}
	r.fresh = r.fresh[:0]
}

// before describes an attempt that started before another one.
func before(t *try) *Before {
	b := &Before{Number: t.number, Node: t.node, Outcome: t.outcome, KilledBy: t.killer}
	if t.ended {
		b.End = new(Ms(t.end))
	}
	return b
}

func (r *reader) findNearer(a *attempt) {
	x, t := a.x, a.input
	var at []Nearer
	b := r.blocks[t.block]
	if b != nil && t.hasBlock && len(b.replicas)+len(b.cached) > 0 {
		for _, n := range b.cached {
			at = append(at, Nearer{Node: n, Level: traces.LevelCache})
		}
		for _, n := range b.replicas {
			if !slices.Contains(b.cached, n) {
				at = append(at, Nearer{Node: n, Level: traces.LevelNode})
			}
		}
		x.namesSplit = false
	} else {
		for _, n := range t.hosts {
			at = append(at, Nearer{Node: n, Level: traces.LevelNode})
		}
	}
	x.hasInput = len(at) > 0
	if x.Level == traces.LevelUnknown && x.hasInput && a.node != nil {
		x.Level, x.BySplit = r.level(a.node, at), true
	}
	for _, n := range at {
		if x.Level == traces.LevelUnknown || n.Level >= x.Level || n.Node == x.Node {
			continue
		}
		if len(x.Nearer) == mostNearer {
			x.MoreNearer++
			continue
		}
		r.room(a, &n)
		x.Nearer = append(x.Nearer, n)
	}
}

// level returns how near a node is to the nodes in a list.
func (r *reader) level(n *node, at []Nearer) traces.Level {
	level := traces.LevelOff
	for _, other := range at {
		if other.Node == n.name {
			return other.Level
		}
		if o := r.nodes[other.Node]; o != nil && o.rack == n.rack && n.rack != "" {
			level = traces.LevelRack
		}
	}
	return level
}

// room finds out whether a node could have taken the container of an attempt.
func (r *reader) room(a *attempt, at *Nearer) {
	n := r.nodes[at.Node]
	if n == nil {
		at.Room = RoomUnknown
		return
	}
	at.Running = n.running
	since, ok := n.log.FullSince(&a.need)
	switch {
	case !n.up:
		at.Room, since, ok = RoomDown, int64(n.downAt), true
	case !(n.memoryKnown && a.needKnown) && !r.slots:
		at.Room = RoomUnknown
		return
	case n.free.Holds(&a.need), ok && since == int64(a.x.Start):
		at.Room = RoomFree
		return
	default:
		at.Room = RoomFull
		at.Slots = r.slotsLimit(n.free, a.need)
	}
	if ok {
		at.Since = new(Ms(since))
	}
}

// slotsLimit says whether a node's slots, and nothing else, keep a container from it: what it
// has left is free.
func (r *reader) slotsLimit(free, need state.Amounts) bool {
	return r.slots && free[0] >= need[0] && free[1] >= need[1]
}

// offer adds an attempt to those that are explained, if all that concerns it is known.
func (r *reader) offer(a *attempt) {
	if a.done || !a.ended || !a.resolved {
		return
	}
	if !a.linked {
		if w := r.slotsOpen[place{a.x.Attempt.Job, a.x.Attempt.Kind, a.x.Node}]; w != nil {
			if !a.waits {
				a.waits = true
				w.attempts = append(w.attempts, a)
			}
			return
		}
	}
	r.explained(a)
}

func (r *reader) explained(a *attempt) {
	a.done = true
	if r.attempts[a.x.Attempt] == a {
		delete(r.attempts, a.x.Attempt)
	}
	if r.containers[a.container] == a {
		delete(r.containers, a.container)
	}
	a.x.tellUnknown()
	r.done = append(r.done, a.x)
}

// rest returns the attempts that are left at the end of the trace.
func (r *reader) rest() []*Explanation {
	r.resolve()
	left := make([]*attempt, 0, len(r.attempts))
	for _, a := range r.attempts {
		left = append(left, a)
	}
	slices.SortFunc(left, func(a, b *attempt) int { return Compare(a.x.Attempt, b.x.Attempt) })
	for _, a := range left {
		r.explained(a)
	}
	return r.done
}
