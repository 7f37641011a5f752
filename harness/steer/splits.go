package steer

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/yarnclient"
)

// filesLimit is the time limit for reading or rewriting one job's staged files. If
// these files stay unreadable for this time, steering ends.
const filesLimit = time.Minute

// resplit rewrites the job's staged file job.splitmetainfo, and then lets its
// ApplicationMaster start.
func (j *job) resplit() {
	c, files := j.core, j.files
	switch {
	case files.Meta == nil:
		j.refuse(errors.New("its client staged no job.splitmetainfo"))
		return
	case j.app.AMLabel != j.sub.amLabel():
		j.refuse(fmt.Errorf("its ApplicationMaster was not held: it asks for label %q, want %q", j.app.AMLabel, j.sub.amLabel()))
		return
	case j.app.State == "RUNNING":
		j.refuse(errors.New("its ApplicationMaster was not held: it runs already"))
		return
	}
	metas, order, err := j.newSplits()
	if err != nil {
		j.refuse(err)
		return
	}
	now := jobsplit.AppendMeta(nil, metas)
	if bytes.Equal(files.Meta, now) {
		j.note("its splits stay as submitted: " + c.Splits + " changes none of them")
		j.refresh()
		j.startMaster()
		return
	}
	rewrite := &Rewrite{App: j.app.ID, Was: files.Meta, Now: now}
	c.change(rewrite, &rewrite.Number, func(err error) {
		if j.ended {
			return
		}
		if err == nil {
			j.order = order
			files.resplit(c.view, metas, order)
			err = c.state.Resplit(j.id, &files.Spec)
		}
		if err != nil {
			j.refuse(err)
			return
		}
		j.note(fmt.Sprintf("%d splits rewritten: %s", len(metas), c.Splits))
		j.refresh()
		j.startMaster()
	})
}

// filesUnreadable logs that a job's staged files could not be read. It ends steering
// if they stay unreadable: without them the job would wait forever for nodes with
// its labels.
func (c *Core) filesUnreadable(app yarnclient.App, err error) {
	since, again := c.unread[app.ID]
	if !again {
		since = c.now
		c.unread[app.ID] = since
	}
	if errors.Is(err, ErrRefused) || c.now.Sub(since) > filesLimit {
		c.stop(fmt.Errorf("read the splits (%s) of %s: %w", c.Splits, app.ID, err))
		return
	}
	c.log(Warn, "a job is not steered yet: its staged files could not be read", "application", app.ID, "error", err)
	delete(c.apps, app.ID)
}

// refuse ends steering, because a job cannot get the splits that Options.Splits asks
// for.
func (j *job) refuse(err error) {
	j.core.stop(fmt.Errorf("splits %s for %s: %w", j.core.Splits, j.jobID(), err))
}

// newSplits returns the splits that the ApplicationMaster is to read, and their order:
// element i is the original index of the split that is now at index i. A nil order
// means that each split keeps its index.
func (j *job) newSplits() ([]jobsplit.Meta, []state.TaskID, error) {
	c := j.core
	if c.Splits == config.SplitsPlan {
		if plan, ok := c.planner.PlanJob(c.view, j.id); ok {
			return planned(c.view, j.files.Metas, plan)
		}
		j.note("the model has no split plan for it")
		return j.files.Metas, nil, nil
	}
	return cachedOnly(j.files.Metas, j.files.MostCached), nil, nil
}

// cachedOnly keeps, of each split's hosts, those that have the split's input in the
// HDFS cache. A split that is cached nowhere keeps all its hosts.
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

// planned returns the splits in the order of the model's plan. Each split names one
// host, the planned one. The second result holds, for each returned split, its index in
// metas.
func planned(v *state.View, metas []jobsplit.Meta, plan sched.SplitPlan) ([]jobsplit.Meta, []state.TaskID, error) {
	if len(plan) != len(metas) {
		return nil, nil, fmt.Errorf("the model's plan has %d splits, the job %d", len(plan), len(metas))
	}
	out := make([]jobsplit.Meta, len(plan))
	order := make([]state.TaskID, len(plan))
	seen := make([]bool, len(plan))
	for i, p := range plan {
		switch {
		case p.Split < 0 || int(p.Split) >= len(plan):
			return nil, nil, fmt.Errorf("entry %d of the model's plan: split %d: the job has splits 0 to %d", i, p.Split, len(plan)-1)
		case seen[p.Split]:
			return nil, nil, fmt.Errorf("entry %d of the model's plan: split %d is in an entry before it", i, p.Split)
		case p.Node < 0 || int(p.Node) >= v.Nodes():
			return nil, nil, fmt.Errorf("entry %d of the model's plan: node %d: the cluster has nodes 0 to %d", i, p.Node, v.Nodes()-1)
		}
		seen[p.Split] = true
		order[i] = p.Split
		out[i] = metas[p.Split]
		out[i].Hosts = []string{v.NodeName(p.Node)}
	}
	return out, order, nil
}

// resplit puts the rewritten splits, metas, into the job's description. order[i] is the
// original index of the split metas[i]; a nil order means that each split kept its
// index.
func (f *JobFiles) resplit(v *state.View, metas []jobsplit.Meta, order []state.TaskID) {
	for i, m := range metas {
		f.Splits[i] = m.Hosts
	}
	f.Blocks = inOrder(f.Blocks, order)
	f.Spec.Replicas, f.Spec.Cached = state.Hosts{}, state.Hosts{}
	f.locate(v)
}

// inOrder sorts the maps' lists of replicas like the rewritten splits: element i of the
// result is blocks[order[i]]. A nil order changes nothing.
func inOrder(blocks [][]Replica, order []state.TaskID) [][]Replica {
	if blocks == nil || order == nil {
		return blocks
	}
	out := make([][]Replica, len(order))
	for i, t := range order {
		if int(t) < len(blocks) {
			out[i] = blocks[t]
		}
	}
	return out
}
