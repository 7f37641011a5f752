package sim

import (
	"fmt"
	"slices"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// splits is scratch memory for rewriting the splits of jobs.
type splits struct {
	spec  state.JobSpec
	hosts state.Hosts
	taken []bool
}

// submit submits a job to the State with the splits that its ApplicationMaster
// will read.
//
// Hadoop's own scheduler knows only these splits. So under Native the State is
// told that the replicas are where the splits say. real is where they really
// are, nil if as the State says.
func (s *Sim) submit(x *Job) (id state.JobID, real *state.Hosts, err error) {
	spec := &s.splits.spec
	*spec = x.JobSpec
	if s.Splits == CachedOnly {
		spec.SplitHosts = s.cachedOnly(x)
	}
	planner, plans := s.Model.(sched.JobPlanner)
	plans = plans && s.Splits == Planned
	if !plans {
		real = s.useSplitHosts(spec)
	}
	if id, err = s.state.Submit(spec); err != nil || !plans {
		return id, real, err
	}
	plan, ok := planner.PlanJob(s.view, id)
	if !ok {
		return id, nil, nil
	}
	if err := s.rewrite(x, plan); err != nil {
		return id, nil, err
	}
	*spec = x.JobSpec
	spec.SplitHosts = &s.splits.hosts
	real = s.useSplitHosts(spec)
	return id, real, s.state.Resplit(id, spec)
}

// useSplitHosts makes the split hosts the replicas under Native. It returns the
// real replicas, nil if the two are the same.
func (s *Sim) useSplitHosts(spec *state.JobSpec) (real *state.Hosts) {
	if s.Actuator != Native || spec.SplitHosts == nil {
		return nil
	}
	real = &state.Hosts{Nodes: slices.Clone(spec.Replicas.Nodes), Ends: slices.Clone(spec.Replicas.Ends)}
	spec.Replicas, spec.SplitHosts = *spec.SplitHosts, nil
	return real
}

// cachedOnly returns the nodes with a cached copy of each map's input, or the
// replicas of a map without one.
func (s *Sim) cachedOnly(x *Job) *state.Hosts {
	h := &s.splits.hosts
	h.Reset()
	for t := range x.Maps {
		if cached := of(&x.Cached, t); len(cached) > 0 {
			h.Add(cached...)
		} else {
			h.Add(of(&x.Replicas, t)...)
		}
	}
	return h
}

// rewrite orders a job's maps as a plan says, and makes the planned host the
// only split host of each.
func (s *Sim) rewrite(x *Job, plan sched.SplitPlan) error {
	p := &s.splits
	p.taken = resized(p.taken, int(x.Maps))
	p.hosts.Reset()
	var replicas, cached state.Hosts // new ones, because those of x may be shared with its source
	var works []Work
	var blocks []traces.Block
	for _, e := range plan {
		switch {
		case e.Split < 0 || int32(e.Split) >= x.Maps:
			return fmt.Errorf("plan of job %q: split %d: the job has %d splits, numbered from 0", x.Name, e.Split, x.Maps)
		case p.taken[e.Split]:
			return fmt.Errorf("plan of job %q: split %d is in it twice", x.Name, e.Split)
		case e.Node < 0 || int(e.Node) >= len(s.nodes):
			return fmt.Errorf("plan of job %q: split %d on node %d: the cluster has %d nodes, numbered from 0", x.Name, e.Split, e.Node, len(s.nodes))
		}
		p.taken[e.Split] = true
		p.hosts.Add(e.Node)
		replicas.Add(of(&x.Replicas, int32(e.Split))...)
		cached.Add(of(&x.Cached, int32(e.Split))...)
		works = append(works, *work(x.MapWork, int32(e.Split), x.Maps))
		if x.Blocks != nil {
			blocks = append(blocks, x.Blocks[e.Split])
		}
	}
	if len(plan) != int(x.Maps) {
		return fmt.Errorf("plan of job %q: it has %d splits, but the job has %d", x.Name, len(plan), x.Maps)
	}
	x.Replicas, x.Cached, x.MapWork, x.Blocks = replicas, cached, works, blocks
	return nil
}

// of returns the nodes that h lists for map t.
func of(h *state.Hosts, t int32) []state.NodeID {
	if int(t) >= len(h.Ends) {
		return nil
	}
	start := int32(0)
	if t > 0 {
		start = h.Ends[t-1]
	}
	return h.Nodes[start:h.Ends[t]]
}

// replicas returns the nodes that store map t's input on disk.
func (s *Sim) replicas(j *job, t state.TaskID) []state.NodeID {
	if j.replicas != nil {
		return of(j.replicas, int32(t))
	}
	return s.view.Replicas(j.id, t)
}

// level returns how near n is to the nearest of hosts.
func (s *Sim) level(hosts []state.NodeID, n state.NodeID) state.Level {
	if slices.Contains(hosts, n) {
		return state.LevelNode
	}
	for _, h := range hosts {
		if s.nodes[h].rack == s.nodes[n].rack {
			return state.LevelRack
		}
	}
	return state.LevelOff
}
