package steer

import (
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// size owns the memory and cores that a node offers to YARN: nothing else sets them.
// The node never offers more than the timetable leaves of it. During an opening it
// offers no more than is in use and was decided.
type size struct {
	node    *node
	full    yarnclient.Resource // the node's own size
	left    yarnclient.Resource // what the timetable leaves of it; all without a timetable
	offered int64               // memory in MB that the node was last set to offer; the node's own if it was not set
	calling bool                // whether a call that sets the size is under way
	sentAt  time.Time           // time when the last such call was answered
	behind  bool                // whether the node may offer something else than what the timetable leaves of it
	next    *opening            // opening whose size is set when the call under way is answered; nil: none
}

// registered notes that the node offers its own size, since it has registered with the
// ResourceManager.
func (s *size) registered(own yarnclient.Resource) {
	c := s.node.core
	if own != s.full {
		s.full, s.left = own, own
		if left, changed := c.capacity.now[s.node.name]; changed {
			s.left = c.limited(own, left)
		}
	}
	s.offered, s.behind = s.full.MemoryMB, s.left != s.full
}

// bind has the node offer what the opening op asks for. While another call that sets
// the size is under way, op waits for its answer.
func (s *size) bind(op *opening) {
	if s.calling {
		s.next = op
		return
	}
	s.set(op.size, op)
}

// set sends a size to YARN, for the opening op or, if op is nil, for the timetable.
func (s *size) set(memoryMB int64, op *opening) {
	c := s.node.core
	total := s.left
	if op != nil {
		size, lost := op.job.size[op.kind], c.lost[op.job.sub.label(op.kind)]
		total.MemoryMB += lost
		total.VCores += int(lost / max(1, int64(size.MemoryMB)) * int64(size.VCores))
	}
	total.MemoryMB = min(memoryMB, total.MemoryMB)
	s.calling, s.offered = true, total.MemoryMB
	set := &SetSize{Node: s.node.yarn, Total: total}
	c.change(set, &set.Number, func(err error) {
		s.calling, s.sentAt = false, c.now
		if err != nil {
			s.behind = true
			c.failed("set the size of node "+s.node.name, err)
		} else if op != nil && op.stage == checking && c.trouble == "" {
			op.sizedAt = c.now
			op.check() // containers may have ended while the size was being set, so the node's memory is checked again
		}
		if next := s.next; next != nil && next.stage == checking && c.trouble == "" {
			s.set(next.size, next)
		}
		s.next = nil
		s.follow()
	})
}

// leave notes that the timetable leaves the given size of the node.
func (s *size) leave(left yarnclient.Resource) {
	c, n := s.node.core, s.node
	s.left, s.behind = left, true
	c.record(&traces.NodeCapacity{T: c.at(), Node: traces.Node(n.name), MemoryBytes: left.MemoryMB << 20, VCores: int32(left.VCores)})
	s.follow()
	if op := n.active; op != nil && (op.stage == moving || op.stage == open) && !op.fits() {
		op.park("the timetable took the room on the node")
	}
	if n.limitRoom() {
		n.offer()
	}
}

// fits says whether the node has room for those of the opening's decisions that have no
// container yet, by what is left of it and the containers that are known.
func (op *opening) fits() bool {
	n := op.node
	used := n.othersMB
	for _, j := range n.core.jobs {
		for _, x := range j.live {
			if x.node == n {
				used += int64(j.size[x.kind].MemoryMB)
			}
		}
	}
	return used+int64(len(op.decisions)-op.granted)*int64(op.job.size[op.kind].MemoryMB) <= n.size.left.MemoryMB
}

// follow has the node offer what the timetable leaves of it. While an opening binds the
// node to a smaller size, the node keeps that: otherwise more containers could come
// than were decided.
func (s *size) follow() {
	c, op := s.node.core, s.node.active
	switch {
	case !s.behind || !c.capacity.begun || s.calling || !s.node.up || c.trouble != "":
	case op == nil:
		s.behind = false
		s.set(s.left.MemoryMB, nil)
	case (op.stage == moving || op.stage == open) && s.left.MemoryMB < s.offered:
		s.set(s.left.MemoryMB, nil)
	}
}

// saw compares the node's size with YARN's answer to a question of the time sent. A
// call without an answer may have taken effect late, and somebody else may have set
// the size.
func (s *size) saw(total yarnclient.Resource, sent time.Time) {
	c := s.node.core
	if c.capacity.begun && !s.calling && sent.After(s.sentAt) && (total.MemoryMB > s.left.MemoryMB || !c.acts && total != s.left) {
		s.behind = true
		s.follow()
	}
}

// limitRoom sets the room that the model sees on the node: what the timetable leaves
// of it, less what other applications use. It says whether that is another room than before.
func (n *node) limitRoom() bool {
	c := n.core
	capacity := state.Resource{MemoryMB: int32(n.size.left.MemoryMB - n.othersMB), VCores: 1 << 20}
	if c.Setup.CountCores {
		capacity.VCores = int32(n.size.left.VCores)
	}
	if capacity == c.view.Capacity(n.id) {
		return false
	}
	c.state.SetCapacity(n.id, capacity)
	return true
}

// timetable follows Options.Capacity from the first job on.
type timetable struct {
	state.Timetable
	begun bool
	now   map[string]state.Resource // what is left of those nodes that have changed so far
	from  time.Time                 // time at which the first job was seen
	next  int                       // number of the next change
	alarm *alarm
}

// readCapacity makes the timetable for the steered nodes of a list.
func (c *Core) readCapacity(list []yarnclient.Node) (err error) {
	var workers []traces.NodeFacts
	for _, n := range list {
		if c.byID[n.ID] != nil {
			workers = append(workers, traces.NodeFacts{
				Node: traces.Node(n.Host),
				Rack: n.Rack, MemoryBytes: n.Total.MemoryMB << 20, VCores: int32(n.Total.VCores),
			})
		}
	}
	c.capacity.Timetable, err = c.Capacity.Timetable(workers)
	return err
}

// beginCapacity starts the timetable when the first job is seen.
func (c *Core) beginCapacity() {
	t := &c.capacity
	if t.begun || len(t.Changes) == 0 {
		return
	}
	t.begun, t.from, t.now = true, c.now, map[string]state.Resource{}
	t.alarm = c.newAlarm(c.changeCapacity)
	if f, ok := sched.As[sched.Foreseer](c.Model); ok {
		ahead := t.Timetable
		ahead.FromMs = time.Duration(c.at()).Milliseconds() // a model's time begins with the run
		if told := ahead.Told(c.Seed, c.fullSize); told != nil {
			f.Foresee(told)
		}
	}
	c.changeCapacity()
}

// fullSize returns the size that the node of this name has without other load.
func (c *Core) fullSize(name string) (full state.Resource) {
	for _, n := range c.nodes {
		if n.name == name {
			full = state.Resource{MemoryMB: int32(n.size.full.MemoryMB), VCores: int32(n.size.full.VCores)}
		}
	}
	return full
}

// changeCapacity carries out the changes of the timetable that are due.
func (c *Core) changeCapacity() {
	t := &c.capacity
	for {
		change, ok := t.Change(t.next)
		if !ok {
			return
		}
		if wait := t.from.Add(time.Duration(change.AtMs) * time.Millisecond).Sub(c.now); wait > 0 {
			t.alarm.in(wait)
			return
		}
		t.next++
		t.now[change.Node] = change.Left
		for _, n := range c.nodes {
			if left := c.limited(n.size.full, change.Left); n.name == change.Node && left != n.size.left {
				n.size.leave(left)
			}
		}
	}
}

// limited returns what a node of the given size offers if the timetable leaves left of
// it. Cores are left alone where YARN does not count them for containers.
func (c *Core) limited(full yarnclient.Resource, left state.Resource) yarnclient.Resource {
	r := yarnclient.Resource{MemoryMB: min(full.MemoryMB, int64(left.MemoryMB)), VCores: full.VCores}
	if c.Setup.CountCores {
		r.VCores = min(full.VCores, int(left.VCores))
	}
	return r
}
