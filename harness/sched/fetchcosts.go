package sched

import (
	"math"

	"heddle/harness/state"
)

// PlacesByCost is what the models have in common that place reduces by what it costs to
// fetch map output. A model embeds it. The parameter costs says what fetching costs:
//
//	hops     bytes times the distance, see FetchCost
//	links    seconds over the slowest link between two nodes: by the parameter links, or
//	         as the driver says (see HearsNetwork); hops if neither is known
//	learned  the cost by hops, times how long reduces on the node took for each of it
//	slots    1 to 5 for all jobs alike, by how long reduces on the node took
//
// Learned costs begin as those by hops. When a reduce ends, its time since it started, or
// since the job's last map if that ended later, is added to the time of its node, and its
// own cost by hops to the work of its node. A node's factor is its time over its work,
// as if one more reduce had ended there, with the work of the cluster's average reduce and
// half of its time: so nodes are tried that had no or few reduces. A reduce that fetched
// nothing from other nodes does not count.
//
// The testbed of Tan, Meng, Zhang, INFOCOM 2013, learns the cost of a slot, 1 to 5, as the time of
// reduces there over the mean. It does not say how a ratio becomes one of five values: with slots,
// it is three times the ratio, rounded. To divide by what was fetched, to multiply with the hops,
// and the additional reduce are heddle's. What is learnt is never forgotten.
type PlacesByCost struct {
	PlacesReduces
	Costs string             `values:"hops,links,learned,slots" text:"of fetching map output: bytes times hops; seconds by the rates of links; hops, corrected by how long reduces took on each node; or 1 to 5 for each node, by that alone"`
	Links map[string]float64 `unit:"MB/s" min:"1e-6" text:"with costs=links: rate of each node's link, by the node's name; nodes that are not named have the fastest; none: as simulated"`

	network func(from, to state.NodeID) int64
	jobs    PerJob[shuffling]
	nodes   []shuffled
	all     shuffled
}

// shuffling is what PlacesByCost keeps of a job to learn from its reduces.
type shuffling struct {
	started   map[state.TaskID]int64 // by reduce, in ns
	lastMapNs int64
}

// shuffled sums up reduces that have ended: how long they took, and what their fetches
// cost by hops.
type shuffled struct{ reduces, ns, hops float64 }

func (s *shuffled) add(ns, hops float64) { s.reduces, s.ns, s.hops = s.reduces+1, s.ns+ns, s.hops+hops }

// HearsNetwork is a scheduler model that can use how fast the network is. Drivers find
// out with As whether a model is a HearsNetwork.
type HearsNetwork interface {
	// Network gives the model a function that returns the rate of the slowest link between
	// two nodes in bytes/s, 0 if none has a limit. It is called before the first job, and
	// not called if nobody knows the network, as on a real cluster.
	Network(bytesPerSec func(from, to state.NodeID) int64)
}

// UsesMapOutput implements UsesMapOutput.
func (p *PlacesByCost) UsesMapOutput() {}

// Network implements HearsNetwork.
func (p *PlacesByCost) Network(bytesPerSec func(from, to state.NodeID) int64) {
	p.network = bytesPerSec
}

// SortByCost sorts the slots that Next has returned by what it costs to fetch the job's
// map output to their nodes.
func (p *PlacesByCost) SortByCost(v *state.View, id state.JobID, slots []ReduceSlot) {
	sortByCost(v, slots, func(n state.NodeID) float64 { return p.cost(v, id, n) })
}

func (p *PlacesByCost) cost(v *state.View, id state.JobID, n state.NodeID) float64 {
	switch {
	case p.Costs == "links" && (len(p.Links) > 0 || p.network != nil):
		cost := 0.0
		for from, bytes := range v.MapOutput(id) {
			if from := state.NodeID(from); from != n {
				cost += float64(bytes) * p.secondsPerByte(v, from, n)
			}
		}
		return cost
	case p.learns() && p.all.reduces > 0:
		mean := shuffled{1, p.all.ns / p.all.reduces, p.all.hops / p.all.reduces}
		x := shuffled{1, mean.ns / 2, mean.hops}
		if int(n) < len(p.nodes) {
			x = shuffled{x.reduces + p.nodes[n].reduces, x.ns + p.nodes[n].ns, x.hops + p.nodes[n].hops}
		}
		if p.Costs == "slots" {
			return min(5, max(1, math.Round(3*x.ns/x.reduces/mean.ns)))
		}
		return FetchCost(v, id, n) * x.ns / x.hops
	case p.Costs == "slots":
		return 3 // nothing is known: all nodes are alike
	}
	return FetchCost(v, id, n)
}

// learns reports whether costs are learnt from reduces that have ended.
func (p *PlacesByCost) learns() bool { return p.Costs == "learned" || p.Costs == "slots" }

// secondsPerByte returns how long a byte takes from one node to another.
func (p *PlacesByCost) secondsPerByte(v *state.View, from, to state.NodeID) float64 {
	if len(p.Links) > 0 {
		return 1e-6 / min(p.link(v, from), p.link(v, to))
	}
	if rate := p.network(from, to); rate > 0 {
		return 1 / float64(rate)
	}
	return 0
}

// link returns the rate of a node's link by the parameter links, in MB/s.
func (p *PlacesByCost) link(v *state.View, n state.NodeID) float64 {
	if rate, ok := p.Links[v.NodeName(n)]; ok {
		return rate
	}
	fastest := 0.0
	for _, rate := range p.Links {
		fastest = max(fastest, rate)
	}
	return fastest
}

// Observe implements Observer.
func (p *PlacesByCost) Observe(v *state.View, e Event) {
	p.PlacesReduces.Observe(v, e)
	if !p.learns() || e.What != TaskStarted && e.What != TaskEnded && e.What != JobEnded {
		return
	}
	j := p.jobs.Of(e.Job)
	switch {
	case e.What == JobEnded:
		*j = shuffling{}
		return
	case v.Ended(e.Job):
		return
	}
	switch kind, i := v.Index(e.Job, e.Task); {
	case kind == state.Map && e.What == TaskEnded:
		j.lastMapNs = v.Now()
	case kind == state.Reduce && e.What == TaskStarted:
		if j.started == nil {
			j.started = map[state.TaskID]int64{}
		}
		j.started[e.Task] = v.Now()
	case kind == state.Reduce && !e.Failed:
		p.learn(e.Node, float64(v.Now()-max(j.started[e.Task], j.lastMapNs)), FetchCost(v, e.Job, e.Node)*part(v, e.Job, i))
	}
}

// learn takes a reduce into account that took so long on a node, and whose fetches cost
// so much by hops.
func (p *PlacesByCost) learn(n state.NodeID, ns, hops float64) {
	if hops <= 0 {
		return
	}
	for int(n) >= len(p.nodes) {
		p.nodes = append(p.nodes, shuffled{})
	}
	p.nodes[n].add(ns, hops)
	p.all.add(ns, hops)
}

// part returns the share of a job's map output that reduce i gets: an equal one if shares
// are not known.
func part(v *state.View, id state.JobID, i int32) float64 {
	shares := v.ReduceShares(id)
	if shares == nil {
		return 1 / float64(v.Tasks(id, state.Reduce))
	}
	all := 0.0
	for _, x := range shares {
		all += float64(x)
	}
	return float64(shares[i]) / all
}
