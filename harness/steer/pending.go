package steer

import (
	"slices"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// askPending asks YARN how many containers the job's ApplicationMaster waits for.
func (j *job) askPending() {
	c := j.core
	if j.ended || !j.ready || j.attempt == "" || c.trouble != "" {
		return
	}
	ask(c, Look{What: AskApp, Of: j.app.ID}, func(app yarnclient.App, sent time.Time, err error) {
		if j.ended {
			return
		}
		if err != nil {
			c.failed("ask what "+j.app.ID+" waits for", err)
		} else if c.trouble == "" && app.State == "RUNNING" {
			j.sawPending(app.Use, sent)
		}
		wait := time.Second
		switch {
		case j.asked[state.Map] == 0 && j.files.Spec.Maps > 0:
			wait = 50 * time.Millisecond
		case j.opened > 0:
			wait = 100 * time.Millisecond
		case j.reducesMayCome():
			wait = max(100*time.Millisecond, j.calm())
		}
		j.asks.in(max(wait, c.pause(max(20, c.running()), sent)))
	})
}

// reducesMayCome says whether the ApplicationMaster may soon ask for containers for
// more reduces: at the latest when the maps that run now have ended.
func (j *job) reducesMayCome() bool {
	v := j.core.view
	return j.asked[state.Reduce] < j.files.Spec.Reduces && v.Done(j.id, state.Map)+v.Running(j.id, state.Map) >= j.files.ReduceAfter
}

// sawPending takes in the container requests that the ApplicationMaster waits for. sent
// is the time when the call for them began.
func (j *job) sawPending(use []yarnclient.PartitionUse, sent time.Time) {
	pending := j.countAsked(use)
	if pending == [2]int32{} && j.asked == [2]int32{} {
		j.tellStrange(use)
	}
	if pending[state.Reduce] > 0 && j.awaitsOutput(sent) {
		pending[state.Reduce] = 0
	}
	had := [2]bool{j.wants(state.Map), j.wants(state.Reduce)}
	j.pending = pending
	more := false
	if pending[state.Map] > 0 && j.asked[state.Map] == 0 {
		more = j.asksFor(state.Map, j.files.Spec.Maps)
	}
	if n := pending[state.Reduce] - j.coming[state.Reduce] - j.core.view.Waiting(j.id, state.Reduce); n > 0 {
		more = j.asksFor(state.Reduce, min(j.asked[state.Reduce]+n, j.files.Spec.Reduces)) || more
	}
	for k := range had {
		more = more || j.wants(state.Kind(k)) && !had[k]
	}
	// If the ApplicationMaster asks for more containers than its job has waiting tasks,
	// as far as steering knows, a task attempt has failed or was killed. If it asks for
	// fewer maps, one that counts as waiting has ended: a model that chose it again and
	// again would starve other jobs. A container whose task is not known yet explains that too.
	excess := len(j.unbound) == 0 && j.coming[state.Map] == 0 && pending[state.Map] < j.core.view.Waiting(j.id, state.Map)
	for k := range pending {
		excess = excess || pending[k] > j.core.view.Waiting(j.id, state.Kind(k))+j.coming[k]
	}
	if excess && j.excess {
		j.reconcile()
	} else {
		j.excess = excess
	}
	j.withdrawReduces()
	j.giveUpTakenBack(sent)
	if more {
		j.core.offerAll()
	}
}

// tellStrange tells once that a job that has asked for nothing so far asks under other labels than its own.
func (j *job) tellStrange(use []yarnclient.PartitionUse) {
	if asks := func(u yarnclient.PartitionUse) bool { return u.PendingMB > 0 }; !j.strange && slices.ContainsFunc(use, asks) {
		j.strange = true
		j.core.log(Warn, "nothing is decided for the job: it asks for containers under other node labels than it was given", "job", j.jobID(),
			"labels", j.sub.label(state.Map)+" and "+j.sub.label(state.Reduce))
	}
}

// countAsked counts the containers that the job waits for, by kind of task: each has a label of its own.
func (j *job) countAsked(use []yarnclient.PartitionUse) (pending [2]int32) {
	for k := range pending {
		j.reservedMB[k] = 0
		for _, u := range use {
			if size := int64(j.size[k].MemoryMB); u.Partition == j.sub.label(state.Kind(k)) && size > 0 {
				j.reservedMB[k] += u.ReservedMB
				pending[k] += int32(min(max(0, u.PendingMB+size/2)/size, 1<<20))
			}
		}
	}
	return pending
}

// withdrawReduces no longer counts those reduces as waiting for which the
// ApplicationMaster has stopped asking for containers. An ApplicationMaster stops
// asking when maps wait and the cluster seems full. If such a reduce still counted, the
// model would choose it again and again. Two answers of YARN in a row must agree,
// because YARN may not list a container yet that it has just granted.
func (j *job) withdrawReduces() {
	over := int32(0)
	if j.coming[state.Reduce] == 0 {
		over = j.core.view.Waiting(j.id, state.Reduce) - j.pending[state.Reduce]
	}
	had := j.withdrawn
	if j.withdrawn = max(0, over); had == 0 {
		return
	}
	n := min(had, j.withdrawn)
	j.unask(n)
	j.withdrawn -= n
}

// unask no longer counts n of the reduces as waiting.
func (j *job) unask(n int32) {
	for range n {
		j.asked[state.Reduce], _ = j.core.state.Unask(j.id, state.Reduce)
	}
}

// giveUpTakenBack gives up the decisions that wait for a container of a kind that the
// ApplicationMaster has stopped asking for. Such a container never comes, and the job's
// maps may wait for just that room. The ApplicationMaster must ask for none during two
// of its heartbeats, because YARN may not list a container yet that it has just granted.
func (j *job) giveUpTakenBack(sent time.Time) {
	for k := range j.pending {
		switch {
		case j.pending[k] > 0 || j.coming[k] == 0:
			j.tookBack[k] = time.Time{}
			continue
		case j.tookBack[k].IsZero():
			j.tookBack[k] = sent
		}
		if sent.Sub(j.tookBack[k]) < 2*j.files.Beat {
			continue
		}
		for _, n := range j.core.nodes {
			if op := n.active; op.lacks(j, n, state.Kind(k)) && op.stage < parking {
				op.outcome, op.takenBack = "cancelled", true
				op.park("the ApplicationMaster took its request back")
			}
		}
	}
}

func (j *job) asksFor(k state.Kind, n int32) bool {
	if n <= j.asked[k] {
		return false
	}
	j.asked[k] = n
	j.core.state.Ask(j.id, k, n)
	return true
}
