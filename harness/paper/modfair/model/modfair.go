// Package model contains the scheduler models of the paper about the Modified
// Fair Scheduler: modfair, and the schedulers of Hadoop 1 that it is compared with,
// fair1 and fifo1.
package model

import (
	"math/rand/v2"
	"slices"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// modfair is fair1 with five mechanisms, each of which can be left out.
//
// Rule. As fair1, and
//
//	m1  classification. Every updateMs: a job is small if it has no more maps than
//	    the job with the fewest. If small jobs / all jobs > 1 / (map slots of a
//	    node), nothing happens. Else small jobs are in sharedPool, which may run
//	    ceil(fewest maps / 2) maps, and reduces likewise; the others are in their
//	    own pools. A job may move both ways; what it runs counts where it is. Jobs
//	    of which no task waits or runs do not count.
//	m2  pool slots. Every updateMs, and for each kind of task: the slots that
//	    sharedPool leaves are divided between the pools by their waiting tasks, at
//	    most a pool's maximum. What a pool gets is the most that it may run.
//	m3  order. Pools whose running tasks <= min(minimum, waiting) first, by
//	    running/that minimum; then by running/weight; ties at random. A pool with
//	    nothing waiting is passed over. In a pool, jobs go by priority, then most
//	    waiting tasks, then fewest running, then submission.
//	m4  delays. The node delay is the mean wait of the maps that started
//	    node-local, the rack delay that of those that started rack-local. It is the
//	    pool that waits, until any of its jobs starts a map. After both delays, a
//	    map of the pool starts that is drawn at random.
//	m5  priorities. When a job starts a map, its priority rises or falls by as many
//	    levels as the map is nearer to its input or farther from it than the job's
//	    map before. table3=printed has one row of the paper's Table 3 as it is
//	    printed: after an off-rack map a node-local one lowers the priority by 1.
//
// What a mechanism means where a part it refers to is left out: without m3,
// sharedPool stands before pools in fair1's order, and priorities are weights 4,
// 2, 1, 1/2, 1/4 of jobs, as fair1's are. Without m2, other pools keep their
// maximum. With no mechanism at all, modfair is fair1.
//
// Source. Lo, Cheng, "Improving the Performance of Fair Scheduler in Hadoop",
// ASTESJ 2(3), 2017. Figures 6 to 9, flow charts, are not available. Examples:
// jobs of 6, 10, 16, 21 and 25 maps on nodes with 2 map slots: 1/5 is not above
// 1/2, so the first is in sharedPool with 3 map slots. 13 slots for pools with
// 10, 30 and 20 waiting maps and a maximum of 6 give 2, 6 and 5.
//
// Parameters. Those of fair1, and what the paper leaves open. The first value
// named is the default, which is what the paper prints, or what Hadoop does where
// the paper says nothing.
//
//	mechanisms    m1+m2+m3+m4+m5  those that are used; none: ""
//	owner         of m4: pool, or job: what waits, and whose maps are drawn at random
//	wait          of m4: passedOver (as fair1's), or pending: since the job's submission
//	delayMean     of m4: all, or recent: old waits fade, each launch counts for delayWindow
//	delayWindow   of m4 with recent: launches (20)
//	emptyDelayMs  of m4: ms (3000) as long as no map of that level has started
//	rackTimer     of m4: afterNode: the rack delay begins when the node delay has passed; sameStart
//	pick          of m4: random map after both delays, or next: the next one of the job
//	table3        of m5: repaired, or printed
//	endLevel      of m5: table: at an end of the scale, a further step goes back by one;
//	              prose: no change of locality goes back by one
//	share         of m2: free: free slots are divided, and added to what a pool runs;
//	              total: all slots are divided; freeOnly: as free, and the maximum
//	              limits only what is added
//	round         of m2: remainder (largest first), floor, ceil; with floor, pools may
//	              get nothing at all where there are fewer slots than pools
//	cap           of m2: hard, or borrow: pools may use slots that all others leave
//	atLeastOne    of m2: false; true: a pool that runs nothing and waits gets 1 slot
//	grant         of m1: once, while sharedPool exists; each: anew at each update
//	sharedPlace   of m1: first, sorted (its slots are its minimum), last
//	sharedOrder   of m1: fifo, or factors: as in the other pools
//	mostPending   of m3: first, or last: jobs with the fewest waiting tasks first
//	minimum       of m3: afresh, or ratchet: once lowered to the waiting tasks, it stays so
//	seed          of its random numbers (1)
//
// Differs. Speculative attempts and failed maps are in no count of m4 and m5.
type mechanisms struct {
	has [mechanismCount]bool

	modfairParams

	waits [2]meanWait // of maps that started node-local, and rack-local, for m4
	rng   *rand.Rand
	notes notes
	list  []*pool // for sorting
}

// The mechanisms of modfair, as indexes of mechanisms.has.
const (
	m1 = iota
	m2
	m3
	m4
	m5
	mechanismCount
)

// notes are what a run of modfair did that its decisions do not show.
type notes struct {
	updates         int64 // how often pools and slots were computed
	sharedUpdates   int64 // those after which sharedPool existed
	emptyGrants     int64 // how often m2 gave a pool with waiting tasks and none running no slot
	priorityChanges int64 // of m5
}

// Notes returns what the run did so far: updates, how many of them had a
// sharedPool, jobs that were in it at some time, pools that waited and got no
// slot, m4's delays now, and changes of priorities. There are none for fair1.
func (m *fair1) Notes() map[string]float64 {
	if m.changed == nil {
		return nil
	}
	n := m.changed.notes
	node, rack := m.changed.delays()
	shared := 0
	for i := range m.jobs {
		if m.jobs[i].wasShared {
			shared++
		}
	}
	return map[string]float64{
		"updates": float64(
			n.updates,
		),
		"sharedUpdates":   float64(n.sharedUpdates),
		"sharedJobs":      float64(shared),
		"emptyGrants":     float64(n.emptyGrants),
		"nodeDelayMs":     float64(node / 1e6),
		"rackDelayMs":     float64(rack / 1e6),
		"priorityChanges": float64(n.priorityChanges),
	}
}

// Info describes the model modfair.
var Info = sched.Info{
	Name:    "modfair",
	Use:     sched.ForLocality,
	Summary: "fair1 with a pool for small jobs, slots by waiting tasks, learned delays and priorities from locality",
	Source:  "Lo, Cheng, Improving the Performance of Fair Scheduler in Hadoop, ASTESJ 2(3), 2017",
	Params:  slices.Concat(Fair1Info.Params, sched.ParamsOf[modfairParams]()),
	Build: func(a sched.Args) (sched.Model, error) {
		c := &mechanisms{modfairParams: sched.ValuesOf[modfairParams](a)}
		c.rng = rand.New(rand.NewPCG(uint64(c.Seed), 0))
		for i, name := range []string{"m1", "m2", "m3", "m4", "m5"} {
			c.has[i] = c.Mechanisms[name]
		}
		return sched.PerNode{NodeModel: &fair1{fair1Params: sched.ValuesOf[fair1Params](a), changed: c}}, nil
	},
}

// modfairParams are the parameters besides those of fair1.
type modfairParams struct {
	Mechanisms   map[string]bool `values:"m1,m2,m3,m4,m5" default:"m1+m2+m3+m4+m5" text:"that are used: classification, pool slots, order, delays, priorities"`
	Owner        string          `values:"pool,job" text:"what waits by m4, and whose maps are drawn at random"`
	Wait         string          `values:"passedOver,pending" text:"that m4 averages: time for which the job was passed over since its last map, or since its submission"`
	DelayMean    string          `values:"all,recent" text:"which launches m4 averages"`
	DelayWindow  int64           `default:"20" unit:"launches" min:"1" max:"1e6" text:"for which a wait counts, with delayMean recent"`
	EmptyDelayMs int64           `default:"3000" unit:"ms" max:"1e9" text:"delay of m4 before any map of that locality has started"`
	RackTimer    string          `values:"afterNode,sameStart" text:"when m4's rack delay begins: after the node delay, or with it"`
	Pick         string          `values:"random,next" text:"which map of a job m4 starts off-rack"`
	Table3       string          `values:"repaired,printed" text:"m5's row for a node-local map after an off-rack one: as the other rows, or as printed"`
	EndLevel     string          `values:"table,prose" text:"when m5 goes back from an end of the scale: at a further step, or when locality does not change"`
	Share        string          `values:"free,total,freeOnly" text:"which slots m2 divides: free ones, all, or free ones whatever the pool runs"`
	Round        string          `values:"remainder,floor,ceil" text:"of m2's shares to whole slots"`
	Cap          string          `values:"hard,borrow" text:"whether pools may use slots that all others leave"`
	AtLeastOne   bool            `text:"m2 gives a pool that waits and runs nothing a slot"`
	Grant        string          `values:"once,each" text:"when m1 computes sharedPool's slots: when it has none, or at each update"`
	SharedPlace  string          `values:"first,sorted,last" text:"of sharedPool among the pools"`
	SharedOrder  string          `values:"fifo,factors" text:"of jobs in sharedPool: by submission, or as in other pools"`
	MostPending  string          `values:"first,last" text:"where m3 puts jobs with the most waiting tasks"`
	Minimum      string          `values:"afresh,ratchet" text:"whether a minimum that m3 lowered to the waiting tasks rises again"`
	Seed         int64           `default:"1" text:"of its random numbers"`
}

// start notes that the job starts map t on node n at the given level, which is counted
// for the delays and the priority. It returns the map to start: an off-rack one may be
// replaced by one that is drawn at random.
func (c *mechanisms) start(
	v *state.View,
	n state.NodeID,
	m *fair1,
	p *pool,
	id state.JobID,
	t state.TaskID,
	level state.Level,
) (state.JobID, state.TaskID, state.Level) {
	if c.has[m4] {
		if c.Pick == "random" && level == state.LevelOff {
			jobs := []state.JobID{id}
			if c.Owner == "pool" && v.Locations(id) > 0 {
				jobs = p.jobs
			}
			id, t = c.draw(v, n, jobs)
			level = v.Level(id, t, n)
		}
		if level = max(level, state.LevelNode); level <= state.LevelRack {
			wait := m.patienceOf(v, id).wait
			if c.Wait == "pending" {
				wait = v.Now() - v.Submitted(id)
			}
			c.waits[level-state.LevelNode].add(wait, c.DelayMean == "recent", float64(c.DelayWindow))
		}
	}
	if c.has[m5] {
		c.reprioritize(v, id, m.jobs.Of(id), level)
	}
	return id, t, level
}

// draw draws one of the jobs' maps that wait and may start on node n.
func (c *mechanisms) draw(v *state.View, n state.NodeID, jobs []state.JobID) (state.JobID, state.TaskID) {
	all := int32(0)
	for _, id := range jobs {
		if sched.WantsMap(v, id, n) {
			all += v.Waiting(id, state.Map)
		}
	}
	k := c.rng.Int32N(all)
	for _, id := range jobs {
		if !sched.WantsMap(v, id, n) {
			continue
		}
		if waiting := v.Waiting(id, state.Map); k >= waiting {
			k -= waiting
		} else {
			return id, v.NthWaiting(id, state.Map, k)
		}
	}
	return state.None, state.None
}
