package steer

import (
	"context"
	"slices"
	"time"

	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// reconcile asks a job's master for all its tasks and mends what is known of
// them: after failures, kills, restarts, and where a container runs another
// task than predicted.
func (d *Driver) reconcile(j *job) {
	if j.reconciling || j.ended || time.Since(j.settled) < 100*time.Millisecond {
		return
	}
	j.reconciling = true
	began := time.Now()
	ask(d, func(ctx context.Context) ([]yarnclient.Task, error) { return j.am.Tasks(ctx, yarnclient.AllTasks) }, func(list []yarnclient.Task, err error) {
		j.reconciling, j.settled, j.excess = false, time.Now(), false
		if err != nil {
			d.failed("list tasks of "+j.app.ID, err)
			return
		}
		if j.ended {
			return
		}
		j.surveyed = began
		for _, info := range list {
			task, err := traces.ParseTask(info.ID)
			if err != nil || task.Index < 0 || task.Index >= d.view.Tasks(j.id, task.Kind) {
				continue
			}
			t := d.view.Task(j.id, task.Kind, task.Index)
			if !j.tasks[t].changed.After(began) { // else the answer is older than what is known
				d.reconcileTask(j, t, info)
			}
		}
	})
}

func (d *Driver) reconcileTask(j *job, t state.TaskID, info yarnclient.Task) {
	record := &j.tasks[t]
	succeeded := info.State == "SUCCEEDED"
	if c := record.on; c != nil && slices.Contains(j.missing, c) && info.State != "RUNNING" {
		d.containerGone(j, c) // which takes it for done
		if succeeded {
			return
		}
	}
	switch {
	case succeeded != record.done && record.on == nil, info.State == "RUNNING" && record.on == nil:
		d.askWhere(j, t)
	case record.on != nil && record.on.gone():
		d.askWhere(j, t)
	}
}

// askWhere asks for a task's attempts, where its state is not what is known.
func (d *Driver) askWhere(j *job, t state.TaskID) {
	began := time.Now()
	task := d.taskName(j, t)
	ask(d, func(ctx context.Context) ([]yarnclient.TaskAttempt, error) { return j.am.Attempts(ctx, task) }, func(list []yarnclient.TaskAttempt, err error) {
		if err != nil || j.ended || j.tasks[t].changed.After(began) {
			return
		}
		d.sawAttempts(j, t, list)
		record := &j.tasks[t]
		if record.changed.After(began) {
			return
		}
		failed, running := false, false
		for _, a := range list {
			switch a.State {
			case "SUCCEEDED":
				d.sawSuccess(j, t, a)
				return
			case "FAILED":
				failed = true
			case "RUNNING":
				running = true
			}
		}
		if (record.done || record.on != nil && record.on.gone()) && !running {
			d.retry(j, t, failed)
		}
	})
}

// sawSuccess notes that a task was done without its container having been
// seen, or is done and its container not listed since a restart.
func (d *Driver) sawSuccess(j *job, t state.TaskID, a yarnclient.TaskAttempt) {
	record := &j.tasks[t]
	if record.done || record.on != nil {
		return
	}
	host := hostOf(a.NodeHTTPAddress)
	n := d.view.NodeNamed(host)
	if n == state.None && len(d.nodes) > 0 {
		n = 0
	}
	if err := d.state.Start(j.id, t, n); err == nil {
		err = d.state.Finish(j.id, t)
		if err != nil {
			d.log.Warn("a task that was done", "error", err)
		}
	}
	*record = taskRecord{done: true, changed: time.Now()}
}

// hostOf cuts the port off.
func hostOf(address string) string {
	for i := range len(address) {
		if address[i] == ':' {
			return address[:i]
		}
	}
	return address
}
