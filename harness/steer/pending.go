package steer

import (
	"context"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// askPending reads what the job's master waits for.
func (d *Driver) askPending(j *job) {
	if j.ended || j.attempt == "" || d.trouble != "" {
		return
	}
	began := time.Now()
	ask(d, func(ctx context.Context) (yarnclient.App, error) { return d.rm.App(ctx, j.app.ID) }, func(app yarnclient.App, err error) {
		cost := time.Since(began)
		if j.ended {
			return
		}
		if err != nil {
			d.failed("ask what "+j.app.ID+" waits for", err)
		} else if d.trouble == "" && app.State == "RUNNING" {
			d.sawPending(j, app.Requests)
		}
		wait := time.Second
		switch {
		case j.asked[state.Map] == 0 && j.about.spec.Maps > 0:
			wait = 50 * time.Millisecond
		case j.opened > 0:
			wait = 100 * time.Millisecond
		case d.reducesMayCome(j):
			wait = max(100*time.Millisecond, d.calm(j))
		}
		j.asks.in(max(wait, 20*cost))
	})
}

// reducesMayCome says whether the job may ask for more reduces soon: when the
// maps that run are done, at the latest.
func (d *Driver) reducesMayCome(j *job) bool {
	return j.asked[state.Reduce] < j.about.spec.Reduces &&
		d.view.Done(j.id, state.Map)+d.view.Running(j.id, state.Map) >= j.about.reduceAfter
}

func (d *Driver) sawPending(j *job, rows []yarnclient.ResourceRequest) {
	var pending [2]int32
	failed := int32(0)
	for _, r := range rows {
		if r.Name != "*" {
			continue
		}
		switch r.Priority {
		case yarnclient.PriorityReduce:
			pending[state.Reduce] += int32(r.Containers)
		case yarnclient.PriorityFailedMap:
			failed += int32(r.Containers)
		}
		if k, task := kindOf(r.Priority); task && k == state.Map {
			pending[state.Map] += int32(r.Containers)
		}
	}
	had := [2]bool{j.wants(state.Map), j.wants(state.Reduce)}
	j.pending = pending
	more := false
	if pending[state.Map] > 0 && j.asked[state.Map] == 0 {
		more = d.asked(j, state.Map, j.about.spec.Maps)
	}
	if n := pending[state.Reduce] + j.granted[state.Reduce]; pending[state.Reduce] > 0 && n > j.asked[state.Reduce] {
		more = d.asked(j, state.Reduce, min(n, j.about.spec.Reduces)) || more
	}
	for k := range had {
		more = more || j.wants(state.Kind(k)) && !had[k]
	}
	// More is waited for than is known of: something has failed, or was killed.
	excess := failed > j.reruns
	for k := range pending {
		excess = excess || pending[k] > d.view.Waiting(j.id, state.Kind(k))+j.coming[k]
	}
	if excess && j.excess {
		d.reconcile(j)
	} else {
		j.excess = excess
	}
	if more {
		d.offerAll()
	}
}

func (d *Driver) asked(j *job, k state.Kind, n int32) bool {
	if n <= j.asked[k] {
		return false
	}
	j.asked[k] = n
	d.state.Ask(j.id, k, n)
	return true
}
