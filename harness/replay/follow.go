package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// follow has the simulator offer nodes when the recorded heartbeats did. The
// model then sees what it saw on the real cluster, and should decide the same.
//
// For that, nothing takes time but attempts, and these last from their decision
// to when their room was seen to be free: their end, or the heartbeat of the
// decision that took their place where that is later.
func (c *Config) follow(x *sim.Config, m *jobMaker) (*sim.Jobs, error) {
	t := c.Trace
	switch {
	case len(t.Heartbeats) == 0 || len(t.Decisions) == 0:
		return nil, fmt.Errorf("trace %s has no heartbeats and decisions to follow: only runs under labels do", t.Name)
	case c.Modelled || c.Change.moves():
		return nil, errors.New("replay: what follows recorded heartbeats has the recorded nodes and durations")
	}
	for _, b := range t.Heartbeats {
		n := slices.IndexFunc(m.machines.Nodes, func(n sim.Node) bool { return n.Name == string(b.Node) })
		if n < 0 {
			return nil, fmt.Errorf("trace %s: a heartbeat of node %s, which is no worker", t.Name, b.Node)
		}
		x.Opportunities = append(x.Opportunities, sim.Opportunity{AtMs: b.T.Milliseconds(), Node: state.NodeID(n)})
	}
	beat := x.Costs.AMBeatMs
	x.Costs, x.Actuator = sim.NoCosts(), sim.Ideal
	x.Costs.AMBeatMs = beat
	m.holds = t.holds(m.machines)
	jobs := &sim.Jobs{}
	for j := (sim.Job{}); m.Next(&j); j = (sim.Job{}) { // each in memory of its own
		jobs.List = append(jobs.List, j)
	}
	m.asFollowed(jobs.List)
	return jobs, nil
}

// holds is how long, in ms, attempts held their room from their decision on.
func (t *Trace) holds(x *sim.Machines) map[*Attempt]float64 {
	type held struct {
		Decision
		attempt *Attempt
		until   traces.Time
		next    bool // its room was taken again
	}
	bound := map[traces.Attempt]*Attempt{}
	for i := range t.attempts {
		bound[t.name(&t.attempts[i])] = &t.attempts[i]
	}
	byNode := map[traces.Node][]*held{}
	for _, d := range t.Decisions {
		if a := bound[d.Bound]; a != nil && a.End > 0 {
			byNode[d.Node] = append(byNode[d.Node], &held{Decision: d, attempt: a, until: a.End})
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

// name is what events call an attempt.
func (t *Trace) name(a *Attempt) traces.Attempt {
	return traces.Attempt{Task: traces.Task{Job: t.jobNames[a.job], Kind: a.Kind, Index: a.Index}, Number: a.number}
}

// asFollowed has jobs come when their masters asked for containers, which is
// when the model learnt of them, in the order in which it served them; and
// reduces when it chose them: when they were asked for is not recorded.
func (m *jobMaker) asFollowed(list []sim.Job) {
	first := map[traces.JobID]int64{}
	asked := map[traces.JobID][]int64{}
	for _, d := range m.Trace.Decisions {
		if _, ok := first[d.Job]; !ok {
			first[d.Job] = d.ID
		}
		if d.What == traces.Reduce {
			asked[d.Job] = append(asked[d.Job], m.Trace.beatBefore(d.Node, d.T).Milliseconds())
		}
	}
	slices.SortStableFunc(list, func(a, b sim.Job) int { return cmp.Compare(first[a.ID], first[b.ID]) })
	for i := range list {
		x := &list[i]
		x.SubmitMs, x.AMStartMs, x.ReduceAskMs = x.SubmitMs+int64(x.AMStartMs), 0, asked[x.ID]
		if i > 0 {
			x.SubmitMs = max(x.SubmitMs, list[i-1].SubmitMs)
		}
	}
}

// slots is how many of the jobs' maps a node holds.
func (t *Trace) slots(room state.Resource) int {
	size := sizeOf(t.Jobs[0].MapMemoryBytes, t.Jobs[0].MapVCores)
	n := 0
	for room = room.Sub(size); room.MemoryMB >= 0 && room.VCores >= 0; room = room.Sub(size) {
		n++
	}
	return n
}

// beatBefore is when the node last reported, at t or before.
func (t *Trace) beatBefore(n traces.Node, at traces.Time) traces.Time {
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
