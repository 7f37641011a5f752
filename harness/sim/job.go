package sim

import (
	"math/bits"

	"heddle/harness/state"
	"heddle/traces"
)

// job is a simulated job that was submitted and has not ended. Its
// ApplicationMaster is simulated with it.
type job struct {
	id          state.JobID
	gen         uint32
	name        traces.JobID
	hash        uint64 // hash of the job's name; it enters the hash of the run's schedule
	work        [2][]Work
	spread      [2][]Ratio // by kind of task: quantiles of the ratios by which attempts' computing times differ
	total, done [2]int32   // by kind of task (map, reduce): total is the number of the job's tasks, done the number of those that succeeded
	slowStart   int32      // number of maps that must succeed before the job asks for reduces
	asked       int32      // number of reduces for which the job's ApplicationMaster wants or has had containers so far
	unsent      int32      // number of these of which the cluster does not know yet: the request goes with the next heartbeat
	askMs       []int64    // times, in ms after it is up first or, once wasUp, of the run, at which it asks for reduces; nil: slow start
	size        [2]state.Resource
	amSize      state.Resource
	// node on which the job's ApplicationMaster runs; None if the ApplicationMaster takes no memory and cores of a node
	amNode      state.NodeID
	amBeside    bool // the ApplicationMaster runs beside the nodes
	amStartMs   int32
	finishMs    int32
	mapsMs      int64 // time when the oldest request for a map was made, if maps wait; after a long wait reduces of the job are killed
	amUpMs      int64 // time when the ApplicationMaster registered; its heartbeats follow at a fixed interval
	up, beatSet bool
	wasUp       bool // an ApplicationMaster of the job was up
	ended       bool
	replicas    *state.Hosts // nodes that store each map's input; nil if the replicas that package state knows are these nodes
	granted     queue        // containers that get their tasks at the ApplicationMaster's next heartbeat
	// index in attempts.list of the first reduce in the list of those that wait for maps to finish; -1 if there is none
	waiting int32
	// index in attempts.list of the first reduce in the list of those that go on now, since a map has finished; -1 if there is none
	woken       int32
	out         []int64 // by rack: bytes of the job's map output stored on the rack's nodes
	outBytes    int64
	division    []int64        // by reduce: sum of the shares of map output of this reduce and those before it; empty if all shares are equal
	lately      [16]int32      // racks of the nodes on which the job's last 16 successful maps ran
	tries       []try          // by task: counts of attempts; empty while every task has had one attempt only
	ran         []success      // by map: the node on which the map succeeded; empty if the run has no node losses
	blocks      []traces.Block // block that each map reads; empty unless caches keep the blocks that are read
	took        [2]moments     // by kind of task: statistics of the durations of the job's successful attempts, for finding slow attempts
	speculative int32          // number of speculative attempts that run or are asked for
	pasts       []Past         // how attempts at the job's tasks ended in the replayed trace
}

// try counts the attempts at one task: those started and those that failed.
type try struct{ begun, failed uint8 }

// success says on which node a map succeeded, and how near this node was to
// the map's input. The field node is None if the map has not succeeded.
type success struct {
	node  state.NodeID
	level state.Level
}

// index returns the number of a task among the job's maps or reduces.
func (j *job) index(k state.Kind, t state.TaskID) int32 {
	if k == state.Reduce {
		return int32(t) - j.total[state.Map]
	}
	return int32(t)
}

// workOf returns what a task reads, computes and writes.
func (j *job) workOf(k state.Kind, t state.TaskID) *Work {
	return work(j.work[k], j.index(k, t), j.total[k])
}

// try returns how many attempts at task t have been started so far. It returns
// 0 if the job does not count the attempts at its tasks.
func (j *job) try(t state.TaskID) int32 {
	if len(j.tries) == 0 || t == state.None {
		return 0
	}
	return int32(j.tries[t].begun)
}

// tried returns the numbers of started and failed attempts at task t. If the
// job does not count the attempts at its tasks yet, tried first makes the
// array of these counts.
func (j *job) tried(t state.TaskID) *try {
	if len(j.tries) == 0 {
		j.tries = resized(j.tries, int(j.total[0]+j.total[1]))
	}
	x := &j.tries[t]
	x.begun = max(1, x.begun)
	return x
}

// fetchStep divides a job's maps into steps, to save computing time, and
// returns the number of the step in which as many maps as done says have
// succeeded. While maps run, reduces fetch map output only when this number
// changes. With at most 16 reduces, a step is a sixteenth of the maps. With
// more reduces, the first step is half of the maps, the second step a quarter,
// and so on.
func (j *job) fetchStep(done int32) int32 {
	const few, part = 16, 16
	all := j.total[state.Map]
	switch left := all - done; {
	case left == 0:
		return -1
	case j.total[state.Reduce] <= few:
		return done / max(1, all/part)
	default:
		return int32(bits.Len64((uint64(left)*part - 1) / uint64(all)))
	}
}

// part returns how many of so many bytes of map output are for reduce i.
func (j *job) part(bytes, i int64) int64 {
	if len(j.division) == 0 {
		return share(bytes, i, int64(j.total[state.Reduce]))
	}
	upTo := func(i int64) int64 {
		if i < 0 {
			return 0
		}
		high, low := bits.Mul64(uint64(bytes), uint64(j.division[i]))
		q, _ := bits.Div64(high, low, uint64(j.division[len(j.division)-1]))
		return int64(q)
	}
	return upTo(i) - upTo(i-1)
}

// share divides a number of bytes into n nearly equal parts, such as the map
// output for n reduces, and returns the size of part i.
func share(bytes, i, n int64) int64 {
	over := bytes % n
	return bytes/n + over*(i+1)/n - over*i/n
}
