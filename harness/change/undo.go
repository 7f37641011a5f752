package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"heddle/harness/internal/poll"
	"heddle/harness/lease"
	"heddle/yarnclient"
)

// undoing is the state of one call of the method putBack, which sets everything
// in the journal to its old value.
type undoing struct {
	h      *Hold
	rm     *yarnclient.RM
	report Report
}

func (u *undoing) back(c Change) { u.report.Back = append(u.report.Back, Item{Change: c}) }
func (u *undoing) same(c Change) { u.report.Same = append(u.report.Same, Item{Change: c}) }
func (u *undoing) kept(c Change, why string) {
	u.report.Kept = append(u.report.Kept, Item{c, why})
}

func (u *undoing) left(c Change, err error) {
	u.report.Left = append(u.report.Left, Item{c, err.Error()})
	u.report.open = append(u.report.open, c)
}

func (u *undoing) allLeft(list []Change, err error) {
	for _, c := range list {
		u.left(c, err)
	}
}

// labels puts back the labels of nodes in one call, or node by node if the
// ResourceManager refuses that call. The ResourceManager accepts labels for
// nodes that are down.
func (u *undoing) labels(ctx context.Context, list []Change) {
	there, err := labelNames(ctx, u.rm)
	if err != nil {
		u.allLeft(list, err)
		return
	}
	refused := map[string]error{}
	for try := 0; len(list) > 0; try++ {
		now, err := nodesToLabels(ctx, u.rm)
		if err != nil {
			u.allLeft(list, err)
			return
		}
		back := map[string]string{}
		list = slices.DeleteFunc(list, func(c Change) bool {
			want := c.Label
			gone := want != "" && !there[want] // true: the node's old label was removed from the cluster, so it cannot be put back
			if gone {
				want = ""
			}
			switch {
			case now[c.Name] != want && try == 3:
				u.left(c, orElse(refused[c.Name], fmt.Errorf("the node has %s", labelText(now[c.Name]))))
			case now[c.Name] != want:
				back[c.Name] = want
				return false
			case gone:
				u.kept(c, "that label was removed meanwhile; the node has none now")
			case try == 0:
				u.same(c)
			default:
				u.back(c)
			}
			return true
		})
		if len(back) == 0 {
			return
		}
		err = u.do(func() error { return u.rm.ReplaceLabels(ctx, back) })
		if remote := (*yarnclient.RemoteError)(nil); !errors.As(err, &remote) {
			for node := range back {
				refused[node] = err
			}
			continue
		}
		for node, label := range back {
			refused[node] = u.do(func() error { return u.rm.ReplaceLabels(ctx, map[string]string{node: label}) })
		}
	}
}

func orElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// The method resources puts back the sizes (memory and cores) of nodes, one by
// one. A restart of the ResourceManager or of the node may have put a size back
// already. The method waits up to nodeLimit for nodes that are not registered
// yet.
func (u *undoing) resources(ctx context.Context, list []Change) {
	var set []Change // node sizes whose change was requested but which the ResourceManager does not show yet
	start := time.Now()
	for len(list) > 0 {
		var nodes map[string]yarnclient.Node
		err := whileActive(ctx, u.rm, func() error {
			all, err := u.rm.Nodes(ctx)
			nodes = map[string]yarnclient.Node{}
			for _, n := range all {
				nodes[n.ID] = n
			}
			return err
		})
		if err != nil {
			u.allLeft(list, err)
			return
		}
		late := time.Since(start) >= nodeLimit
		var again []Change
		for _, c := range list {
			n, known := nodes[c.Name]
			wasSet := slices.ContainsFunc(set, func(s Change) bool { return s.key() == c.key() })
			switch {
			case c.Resource == nil:
				u.left(c, errors.New("the journal has no old size for it"))
			case known && n.State == "RUNNING" && n.Total == *c.Resource && wasSet:
				u.back(c)
			case known && n.State == "RUNNING" && n.Total == *c.Resource: // needs no change: the node has its old size already, for instance after a restart
				u.same(c)
			case known && n.State != "RUNNING":
				u.left(c, fmt.Errorf("the node is %s", n.State))
			case known && !late:
				err := u.do(func() error { return u.rm.SetNodeResource(ctx, c.Name, *c.Resource) })
				if errors.Is(err, yarnclient.ErrUnauthorized) || errors.Is(err, lease.ErrLost) {
					u.left(c, err)
					continue
				}
				set = append(set, c)
				again = append(again, c)
			case !late:
				again = append(again, c)
			case !known:
				u.same(c) // count an unknown node as put back: it has its configured size when it comes back
			default:
				u.left(c, fmt.Errorf("the node still reports %d MiB, %d vcores", n.Total.MemoryMB, n.Total.VCores))
			}
		}
		if list = again; len(list) > 0 {
			if err := poll.Wait(ctx, lookEvery/5); err != nil {
				u.allLeft(list, err)
				return
			}
		}
	}
}

// The method settings puts back all scheduler settings in one call. One by one
// would fail, since the capacities of the queues below one parent must always
// add up to 100 %.
func (u *undoing) settings(ctx context.Context, list []Change) {
	if len(list) == 0 {
		return
	}
	var now map[string]string
	err := whileActive(ctx, u.rm, func() (err error) {
		now, err = u.rm.SchedulerConf(ctx)
		return err
	})
	if err != nil {
		u.allLeft(list, err)
		return
	}
	change := yarnclient.SchedulerChange{Global: map[string]string{}}
	var changed []Change
	for _, c := range list {
		if now[c.settingName()] == c.Value {
			u.same(c) // needs no change: the setting has its old value already, for instance because a restart lost a change kept in memory
			continue
		}
		changed = append(changed, c)
		if c.Queue == "" {
			change.Global[c.Name] = c.Value
			continue
		}
		i := slices.IndexFunc(change.Update, func(q yarnclient.QueueSettings) bool { return q.Queue == c.Queue })
		if i < 0 {
			i = len(change.Update)
			change.Update = append(change.Update, yarnclient.QueueSettings{Queue: c.Queue, Settings: map[string]string{}})
		}
		change.Update[i].Settings[c.Name] = c.Value
	}
	if len(changed) == 0 {
		return
	}
	if err := u.do(func() error { return u.rm.SetSchedulerConf(ctx, change) }); err != nil {
		u.allLeft(changed, err)
		return
	}
	for _, c := range changed {
		u.back(c)
	}
}

// addedLabels removes, one by one, the node labels that steering added, except
// those in use. To remove a label in use would take it from its nodes and end
// the applications that ask for it.
func (u *undoing) addedLabels(ctx context.Context, list []Change) {
	if len(list) == 0 {
		return
	}
	there, err := labelNames(ctx, u.rm)
	if err != nil {
		u.allLeft(list, err)
		return
	}
	users, err := labelUsers(ctx, u.rm)
	if err != nil {
		u.allLeft(list, err)
		return
	}
	nodesLeft := slices.ContainsFunc(u.report.Left, func(i Item) bool { return i.Kind == NodeLabel })
	for _, c := range list {
		switch user := users[c.Name]; {
		case !there[c.Name]:
			u.same(c)
		case user != "" && nodesLeft:
			u.left(c, fmt.Errorf("%s uses it", user))
		case user != "":
			u.kept(c, user+" uses it")
		default:
			err := u.do(func() error { return u.rm.RemoveLabels(ctx, c.Name) })
			var refused *yarnclient.RemoteError
			switch {
			case errors.As(err, &refused) && refused.Status == 400:
				u.kept(c, refused.Error()) // keep the label, as the ResourceManager refuses to remove a label that a queue's settings name
			case err != nil:
				u.left(c, err)
			default:
				u.back(c)
			}
		}
	}
}

// labelUsers returns, for each node label in use, one node or application that
// uses the label.
func labelUsers(ctx context.Context, rm *yarnclient.RM) (map[string]string, error) {
	users := map[string]string{}
	nodes, err := nodesToLabels(ctx, rm)
	if err != nil {
		return nil, err
	}
	for node, label := range nodes {
		users[label] = "node " + node
	}
	var apps []yarnclient.App
	err = whileActive(ctx, rm, func() (err error) {
		apps, err = rm.Apps(ctx, yarnclient.AppFilter{States: unfinished})
		return err
	})
	for _, a := range apps {
		for _, label := range labelsOf(&a) {
			users[label] = "application " + a.ID
		}
	}
	return users, err
}

var unfinished = []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}

// labelsOf returns the node labels that an application asks for in its
// container requests.
func labelsOf(a *yarnclient.App) []string {
	labels := []string{a.Label, a.AMLabel}
	for _, r := range a.Requests {
		labels = append(labels, r.Label)
	}
	return slices.DeleteFunc(labels, func(l string) bool { return l == "" })
}

// The method do makes a change on the cluster if this process still has the
// lease.
func (u *undoing) do(change func() error) error {
	if err := u.h.Held(); err != nil {
		return err
	}
	return change()
}
