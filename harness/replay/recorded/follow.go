package recorded

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// Follow makes a simulation offer nodes to the model at the times of the recorded
// heartbeats, and returns the jobs for it. The model then sees what it saw on the real
// cluster, and should decide the same.
//
// In this mode only attempts take time; all other costs are zero. An attempt's
// container takes memory and cores from the scheduling decision until the scheduler
// saw them free. This is at the attempt's end, or at the heartbeat at which another
// task got them, whichever is later.
func (m *Source) Follow(x *sim.Config) (*sim.Jobs, error) {
	t := m.Trace
	switch {
	case len(t.Heartbeats) == 0:
		return nil, fmt.Errorf("replay: trace %s has no heartbeats to follow: only runs under labels record them", t.Name)
	case len(t.Decisions) == 0:
		return nil, fmt.Errorf("replay: trace %s has no decisions to follow: only runs under labels record them", t.Name)
	case m.Costs != nil:
		return nil, errors.New("replay: recorded heartbeats can only be followed with recorded durations")
	case m.Change.PlacesBlocks():
		return nil, errors.New("replay: recorded heartbeats can only be followed on the recorded nodes, racks and replicas")
	}
	for _, b := range t.Heartbeats {
		n := m.ids[b.Node]
		if n == state.None {
			return nil, fmt.Errorf("replay: trace %s has a heartbeat of node %s, which is not a worker", t.Name, t.NodeName(b.Node))
		}
		x.Opportunities = append(x.Opportunities, sim.Opportunity{AtMs: b.T.Milliseconds(), Node: n})
	}
	beat := x.Costs.AMBeatMs
	x.Costs, x.Actuator = sim.NoCosts(), sim.Ideal
	x.Costs.AMBeatMs = beat
	m.roomMs = t.roomMs(m.machines)
	jobs := &sim.Jobs{}
	for j := (sim.Job{}); m.Next(&j); j = (sim.Job{}) { // a new sim.Job in each round, because jobs.List keeps the jobs made before
		jobs.List = append(jobs.List, j)
	}
	m.asFollowed(jobs.List)
	return jobs, nil
}

// roomMs returns, for each attempt, for how many ms after the scheduling decision the
// attempt's container kept its memory and cores from others.
func (t *Trace) roomMs(x *sim.Machines) map[*Attempt]float64 {
	type held struct {
		Decision
		attempt *Attempt
		until   traces.Time
		next    bool // true: a later decision has already used the memory and cores that this attempt left
	}
	bound := map[attemptKey]*Attempt{}
	for a := range t.attempts.all() {
		bound[attemptKey{taskKey{a.job, a.Index, a.Kind}, a.number}] = a
	}
	byNode := map[traces.Node][]*held{}
	for _, d := range t.Decisions {
		if a := bound[d.bound]; a != nil && a.End > 0 {
			n := t.NodeName(d.Node)
			byNode[n] = append(byNode[n], &held{Decision: d, attempt: a, until: a.End})
		}
	}
	ms := map[*Attempt]float64{}
	for _, n := range x.Nodes {
		list := byNode[traces.Node(n.Name)]
		slots := t.slots(n.Capacity)
		for i, d := range list {
			before := slices.DeleteFunc(slices.Clone(list[:i]), func(h *held) bool { return h.next })
			if len(before) >= slots {
				first := slices.MinFunc(before, func(a, b *held) int { return cmp.Compare(a.until, b.until) })
				first.next = true
				first.until = max(first.until, t.beatBefore(d.Node, d.T))
			}
		}
		for _, d := range list {
			ms[d.attempt] = float64(d.until.Milliseconds() - t.beatBefore(d.Node, d.T).Milliseconds())
		}
	}
	return ms
}

// The method asFollowed changes the jobs' times for a replay that follows recorded
// heartbeats. A job arrives when its ApplicationMaster first asked for containers,
// since the scheduler model learnt of the job then. Its reduces are asked for when
// the model chose them, because the time of the real request is not recorded. Jobs
// are ordered by the first decision for each.
func (m *Source) asFollowed(list []sim.Job) {
	first := map[traces.JobID]int64{}
	asked := map[traces.JobID][]int64{}
	for _, d := range m.Trace.Decisions {
		job := m.Trace.JobName(d.Job)
		if _, ok := first[job]; !ok {
			first[job] = d.ID
		}
		if d.What == traces.Reduce {
			asked[job] = append(asked[job], m.Trace.beatBefore(d.Node, d.T).Milliseconds())
		}
	}
	slices.SortStableFunc(list, func(a, b sim.Job) int { return cmp.Compare(first[a.ID], first[b.ID]) })
	for i := range list {
		x := &list[i]
		x.SubmitMs, x.AMStartMs, x.ReduceAskMs = x.SubmitMs+int64(x.AMStartMs), 0, asked[x.ID]
		if i > 0 {
			x.SubmitMs = max(x.SubmitMs, list[i-1].SubmitMs)
		}
		for k := range x.ReduceAskMs {
			x.ReduceAskMs[k] -= x.SubmitMs
		}
	}
}

// slots returns how many map containers of the trace's first job fit on a node.
func (t *Trace) slots(room state.Resource) int {
	size := sizeOf(t.Jobs[0].MapMemoryBytes, t.Jobs[0].MapVCores)
	n := 0
	for room = room.Sub(size); room.MemoryMB >= 0 && room.VCores >= 0; room = room.Sub(size) {
		n++
	}
	return n
}

// beatBefore returns the time of the node's last heartbeat at or before t.
func (t *Trace) beatBefore(n nodeIndex, at traces.Time) traces.Time {
	var last traces.Time
	for _, b := range t.Heartbeats {
		if b.T > at {
			break
		}
		if b.Node == n {
			last = b.T
		}
	}
	return last
}
