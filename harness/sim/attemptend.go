package sim

import (
	"heddle/harness/sched"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// maxFailures is the number of failed attempts at one task that makes the job
// fail: 4, Hadoop's default.
const maxFailures = 4

// runs reports whether the attempt has not ended.
func (a *attempt) runs() bool { return a.job >= 0 }

// succeed marks an attempt, and its task, as succeeded.
func (at *attempts) succeed(id int32) {
	a := &at.list[id]
	slot, n := a.job, a.node
	other := n
	if a.is(doubled) {
		other = at.killOther(id)
	}
	j := &at.jobs.list[slot]
	w := j.workOf(a.kind, a.task)
	if err := at.state.Finish(j.id, a.task); err != nil {
		panic(err) // a programming error in this package: package state does not know the task as running
	}
	at.masters.freeAtBeat(reported{n, j.id, j.size[a.kind], false}, 0)
	j.done[a.kind]++
	at.r.Attempts.Succeeded++
	if a.kind == state.Map {
		at.r.Maps[a.level]++
		at.r.Bytes.Read[a.level] += w.InputBytes
		if len(j.ran) > 0 {
			j.ran[a.task] = success{n, a.level}
		}
	} else {
		at.r.Bytes.Shuffled += at.rest[id].bytes
	}
	if a.kind == state.Map && j.total[state.Reduce] > 0 {
		at.putOut(j, n, w.OutputBytes)
	} else {
		at.r.Bytes.Written += w.OutputBytes
	}
	if at.Speculation != NoSpeculation {
		j.took[a.kind].add(float64(at.events.Now - a.startMs))
		at.nodes.done[n]++
	}
	at.close(id, traces.Succeeded, "")
	at.nodes.noteRoom(n)
	at.nodes.noteRoom(other)
	at.hears.task(sched.TaskEnded, j.id, a.task, n)
	if a.kind == state.Map && j.total[state.Reduce] > 0 {
		at.mapDone(slot)
	}
	at.masters.endIfDone(slot)
}

// putOut adds bytes to the map output that node n stores for the job's
// reduces. The parameter bytes is negative if output is lost with its node.
func (at *attempts) putOut(j *job, n state.NodeID, bytes int64) {
	at.r.Bytes.MapOutput += bytes
	rack := at.nodes.list[n].rack
	j.out[rack] += bytes
	j.outBytes += bytes
	if at.keepsOutput {
		at.state.AddMapOutput(j.id, n, bytes)
	}
	j.lately[(j.done[state.Map]-1)&int32(len(j.lately)-1)] = rack
}

// mapDone handles the success of a map: reduces that wait for map output fetch
// it, and the ApplicationMaster may ask for more reduces.
func (at *attempts) mapDone(slot int32) {
	j := &at.jobs.list[slot]
	done := j.done[state.Map]
	if j.asked < j.total[state.Reduce] && done >= j.slowStart {
		if at.Costs.AMBeatMs == 0 {
			at.masters.rampUp(j)
		} else {
			at.masters.callBeat(slot)
		}
	}
	if j.waiting < 0 || j.fetchStep(done) == j.fetchStep(done-1) {
		return
	}
	for j.woken, j.waiting = j.waiting, -1; j.woken >= 0; {
		id := j.woken
		j.woken = at.rest[id].next
		at.list[id].marks &^= waitsForMaps
		at.proceed(id)
	}
}

// close records the end of an attempt and frees the attempt's slot in memory
// for reuse.
func (at *attempts) close(id int32, how traces.Outcome, why string) {
	a := &at.list[id]
	j := &at.jobs.list[a.job]
	i := int32(a.task)
	if a.kind == state.Reduce {
		i -= j.total[state.Map]
	}
	launched := at.events.Now >= a.startMs
	if launched {
		at.r.Digest.AddHashed(
			j.hash,
			a.kind,
			i,
			int32(a.number),
			at.nodes.list[a.node].hash,
			traces.Time(a.startMs*1e6),
			traces.Time(at.events.Now*1e6),
		)
	}
	at.recorder.attemptEnded(a, &at.rest[id], how, why, launched)
	if a.is(rerun) {
		at.r.Attempts.Reruns++
	}
	if a.kind == state.Reduce || at.timed {
		if x := &at.rest[id]; x.fetch >= 0 {
			at.fetches.spare = append(at.fetches.spare, x.fetch)
		}
		at.rest[id] = noRest
	}
	if at.nodes.freed != nil && launched {
		at.nodes.freed[a.node] = at.events.Now
	}
	a.gen++
	a.job = -1
	at.running--
	if a.kind == state.Map {
		at.maps--
	}
	at.idle = append(at.idle, id)
}

// killOther is called when an attempt at a task has succeeded. It ends the
// other attempt at the same task. It returns the node of the ended attempt, or
// that of the successful one if the other attempt had not started.
func (at *attempts) killOther(id int32) state.NodeID {
	a, other := &at.list[id], at.rest[id].other
	a.marks &^= doubled
	j := &at.jobs.list[a.job]
	if j.speculative--; other == asked {
		return a.node
	}
	b := &at.list[other]
	at.freeze(other)
	b.marks &^= doubled
	held := a
	if b.is(speculative) {
		held = b
	}
	at.state.Release(held.node, j.id, j.size[a.kind])
	at.r.Attempts.Killed++
	at.close(other, traces.Killed, traces.KilledAsSlower+"another attempt of the task succeeded first!")
	return b.node
}

// stop ends an attempt as failed or killed, for the reason why. If again is true, the
// ApplicationMaster asks for a new container for the attempt's task, unless a
// second attempt at the task is running.
func (at *attempts) stop(id int32, how traces.Outcome, why string, again bool) {
	a := &at.list[id]
	slot, n, t := a.job, a.node, a.task
	j := &at.jobs.list[slot]
	if how == traces.Failed {
		at.r.Attempts.Failed++
	} else {
		at.r.Attempts.Killed++
	}
	j.tried(t)
	other := int32(-1)
	if a.is(doubled) {
		j.speculative--
		if other = at.rest[id].other; other != asked {
			at.list[other].marks &^= doubled
		}
	}
	wasSpeculative, kind := a.is(speculative), a.kind
	at.close(id, how, why)
	switch {
	case wasSpeculative:
		at.state.Release(n, j.id, j.size[kind])
	case other >= 0: // the task's other, speculative attempt goes on, as its ordinary attempt
		b := &at.list[other]
		at.state.Release(b.node, j.id, j.size[kind])
		b.marks &^= speculative
		if at.state.Retry(j.id, t, false) != nil || at.state.Start(j.id, t, b.node) != nil {
			panic("sim: a speculative attempt cannot take its task's place")
		}
	case again:
		if err := at.masters.askAgain(j, t, how == traces.Failed); err != nil {
			panic(err)
		}
		at.masters.callBeat(slot)
	}
	at.nodes.noteRoom(n)
	at.hears.tell(sched.Event{What: sched.TaskEnded, Job: j.id, Task: t, Node: n, Failed: true})
}

// freeze stops an attempt's transfers, computations and timers, for example
// when the attempt's node is lost.
func (at *attempts) freeze(id int32) {
	a := &at.list[id]
	if a.is(booked) {
		at.unbook(a.node)
		if x := &at.rest[id]; at.timed && at.since(a) < x.readFrom {
			x.readFrom, x.readTo = 0, 0
		}
	}
	if at.load != nil {
		at.load.settle(id)
	}
	for i, f := range at.flows[id] {
		if a.openFlows>>i&1 != 0 {
			at.nodes.flows.Cancel(at.events.Now, f)
		}
	}
	if fetch := at.rest[id].fetch; fetch >= 0 && at.NodeFetches {
		at.fetches.stop(&at.fetches.byNode[fetch])
	}
	a.openFlows, a.pending = 0, 0
	a.gen++
	if at.events.Now < a.startMs {
		a.startMs = kernel.Never // the attempt had not been launched, and never will be
	}
	if a.is(waitsForMaps) {
		at.stopWaiting(id)
	}
}

// stopWaiting removes a reduce from the job's list of reduces that wait for
// maps to finish.
func (at *attempts) stopWaiting(id int32) {
	a := &at.list[id]
	a.marks &^= waitsForMaps
	j := &at.jobs.list[a.job]
	for _, link := range [...]*int32{&j.waiting, &j.woken} {
		for ; *link >= 0; link = &at.rest[*link].next {
			if *link == id {
				*link = at.rest[id].next
				return
			}
		}
	}
}

// kill ends an attempt that goes on no longer. The parameters why and again are those of stop.
func (at *attempts) kill(id int32, why string, again bool) {
	at.freeze(id)
	at.stop(id, traces.Killed, why, again)
}

// killAll ends all attempts of a job.
func (at *attempts) killAll(slot int32, why string, again bool) {
	for id := range at.list {
		if at.list[id].job == slot {
			at.kill(int32(id), why, again)
		}
	}
}

// fail ends an attempt as failed. The ApplicationMaster asks again for a
// container for the attempt's task. But after maxFailures (4) failed attempts
// at the task, fail returns true: the whole job fails.
func (at *attempts) fail(id int32) bool {
	a := &at.list[id]
	if p := at.jobs.list[a.job].past(a); p != nil && p.Last {
		at.giveUp(id)
		return false
	}
	x := at.jobs.list[a.job].tried(a.task)
	x.failed++
	last := x.failed >= maxFailures
	at.freeze(id)
	at.stop(id, traces.Failed, "", !last)
	return last
}

// giveUp ends an attempt as failed, and its task as done without output.
func (at *attempts) giveUp(id int32) {
	at.freeze(id)
	a := &at.list[id]
	slot, n, t, kind := a.job, a.node, a.task, a.kind
	other := n
	if a.is(doubled) {
		other = at.killOther(id)
	}
	j := &at.jobs.list[slot]
	if err := at.state.Finish(j.id, t); err != nil {
		panic(err) // a programming error in this package: package state does not know the task as running
	}
	j.done[kind]++
	at.r.Attempts.Failed++
	reduces := kind == state.Map && j.total[state.Reduce] > 0
	if reduces {
		at.putOut(j, n, 0)
	}
	at.recorder.taskFailed(a)
	at.close(id, traces.Failed, "")
	at.nodes.noteRoom(n)
	at.nodes.noteRoom(other)
	at.hears.tell(sched.Event{What: sched.TaskEnded, Job: j.id, Task: t, Node: n, Failed: true})
	if reduces {
		at.mapDone(slot)
	}
	at.masters.endIfDone(slot)
}

// youngestReduce returns the reduce of a job that started last, or -1 if none
// runs. It leaves out speculative attempts.
func (at *attempts) youngestReduce(slot int32) int32 {
	youngest := int32(-1)
	for id := range at.list {
		if a := &at.list[id]; a.job == slot && a.kind == state.Reduce && !a.is(speculative) &&
			(youngest < 0 || a.startMs > at.list[youngest].startMs) {
			youngest = int32(id)
		}
	}
	return youngest
}

// loseNode stops what runs on a node that is lost. These attempts end when their
// ApplicationMaster learns of it.
func (at *attempts) loseNode(n state.NodeID) {
	for id := range at.list {
		if a := &at.list[id]; a.node == n && a.runs() {
			at.freeze(int32(id))
			a.marks |= dead
		}
	}
	if at.NodeFetches {
		at.loseFetches(n)
	}
}

// killLost ends all attempts that were running on a node when it was lost.
func (at *attempts) killLost(n state.NodeID) {
	for id := range at.list {
		if a := &at.list[id]; a.node == n && a.is(dead) && a.runs() {
			at.stop(int32(id), traces.Killed, traces.KilledWithNode, true)
		}
	}
}

// killAbove ends the youngest attempts on a node that has less capacity than they use.
func (at *attempts) killAbove(n state.NodeID) {
	for free := at.view.Free(n); free.MemoryMB < 0 || free.VCores < 0; free = at.view.Free(n) {
		youngest := -1
		for id := range at.list {
			if a := &at.list[id]; a.node == n && a.runs() && (youngest < 0 || a.startMs >= at.list[youngest].startMs) {
				youngest = id
			}
		}
		if youngest < 0 {
			return // what is left are ApplicationMasters
		}
		at.kill(int32(youngest), traces.KilledByYARN, true)
	}
}

// loseOutput asks again for containers for those maps of a job whose output was
// on the lost node n.
func (at *attempts) loseOutput(slot int32, n state.NodeID) {
	j := &at.jobs.list[slot]
	if len(j.ran) == 0 || j.done[state.Reduce] == j.total[state.Reduce] {
		return
	}
	for t, on := range j.ran {
		id := state.TaskID(t)
		if on.node != n || at.masters.askAgain(j, id, true) != nil {
			continue
		}
		w := j.workOf(state.Map, id)
		at.putOut(j, n, -w.OutputBytes)
		at.r.Maps[on.level]--
		at.r.Bytes.Read[on.level] -= w.InputBytes
		at.r.Attempts.Succeeded--
		at.r.Attempts.Killed++
		j.done[state.Map]--
		j.ran[t].node = state.None
		j.tried(id)
	}
	if !j.up { // the next ApplicationMaster asks for them
		at.masters.unaskAll(j)
	}
	at.masters.callBeat(slot)
}

// loseFetches stops all transfers of map output from a node that is lost. The
// reduces fetch what they lack from the nodes on which the maps run again.
func (at *attempts) loseFetches(n state.NodeID) {
	at.fetches.lost |= 1 << n
	for id := range at.list {
		a := &at.list[id]
		x := &at.rest[id]
		if !a.runs() || x.fetch < 0 {
			continue
		}
		f := &at.fetches.byNode[x.fetch]
		if f.running>>n&1 == 0 {
			continue
		}
		f.got[n] -= at.nodes.flows.Left(at.events.Now, f.flows[n])
		at.nodes.flows.Cancel(at.events.Now, f.flows[n])
		f.running &^= 1 << n
		f.due |= 1 << n
		at.fetches.fromNodes(int32(id), f)
		at.goOn(int32(id))
	}
}
