package why

import "heddle/traces"

// place is where decisions without an outcome are looked for: an attempt in the same place
// may be that of any of them.
type place struct {
	job  traces.JobID
	kind traces.TaskKind
	node traces.Node
}

// awaited are the decisions of a place whose outcome is not known, and the attempts that
// have ended and may be theirs.
type awaited struct {
	decisions int
	attempts  []*attempt
}

func placeOf(d *traces.Decision) place { return place{d.Job, d.What, d.Node} }

func (r *reader) awaited(p place) *awaited {
	w := r.slotsOpen[p]
	if w == nil {
		w = &awaited{}
		r.slotsOpen[p] = w
	}
	return w
}

func (r *reader) actuated(e *traces.Actuation) {
	d := r.decisions[e.Decision]
	if d == nil {
		return
	}
	delete(r.decisions, e.Decision)
	a := r.attempts[e.Bound]
	if e.Bound.Job == "" && e.Container != "" {
		a = r.containers[e.Container]
	}
	switch j := r.jobs[e.Bound.Job]; {
	case a != nil:
		a.link(d)
		r.offer(a)
	case j != nil:
		j.bound[e.Bound] = d
	}
	w := r.awaited(placeOf(d))
	if w.decisions--; w.decisions == 0 {
		delete(r.slotsOpen, placeOf(d))
		for _, a := range w.attempts {
			a.waits = false
			r.offer(a)
		}
	}
}

// link notes the decision that brought an attempt its container.
func (a *attempt) link(d *traces.Decision) {
	if a.linked {
		return
	}
	a.linked = true
	x := a.x
	x.Decision = &Decision{ID: d.ID, At: Ms(d.T), Reason: d.Reason, Values: d.Values}
	meant := d.TaskIndex
	if d.What == traces.Map && d.BindIndex >= 0 {
		meant = d.BindIndex
	}
	if meant >= 0 && meant != x.Attempt.Index {
		x.Decision.Meant = &traces.Task{Job: d.Job, Kind: d.What, Index: meant}
	}
	s := d.Seen
	if s == nil {
		return
	}
	y := x.Decision
	y.ViewAgeMs, y.OneNode, y.Passed, y.MorePassed = s.ViewAgeMs, s.OneNode, s.Passed, s.MorePassed
	y.Waited, y.Limit, y.WaitUnit, y.Farthest = s.Waited, s.Limit, s.WaitUnit, s.Farthest
	if y.Meant != nil || d.Node != x.Node {
		return // what the model saw is about another map
	}
	x.Seen, x.Facts = true, y.At
	x.Nearer, x.MoreNearer = nil, int(s.MoreCandidates)
	for _, c := range s.Candidates {
		n := Nearer{Node: c.Node, Level: c.Level, Room: c.Room.String(), Running: -1}
		if c.Room == traces.RoomSlots {
			n.Room, n.Slots = RoomFull, true
		}
		if c.Room != traces.RoomFree && c.ForMs >= 0 {
			n.Since = new(y.At - Ms(c.ForMs)*1e6)
		}
		x.Nearer = append(x.Nearer, n)
	}
}
