package sched

import (
	"fmt"
	"slices"
	"strings"

	"heddle/harness/queues"
	"heddle/harness/state"
	"heddle/traces"
)

// capacity guarantees each queue a share of the cluster. Jobs wait for
// locality as in YARN's Capacity scheduler.
//
// Rule. On a heartbeat, queues go by used/guaranteed, the lowest first, and
// ties by first use. In a queue, jobs go by priority, then submission (order
// fifo), or by memory used (order fair). missed counts the nodes offered to a
// job with a waiting map, this one included, since the job last started a map
// nearby. A map may start
//
//	node-local  always; missed = 0
//	rack-local  when missed > min(nodes, nodeLocalityDelay); missed = 0, if
//	            rackLocalityFullReset
//	off-rack    when missed > min(nodes, waiting·f)
//	            with f = min(1, (asks-1)/nodes), asks = the hosts and racks that
//	            its splits name, and "any"; with rackLocalityAdditionalDelay >= 0
//	            when missed > min(nodes, nodeLocalityDelay + rackLocalityAdditionalDelay)
//
// nodes counts those of ApplicationMasters alone, too. The names stay in asks
// until no map waits: YARN keeps a place of which it was told that no map waits for
// it. A map that starts near its input only because off-rack was allowed counts as
// off-rack. If the driver tells of ApplicationMasters' heartbeats, a job asks for what
// YARN knows from these, see asked. A job whose splits name no host has asks = 1 and
// does not wait. Re-runs and reduces do not wait either.
//
// Source. Hadoop 3.4 CapacityScheduler, RegularContainerAllocator. Example:
// with 6 nodes, 10 waiting maps and asks = 8, f is 1 and off-rack is allowed
// after 6 misses. With 60 nodes, 3 waiting maps and asks = 9 the product is 0.4
// and off-rack is allowed at once. Rack-local is allowed after 40 misses on 60
// nodes, and after 6 on 6.
//
// Parameters.
//
//	capacities                   queue=percent,… ()  guaranteed; the rest is shared by queues not named
//	maxCapacities                queue=percent,… ()  that a queue may use at most; not named: 100
//	order                        fifo or fair (fifo)
//	nodeLocalityDelay            nodes (40)
//	rackLocalityAdditionalDelay  nodes (-1)
//	rackLocalityFullReset        (true)
//	offSwitchPerHeartbeat        containers (1)      after so many off-rack ones (re-runs and reduces
//	                                                 are) a node gets nothing more in a heartbeat; 0: no limit
//	maxPerHeartbeat              containers (0)      after so many of any kind, likewise: 1 of a cluster that
//	                                                 schedules asynchronously, each time that a node's turn comes
//
// Differs. Queues have no children, and only memory is counted. Four parts are
// left out: user limits, the limit on ApplicationMasters, reservations and
// preemption. As shipped (100 % and a factor of 1), user limits act only when
// several users share one of several queues.
type capacity struct {
	Capacities    map[string]float64 `unit:"percent" max:"100" text:"guaranteed to queues, queue=percent,…; queues not named share the rest"`
	MaxCapacities map[string]float64 `unit:"percent" max:"100" text:"that queues use at most, queue=percent,…; not named: 100"`
	Order         string             `values:"fifo,fair" text:"of jobs in a queue: by priority and submission, or by memory used"`
	nearness
	OffSwitchPerHeartbeat int    `default:"1" unit:"containers" text:"off-rack ones, re-runs and reduces among them, after which a node gets nothing more in a heartbeat; 0: no limit"`
	MaxPerHeartbeat       int    `unit:"containers" text:"that a node gets per heartbeat; 0: all it can hold"`
	Queues                string `text:"a capacity-scheduler.xml, or its lines of key=value: all else is as it says; queues.KEY is another value of a key, such as queues.root.etl.capacity"`

	over           []state.JobID // jobs that YARN takes to want containers though no task waits
	bounds         []capacityQueue
	jobs           shares
	sinceHeartbeat heartbeatCount
}

type capacityQueue struct{ guaranteed, most float64 } // a queue's guaranteed and largest share of the cluster, in percent

var capacityInfo = Info{
	Name:    "capacity",
	Use:     ForClusters,
	Summary: "guarantees queues shares and waits for locality as YARN's Capacity scheduler",
	Source:  "Hadoop 3.4 CapacityScheduler, RegularContainerAllocator",
	Params:  ParamsOf[capacity](),
	Build: func(a Args) (Model, error) {
		m := ValuesOf[capacity](a)
		if m.Queues != "" {
			for name := range a.parts {
				if name, _, _ := strings.Cut(name, "."); name != "queues" {
					return nil, fmt.Errorf("%s has no effect with queues; want it as a key of that file", name)
				}
			}
			f, err := queues.Read(strings.NewReader(m.Queues))
			if err == nil {
				f, err = f.With(a.Parts("queues"))
			}
			if err != nil {
				return nil, err
			}
			return PerNode{newPartitions(f)}, nil
		}
		sum := 0.0
		for _, percent := range m.Capacities {
			sum += percent
		}
		if sum > 100 {
			return nil, fmt.Errorf("capacities: %v percent in all, want at most 100", sum)
		}
		if m.jobs.ofQueue = m.queueKey; m.Order == "fair" {
			m.jobs.key = func(v *state.View, id state.JobID) float64 { return float64(v.Used(id).MemoryMB) }
		}
		return PerNode{&m}, nil
	},
}

func (m *capacity) Name() string { return "capacity" }

func (m *capacity) Choose(v *state.View, n state.NodeID) (Pick, bool) {
	if m.sinceHeartbeat.round(v, n); m.sinceHeartbeat.reached(m.OffSwitchPerHeartbeat, Off, Rerun, Reduces) ||
		m.sinceHeartbeat.reached(m.MaxPerHeartbeat, Cache, Node, Rack, Off, Rerun, Reduces) {
		return Pick{}, false
	}
	m.know(v)
	m.Begin(traces.WaitOffers)
	if p, ok := m.chooseOver(v, n); ok {
		m.sinceHeartbeat.chose(p.Reason)
		return p, true
	}
	for m.jobs.start(v); ; {
		id, ok := m.jobs.next()
		if !ok {
			return Pick{}, false
		}
		d, ok := RerunOrReduce(v, id, n)
		if ok {
			ok = m.underMost(v, id, d.Kind)
		} else if WantsMap(v, id, n) && m.underMost(v, id, state.Map) {
			d, ok = m.chooseMap(v, id, n)
		}
		if ok {
			m.sinceHeartbeat.chose(d.Reason)
			m.gave(v, d, n)
			return d, true
		}
		if m.Keeps() {
			m.tellPassed(v, id, n)
		}
	}
}

// Beat implements HearsMasters.
func (m *capacity) Beat(v *state.View, id state.JobID) {
	if m.nearness.Beat(v, id); !slices.Contains(m.over, id) {
		m.over = append(m.over, id)
	}
}

// chooseOver chooses a container that a job does not want, though YARN takes it to. Such jobs go first: they
// are those whose last tasks were given containers just before.
func (m *capacity) chooseOver(v *state.View, n state.NodeID) (Pick, bool) {
	m.over = slices.DeleteFunc(m.over, func(id state.JobID) bool { return v.Ended(id) || m.asked.Of(id).more == [2]int32{} })
	if len(v.WaitingJobs(state.Map))+len(v.WaitingJobs(state.Reduce)) == 0 {
		return Pick{}, false // nobody misses the room
	}
	for _, id := range m.over {
		for _, k := range [...]state.Kind{state.Reduce, state.Map} {
			if v.Waiting(id, k) > 0 || m.asked.Of(id).more[k] == 0 || !v.Free(n).Holds(v.ContainerSize(id, k)) || !m.underMost(v, id, k) {
				continue
			}
			p, ok := Pick{id, Surplus, k, Reduces}, true
			if k == state.Map {
				p, ok = m.chooseMap(v, id, n)
			}
			if ok {
				m.gave(v, p, n)
				return p, true
			}
		}
	}
	return Pick{}, false
}

// tellPassed keeps why nothing of the job starts on node n.
func (m *capacity) tellPassed(v *state.View, id state.JobID, n state.NodeID) {
	_, goesFirst := RerunOrReduce(v, id, n)
	switch wants := WantsMap(v, id, n); {
	case !goesFirst && wants && m.underMost(v, id, state.Map):
		m.PassOver(id, traces.PassedWaits, *m.missed.Of(id))
	case goesFirst || wants: // the job's queue has its largest share
		m.PassOver(id, traces.PassedModel, 0)
	default:
		m.PassOver(id, traces.PassedNoRoom, 0)
	}
}

// underMost reports whether the job's queue may use one more container without
// exceeding the queue's maximum capacity.
func (m *capacity) underMost(v *state.View, id state.JobID, k state.Kind) bool {
	q := v.Queue(id)
	most := m.bounds[q].most
	used := v.QueueUsed(q).MemoryMB + v.ContainerSize(id, k).MemoryMB
	return most >= 100 || float64(used) <= float64(v.Total().MemoryMB)*most/100
}

func (m *capacity) queueKey(v *state.View, q state.QueueID) queueKey {
	return queueKey{ratio: float64(v.QueueUsed(q).MemoryMB) / m.bounds[q].guaranteed}
}

// The method know computes the guaranteed and largest shares of queues that
// were created since the method's last call.
func (m *capacity) know(v *state.View) {
	if len(m.bounds) == v.Queues() {
		return
	}
	m.jobs.stale = true
	rest, unnamed := 100.0, 0.0
	for q := range state.QueueID(v.Queues()) {
		if share, ok := m.Capacities[v.QueueName(q)]; ok {
			rest -= share
		} else {
			unnamed++
		}
	}
	m.bounds = m.bounds[:0]
	for q := range state.QueueID(v.Queues()) {
		share, ok := m.Capacities[v.QueueName(q)]
		if !ok {
			share = rest / unnamed
		}
		most, ok := m.MaxCapacities[v.QueueName(q)]
		if !ok {
			most = 100
		}
		// A queue that is guaranteed nothing gets a tiny share instead of 0,
		// so that it comes last and nothing is divided by zero.
		m.bounds = append(m.bounds, capacityQueue{max(share, 1e-9), most})
	}
}
