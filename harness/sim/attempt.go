package sim

import (
	"math"
	"math/bits"

	"heddle/harness/sched"
	"heddle/harness/sim/fluid"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
)

// attempts are the attempts at tasks that run. They know what an attempt does, for how
// long, and what its end means for its job. They decide neither where an attempt
// starts nor when a node is lost.
type attempts struct {
	*base
	masters *masters // told of what asks for containers
	caches  *caches
	load    *load // nil: nobody wants samples of the nodes' load
	fetches fetching
	table
	booked      bookings
	running     int
	maps        int     // of those that run
	failing     float64 // share of attempts that fail, from the most recent fault of kind AttemptsFail
	timed       bool    // somebody wants to know when an attempt read and computed: rest has these times
	keepsOutput bool    // package state counts the bytes of map output on each node
}

// begin has no attempt run.
func (at *attempts) begin(b *base, am *masters, c *caches, l *load) {
	_, uses := sched.As[sched.UsesMapOutput](b.Model)
	at.fetches.begin(b, &at.table)
	at.booked.begin(&b.Config, len(b.nodes.list))
	*at = attempts{
		base: b, masters: am, caches: c, load: l, fetches: at.fetches, booked: at.booked,
		table: table{at.list[:0], at.flows[:0], at.rest[:0], at.idle[:0]},
		timed: b.Speculation != NoSpeculation || b.Ended != nil, keepsOutput: b.NodeFetches || uses,
	}
}

// table has the records of all attempts that run. An attempt has one place in it, and
// its records are in several arrays by how often they are needed.
type table struct {
	list  []attempt
	flows [][maxFlows]fluid.Flow // transfers and computations of the attempt that have not ended, see attempt.openFlows
	rest  []rest
	idle  []int32 // places that are free for new attempts
}

// place returns a free place.
func (t *table) place() int32 {
	if last := len(t.idle) - 1; last >= 0 {
		id := t.idle[last]
		t.idle = t.idle[:last]
		return id
	}
	t.list, t.flows, t.rest = append(t.list, attempt{}), append(t.flows, [maxFlows]fluid.Flow{}), append(t.rest, noRest)
	return int32(len(t.list) - 1)
}

// attempt is a simulated attempt at a map or reduce, from the moment when the
// ApplicationMaster assigns the task to a container. It has what every event of the
// attempt needs, in half a cache line: events come in the order of their times, so
// that most find their attempt in memory and not in the cache. See rest.
type attempt struct {
	startMs   int64
	job       int32
	task      state.TaskID
	node      state.NodeID
	gen       uint32
	pending   uint8 // number of the attempt's transfers, computations and timers that have not ended
	openFlows uint8 // bit i is set if the attempt's transfer or computation with index i in table.flows has not ended
	number    uint8
	kind      state.Kind
	phase     phase
	level     state.Level // distance of a map from its input, by the block's replicas and cached copies
	split     state.Level
	marks     marks
}

// rest is what few attempts need. Of a map, no event touches it, unless
// attempts.timed is set or a second attempt runs beside it.
type rest struct {
	bytes    int64 // bytes of map output that a reduce has fetched
	fetch    int32 // index in fetching.byRack of the counts of what a reduce has fetched; -1 for a map, or a reduce that fetches nothing
	endMs    int32 // if attempts.timed: time from startMs until the attempt's computing ends, if this time is known
	readFrom int32 // if attempts.timed: time from startMs until a map began to read its input
	readTo   int32 // if attempts.timed: time from startMs until the attempt had its input, and began to compute
	// of an attempt that is marked waitsForMaps: index in attempts.list of the next in the job's list of these; -1: it is the last.
	// Of one that is booked: the next of its booking
	next  int32
	other int32 // of an attempt that is marked doubled: index in attempts.list of the other attempt at the same task, or asked
}

// noRest is rest of an attempt of which it has nothing, and of a free place.
var noRest = rest{fetch: -1}

// marks are what an attempt is, one bit each.
type marks uint8

const (
	speculative  marks = 1 << iota // state.Hold takes its memory and cores, since package state counts only one attempt for each task
	doubled                        // a second attempt at the same task runs, or is asked for
	waitsForMaps                   // a reduce that waits for maps to finish before it fetches more
	rerun
	traced // its start is written to the simulation's trace
	dead   // its node was lost, whether or not the ResourceManager has noticed the loss
	booked // its times are known, see bookings; its phase is write from its launch on
)

// is reports whether an attempt has a mark.
func (a *attempt) is(m marks) bool { return a.marks&m != 0 }

// maxFlows is the largest number of transfers and computations that one attempt
// runs at the same time.
const maxFlows = exactRacks

// phase names the step that a task's attempt takes next: start the JVM, read
// the input, compute, and so on.
type phase uint8

const (
	begin phase = iota // the container is launched, and the JVM starts
	input              // a map reads its input, or a reduce fetches map outputs
	compute
	write
	commit
	finish
)

// launch starts an attempt at task t on node n. The caller has already taken
// the container's memory and cores on the node.
func (at *attempts) launch(slot int32, k state.Kind, t state.TaskID, n state.NodeID) int32 {
	id := at.place()
	j := &at.jobs.list[slot]
	a := &at.list[id]
	gen := a.gen
	*a = attempt{} // the fields are set one by one below, since the compiler would build a composite literal elsewhere in memory and copy it
	launchMs := at.nodes.launchMs(n)
	a.startMs, a.job, a.task, a.node, a.gen = at.events.Now+int64(launchMs), slot, t, n, gen
	a.kind, a.phase = k, begin
	if len(j.tries) > 0 {
		if a.number = j.tries[t].begun; a.number > 0 {
			a.marks |= rerun
		}
		j.tries[t].begun++
	}
	if k == state.Map {
		if a.level, a.split = at.view.Levels(j.id, t, n); j.replicas != nil && a.level != state.LevelCache {
			a.level = at.nodes.level(of(j.replicas, int32(t)), n)
		}
		at.r.SplitMaps[a.split]++
		at.maps++
	}
	at.running++
	if x := &at.r.Jobs[j.id]; x.StartMs < 0 {
		x.StartMs = a.startMs
		if at.Speculation != NoSpeculation {
			at.events.After(scanMs, evSpeculate, uint32(slot), j.gen)
		}
	}
	at.hears.task(sched.TaskStarted, j.id, t, n)
	if at.Record != nil {
		at.events.After(launchMs, evStarted, uint32(id), gen)
	}
	if at.nodes.lost.Has(n) {
		a.marks |= dead
		return id // the node is lost, and the ResourceManager has not noticed the loss: the attempt will never proceed
	}
	w := j.workOf(k, t)
	if len(j.blocks) > 0 && a.level <= state.LevelNode && k == state.Map {
		at.caches.read(j.blocks[t], n, w.InputBytes)
	}
	if at.failing > 0 && at.willFail(id, a, j, w) || len(j.pasts) > 0 && at.endsAsBefore(id, a, j) {
		return id
	}
	launch := int64(launchMs)
	ms := launch + at.firstPhase(a, j, w)
	if a.readsNext() && at.book(id, a, j, w, ms) {
		return id
	}
	at.endsIn(id, a, ms)
	at.beginsIn(id, a, ms)
	if at.load != nil {
		at.load.launched(id, a, w, launch, at.events.Now+ms)
	}
	return id
}

// firstPhase chooses the phase in which an attempt begins, and returns how long it takes.
func (at *attempts) firstPhase(a *attempt, j *job, w *Work) (ms int64) {
	x := &at.nodes.list[a.node]
	fixedMs := j.fixedMs(a, w)
	switch {
	case a.kind == state.Map && fixedMs > 0:
		a.phase = finish
		return int64(fixedMs)
	case a.kind == state.Map && at.nodes.flows == nil:
		a.phase = finish
		ms = x.on(int64(at.Costs.TaskStartMs) + at.draws.computeMs(j, a, w))
		if j.total[state.Reduce] == 0 && w.OutputBytes > 0 {
			ms += int64(at.Costs.CommitMs)
		}
		return ms
	case x.cores || a.kind == state.Reduce && fixedMs > 0:
		return 0
	}
	a.phase = input
	return x.on(int64(at.Costs.TaskStartMs))
}

// readsNext reports whether an attempt reads next, from its own node.
func (a *attempt) readsNext() bool {
	return a.kind == state.Map && a.phase == input && a.level <= state.LevelNode
}

// willFail draws at random whether an attempt fails, with the probability that
// the last fault of kind AttemptsFail set. If the attempt fails, willFail
// schedules the failure.
func (at *attempts) willFail(id int32, a *attempt, j *job, w *Work) bool {
	key := at.draws.fail.At(j.hash).At(uint64(a.task)).At(uint64(a.number))
	if key.Fraction() >= at.failing {
		return false
	}
	ms := int64(w.FixedMs)
	if ms == 0 {
		ms = at.nodes.list[a.node].on(int64(at.Costs.TaskStartMs) + at.draws.computeMs(j, a, w))
	}
	ms = 1 + int64(key.At(1).Below(int(max(1, ms))))
	at.events.Push(a.startMs+ms, evFail, uint32(id), a.gen)
	return true
}

// timer starts a timer of ms milliseconds. The attempt waits for the timer's
// end before its next phase (read input, compute and so on).
func (a *attempt) timer(e *kernel.Events, id int32, ms int64) {
	e.Push(e.Now+ms, evPhase, uint32(id), a.gen)
	a.pending++
}

// beginsIn has an attempt that was just launched begin its first phase in ms milliseconds.
func (at *attempts) beginsIn(id int32, a *attempt, ms int64) {
	if a.readsNext() {
		at.readsAt(id, a, at.events.Now+ms)
	} else {
		a.timer(&at.events, id, ms)
	}
}

// readsAt has a map begin to read from its own node at a time, which is all that it waits for.
func (at *attempts) readsAt(id int32, a *attempt, t int64) {
	at.events.Push(t, evRead, uint32(id), a.gen)
	a.pending = 1
}

// timeUp handles the end of an attempt's timer, or of all that is booked of it.
func (at *attempts) timeUp(e kernel.Event) {
	if a := &at.list[e.ID]; e.IsFor(a.gen) && (e.Kind() != evBooked || a.is(booked)) {
		at.goOn(int32(e.ID))
	}
}

// flowEnded handles the end of a transfer or computation. The attempt that
// waited for this end goes on. The parameter tag names the attempt.
func (at *attempts) flowEnded(tag uint32) {
	if tag >= nodeFetchTag {
		at.nodeFetchEnded(tag - nodeFetchTag)
		return
	}
	id := int32(tag / maxFlows)
	at.list[id].openFlows &^= 1 << (tag % maxFlows)
	if at.load != nil {
		at.load.flowEnded(id, uint8(tag%maxFlows))
	}
	at.goOn(id)
}

// goOn is called when a transfer, computation or timer of an attempt has
// ended. When all transfers, computations and timers of the attempt have
// ended, the attempt starts its next phase.
func (at *attempts) goOn(id int32) {
	a := &at.list[id]
	if a.pending--; a.pending == 0 {
		at.proceed(id)
	}
}

// proceed starts an attempt's next phase (read input, compute, write and so
// on).
func (at *attempts) proceed(id int32) {
	a := &at.list[id]
	if at.load != nil {
		at.load.settle(id)
	}
	if a.phase == finish { // most calls are for attempts in their last phase, finish, so this phase is tested first
		at.succeed(id)
		return
	}
	j := &at.jobs.list[a.job]
	w := j.workOf(a.kind, a.task)
	writes := w.OutputBytes > 0 && (a.kind == state.Reduce || j.total[state.Reduce] == 0)
	for a.pending == 0 {
		switch a.phase {
		case begin:
			a.phase = input
			at.computes(id, a, int64(at.Costs.TaskStartMs), 0)
		case input:
			if a.kind == state.Reduce {
				if !at.fetchMore(id, a, w) {
					return
				}
				break
			}
			a.phase = compute
			if at.timed {
				at.rest[id].readFrom = at.since(a)
			}
			at.read(id, a, j, w)
		case compute:
			at.compute(id, a, j, w)
		case write:
			a.phase = commit
			if writes && at.nodes.flows != nil && at.Cluster.WritesWait {
				at.writes(id, a, w.OutputBytes)
			}
		case commit:
			a.phase = finish
			if writes && at.Costs.CommitMs > 0 {
				a.timer(&at.events, id, int64(at.Costs.CommitMs))
			}
		case finish:
			at.succeed(id)
			return
		}
	}
}

// compute starts an attempt's computing.
func (at *attempts) compute(id int32, a *attempt, j *job, w *Work) {
	a.phase = write
	if at.timed {
		at.rest[id].readTo = at.since(a)
	}
	at.computes(id, a, at.draws.computeMs(j, a, w), w.CoresPercent)
}

// writes starts a write to the disk of an attempt's node.
func (at *attempts) writes(id int32, a *attempt, bytes int64) {
	at.unbook(a.node)
	f := at.nodes.flows.Write(at.events.Now, a.node, a.node, bytes, a.tag(id))
	at.awaits(id, f)
	if at.load != nil {
		at.load.moves(id, a, writing, a.node, bytes, f)
	}
}

// since returns the time from an attempt's start until now.
func (at *attempts) since(a *attempt) int32 {
	return int32(min(at.events.Now-a.startMs, math.MaxInt32))
}

// endsIn notes that an attempt's computing ends ms milliseconds from now.
func (at *attempts) endsIn(id int32, a *attempt, ms int64) {
	if at.timed {
		at.rest[id].endMs = int32(min(at.events.Now+ms-a.startMs, math.MaxInt32))
	}
}

// computes starts a computation of an attempt. The computation takes ms
// milliseconds on a node of speed 1, and uses this share of a core; 0 means a
// whole core.
func (at *attempts) computes(id int32, a *attempt, ms int64, percent uint8) {
	if ms == 0 {
		return
	}
	x := &at.nodes.list[a.node]
	if !x.cores {
		ms = x.on(ms)
		at.endsIn(id, a, ms)
		a.timer(&at.events, id, ms)
		if at.load != nil {
			at.load.computes(id, a, percent, at.events.Now, at.events.Now+ms, fluid.Ended)
		}
		return
	}
	var f fluid.Flow
	if percent == 0 {
		f = at.nodes.flows.Compute(at.events.Now, a.node, ms*1000, a.tag(id))
	} else {
		f = at.nodes.flows.ComputeSlowly(at.events.Now, a.node, ms*10*int64(percent), (int64(1e6)<<16/x.slow)*int64(percent)/100, a.tag(id))
	}
	at.awaits(id, f)
	if at.load != nil {
		at.load.computes(id, a, percent, at.events.Now, at.events.Now+x.on(ms), f)
	}
}

// awaits adds a transfer or computation, f, to those that the attempt waits for
// before its next phase.
func (t *table) awaits(id int32, f fluid.Flow) {
	if f == fluid.Ended {
		return
	}
	a := &t.list[id]
	i := a.tag(id) % maxFlows
	t.flows[id][i] = f
	a.openFlows |= 1 << i
	a.pending++
}

// tag returns a number that names the attempt and its next transfer or
// computation. When the transfer or computation ends, the number tells which
// attempt goes on.
func (a *attempt) tag(id int32) uint32 {
	return uint32(id)*maxFlows + uint32(bits.TrailingZeros8(^a.openFlows))
}

// read starts reading a map's input from the nearest copy. The order is: a
// cached copy on the node, a replica on the node, a replica in the rack, any
// replica. Among equally near replicas one is drawn at random.
func (at *attempts) read(id int32, a *attempt, j *job, w *Work) {
	if at.nodes.flows == nil || w.InputBytes == 0 {
		return
	}
	from := a.node
	if a.level == state.LevelRack || a.level == state.LevelOff {
		hosts := at.jobs.replicas(j, a.task)
		if len(hosts) == 0 {
			return // no node with the map's input is known, so the read takes no time
		}
		first := at.draws.read.At(j.hash).At(uint64(a.task)).Below(len(hosts))
		from = hosts[first]
		for i := range hosts {
			if h := hosts[(first+i)%len(hosts)]; a.level == state.LevelRack && at.nodes.list[h].rack == at.nodes.list[a.node].rack {
				from = h
				break
			}
		}
	}
	cached := a.level == state.LevelCache
	if !cached {
		at.unbook(from)
	}
	f := at.nodes.flows.Read(at.events.Now, from, a.node, cached, w.InputBytes, a.tag(id))
	at.awaits(id, f)
	if at.load != nil && !cached {
		at.load.moves(id, a, reading, from, w.InputBytes, f)
	}
}

// fetchMore starts fetching the map output that a reduce does not have yet. It
// returns false if the reduce has to wait: for this transfer, or until more
// maps have finished.
func (at *attempts) fetchMore(id int32, a *attempt, w *Work) bool {
	x, j := &at.rest[id], &at.jobs.list[a.job]
	maps := j.done[state.Map]
	all := maps == j.total[state.Map]
	if at.NodeFetches {
		if w.FixedMs == 0 {
			f := at.fetches.ofNodes(id, j)
			at.fetches.fromNodes(id, f)
			if a.pending > 0 {
				return false
			}
			all = all && f.due == 0
		}
	} else if at.fetches.fromRacks(id, j, w) {
		return false
	}
	if !all {
		a.marks |= waitsForMaps
		x.next, j.waiting = j.waiting, id
		return false
	}
	a.phase = compute
	x.bytes = j.part(j.outBytes, int64(a.task)-int64(j.total[state.Map]))
	if fixedMs := j.fixedMs(a, w); fixedMs > 0 {
		a.phase = finish
		from := at.events.Now
		if !w.FromLastMap {
			from = a.startMs
		}
		if end := from + int64(fixedMs); end > at.events.Now {
			at.endsIn(id, a, end-at.events.Now)
			a.timer(&at.events, id, end-at.events.Now)
			if at.load != nil && w.CoresPercent > 0 {
				at.load.computes(id, a, w.CoresPercent, at.events.Now, end, fluid.Ended)
			}
		}
	}
	return true
}

// nodeFetchEnded handles the end of a transfer of map output from a node. The
// parameter tag names the reduce and the node, see nodeFetchTag.
func (at *attempts) nodeFetchEnded(tag uint32) {
	f := &at.fetches.byNode[tag/MaxFetchNodes]
	f.running &^= 1 << (tag % MaxFetchNodes)
	id := f.attempt
	at.fetches.fromNodes(id, f)
	at.goOn(id)
}
