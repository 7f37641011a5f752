package steer

import (
	"slices"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// lookUp asks the ApplicationMaster which task it assigned to a granted container:
// first about the predicted task, then about all tasks of the job. It begins after the
// heartbeat in which the ApplicationMaster learns of the container, and asks again at
// growing intervals. If the container has ended, lookUp gives up after one full list of
// the job's tasks, with the attempts of those that were unclear.
func (x *container) lookUp(try int) {
	const tries = 9
	j := x.job
	c := j.core
	wait := min((j.files.Beat+20*time.Millisecond)<<try, 5*time.Second)
	c.after(wait, func() {
		if j.ended || j.unbound[x.id] == nil {
			return
		}
		next := func(err error) {
			told := err == nil && j.asking == 0 && !j.unclear && j.tasksAskedAt.After(x.seen) &&
				!j.tasksAskedAt.Before(x.goneAt) && c.now.Sub(j.tasksAskedAt) > j.files.Beat
			switch {
			case j.ended || j.unbound[x.id] == nil:
			case try == tries, told && x.gone():
				x.neverBound(told)
			default:
				if try > 0 {
					j.reconcile()
				}
				x.lookUp(try + 1)
			}
		}
		_, _, t, _, ok := c.state.Reservation(x.reservation)
		if !ok || t == state.None {
			next(nil)
			return
		}
		j.askTask(t, func(list []yarnclient.TaskAttempt, _ time.Time, err error) {
			if err != nil {
				c.failed("ask for attempts of "+j.taskName(t), err)
			}
			j.sawAttempts(t, list)
			next(err)
		})
	})
}

// askTask asks the ApplicationMaster for the attempts of one task.
func (j *job) askTask(t state.TaskID, then func([]yarnclient.TaskAttempt, time.Time, error)) {
	j.asking++
	ask(j.core, Look{What: AskTaskAttempts, Of: j.taskName(t), App: yarnclient.App{ID: j.app.ID}},
		func(list []yarnclient.TaskAttempt, sent time.Time, err error) {
			j.asking--
			then(list, sent, err)
		})
}

func (j *job) taskName(t state.TaskID) string {
	k, i := j.core.view.Index(j.id, t)
	return traces.Task{Job: j.jobID(), Kind: k, Index: i}.String()
}

// sawAttempts takes in the ApplicationMaster's list of task t's attempts. For each
// attempt, it notes that the attempt's container runs t.
func (j *job) sawAttempts(t state.TaskID, list []yarnclient.TaskAttempt) {
	if j.ended {
		return
	}
	for _, a := range list {
		x := j.unbound[a.ContainerID]
		if x == nil {
			continue
		}
		attempt, err := traces.ParseAttempt(a.ID)
		if err != nil {
			j.core.log(Warn, "the ApplicationMaster told a task attempt with an invalid id", "error", err)
			continue
		}
		x.bind(t, attempt)
	}
}

// bind notes that the container runs task t.
func (x *container) bind(t state.TaskID, attempt traces.Attempt) {
	j := x.job
	c := j.core
	x.task, x.attempt = t, attempt
	delete(j.unbound, x.id)
	if j.tasks[t].done || j.tasks[t].on != nil { // the task runs again: its earlier attempt failed, which steering had not noticed
		if err := c.state.Retry(j.id, t, false); err != nil {
			c.log(Debug, "a task that runs again could not be noted as waiting", "error", err)
		}
	}
	var err error
	if x.reservation == state.None {
		x.freeRoom()
		err = c.state.Start(j.id, t, x.node.id)
	} else {
		err = c.state.Confirm(x.reservation, t)
	}
	if err != nil {
		c.log(Warn, "a task started that was not known to wait", "attempt", attempt.String(), "error", err)
		j.reconcile()
	}
	j.loseOutput(t)
	j.tasks[t] = taskRecord{on: x, changed: c.now}
	if x.kind == state.Map {
		c.stats.Maps[c.view.Level(j.id, t, x.node.id)]++
	}
	c.observe(sched.Event{What: sched.TaskStarted, Job: j.id, Task: t, Node: x.node.id})
	if x.by != nil {
		x.by.settle(&attempt)
	}
	if slices.Contains(x.node.spare, x) {
		x.condemn(nil)
	} else if x.surplus {
		x.kill()
	}
	if x.gone() {
		x.ended()
		x.node.offer()
	}
}

// neverBound gives up waiting for the ApplicationMaster to run a task in the container:
// the ApplicationMaster released the container unused, or the container was lost before
// the ApplicationMaster had it. If the ApplicationMaster has not told all that it was
// asked since (told is false), a task may have run in it all the same.
func (x *container) neverBound(told bool) {
	c := x.job.core
	delete(x.job.unbound, x.id)
	if x.reservation != state.None {
		c.state.Cancel(x.reservation)
		x.reservation = state.None
		if !x.gone() {
			x.takeRoom()
		}
	}
	switch {
	case x.by == nil:
	case told:
		x.by.unused()
	default:
		x.by.settle(nil)
	}
	x.job.reconcile()
	x.node.offer()
}
