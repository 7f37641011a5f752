package schedtest

import (
	"errors"
	"fmt"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// driver is a cluster in memory that does at once what a model decides. It checks
// every decision, and tells the model of events if that is an Observer.
type driver struct {
	state    *state.State
	view     *state.View
	model    sched.Model
	observer sched.Observer // nil: the model is none
	ticker   sched.Ticker   // nil: the model is none
	offers   sched.Offers
	now      int64
	// cancels says whether the next group of decisions is cancelled, as if a
	// container had not come in time; nil: none is.
	cancels func() bool
}

func newDriver(m sched.Model) driver {
	d := driver{state: state.New(), model: m}
	d.view = d.state.View()
	d.observer, _ = sched.As[sched.Observer](m)
	d.ticker, _ = sched.As[sched.Ticker](m)
	return d
}

func (d *driver) tell(e sched.Event) {
	if d.observer != nil {
		d.observer.Observe(d.view, e)
	}
}

// submit submits a job, which asks for all its tasks.
func (d *driver) submit(spec *state.JobSpec) (state.JobID, error) {
	id, err := d.state.Submit(spec)
	if err != nil {
		return id, err
	}
	d.tell(sched.Event{What: sched.JobSubmitted, Job: id})
	d.state.Ask(id, state.Map, spec.Maps)
	d.state.Ask(id, state.Reduce, spec.Reduces)
	return id, nil
}

// heartbeat is one node's, a time after the last. It calls did with each decision
// and the task that has started.
func (d *driver) heartbeat(n state.NodeID, afterMs int64, did func(sched.Decision, state.TaskID)) error {
	d.pass(d.now + afterMs*1e6)
	d.tell(sched.Event{What: sched.NodeReported, Node: n})
	var failed error
	d.offers.Group = func(group []sched.Decision) (carried bool) {
		if failed == nil {
			carried, failed = d.startGroup(group, did)
		}
		return carried
	}
	d.offers.Heartbeat(d.model, d.view, n, func(x sched.Decision) bool {
		if failed != nil {
			return false
		}
		var task state.TaskID
		if task, failed = d.start(x); failed != nil {
			failed = fmt.Errorf("heartbeat of %s: %+v: %w", d.view.NodeName(n), x, failed)
			return false
		}
		did(x, task)
		return true
	})
	return failed
}

// pass lets time pass until the time end, in ns. The clock of a Ticker ticks meanwhile
// if there is a job.
func (d *driver) pass(end int64) {
	if d.ticker != nil && len(d.view.Active()) > 0 {
		period := d.ticker.PeriodMs() * 1e6
		for at := sched.NextTick(d.now, period); at <= end; at += period {
			d.state.SetNow(at)
			d.ticker.Tick(d.view)
		}
	}
	d.now = end
	d.state.SetNow(end)
}

// startGroup carries out the decisions of a group, all or none.
func (d *driver) startGroup(group []sched.Decision, did func(sched.Decision, state.TaskID)) (bool, error) {
	var held []state.ReservationID
	for _, x := range group {
		err := sched.Possible(d.view, x)
		switch {
		case err != nil:
		case x.Job != group[0].Job || x.Kind != state.Reduce:
			err = errors.New("a group is of reduces of one job")
		case len(group) == 1:
			err = errors.New("a group has two members or more")
		default:
			var r state.ReservationID
			r, err = d.state.Reserve(x.Job, x.Kind, x.Task, x.Node)
			held = append(held, r)
		}
		if err != nil {
			return false, fmt.Errorf("group of %d decisions, with those before it carried out: %+v: %w", len(group), x, err)
		}
	}
	for _, r := range held {
		d.state.Cancel(r)
	}
	if d.cancels != nil && d.cancels() {
		for _, x := range group {
			d.tell(sched.Event{What: sched.Cancelled, Job: x.Job, Task: x.Task, Node: x.Node, Decision: x})
		}
		return false, nil
	}
	for _, x := range group {
		task, err := d.start(x)
		if err != nil {
			return false, err
		}
		did(x, task)
	}
	return true, nil
}

// start carries a decision out.
func (d *driver) start(x sched.Decision) (state.TaskID, error) {
	if err := sched.Possible(d.view, x); err != nil {
		return state.None, err
	}
	r, err := d.state.Reserve(x.Job, x.Kind, x.Task, x.Node)
	if err != nil {
		return state.None, err
	}
	_, _, task, _, _ := d.state.Reservation(r)
	if err := d.state.Confirm(r, task); err != nil {
		return state.None, err
	}
	d.tell(sched.Event{What: sched.Confirmed, Decision: x, Job: x.Job, Task: task, Node: x.Node})
	d.tell(sched.Event{What: sched.TaskStarted, Job: x.Job, Task: task, Node: x.Node})
	return task, nil
}

// end ends a running task, well or not. A task that failed is asked for again; with
// rerun a map may then run anywhere.
func (d *driver) end(id state.JobID, task state.TaskID, fails, rerun bool) error {
	n := d.view.RunsOn(id, task)
	var err error
	if fails {
		err = d.state.Retry(id, task, rerun)
	} else {
		err = d.state.Finish(id, task)
	}
	if err == nil {
		d.tell(sched.Event{What: sched.TaskEnded, Job: id, Task: task, Node: n, Failed: fails})
	}
	return err
}

// running returns the tasks that run, each with its job.
func (d *driver) running() (jobs []state.JobID, tasks []state.TaskID) {
	for _, id := range d.view.Active() {
		for t := range state.TaskID(d.view.Tasks(id, state.Map) + d.view.Tasks(id, state.Reduce)) {
			if d.view.RunsOn(id, t) != state.None {
				jobs, tasks = append(jobs, id), append(tasks, t)
			}
		}
	}
	return jobs, tasks
}
