package drive

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"heddle/harness/steer"
	"heddle/traces"
)

// begin carries out an action of the steering Core. Each call to the cluster runs in a
// goroutine of its own.
func (d *Driver) begin(a steer.Action) {
	switch a := a.(type) {
	case *steer.Record:
		d.Record(a.Event)
	case *steer.Log:
		d.Log.Log(d.ctx, slog.Level(a.Level), a.Text, a.Args...)
	case *steer.Stop:
		d.stop(a.Err)
	case *steer.Train:
		d.calls.Go(func() {
			sent := d.now()
			if a.Run(func() bool { return d.ctx.Err() == nil }) {
				d.post(steer.Observation{Answers: a.Number, Sent: sent})
			}
		})
	case *steer.Trained:
		if d.KeepTraining != nil {
			if err := d.KeepTraining(a.Job, a.Training); err != nil {
				d.Log.Warn("a model's training could not be kept", "job", a.Job, "error", err)
			}
		}
	case *steer.Look:
		d.look(a)
	case *steer.SetLabels:
		d.change(a.Number, func(ctx context.Context) error { return d.Changes.ReplaceLabels(ctx, a.LabelOf) })
	case *steer.SetSize:
		d.change(a.Number, func(ctx context.Context) error { return d.Changes.SetNodeResource(ctx, a.Node, a.Total) })
	case *steer.SetScheduler:
		d.change(a.Number, func(ctx context.Context) error { return d.Changes.SetSchedulerConf(ctx, a.Change) })
	case *steer.Kill:
		d.change(a.Number, func(ctx context.Context) error { return d.Watch.RM.AM(a.App).KillAttempt(ctx, a.Attempt) })
	case *steer.Rewrite:
		d.rewrite(a)
	}
}

// asksAtOnce is how many questions the ResourceManager is asked at once. Its scheduler waits in turn for
// the locks that answers need, so many questions slow it down until it no longer keeps up with heartbeats.
// It goes on with an answer that is no longer waited for: such a question counts for stillBusy.
const (
	asksAtOnce = 16
	stillBusy  = 20 * time.Second
)

// look sends one query to the cluster and puts the answer into the queue of
// observations.
func (d *Driver) look(l *steer.Look) {
	d.calls.Go(func() {
		release := func() {}
		switch l.What {
		case steer.AskRM, steer.AskJobFiles, steer.AskReplicas: // these must not wait, or are not the ResourceManager's
		default:
			select {
			case d.asking <- struct{}{}:
				release = func() { <-d.asking }
			case <-d.ctx.Done():
				return
			}
		}
		ctx, cancel := context.WithTimeout(d.ctx, l.Limit)
		defer cancel()
		sent := d.now()
		answer, err := d.ask(ctx, l)
		if ctx.Err() != nil {
			time.AfterFunc(stillBusy, release)
		} else {
			release()
		}
		if d.ctx.Err() == nil {
			d.post(steer.Observation{Answers: l.Number, What: l.What, Sent: sent, Answer: answer, Err: steer.FailureOf(err)})
		}
	})
}

// ask makes the call to the cluster that the query l describes.
func (d *Driver) ask(ctx context.Context, l *steer.Look) (any, error) {
	rm := d.Watch.RM
	switch l.What {
	case steer.AskApps:
		tags := d.Tags
		if len(tags) == 0 {
			tags = l.Tags
		}
		return d.Watch.Apps(ctx, tags, 0)
	case steer.AskApp:
		return rm.App(ctx, l.Of)
	case steer.AskAppAttempts:
		return rm.Attempts(ctx, l.Of)
	case steer.AskContainers:
		return rm.Containers(ctx, l.Of)
	case steer.AskRM:
		return rm.Info(ctx)
	case steer.AskNode:
		return rm.Node(ctx, l.Of)
	case steer.AskNodes:
		if l.Of != "" {
			return rm.Nodes(ctx, l.Of)
		}
		return d.Watch.Nodes(ctx, 0)
	case steer.AskQueued:
		return rm.Queued(ctx)
	case steer.AskUsed:
		s, err := rm.Scheduler(ctx)
		return s.UsedMB(l.Of), err
	case steer.AskTasks:
		return rm.AM(l.Of).Tasks(ctx)
	case steer.AskTaskAttempts:
		return rm.AM(l.App.ID).Attempts(ctx, l.Of)
	case steer.AskTaskCounters:
		return rm.AM(l.App.ID).TaskCounters(ctx, l.Of)
	case steer.AskJobFiles:
		return d.files.read(ctx, l.App)
	case steer.AskReplicas:
		return d.files.replicas(ctx, l.Of)
	}
	return nil, fmt.Errorf("unknown question %q", l.What)
}

// change makes a call that changes the cluster. The call is not cancelled when
// steering ends: the cluster might carry it out all the same, only later.
func (d *Driver) change(number int64, call func(context.Context) error) {
	d.call(context.WithoutCancel(d.ctx), callLimit, number, call)
}

// call makes a call within a time limit, and puts its result into the queue of observations.
func (d *Driver) call(ctx context.Context, limit time.Duration, number int64, call func(context.Context) error) {
	d.calls.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		sent := d.now()
		err := call(ctx)
		d.post(steer.Observation{Answers: number, Sent: sent, Err: steer.FailureOf(err)})
	})
}

// rewriteLimit is the time limit for rewriting the splits of one job.
const rewriteLimit = time.Minute

func (d *Driver) rewrite(a *steer.Rewrite) {
	d.call(d.ctx, rewriteLimit, a.Number, func(ctx context.Context) error {
		if d.KeepSplits != nil {
			if err := d.KeepSplits(traces.JobID("job_"+strings.TrimPrefix(a.App, "application_")), a.Was); err != nil {
				return err
			}
		}
		return d.files.rewrite(ctx, a.App, a.Was, a.Now)
	})
}
