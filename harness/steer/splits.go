package steer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/yarnclient"
)

// staged is a job's job.splitmetainfo, which its ApplicationMaster is kept from
// reading until it says what was asked for.
type staged struct {
	data   []byte // as submitted
	metas  []jobsplit.Meta
	cached [][]string // by map, the hosts that cache most of its input; see mostCached
	// rewrite replaces the file, which has to hold was.
	rewrite func(ctx context.Context, was, now []byte) error
}

// filesLimit bounds the reading or rewriting of one job's files, and how long
// they may not be readable.
const filesLimit = time.Minute

// refusal is an error that trying again does not mend: the job cannot be given
// the splits that were asked for. Steering ends with it. To let the job run as
// it was submitted would pass it off as what it is not.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// resplit has a job's splits rewritten, while its master is held, and then lets
// the master start.
func (d *Driver) resplit(j *job) {
	about := j.about
	if about.staged == nil || j.app.AMLabel != j.sub.amLabel() || j.app.State == "RUNNING" {
		d.refuse(j, fmt.Errorf("its ApplicationMaster was not held: it asks for label %q, want %q", j.app.AMLabel, j.sub.amLabel()))
		return
	}
	was := about.staged
	metas, order, err := d.wanted(j)
	if err != nil {
		d.refuse(j, err)
		return
	}
	now := jobsplit.AppendMeta(nil, metas)
	if bytes.Equal(was.data, now) {
		d.note(string(j.jobID()) + ": splits as submitted: " + d.splits + " has nothing to change")
		d.refresh(j)
		d.letIn(j)
		return
	}
	d.calls.Go(func() {
		ctx, cancel := context.WithTimeout(d.ctx, filesLimit)
		defer cancel()
		err := d.keep(j.jobID(), was.data, now)
		if err == nil {
			err = was.rewrite(ctx, was.data, now)
		}
		d.post(func() {
			if j.ended || d.ctx.Err() != nil {
				return
			}
			if err == nil {
				about.resplit(d.view, metas, order)
				err = d.state.Resplit(j.id, &about.spec)
			}
			if err != nil {
				d.refuse(j, err)
				return
			}
			d.note(fmt.Sprintf("%s: %d splits rewritten: %s", j.jobID(), len(metas), d.splits))
			d.refresh(j)
			d.letIn(j)
		})
	})
}

// notRead tells that a job's files could not be read, and ends steering if they
// never can: the job waits for labels that no node will have.
func (d *Driver) notRead(app yarnclient.App, err error) {
	since, again := d.unread[app.ID]
	if !again {
		since = time.Now()
		d.unread[app.ID] = since
	}
	if errors.As(err, new(*refusal)) || time.Since(since) > filesLimit {
		d.stop(fmt.Errorf("read the splits (%s) of %s: %w", d.splits, app.ID, err))
		return
	}
	d.log.Warn("a job is not steered yet: what it reads is not known", "application", app.ID, "error", err)
	delete(d.apps, app.ID)
}

// refuse ends steering because of a job that cannot have the splits asked for.
func (d *Driver) refuse(j *job, err error) {
	d.stop(fmt.Errorf("splits %s for %s: %w", d.splits, j.jobID(), err))
}

// wanted is what a job's master is to read, and which map as submitted each
// entry is of.
func (d *Driver) wanted(j *job) ([]jobsplit.Meta, []state.TaskID, error) {
	s := j.about.staged
	if d.splits == config.SplitsPlan {
		if plan, ok := d.planner.PlanJob(d.view, j.id); ok {
			return planned(d.view, s.metas, plan)
		}
		d.note(string(j.jobID()) + ": the model has no plan for it")
		return s.metas, nil, nil
	}
	return cachedOnly(s.metas, s.cached), nil, nil
}

// cachedOnly leaves of each split's hosts those that cache its input; a split
// that is cached nowhere keeps all.
func cachedOnly(metas []jobsplit.Meta, cached [][]string) []jobsplit.Meta {
	out := make([]jobsplit.Meta, len(metas))
	copy(out, metas)
	for i := range out {
		if i < len(cached) && len(cached[i]) > 0 {
			out[i].Hosts = cached[i]
		}
	}
	return out
}

// planned puts the splits in the plan's order, each with the plan's host.
func planned(v *state.View, metas []jobsplit.Meta, plan sched.SplitPlan) ([]jobsplit.Meta, []state.TaskID, error) {
	if len(plan) != len(metas) {
		return nil, nil, fmt.Errorf("the model's plan has %d splits, the job %d", len(plan), len(metas))
	}
	out := make([]jobsplit.Meta, len(plan))
	order := make([]state.TaskID, len(plan))
	seen := make([]bool, len(plan))
	for i, p := range plan {
		switch {
		case p.Split < 0 || int(p.Split) >= len(plan) || seen[p.Split]:
			return nil, nil, fmt.Errorf("entry %d of the model's plan is split %d, of %d: each has to be there once", i, p.Split, len(plan))
		case p.Node < 0 || int(p.Node) >= v.Nodes():
			return nil, nil, fmt.Errorf("entry %d of the model's plan is on node %d, of %d", i, p.Node, v.Nodes())
		}
		seen[p.Split] = true
		order[i] = p.Split
		out[i] = metas[p.Split]
		out[i].Hosts = []string{v.NodeName(p.Node)}
	}
	return out, order, nil
}

// resplit describes the job as its master will see it: map i reads what was
// split order[i], nil: what it read before.
func (a *description) resplit(v *state.View, metas []jobsplit.Meta, order []state.TaskID) {
	for i, m := range metas {
		a.splits[i] = m.Hosts
	}
	if order != nil {
		a.blocks = inOrder(a.blocks, order)
		if again := a.again; again != nil {
			a.again = func(ctx context.Context) ([][]replica, error) {
				blocks, err := again(ctx)
				return inOrder(blocks, order), err
			}
		}
	}
	a.spec.Replicas, a.spec.Cached = state.Hosts{}, state.Hosts{}
	a.locate(v)
}

func inOrder(blocks [][]replica, order []state.TaskID) [][]replica {
	if blocks == nil {
		return nil
	}
	out := make([][]replica, len(order))
	for i, t := range order {
		if int(t) < len(blocks) {
			out[i] = blocks[t]
		}
	}
	return out
}
