package steer

import (
	"context"
	"slices"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// lookUp asks the master which task runs in a container, first the one that
// was predicted. It is asked when the master has heard of the container, and
// less and less often; one that is gone is given up when all tasks have been
// looked at since.
func (d *Driver) lookUp(c *container, try int) {
	const tries = 9
	j := c.job
	wait := min((j.about.beat+20*time.Millisecond)<<try, 5*time.Second)
	d.newAlarm(func() {
		if j.ended || c.task != state.None {
			return
		}
		next := func() {
			switch {
			case j.ended || c.task != state.None:
			case try == tries, c.gone() && j.surveyed.After(c.goneAt) && time.Since(j.surveyed) > j.about.beat:
				d.neverBound(c)
			default:
				if try > 0 {
					d.reconcile(j)
				}
				d.lookUp(c, try+1)
			}
		}
		_, _, t, _, ok := d.state.Reservation(c.held)
		if !ok || t == state.None {
			next()
			return
		}
		task := d.taskName(j, t)
		ask(d, func(ctx context.Context) ([]yarnclient.TaskAttempt, error) { return j.am.Attempts(ctx, task) }, func(list []yarnclient.TaskAttempt, err error) {
			if err != nil {
				d.failed("ask for attempts of "+task, err)
			}
			d.sawAttempts(j, t, list)
			next()
		})
	}).in(wait)
}

func (d *Driver) taskName(j *job, t state.TaskID) string {
	k, i := d.view.Index(j.id, t)
	return traces.Task{Job: j.jobID(), Kind: k, Index: i}.String()
}

// sawAttempts ties containers to the task that runs in them.
func (d *Driver) sawAttempts(j *job, t state.TaskID, list []yarnclient.TaskAttempt) {
	if j.ended {
		return
	}
	for _, a := range list {
		c := j.unbound[a.ContainerID]
		if c == nil {
			continue
		}
		attempt, err := traces.ParseAttempt(a.ID)
		if err != nil {
			d.log.Warn("an attempt's id", "error", err)
			continue
		}
		d.bound(c, t, attempt)
	}
}

// bound says that a container runs task t.
func (d *Driver) bound(c *container, t state.TaskID, attempt traces.Attempt) {
	j := c.job
	c.task, c.attempt = t, attempt
	delete(j.unbound, c.id)
	if j.tasks[t].done || j.tasks[t].on != nil { // it ended badly, which is only seen now
		if err := d.state.Retry(j.id, t, false); err != nil {
			d.log.Debug("retry", "error", err)
		}
	}
	var err error
	if c.held == state.None {
		d.unhold(c)
		err = d.state.Start(j.id, t, c.node.id)
	} else {
		if c.by.branch == state.BindRerun {
			j.reruns--
		}
		err = d.state.Confirm(c.held, t)
	}
	if err != nil {
		d.log.Warn("a task started that did not wait", "attempt", attempt.String(), "error", err)
		d.reconcile(j)
	}
	j.tasks[t] = taskRecord{on: c, changed: time.Now()}
	if c.kind == state.Map {
		d.stats.maps[d.view.Level(j.id, t, c.node.id)].Add(1)
	}
	d.observe(sched.Event{What: sched.TaskStarted, Job: j.id, Task: t, Node: c.node.id})
	if c.by != nil {
		d.settle(c.by, &attempt)
	}
	if i := slices.Index(c.node.spare, c); i >= 0 {
		d.condemn(c, nil)
	} else if c.surplus {
		d.kill(c)
	}
	if c.gone() {
		d.attemptEnded(j, c)
		d.offer(c.node)
	}
}

// neverBound gives up on a container: the master had no use for it.
func (d *Driver) neverBound(c *container) {
	delete(c.job.unbound, c.id)
	if c.held != state.None {
		d.state.Cancel(c.held)
		c.held = state.None
		if !c.gone() {
			d.hold(c)
		}
	}
	if c.by != nil {
		d.settle(c.by, nil)
	}
	d.reconcile(c.job)
	d.offer(c.node)
}
