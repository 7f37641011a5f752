package sim

import (
	"fmt"
	"slices"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// splits decide which hosts a job's ApplicationMaster sees in the job's input splits.
type splits struct {
	state  *state.State
	which  Splits
	native bool             // the scheduler knows the hosts in the splits alone, as Hadoop's does
	plans  sched.JobPlanner // makes the splits of each job; nil: none does
	nodes  int              // number of the cluster's nodes
	spec   state.JobSpec    // the fields from here on are memory for submit
	hosts  state.Hosts
	taken  []bool
}

func (p *splits) begin(c *Config, s *state.State) {
	p.state, p.which, p.native, p.plans, p.nodes = s, c.Splits, c.Actuator == Native, nil, len(c.Cluster.Nodes)
	if c.Splits == Planned {
		p.plans, _ = sched.As[sched.JobPlanner](c.Model)
	}
}

// submit submits a job to package state, with the input splits that the job's
// ApplicationMaster will read.
//
// If Config.Actuator is Native, the simulated scheduler knows only the hosts
// in these splits, as Hadoop's does. Package state is then given these hosts
// as the replicas, and submit returns the nodes that really store the input in
// the result real. The result real is nil if package state was given these
// nodes.
func (p *splits) submit(x *Job) (id state.JobID, real *state.Hosts, err error) {
	spec := &p.spec
	*spec = x.JobSpec
	if p.which == CachedOnly {
		spec.SplitHosts = p.cachedOnly(x)
	}
	if p.plans == nil {
		real = p.useSplitHosts(spec)
		id, err = p.state.Submit(spec)
		return id, real, err
	}
	if id, err = p.state.Submit(spec); err != nil {
		return id, nil, err
	}
	plan, ok := p.plans.PlanJob(p.state.View(), id)
	if !ok {
		return id, nil, nil
	}
	if err := p.rewrite(x, plan); err != nil {
		return id, nil, err
	}
	*spec = x.JobSpec
	spec.SplitHosts = &p.hosts
	real = p.useSplitHosts(spec)
	return id, real, p.state.Resplit(id, spec)
}

// useSplitHosts replaces the replicas in a job's description by the hosts in
// the job's input splits, if Config.Actuator is Native. It returns the nodes
// that really store the input, or nil if it replaced nothing.
func (p *splits) useSplitHosts(spec *state.JobSpec) (real *state.Hosts) {
	if !p.native || spec.SplitHosts == nil {
		return nil
	}
	real = &state.Hosts{Nodes: slices.Clone(spec.Replicas.Nodes), Ends: slices.Clone(spec.Replicas.Ends)}
	spec.Replicas, spec.SplitHosts = *spec.SplitHosts, nil
	return real
}

// cachedOnly returns the nodes that cache each map's input. For a map whose
// input no node caches, it returns the nodes with a replica.
func (p *splits) cachedOnly(x *Job) *state.Hosts {
	p.hosts.Reset()
	for t := range x.Maps {
		if cached := of(&x.Cached, t); len(cached) > 0 {
			p.hosts.Add(cached...)
		} else {
			p.hosts.Add(of(&x.Replicas, t)...)
		}
	}
	return &p.hosts
}

// rewrite puts a job's maps into the order that the scheduler model planned. It
// makes the planned host of each map the only host in the map's split.
func (p *splits) rewrite(x *Job, plan sched.SplitPlan) error {
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
		case e.Node < 0 || int(e.Node) >= p.nodes:
			return fmt.Errorf("plan of job %q: split %d on node %d: the cluster has %d nodes, numbered from 0", x.Name, e.Split, e.Node, p.nodes)
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
