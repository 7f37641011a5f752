package sim

import (
	"fmt"
	"slices"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// splits has temporary memory that is used while the hosts in a job's input
// splits are changed.
type splits struct {
	spec  state.JobSpec
	hosts state.Hosts
	taken []bool
}

// submit submits a job to package state, with the input splits that the job's
// ApplicationMaster will read.
//
// If Config.Actuator is Native, the simulated scheduler knows only the hosts
// in these splits, as Hadoop's does. Package state is then given these hosts
// as the replicas, and submit returns the nodes that really store the input in
// the result real. The result real is nil if package state was given these
// nodes.
func (s *Sim) submit(x *Job) (id state.JobID, real *state.Hosts, err error) {
	spec := &s.splits.spec
	*spec = x.JobSpec
	if s.Splits == CachedOnly {
		spec.SplitHosts = s.cachedOnly(x)
	}
	planner, plans := sched.As[sched.JobPlanner](s.Model)
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

// useSplitHosts replaces the replicas in a job's description by the hosts in
// the job's input splits, if Config.Actuator is Native. It returns the nodes
// that really store the input, or nil if it replaced nothing.
func (s *Sim) useSplitHosts(spec *state.JobSpec) (real *state.Hosts) {
	if s.Actuator != Native || spec.SplitHosts == nil {
		return nil
	}
	real = &state.Hosts{Nodes: slices.Clone(spec.Replicas.Nodes), Ends: slices.Clone(spec.Replicas.Ends)}
	spec.Replicas, spec.SplitHosts = *spec.SplitHosts, nil
	return real
}

// cachedOnly returns the nodes that cache each map's input. For a map whose
// input no node caches, it returns the nodes with a replica.
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

// rewrite puts a job's maps into the order that the scheduler model planned. It
// makes the planned host of each map the only host in the map's split.
func (s *Sim) rewrite(x *Job, plan sched.SplitPlan) error {
	p := &s.splits
	p.taken = resized(p.taken, int(x.Maps))
	p.hosts.Reset()
	var replicas, cached state.Hosts // the changed lists get memory of their own, because the job's lists may be shared with Config.Source
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

// of returns the nodes of map t in h, which lists the nodes with a replica or
// cached copy for each map.
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

// level returns how near node n is to the nearest of the given hosts: the same
// node, the same rack or farther.
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
