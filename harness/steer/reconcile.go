package steer

import (
	"slices"
	"strings"
	"time"

	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// reconcile asks the ApplicationMaster for all tasks of the job, and corrects what
// steering believes about them. This is needed after failures, kills and restarts,
// and if a container runs another task than predicted.
func (j *job) reconcile() {
	c := j.core
	if j.reconciling || j.ended || c.now.Sub(j.reconciledAt) < 100*time.Millisecond {
		return
	}
	j.reconciling = true
	ask(c, Look{What: AskTasks, Of: j.app.ID}, func(list []yarnclient.Task, sent time.Time, err error) {
		j.reconciling, j.reconciledAt, j.excess = false, c.now, false
		if err != nil {
			c.failed("list tasks of "+j.app.ID, err)
			return
		}
		if j.ended {
			return
		}
		j.tasksAskedAt, j.unclear = sent, false
		for _, info := range list {
			task, err := traces.ParseTask(info.ID)
			if err != nil || task.Index < 0 || task.Index >= c.view.Tasks(j.id, task.Kind) {
				continue
			}
			t := c.view.Task(j.id, task.Kind, task.Index)
			if !j.tasks[t].changed.After(sent) { // skip the task if the ApplicationMaster's answer is older than what steering knows of it
				j.reconcileTask(t, info)
			}
		}
	})
}

func (j *job) reconcileTask(t state.TaskID, info yarnclient.Task) {
	record := &j.tasks[t]
	succeeded := info.State == "SUCCEEDED"
	if x := record.on; x != nil && slices.Contains(j.missing, x) && info.State != "RUNNING" {
		// this call counts the container's task as succeeded; if the ApplicationMaster says otherwise,
		// or that it did in another container, askWhere corrects it
		x.went()
	}
	switch {
	case succeeded != record.done && record.on == nil, info.State == "RUNNING" && record.on == nil:
		j.askWhere(t)
	case record.on != nil && record.on.gone():
		j.askWhere(t)
	case record.on != nil && record.on.surplus && len(j.unbound) > 0:
		// its attempt was killed: the task may run again, though YARN still lists the container of a node that it has lost
		j.askWhere(t)
	case succeeded && j.seeks(t, info.SuccessfulAttempt):
		j.askWhere(t)
	}
}

// seeks says whether an attempt that succeeded may be what ran in a container that has
// ended and whose task is not known. That is so for a second or later attempt: the task
// may count as done, or as running, since its first one, of whose end steering did not
// hear. It is so as well if YARN had not listed the container when the attempt ended.
func (j *job) seeks(t state.TaskID, succeeded string) bool {
	a, err := traces.ParseAttempt(succeeded)
	record := &j.tasks[t]
	if err != nil || a.Number == 0 && !record.unlisted || record.on != nil && record.on.attempt == a {
		return false
	}
	k, _ := j.core.view.Index(j.id, t)
	for _, x := range j.unbound {
		if x.gone() && x.kind == k {
			return true
		}
	}
	return false
}

// askWhere asks the ApplicationMaster for the attempts of a task whose state, in the
// ApplicationMaster's list, differs from what steering knows.
func (j *job) askWhere(t state.TaskID) {
	j.askTask(t, func(list []yarnclient.TaskAttempt, sent time.Time, err error) {
		j.unclear = j.unclear || err != nil
		if err != nil || j.ended || j.tasks[t].changed.After(sent) {
			return
		}
		j.sawAttempts(t, list)
		record := &j.tasks[t]
		if record.changed.After(sent) {
			return
		}
		failed, running := false, false
		for _, a := range list {
			switch a.State {
			case "SUCCEEDED":
				j.sawSuccess(t, a)
				return
			case "FAILED":
				failed = true
			case "RUNNING":
				running = true
			}
		}
		if (record.done || record.on != nil && record.on.gone()) && !running {
			j.retry(t, failed)
		}
	})
}

// sawSuccess notes that a task succeeded although YARN never listed the task's
// container, or has not listed it since the ResourceManager's restart.
func (j *job) sawSuccess(t state.TaskID, a yarnclient.TaskAttempt) {
	c, record := j.core, &j.tasks[t]
	if record.done || record.on != nil {
		return
	}
	host, _, _ := strings.Cut(a.NodeHTTPAddress, ":")
	n := c.view.NodeNamed(host)
	if n == state.None {
		n = 0
	}
	if err := c.state.Start(j.id, t, n); err == nil {
		err = c.state.Finish(j.id, t)
		if err != nil {
			c.log(Warn, "a task that succeeded could not be noted", "error", err)
		}
	}
	*record = taskRecord{done: true, unlisted: true, changed: c.now}
}
