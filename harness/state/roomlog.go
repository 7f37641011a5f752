package state

import (
	"math"
	"slices"

	"heddle/traces"
)

// Amounts are what a node has free, or what a container needs of a node: memory, cores,
// and slots for maps and for reduces. The unit of the memory is the caller's.
type Amounts [4]int64

// Holds reports whether a has at least as much of everything as b.
func (a *Amounts) Holds(b *Amounts) bool {
	return a[0] >= b[0] && a[1] >= b[1] && a[2] >= b[2] && a[3] >= b[3]
}

// Unlimited stands for what is not counted: more than containers can take.
const Unlimited = math.MaxInt64 / 4

// Capacity returns what a node has for containers by the rules of the cluster of a trace,
// which is in its header. The unit of the memory is bytes.
func Capacity(h *traces.Header, memoryBytes int64, vcores int32) Amounts {
	a := Amounts{min(memoryBytes, Unlimited/2), Unlimited, Unlimited, Unlimited}
	if vcores > 0 && h.CountsCores() {
		a[1] = int64(vcores)
	}
	if h.MapSlots > 0 || h.ReduceSlots > 0 {
		a[2], a[3] = int64(h.MapSlots), int64(h.ReduceSlots)
	}
	return a
}

// RoomLog remembers what a node had free in the past, as far as it takes to say since when
// the node has been too full for a container. The zero value is ready for use.
//
// The log drops a span of time if the node had at least as much free in a later one. So it
// is short: what is left gets less from one span to the next.
type RoomLog struct {
	spans []span
}

// span is a time during which what a node had free did not change.
type span struct {
	until int64
	free  Amounts
}

// mostSpans limits the memory of a RoomLog.
const mostSpans = 16

// Changed notes that what the node has free changes now, and what it was until now.
// The argument now must not be less than in earlier calls.
func (l *RoomLog) Changed(now int64, until *Amounts) {
	n := len(l.spans)
	for n > 0 {
		last := &l.spans[n-1]
		if last.until == now {
			return // the node had this much free for no time at all
		}
		if !until.Holds(&last.free) {
			break
		}
		n--
	}
	l.spans = l.spans[:n]
	if n == mostSpans {
		l.spans = slices.Delete(l.spans, 0, 1)
	}
	l.spans = append(l.spans, span{now, *until})
}

// FullSince returns since when the node has not had as much free as a container needs.
// The node must not have it now. If it never had, so far as the log goes back, ok is false:
// the log keeps 16 spans at most.
func (l *RoomLog) FullSince(need *Amounts) (since int64, ok bool) {
	for i := len(l.spans) - 1; i >= 0; i-- {
		if l.spans[i].free.Holds(need) {
			return l.spans[i].until, true
		}
	}
	return 0, false
}

// Need returns what a container for a task of kind k needs of a node.
func Need(memory, cores int64, k Kind) Amounts {
	need := Amounts{memory, cores}
	need[2+k] = 1
	return need
}

// Minus returns what is left of a without b.
func (a Amounts) Minus(b Amounts) Amounts {
	return Amounts{a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]}
}

// nodeLog is what a State that follows room remembers of a node.
type nodeLog struct {
	room RoomLog
	down int64 // when the node was lost last
}

// FollowRoom makes the State remember since when nodes have been full, for View.FullSince.
// It is called before the first node is added. Without it, the State saves this time.
func (s *State) FollowRoom() { s.logs = []nodeLog{} }

// logRoom notes that what a node has free is about to change.
func (s *State) logRoom(n NodeID) {
	if s.logs != nil {
		until := s.amounts(&s.nodes[n])
		s.logs[n].room.Changed(s.now, &until)
	}
}

// amounts returns what a node has free. Without slots there are as many as anybody needs.
func (s *State) amounts(x *node) Amounts {
	a := Amounts{int64(x.free.MemoryMB), int64(x.free.VCores), math.MaxInt64, math.MaxInt64}
	if s.slots != [2]int32{} {
		a[2], a[3] = int64(s.slots[Map]-x.taken[Map]), int64(s.slots[Reduce]-x.taken[Reduce])
	}
	return a
}

// FullSince returns since when a node that has no room for a container of the job, for a
// task of kind k, has had none, in nanoseconds since the run's start. Of a node that is down
// it returns when that was lost. The result ok is false if that is not known: see
// State.FollowRoom and RoomLog.
func (v *View) FullSince(n NodeID, id JobID, k Kind) (since int64, ok bool) {
	if v.s.logs == nil {
		return 0, false
	}
	l := &v.s.logs[n]
	if !v.Up(n) {
		return l.down, true
	}
	size := v.ContainerSize(id, k)
	need := Need(int64(size.MemoryMB), int64(size.VCores), k)
	return l.room.FullSince(&need)
}
