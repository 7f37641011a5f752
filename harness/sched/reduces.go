package sched

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"heddle/harness/state"
)

// PlacesReduces is what the models that place only reduces have in common: which
// job's reduces are placed, and on how many slots. A model embeds it.
//
// A slot is room for one of the job's reduces on a node. Jobs go in FIFO order. One
// reduce is placed at a time. With the parameter groups, all waiting reduces of the
// job are placed together, as a group. If there are fewer slots, the job waits as
// long as some task runs, whose end makes room; if none runs, as many reduces are
// placed as there are slots. Once a job's groups were cancelled three times, its
// reduces are placed one by one.
type PlacesReduces struct {
	Groups     bool          `text:"place all waiting reduces of a job together, all or none"`
	GroupLimit time.Duration `default:"30s" text:"with groups: time within which all must have their containers"`

	slots     []ReduceSlot
	bySize    []state.TaskID
	cancelled PerJob[int32] // by job: how many members of groups were cancelled
}

// ReduceSlot is room for one reduce on a node.
type ReduceSlot struct {
	Node state.NodeID
	nth  int     // of the free slots of its node, counted from 0
	Cost float64 // what it costs to fetch the map output to here; only the order counts
}

// GroupLimitMs returns how long a group may take to get all its containers.
func (p *PlacesReduces) GroupLimitMs() int64 { return p.GroupLimit.Milliseconds() }

// Observe counts the members of groups that are cancelled.
func (p *PlacesReduces) Observe(_ *state.View, e Event) {
	if e.What == Cancelled && e.Decision.Group > 0 {
		*p.cancelled.Of(e.Decision.Job)++
	}
}

// Next returns the first job whose reduces can be placed, its free slots, and how
// many of its reduces to place.
func (p *PlacesReduces) Next(v *state.View, free []state.NodeID) (id state.JobID, slots []ReduceSlot, reduces int) {
	for _, id := range v.WaitingJobs(state.Reduce) {
		p.slots = slotsFor(v, id, free, p.slots[:0])
		reduces := int(v.Waiting(id, state.Reduce))
		switch {
		case len(p.slots) == 0:
			continue
		case !p.Groups || *p.cancelled.Of(id) >= 3*v.Tasks(id, state.Reduce):
			return id, p.slots, 1
		case len(p.slots) < reduces && anyRuns(v):
			return state.None, nil, 0
		}
		return id, p.slots, min(reduces, len(p.slots))
	}
	return state.None, nil, 0
}

// slotsFor appends the job's free slots on the given nodes.
func slotsFor(v *state.View, id state.JobID, free []state.NodeID, to []ReduceSlot) []ReduceSlot {
	size := v.ContainerSize(id, state.Reduce)
	for _, n := range free {
		if !v.Fits(n, id, state.Reduce) {
			continue
		}
		room, most := v.Free(n), v.FreeSlots(n, state.Reduce)
		for nth := int32(0); nth < most && room.Holds(size.Times(nth+1)); nth++ {
			to = append(to, ReduceSlot{Node: n, nth: int(nth)})
			if size == (state.Resource{}) {
				break // any number would fit
			}
		}
	}
	return to
}

func anyRuns(v *state.View) bool {
	return slices.ContainsFunc(v.Active(), func(id state.JobID) bool { return v.Running(id, state.Map)+v.Running(id, state.Reduce) > 0 })
}

// On appends the decisions that place a job's reduces on slots, as a group if they
// are several. The waiting reduce with the largest share of the map output goes to the
// first slot, the next to the second and so on. If shares are not known, the decisions
// name no reduce.
func (p *PlacesReduces) On(v *state.View, id state.JobID, slots []ReduceSlot, reason Reason, out []Decision) []Decision {
	if len(slots) == 0 {
		return out
	}
	group := int16(0)
	if len(slots) > 1 {
		group = 1
	}
	tasks := p.largest(v, id, len(slots))
	for i, s := range slots {
		d := Decision{Job: id, Kind: state.Reduce, Node: s.Node, Task: state.None, Reason: reason, Group: group}
		if i < len(tasks) {
			d.Task = tasks[i]
		}
		out = append(out, d)
	}
	return out
}

// largest returns a job's n waiting reduces with the largest shares of the map output,
// the largest first; none if the shares are not known.
func (p *PlacesReduces) largest(v *state.View, id state.JobID, n int) []state.TaskID {
	shares := v.ReduceShares(id)
	p.bySize = p.bySize[:0]
	for i := range shares {
		if t := v.Task(id, state.Reduce, int32(i)); v.IsWaiting(id, t) {
			p.bySize = append(p.bySize, t)
		}
	}
	first := v.Task(id, state.Reduce, 0)
	slices.SortFunc(p.bySize, func(a, b state.TaskID) int {
		return cmp.Or(cmp.Compare(shares[b-first], shares[a-first]), cmp.Compare(a, b))
	})
	return p.bySize[:min(n, len(p.bySize))]
}

// ShareOf returns which part of a job's map output On gives to n slots: that of its n
// largest waiting reduces, or n of all reduces if shares are not known.
func (p *PlacesReduces) ShareOf(v *state.View, id state.JobID, n int) (sum float64) {
	if v.ReduceShares(id) == nil {
		return float64(n) / float64(v.Tasks(id, state.Reduce))
	}
	for _, t := range p.largest(v, id, n) {
		_, i := v.Index(id, t)
		sum += part(v, id, i)
	}
	return sum
}

// reduceRandom places reduces on free slots at random.
//
// Rule. The first job in FIFO order with a waiting reduce gets a free slot of the
// cluster, all slots equally likely. Maps are placed by fifo, or by the model whose
// parameter reduces names this one.
//
// Source. The baseline of Tan, Meng, Zhang, "Improving ReduceTask Data Locality for
// Sequential MapReduce Jobs", INFOCOM 2013, which stands for stock Hadoop there.
//
// Parameters.
//
//	seed        (1)      of its random numbers (PCG)
//	groups      (false)  place all waiting reduces of a job together, all or none
//	groupLimit  (30s)    with groups: time within which all must have containers
//
// Differs. The paper places a job's reduces when the job arrives; here they are
// placed when its ApplicationMaster asks for them.
type reduceRandom struct {
	Seed uint64 `default:"1" text:"of its random numbers"`
	PlacesReduces

	rng *rand.Rand
}

var reduceRandomInfo = Info{
	Name:    "reduce-random",
	Use:     ForReduces,
	Summary: "places reduces on free slots at random; as reduces: beside a model for maps, or with fifo",
	Source:  "the baseline of Tan, Meng, Zhang, INFOCOM 2013",
	Params:  ParamsOf[reduceRandom](),
	Build: func(a Args) (Model, error) {
		m := ValuesOf[reduceRandom](a)
		m.rng = rand.New(rand.NewPCG(m.Seed, 0))
		return WithFIFOMaps(&m), nil
	},
}

func (m *reduceRandom) Name() string { return "reduce-random" }

func (m *reduceRandom) Round(v *state.View, free []state.NodeID, out []Decision) []Decision {
	id, slots, reduces := m.Next(v, free)
	// The places must not depend on which node reported first: then a replay has those of the cluster.
	slices.SortStableFunc(slots, func(a, b ReduceSlot) int { return cmp.Compare(a.Node, b.Node) })
	for i := range reduces {
		j := i + m.rng.IntN(len(slots)-i)
		slots[i], slots[j] = slots[j], slots[i]
	}
	return m.On(v, id, slots[:reduces], Random, out)
}

// reduceGreedy places reduces where the map output that there is can be fetched at
// the least cost.
//
// Rule. The cost of a node is the sum, over all nodes with output of the job's maps,
// of the bytes there times the distance: 0 on the node itself, 2 in its rack, 4 in
// another rack; or by another rule of PlacesByCost. The first job in FIFO order with a waiting reduce
// gets the free slot of the least cost. Among equal costs the node with the fewest reduces
// goes first, then the one with the lowest number. Maps are placed by fifo, or by the
// model whose parameter reduces names this one.
//
// Source. The baseline Greedy of Tan, Meng, Zhang, "Improving ReduceTask Data
// Locality for Sequential MapReduce Jobs", INFOCOM 2013. The distances are those of
// Hadoop's NetworkTopology.
//
// Parameters.
//
//	groups      (false)  place all waiting reduces of a job together, all or none
//	groupLimit  (30s)    with groups: time within which all must have containers
//	costs       (hops)   of fetching: hops, links, learned or slots
//	links       ()       with costs=links: rates of the nodes' links
//
// Differs. The paper knows the cost of each slot; here it follows from the output of
// the maps that have finished. If none has, all nodes cost the same.
type reduceGreedy struct{ PlacesByCost }

var reduceGreedyInfo = Info{
	Name:    "reduce-greedy",
	Use:     ForReduces,
	Summary: "places reduces where map output is nearest; as reduces: beside a model for maps, or with fifo",
	Source:  "the baseline Greedy of Tan, Meng, Zhang, INFOCOM 2013",
	Params:  ParamsOf[reduceGreedy](),
	Build:   func(a Args) (Model, error) { return WithFIFOMaps(new(ValuesOf[reduceGreedy](a))), nil },
}

func (m *reduceGreedy) Name() string { return "reduce-greedy" }

func (m *reduceGreedy) Round(v *state.View, free []state.NodeID, out []Decision) []Decision {
	id, slots, reduces := m.Next(v, free)
	if reduces == 0 {
		return out
	}
	m.SortByCost(v, id, slots)
	return m.On(v, id, slots[:reduces], Reduces, out)
}

// sortByCost sorts slots by a cost of their nodes. Among equal costs the node with the
// fewest reduces goes first, then the one with the lowest number.
func sortByCost(v *state.View, slots []ReduceSlot, cost func(state.NodeID) float64) {
	for i := range slots {
		if s := &slots[i]; s.nth == 0 {
			s.Cost = cost(s.Node)
		} else {
			s.Cost = slots[i-1].Cost
		}
	}
	for i := range slots {
		slots[i].nth += int(v.Taken(slots[i].Node, state.Reduce))
	}
	slices.SortStableFunc(slots, func(a, b ReduceSlot) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.nth, b.nth), cmp.Compare(a.Node, b.Node))
	})
}

// FetchCost returns what it costs to fetch the output of a job's maps to node n: the
// sum over all nodes of the bytes there times the distance, 0 on node n itself, 2 in
// its rack, 4 in other racks.
func FetchCost(v *state.View, id state.JobID, n state.NodeID) float64 {
	var cost float64
	for from, bytes := range v.MapOutput(id) {
		switch from := state.NodeID(from); {
		case from == n:
		case v.Rack(from) == v.Rack(n):
			cost += 2 * float64(bytes)
		default:
			cost += 4 * float64(bytes)
		}
	}
	return cost
}

// UsesMapOutput marks models that use View.MapOutput. Drivers count the bytes only
// for such models: on a real cluster that takes requests.
type UsesMapOutput interface{ UsesMapOutput() }
