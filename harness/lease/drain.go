package lease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"heddle/harness/require"
	"heddle/yarnclient"
)

const drainEvery = 2 * time.Second

// letJobsEnd gives the nodes of list to the labels of the pool that unfinished
// jobs wait for, until there is no such job or h.drain has passed. Without it
// they would wait for ever: the label that a job asks for cannot be changed, and
// after a restore no node has it. Unlabelled jobs that wait get their turn too.
// ApplicationMasters that were held start on the nodes for masters, the ones
// that had a label of their own before; where none is noted, anywhere.
//
// What it gives to nodes is as noted as what the dead harness gave, so a crash
// here is like any other.
func (u *undoing) letJobsEnd(ctx context.Context, list []Change) {
	ctx, cancel := context.WithTimeout(ctx, u.h.drain)
	defer cancel()
	steered := map[string]bool{} // jobs, also while they ask for nothing just now
	for turn := 0; ; turn++ {
		wanted, jobs, err := u.wanted(ctx, steered)
		if err == nil && jobs == 0 {
			return
		}
		if turn == 0 && err == nil {
			u.h.log.Info("letting jobs end that ask for labels of the pool", "jobs", jobs, "longest", u.h.drain)
		}
		if err == nil {
			err = u.share(ctx, list, wanted, turn)
		}
		if err != nil && ctx.Err() == nil {
			u.h.log.Warn("jobs are not helped to their end just now", "reason", err)
		}
		if u.h.held() != nil || wait(ctx, drainEvery) != nil {
			return
		}
	}
}

// share gives each running node of list a label that is wanted; when there are
// more labels than nodes, others each time. Nodes for masters that none waits for
// have their own.
func (u *undoing) share(ctx context.Context, list []Change, wanted []string, turn int) error {
	nodes, err := u.rm.Nodes(ctx, "RUNNING")
	if err != nil {
		return err
	}
	masters, workers := 0, 0 // nodes
	for _, c := range list {
		if c.Label == "" {
			workers++
		} else {
			masters++
		}
	}
	forMasters := slices.DeleteFunc(slices.Clone(wanted), func(l string) bool { return !strings.HasPrefix(l, "a") })
	if masters > 0 {
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(l string) bool { return strings.HasPrefix(l, "a") })
	}
	next := func(labels []string, nodes int) func(otherwise string) string {
		place := 0
		if len(labels) > nodes {
			place = turn * nodes
		}
		return func(otherwise string) string {
			if len(labels) == 0 {
				return otherwise
			}
			place++
			return labels[(place-1)%len(labels)]
		}
	}
	nextMaster, nextWorker := next(forMasters, masters), next(wanted, workers)
	move := map[string]string{}
	for _, n := range nodes {
		i := slices.IndexFunc(list, func(c Change) bool { return c.Name == n.ID })
		if i < 0 {
			continue
		}
		label := ""
		if own := list[i].Label; own != "" {
			label = nextMaster(own)
		} else {
			label = nextWorker(n.Label())
		}
		if n.Label() != label {
			move[n.ID] = label
		}
	}
	if len(move) == 0 {
		return nil
	}
	return u.do(func() error { return u.rm.ReplaceLabels(ctx, move) })
}

// wanted returns the labels that containers are waited for in, of the pool or
// none, and how many unfinished jobs have to do with the pool.
func (u *undoing) wanted(ctx context.Context, steered map[string]bool) (labels []string, jobs int, err error) {
	var apps []yarnclient.App
	err = whileActive(ctx, u.rm, func() (err error) {
		apps, err = u.rm.Apps(ctx, yarnclient.AppFilter{States: unfinished})
		return err
	})
	for _, a := range apps {
		if slices.ContainsFunc(labelsOf(&a), require.InPool) {
			steered[a.ID] = true
		}
		if steered[a.ID] {
			jobs++
		}
		if a.AMNode == "" && require.InPool(a.AMLabel) && !slices.Contains(labels, a.AMLabel) { // it is not always among the requests
			labels = append(labels, a.AMLabel)
		}
		for _, r := range a.Requests {
			if r.Containers > 0 && r.Name == "*" && r.Priority != yarnclient.PriorityAM && (r.Label == "" || require.InPool(r.Label)) && !slices.Contains(labels, r.Label) {
				labels = append(labels, r.Label)
			}
		}
	}
	slices.Sort(labels)
	return labels, jobs, err
}

// stranded lists unfinished applications that wait for a label of the pool that
// no running node has.
func (u *undoing) stranded(ctx context.Context) []string {
	var apps []yarnclient.App
	var nodes []yarnclient.Node
	err := whileActive(ctx, u.rm, func() (err error) {
		if apps, err = u.rm.Apps(ctx, yarnclient.AppFilter{States: unfinished}); err == nil {
			nodes, err = u.rm.Nodes(ctx, "RUNNING")
		}
		return err
	})
	if err != nil {
		u.h.log.Warn("not known whether jobs are left without nodes", "reason", err)
	}
	return strandedApps(apps, nodes)
}

func strandedApps(apps []yarnclient.App, nodes []yarnclient.Node) []string {
	var list []string
	for _, a := range apps {
		for _, label := range labelsOf(&a) {
			if label == a.AMLabel && a.AMNode != "" { // it has its master
				continue
			}
			if require.InPool(label) && !slices.ContainsFunc(nodes, func(n yarnclient.Node) bool { return n.Label() == label }) {
				list = append(list, fmt.Sprintf("%s (%s) asks for label %s", a.ID, a.Name, label))
				break
			}
		}
	}
	return list
}
