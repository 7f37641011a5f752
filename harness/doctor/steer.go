package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/require"
	"heddle/traces/printable"
	"heddle/yarnclient"
)

// The method steer checks what the cluster needs so that nodes can be moved
// between node labels.
func (e *examiner) steer(ctx context.Context) []Check {
	return append([]Check{
		e.schedulerType(), e.tells(ctx, "labels", "on"), e.labelWrites(ctx), e.labelPool(), e.queueLabels(ctx), e.amLabel(ctx),
		e.tells(ctx, "labelStore", "%s"), e.tells(ctx, "asyncScheduling", "on"), e.localityDelay(ctx), e.unlabelledJobs(),
		e.tells(ctx, "priorities", "0 to %s"), e.tells(ctx, "liveQueues", "store %s"),
	}, e.fileSystem(ctx)...)
}

var errNoRM = errors.New("the ResourceManager cannot be asked")

// unreported says why a setting is not known. If the Capacity
// scheduler takes its settings from its file only (the default), the ResourceManager reports
// them to nobody, and else to administrators only.
func (e *examiner) unreported(c Check, s require.Setting, err error) Check {
	remote := (*yarnclient.RemoteError)(nil)
	switch {
	case s.File != "capacity-scheduler.xml":
	case errors.Is(err, yarnclient.ErrUnauthorized):
		return c.unknown("the ResourceManager refuses to report its scheduler settings: %v", cause(err)).
			next(fmt.Sprintf("only administrators may read them: name user %s in %s of the ResourceManager's yarn-site.xml, and run 'yarn "+
				"rmadmin -refreshAdminAcls'", e.Config.User, require.Of("labelWrites")[0].Property))
	case errors.Is(err, yarnclient.ErrNotFound), errors.As(err, &remote) && remote.Status == http.StatusBadRequest:
		return c.unknown("the ResourceManager does not report its scheduler settings; with the Capacity scheduler it does if %s is memory",
			require.Of("liveQueues")[0].Property)
	}
	return c.unknown("%v", err)
}

// cause returns what a daemon said, without the request and without advice.
func cause(err error) error {
	if r, ok := errors.AsType[*yarnclient.RequestError](err); ok {
		return r.Err
	}
	return err
}

const prepare = "heddle labels prepare"

func (e *examiner) schedulerType() Check {
	c, rows := about("scheduler")
	switch s := e.scheduler; {
	case s.err != nil:
		return c.unknown("%v", s.err)
	case s.value.Type != yarnclient.CapacityScheduler:
		return c.bad("the scheduler is %.80s", s.value.Type).set(rows[0], rows[0].Value)
	default:
		return c.ok("%s", s.value.Type)
	}
}

// labelWrites checks whether the user may change node labels, by the cluster's
// list of YARN admins. It changes no label.
func (e *examiner) labelWrites(ctx context.Context) Check {
	c, rows := about("labelWrites")
	acl, err := e.value(ctx, rows[0])
	if err != nil {
		return c.unknown("%v", err)
	}
	with, added, unclear := admins(acl, e.Config.User)
	switch {
	case with == "":
		return c.unknown("%s", unclear)
	case unclear != "":
		return c.unknown("%s", unclear).set(rows[0], with)
	case added != "":
		return c.bad("user %s is not in %s (%q)", e.Config.User, rows[0].Property, acl).set(rows[0], with)
	case rows[0].Met(strings.TrimSpace(acl)):
		return c.ok("everybody is a YARN admin")
	}
	return c.ok("user %s is a YARN admin", e.Config.User)
}

// admins reads the list of YARN admins. If the user is not in it by name, it
// returns the list with the user, and what it added; and why it is unclear
// whether the user is missing, if so. Of a text that is not such a list it makes
// none.
func admins(acl, user string) (with, added, unclear string) {
	row := require.Of("labelWrites")[0]
	if !aclNames.MatchString(acl) {
		return "", user, fmt.Sprintf("%s is %.80q, not a list of users and groups: whether user %s is in it cannot be known",
			row.Property, acl, user)
	}
	// An ACL has the form "user1,user2 group1,group2". If it starts with a
	// space, it lists only groups.
	users, groups, _ := strings.Cut(acl, " ")
	with = strings.TrimPrefix(users+","+user, ",")
	switch {
	case row.Met(strings.TrimSpace(acl)), slices.Contains(strings.Split(users, ","), user):
		return acl, "", ""
	case strings.TrimSpace(groups) != "":
		return with + " " + groups, user, fmt.Sprintf("user %s is not in %s (%q) by name, but perhaps by group", user, row.Property, acl)
	}
	return with, user, ""
}

func (e *examiner) labelPool() Check {
	c := check("labelPool", true, "a triple of labels (ApplicationMaster, maps, reduces) for each job that is steered at a time")
	if e.labels.err != nil {
		return c.unknown("%v", e.labels.err)
	}
	exclusive := require.Exclusive(e.labels.value)
	n := len(require.Whole(exclusive))
	switch {
	case n == 0:
		return c.bad("no triple of exclusive labels (a00, m00, r00) among %d labels", len(e.labels.value)).next(prepare + " adds them")
	case !slices.Contains(exclusive, require.Parking):
		return c.bad("%s, but no exclusive label %s to park nodes in", printable.Count(n, "triple"), require.Parking).next(prepare + " adds it")
	}
	return c.ok("%s, and idle to park nodes in", printable.Count(n, "triple"))
}

// queueLabels checks that some queue may use the whole capacity of each node
// label.
func (e *examiner) queueLabels(ctx context.Context) Check {
	c, rows := about("queueLabels")
	s := e.scheduler
	if err := cmp.Or(s.err, e.labels.err); err != nil {
		return c.unknown("%v", err)
	}
	if s.value.Type != yarnclient.CapacityScheduler {
		return c.bad("queues of a %s have no labels", s.value.Type).next("set up the Capacity scheduler first")
	}
	numbers := require.Whole(require.Exclusive(e.labels.value))
	best, bestTriples := yarnclient.Queue{}, 0
	for _, q := range s.value.Queues {
		if !q.Leaf {
			continue
		}
		its := slices.DeleteFunc(require.Whole(require.WholeLabels(q)), func(number string) bool { return !slices.Contains(numbers, number) })
		if len(its) > bestTriples {
			best, bestTriples = q, len(its)
		}
	}
	if bestTriples > 0 {
		found := fmt.Sprintf("queue %s, %s", best.Path, printable.Count(bestTriples, "triple"))
		switch {
		case slices.ContainsFunc(best.Partitions, func(p yarnclient.QueuePartition) bool {
			// YARN lists the label of parked nodes too, in which nothing may run, once a
			// container of the queue ran on a node while it had that label.
			return require.InPool(p.Partition) && p.Partition != require.Parking && p.MaxAMPct <= 0
		}):
			return c.bad("%s, but ApplicationMasters may use nothing of it", found).setIn(rows[2], best.Path, "")
		case bestTriples < len(numbers):
			return c.warn("%s of %d", found, len(numbers)).next(prepare + " gives it the other labels too")
		}
		return c.ok("%s", found)
	}
	c = c.bad("no queue has the whole capacity of a label triple")
	labels := require.All(1).Labels
	if name, err := e.property(ctx, require.Of("amLabel")[0].Property); err == nil && yarnclient.IsLabel(name) {
		labels.Masters = name
	}
	lacking, err := require.LackingQueueSettings(s.value, e.schedulerConf.value, require.LargestLeaf(s.value), labels)
	if err != nil {
		return c.next(err.Error())
	}
	if len(lacking) == 0 {
		return c.next(prepare + " adds the labels, which the settings of " + require.LargestLeaf(s.value) + " have already")
	}
	for _, q := range lacking {
		q.Property = q.Name
		c = c.set(q.Setting, q.Value)
	}
	return c.next(prepare + " sets these, and the same for each further triple")
}

func (e *examiner) amLabel(ctx context.Context) Check {
	unknown, rows := about("amLabel")
	if err := cmp.Or(e.labels.err, e.nodes.err); err != nil {
		return unknown.unknown("%v", err)
	}
	c, values, met := e.settings(ctx, "amLabel")
	if !met {
		return c
	}
	label := values[0]
	if !yarnclient.IsLabel(label) {
		return c.bad("ApplicationMasters are sent to %.80q, which is not the name of a node label", label).set(rows[0], rows[0].Value)
	}
	nodes := 0
	for _, n := range e.nodes.value {
		if n.State == "RUNNING" && slices.Contains(n.Labels, label) {
			nodes++
		}
	}
	mayUse := func(q yarnclient.Queue) bool {
		return q.Leaf && slices.ContainsFunc(q.Partitions, func(p yarnclient.QueuePartition) bool {
			return p.Partition == label && (p.AbsolutePct > 0 || p.MinMemoryMB > 0)
		})
	}
	switch s := e.scheduler; {
	case nodes == 0:
		return c.bad("no running node has the label %s, where ApplicationMasters are sent: no job can start", label).
			next(labelOneNode(label))
	case s.err == nil && s.value.Type == yarnclient.CapacityScheduler && !slices.ContainsFunc(s.value.Queues, mayUse):
		return c.bad("no queue may use label %s, where ApplicationMasters are sent: no job can start", label).next(prepare + " lets one")
	}
	return c.ok("%s, %s", label, printable.Count(nodes, "node"))
}

// localityDelay checks that the Capacity scheduler's property
// node-locality-delay has a value. Steering turns the delay off, and needs a
// value to put back afterwards, since Hadoop cannot unset it.
func (e *examiner) localityDelay(ctx context.Context) Check {
	c, values, met := e.settings(ctx, "localityDelay")
	if !met {
		return c
	}
	if n, err := strconv.Atoi(values[0]); err == nil && n > 0 {
		return c.ok("%s, switched off while a model steers", values[0])
	}
	return c.ok("%s", values[0])
}

// unlabelledJobs says what steering by node labels means for jobs of other
// users.
func (e *examiner) unlabelledJobs() Check {
	c := check("otherJobs", false, "jobs of others to go on while a model steers: without its labels they wait until the trial ends")
	workers := 0
	for _, n := range e.nodes.value {
		if n.State == "RUNNING" && (n.Label() == "" || require.InPool(n.Label())) {
			workers++
		}
	}
	switch err := cmp.Or(e.labels.err, e.nodes.err); {
	case err != nil:
		return c.unknown("%v", err)
	case workers == 0:
		return c.unknown("no running node to steer")
	}
	return c.ok("%s would be steered, all unless the experiment's keepNodes leaves some", printable.Count(workers, "node"))
}
