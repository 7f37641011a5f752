package explain

import (
	"slices"

	"heddle/traces"
)

// walk goes backwards through a trace, from what ended to what that waited for.
type walk struct {
	w     *Reader
	only  *job        // nil: through all jobs
	waits *job        // maps of which wait for the attempt that the walk is at
	at    traces.Time // up to where it has come
	floor traces.Time
	steps []Step
	id    int // what was met has it in seen
}

// to gives the time from t on to a cause, and goes there.
func (k *walk) to(t traces.Time, s Step) {
	t = max(k.floor, min(t, k.at))
	if t == k.at {
		return
	}
	s.From, s.To = t, k.at
	k.at = t
	k.steps = append(k.steps, s)
}

// visit reports whether an attempt was not met before.
func (k *walk) visit(a *attempt) bool {
	was := a.seen
	a.seen = k.id
	return was != k.id
}

// step describes a piece of an attempt.
func (a *attempt) step(c Cause) Step {
	return Step{Cause: c, Job: a.job.id, Attempt: a.id, Node: a.node.Node}
}

// isAttempt reports whether it is not something else that takes room.
func (a *attempt) isAttempt() bool { return !a.master && !a.lost }

// job goes from the end of a job to the begin of the walk.
func (k *walk) job(j *job) {
	for j != nil && k.at > k.floor {
		if j.app != nil {
			k.spark(j)
			j = k.before(j)
			continue
		}
		a := upTo(j.ends, k.at)
		if good := k.lastGood(j); good != nil && j.outcome != traces.Failed {
			a = good
		}
		if a != nil {
			k.to(a.end, Step{Cause: jobEnd, Job: j.id})
		}
		for a != nil && k.at > k.floor && k.visit(a) {
			if j = a.job; a.master {
				a = k.wait(a)
			} else {
				a = k.attempt(a)
			}
			if a == nil {
				a = k.master(j)
			}
		}
		if a == nil && len(j.ends) == 0 {
			k.master(j)
		}
		j = k.before(j)
	}
	k.to(k.floor, Step{Cause: unknown})
}

// lastGood returns the attempt of a job that succeeded last.
func (k *walk) lastGood(j *job) *attempt {
	for _, a := range slices.Backward(j.ends[:after(j.ends, k.at)]) {
		if a.outcome == traces.Succeeded {
			return a
		}
	}
	return nil
}

// attempt goes to the begin of an attempt, and returns the one that it waited for; nil: it
// waited for the ApplicationMaster.
func (k *walk) attempt(a *attempt) *attempt {
	if a.outcome != traces.Succeeded {
		k.to(a.start, k.w.lostStep(a))
	} else if m := a.lastMap(k.at); m != nil {
		k.run(a, m.end)
		return m
	}
	k.run(a, a.start)
	return k.wait(a)
}

// wait goes to when an attempt was asked for, and returns the one that it waited for.
func (k *walk) wait(a *attempt) *attempt {
	k.waits = nil
	if a.why == askedBeside {
		k.to(a.before.start, k.w.besideStep(a))
		if k.visit(a.before) {
			return k.wait(a.before)
		}
		return nil
	}
	k.given(a)
	isMap := a.id.Kind == traces.Map && !a.master
	for k.at > a.asked && k.at > k.floor {
		k.free(a)
		if k.at <= a.asked {
			break
		}
		x := k.holder(a)
		if x == nil {
			k.to(a.asked, a.step(unknown))
			break
		}
		s := a.step(othersHold)
		s.Other, s.Node = x.id, x.node.Node
		switch {
		case x.lost:
			s.Cause = nodeLost
		case x.master:
			s.Other.Job = x.job.id
			if y := k.lastGood(x.job); k.only == nil && y != nil && y.seen != k.id {
				k.to(y.end, Step{Cause: jobEnd, Job: x.job.id})
				return y
			}
		case isMap && x.job == a.job && x.id.Kind == traces.Reduce:
			s.Cause = reducesHold
		case k.only == nil || x.job == k.only:
			if isMap {
				k.waits = a.job
			}
			return x
		}
		k.visit(x)
		k.to(max(a.asked, x.from), s)
	}
	return k.asked(a)
}

// again is the piece of a wait, which is due to the loss of a node if the attempt runs for that only.
func (k *walk) again(a *attempt, c Cause) Step {
	if a.why == askedLost || a.why == askedAgain && k.w.lostStep(a.before).Cause == nodeLost {
		c = nodeLost
	}
	return a.step(c)
}

// given goes from the start of an attempt to when its container was given to it.
func (k *walk) given(a *attempt) {
	if a.unlaunched && a.start == a.end {
		k.to(a.asked, a.step(unknown)) // nobody knows since when it had its container
	}
	s, until := k.again(a, handOver), max(a.from, a.asked)
	if a.outcome != traces.Succeeded && k.at-until > 2*handOverMost {
		s = k.w.lostStep(a) // it had its container, and never came to run
	}
	k.to(until, s)
}

// free goes back as long as a node had room.
func (k *walk) free(a *attempt) {
	since := max(a.asked, k.w.roomSince(a.need, k.at))
	switch {
	case k.at-since < handOverMost/3:
		k.to(since, k.again(a, handOver))
	case a.master:
		k.to(since, Step{Cause: masterWait, Job: a.job.id})
	case len(a.job.masters) == 0 || k.w.byCount && k.w.sparked():
		k.to(since, a.step(unknown))
	default:
		k.to(since, k.again(a, kept))
	}
}

// holder returns what made room by its end when no node had any: best on the same node, then of
// the same job. If nothing ended now, several that start one after the other took what one left: it
// returns the last of them on the node.
func (k *walk) holder(a *attempt) (best *attempt) {
	rank := func(x *attempt) int { return 4*b2i(x.isAttempt()) + 2*b2i(x.node == a.node) + b2i(x.job == a.job) }
	for _, x := range k.w.takers[after(k.w.takers, k.at-1):] {
		if x.end > k.at {
			break
		}
		if x != a && x.seen != k.id && (x.isAttempt() || x.job != a.job && x.start < k.at) && (best == nil || rank(x) > rank(best)) {
			best = x
		}
	}
	if best != nil {
		return best
	}
	list := a.node.ran
	if a.node.Node == "" {
		list = k.w.ends
	}
	for _, x := range list {
		if x != a && x.from < k.at && x.end > k.at && x.seen != k.id && (best == nil || x.from > best.from) {
			best = x
		}
	}
	return best
}

// asked goes on from when an attempt was asked for.
func (k *walk) asked(a *attempt) *attempt {
	switch a.why {
	case askedAgain, askedSlowStart:
		k.to(a.before.end, a.step(handOver))
		return a.before
	case askedLost, askedNewMaster:
		c := ownWork // the job was at work until something was lost
		if a.why == askedNewMaster {
			c = masterLost
		}
		y := upTo(a.job.ends, k.at)
		for y != nil && y.seen == k.id {
			y = upTo(a.job.ends, y.end-1)
		}
		if y != nil {
			k.to(y.end, a.step(c))
		}
		return y
	case askedLater:
		until, c := a.job.submitted, masterStart
		if m := a.job.masters; len(m) > 0 {
			until = m[0].start
		}
		if k.at-until > 2*handOverMost {
			c = askedLate
		}
		k.to(until, a.step(c))
	}
	return nil
}

// master goes from when the ApplicationMaster of a job was up to when one could have been asked for. If that
// is later than the submission, it returns what then waited for a container: the ApplicationMaster.
func (k *walk) master(j *job) *attempt {
	s := Step{Cause: unknown, Job: j.id}
	if len(j.masters) == 0 || k.at <= j.submitted {
		k.to(j.submitted, s)
		return nil
	}
	up := j.masters[0].start
	k.to(up, s)
	if s.Cause = masterLost; j.later {
		k.to(j.submitted, s)
	}
	s.Cause = masterStart
	k.to(max(j.submitted, up-k.w.least), s)
	if k.at <= j.submitted {
		return nil
	}
	m := &attempt{job: j, node: &node{}, master: true, asked: j.submitted, from: k.at}
	m.need = k.w.needs(m)
	return m
}

// before goes from the submission of a job to the end of the one before it, which it returns; nil: others
// were at work, or there is none.
func (k *walk) before(j *job) (before *job) {
	if k.at > j.submitted { // the walk was led to where it had been
		return nil
	}
	for _, o := range k.w.order {
		if o != j && o.submitted < k.at && (before == nil || o.ended > before.ended) {
			before = o
		}
	}
	if before == nil {
		return nil
	}
	until := before.ended
	if until > k.at {
		before, until = nil, k.floor
	}
	k.to(until, Step{Cause: submittedLate, Job: j.id})
	return before
}
