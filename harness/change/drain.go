package change

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"heddle/harness/internal/poll"
	"heddle/harness/require"
	"heddle/yarnclient"
)

const drainEvery = 2 * time.Second

// letJobsEnd lets steered jobs end before their labels are taken from the
// nodes. A job cannot change the label that it asks for. Without a node with
// that label it would wait for ever.
//
// letJobsEnd gives the nodes in the argument list the labels that jobs wait
// for, until no such job is left. It stops after the time h.drain. Jobs that
// wait without a label get a turn too. ApplicationMasters start on the nodes
// that had a label for ApplicationMasters before the hold, or anywhere if the
// journal has no such node.
//
// The old labels of all these nodes are in the journal, so after a crash here
// another restore is enough.
func (u *undoing) letJobsEnd(ctx context.Context, list []Change) {
	ctx, cancel := context.WithTimeout(ctx, u.h.drain)
	defer cancel()
	steered := map[string]bool{} // ids of jobs seen to ask for a label of steered jobs, even if their present requests name no label
	for turn := 0; ; turn++ {
		wanted, jobs, err := u.wanted(ctx, steered)
		if err == nil && jobs == 0 {
			return
		}
		if turn == 0 && err == nil {
			u.h.log.Info("waiting for jobs that ask for labels of the pool to end", "jobs", jobs, "longest", u.h.drain)
		}
		if err == nil {
			err = u.share(ctx, list, wanted, turn)
		}
		if err != nil && ctx.Err() == nil {
			u.h.log.Warn("nodes could not be given to waiting jobs; trying again", "reason", err)
		}
		if u.h.Held() != nil || poll.Wait(ctx, drainEvery) != nil {
			return
		}
	}
}

// share gives each running node of the list one of the node labels that jobs
// wait for. If there are more labels than nodes, each call gives other labels,
// in turn. A node that runs ApplicationMasters gets its own label back, unless
// an ApplicationMaster waits for another label.
func (u *undoing) share(ctx context.Context, list []Change, wanted []string, turn int) error {
	nodes, err := u.RM.Nodes(ctx, "RUNNING")
	if err != nil {
		return err
	}
	masters := 0 // number of nodes for ApplicationMasters; the others are for tasks
	for _, c := range list {
		if c.Label != "" {
			masters++
		}
	}
	var forMasters, forWorkers []string
	for _, l := range wanted {
		master := strings.HasPrefix(l, "a")
		if master {
			forMasters = append(forMasters, l)
		}
		if !master || masters == 0 {
			forWorkers = append(forWorkers, l)
		}
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
	nextMaster, nextWorker := next(forMasters, masters), next(forWorkers, len(list)-masters)
	move := map[string]string{}
	for _, n := range nodes {
		i := slices.IndexFunc(list, func(c Change) bool { return c.Name == n.ID })
		if i < 0 {
			continue
		}
		next, otherwise := nextWorker, n.Label()
		if own := list[i].Label; own != "" {
			next, otherwise = nextMaster, own
		}
		if label := next(otherwise); label != n.Label() {
			move[n.ID] = label
		}
	}
	if len(move) == 0 {
		return nil
	}
	if err := u.h.Held(); err != nil {
		return err
	}
	return u.RM.ReplaceLabels(ctx, move)
}

// wanted returns the node labels for which applications request containers, ""
// for requests without label. It also returns how many unfinished jobs ask, or
// asked before, for labels of steered jobs.
func (u *undoing) wanted(ctx context.Context, steered map[string]bool) (labels []string, jobs int, err error) {
	apps, err := unfinishedApps(ctx, u.RM)
	for _, a := range apps {
		if slices.ContainsFunc(labelsOf(&a), require.InPool) {
			steered[a.ID] = true
		}
		if steered[a.ID] {
			jobs++
		}
		// YARN does not always report the request for an ApplicationMaster among
		// the application's container requests.
		if a.AMNode == "" && require.InPool(a.AMLabel) && !slices.Contains(labels, a.AMLabel) {
			labels = append(labels, a.AMLabel)
		}
		for _, r := range a.Requests {
			if r.Containers > 0 && r.Name == "*" && r.Priority != yarnclient.PriorityAM &&
				(r.Label == "" || require.InPool(r.Label)) && !slices.Contains(labels, r.Label) {
				labels = append(labels, r.Label)
			}
		}
	}
	slices.Sort(labels)
	return labels, jobs, err
}

// stranded lists the unfinished applications that ask for a node label which
// heddle uses for steered jobs and which no running node has. They would wait
// for ever.
func (u *undoing) stranded(ctx context.Context) []string {
	apps, err := unfinishedApps(ctx, u.RM)
	var running []yarnclient.Node
	if err == nil {
		running, err = nodes(ctx, u.RM, "RUNNING")
	}
	if err != nil {
		u.h.log.Warn("cannot tell whether jobs wait for labels that no node has", "reason", err)
		return nil
	}
	return strandedApps(apps, running)
}

func strandedApps(apps []yarnclient.App, nodes []yarnclient.Node) []string {
	var list []string
	for _, a := range apps {
		for _, label := range labelsOf(&a) {
			// skip the label for the ApplicationMaster: it runs already and needs no node with this label any more
			if label == a.AMLabel && a.AMNode != "" {
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
