package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/lease"
	"heddle/yarnclient"
)

// steer checks what moving nodes between labels needs.
func (e *examiner) steer(ctx context.Context) []Check {
	scheduler := ask(ctx, e.scheduler)
	settings := ask(ctx, e.schedulerSettings)
	labels := ask(ctx, e.labels)
	return []Check{
		schedulerType(scheduler), e.labelsEnabled(ctx), e.labelWrites(ctx), labelPool(labels), queueLabels(scheduler, labels),
		e.amLabel(ctx, labels), e.labelStore(ctx), e.async(ctx, settings), localityDelay(settings), e.unlabelledJobs(labels), e.priorities(ctx), e.liveQueues(ctx),
	}
}

var errNoRM = errors.New("the ResourceManager cannot be asked")

func (e *examiner) scheduler(ctx context.Context) (yarnclient.Scheduler, error) {
	if e.info.err != nil {
		return yarnclient.Scheduler{}, errNoRM
	}
	return e.rm.Scheduler(ctx)
}

// schedulerSettings are the Capacity scheduler's by full name. With the store
// that reads only the file they are not told, and unknown.
func (e *examiner) schedulerSettings(ctx context.Context) (map[string]string, error) {
	if e.info.err != nil {
		return nil, errNoRM
	}
	settings, err := e.rm.SchedulerConf(ctx)
	if err != nil {
		return nil, errors.New("not told by the ResourceManager; a Capacity scheduler tells when " + storeClass + " is memory")
	}
	return settings, nil
}

func (e *examiner) labels(ctx context.Context) ([]yarnclient.NodeLabel, error) {
	if e.info.err != nil {
		return nil, errNoRM
	}
	return e.rm.NodeLabels(ctx)
}

const (
	labelsOn       = "yarn.node-labels.enabled"
	labelsType     = "yarn.node-labels.configuration-type"
	storeClass     = "yarn.scheduler.configuration.store.class"
	capacity       = "yarn.scheduler.capacity."
	capacityXML    = "capacity-scheduler.xml"
	yarnXML        = "yarn-site.xml"
	schedulerClass = "yarn.resourcemanager.scheduler.class"
	// capacityScheduler is what the ResourceManager calls the type.
	capacityScheduler = "capacityScheduler"
	capacityClass     = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
)

func schedulerType(s answer[yarnclient.Scheduler]) Check {
	c := check("scheduler", true, "node labels, which only the Capacity scheduler knows")
	switch {
	case s.err != nil:
		return c.unknown("%v", s.err)
	case s.value.Type != capacityScheduler:
		return c.bad("the scheduler is %s", s.value.Type).set(yarnXML, schedulerClass, capacityClass)
	}
	return c.ok("%s", s.value.Type)
}

func (e *examiner) labelsEnabled(ctx context.Context) Check {
	c := check("labels", true, "moving a node into a job's label for one container")
	enabled, err := e.property(ctx, labelsOn)
	if err != nil {
		return c.unknown("%v", err)
	}
	kind, err := e.property(ctx, labelsType)
	if err != nil {
		return c.unknown("%v", err)
	}
	switch {
	case enabled != "true":
		return c.bad("node labels are off").set(yarnXML, labelsOn, "true").
			set(yarnXML, "yarn.node-labels.fs-store.root-dir", "file:///var/lib/hadoop-yarn/node-labels")
	case kind != "" && kind != "centralized":
		return c.bad("node labels are %s: they cannot be set over REST", kind).set(yarnXML, labelsType, "centralized")
	}
	return c.ok("on, centralized")
}

// labelWrites tells from the list of admins, without writing.
func (e *examiner) labelWrites(ctx context.Context) Check {
	const name = "yarn.admin.acl"
	c := check("labelWrites", true, "setting labels, which only YARN admins may")
	acl, err := e.property(ctx, name)
	if err != nil {
		return c.unknown("%v", err)
	}
	// "user1,user2 group1,group2"; a space first is groups only.
	user := e.cluster.User
	users, groups, _ := strings.Cut(acl, " ")
	switch {
	case strings.TrimSpace(acl) == "*":
		return c.ok("everybody is a YARN admin")
	case slices.Contains(strings.Split(users, ","), user):
		return c.ok("user %s is a YARN admin", user)
	case strings.TrimSpace(groups) != "":
		return c.unknown("user %s is not in %s (%q), perhaps in one of its groups", user, name, acl).
			set(yarnXML, name, strings.TrimPrefix(users+","+user, ",")+" "+groups)
	}
	return c.bad("user %s is not in %s (%q)", user, name, acl).set(yarnXML, name, strings.TrimPrefix(users+","+user, ","))
}

// triple matches the labels of the pool: a00 for an ApplicationMaster, m00 for
// maps, r00 for reduces.
var triple = regexp.MustCompile(`^([amr])([0-9]{2})$`)

// triples returns the numbers that have all three labels, all exclusive.
func triples(labels []yarnclient.NodeLabel) []string {
	roles := map[string]int{}
	for _, l := range labels {
		if m := triple.FindStringSubmatch(l.Name); m != nil && l.Exclusive {
			roles[m[2]]++
		}
	}
	var numbers []string
	for number, n := range roles {
		if n == 3 {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers
}

const addLabels = `yarn rmadmin -addToClusterNodeLabels "idle(exclusive=true),a00(exclusive=true),m00(exclusive=true),r00(exclusive=true)", and so on to r15`

func labelPool(labels answer[[]yarnclient.NodeLabel]) Check {
	c := check("labelPool", true, "a triple of labels (ApplicationMaster, maps, reduces) for each job that is steered at a time")
	if labels.err != nil {
		return c.unknown("%v", labels.err)
	}
	n := len(triples(labels.value))
	parking := slices.ContainsFunc(labels.value, func(l yarnclient.NodeLabel) bool { return l.Name == lease.Parking && l.Exclusive })
	switch {
	case n == 0:
		return c.bad("no triple of exclusive labels (a00, m00, r00) among %d labels", len(labels.value)).next(addLabels)
	case !parking:
		return c.bad("%s, but no exclusive label idle to park nodes in", count(n, "triple")).next(addLabels)
	}
	return c.ok("%s, and idle to park nodes in", count(n, "triple"))
}

// queueLabels looks for a queue that may use the whole of each label.
func queueLabels(s answer[yarnclient.Scheduler], labels answer[[]yarnclient.NodeLabel]) Check {
	c := check("queueLabels", true, "a queue whose jobs may use the whole of a label; with a capacity of 0 they wait for ever")
	if err := cmp.Or(s.err, labels.err); err != nil {
		return c.unknown("%v", err)
	}
	if s.value.Type != capacityScheduler {
		return c.bad("queues of a %s have no labels", s.value.Type).next("set up the Capacity scheduler first")
	}
	numbers := triples(labels.value)
	best, bestTriples := "", 0
	big := yarnclient.Queue{Path: "root.default"} // the leaf to advise
	for _, q := range s.value.Queues {
		if !q.Leaf {
			continue
		}
		if q.CapacityPct > big.CapacityPct {
			big = q
		}
		whole := map[string]bool{}
		for _, p := range q.Partitions {
			whole[p.Partition] = p.CapacityPct == 100 && p.MaxAMPct > 0
		}
		n := 0
		for _, number := range numbers {
			if whole["a"+number] && whole["m"+number] && whole["r"+number] {
				n++
			}
		}
		if n > bestTriples {
			best, bestTriples = q.Path, n
		}
	}
	if bestTriples > 0 {
		found := fmt.Sprintf("queue %s, %s", best, count(bestTriples, "triple"))
		if bestTriples < len(numbers) {
			return c.warn("%s of %d", found, len(numbers)).next("give the other labels a capacity of 100 there too")
		}
		return c.ok("%s", found)
	}
	c = c.bad("no queue has a capacity of 100 for a label triple")
	for _, label := range []string{"a00", "m00", "r00"} {
		c = c.set(capacityXML, capacity+"root.accessible-node-labels."+label+".capacity", "100").
			set(capacityXML, capacity+big.Path+".accessible-node-labels."+label+".capacity", "100")
	}
	return c.set(capacityXML, capacity+big.Path+".accessible-node-labels", "a00,m00,r00").
		next("the same for each further triple; then yarn rmadmin -refreshQueues")
}

func (e *examiner) amLabel(ctx context.Context, labels answer[[]yarnclient.NodeLabel]) Check {
	const name = "yarn.resourcemanager.node-labels.am.default-node-label-expression"
	c := check("amLabel", true, "ApplicationMasters on nodes of their own, so that all workers can be moved")
	if labels.err != nil {
		return c.unknown("%v", labels.err)
	}
	label, err := e.property(ctx, name)
	switch {
	case err != nil:
		return c.unknown("%v", err)
	case label == "":
		return c.bad("ApplicationMasters go to any node").set(yarnXML, name, "am")
	}
	nodes := 0
	for _, n := range e.nodes.value {
		if n.State == "RUNNING" && slices.Contains(n.Labels, label) {
			nodes++
		}
	}
	if nodes == 0 {
		return c.bad("no running node has the label %s, where ApplicationMasters are sent: no job can start", label).
			next(`yarn rmadmin -replaceLabelsOnNode "HOST:PORT=` + label + `"`)
	}
	return c.ok("%s, %s", label, count(nodes, "node"))
}

func (e *examiner) labelStore(ctx context.Context) Check {
	const name = "yarn.node-labels.fs-store.root-dir"
	c := check("labelStore", false, "labels that outlive a restart of the ResourceManager")
	value, err := e.property(ctx, name)
	switch {
	case err != nil:
		return c.unknown("%v", err)
	case value == "" || strings.HasPrefix(strings.TrimPrefix(value, "file://"), "/tmp/"):
		return c.bad("in the temporary folder of the ResourceManager's host").set(yarnXML, name, "file:///var/lib/hadoop-yarn/node-labels")
	}
	return c.ok("%s", value)
}

// async says what decisions cost without asynchronous scheduling: a node gets
// its container with its next heartbeat.
func (e *examiner) async(ctx context.Context, s answer[map[string]string]) Check {
	const name, beat = capacity + "schedule-asynchronously.enable", "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"
	c := check("asyncScheduling", false, "decisions that take effect in some 20 ms rather than at the next heartbeat")
	switch {
	case s.err != nil:
		return c.unknown("%v", s.err)
	case s.value[name] != "true":
		every, err := e.property(ctx, beat)
		if err != nil || every == "" {
			every = "1000"
		}
		return c.bad("off: each decision takes up to a heartbeat, %s ms, and the node idles meanwhile", every).
			set(capacityXML, name, "true").set(capacityXML, capacity+"schedule-asynchronously.scheduling-interval-ms", "20")
	}
	return c.ok("on")
}

// localityDelay is switched off while steering lasts, where settings are told.
func localityDelay(s answer[map[string]string]) Check {
	const name = capacity + "node-locality-delay"
	c := check("localityDelay", false, "a node that was opened for a job to be used at once, also by maps that are not local there")
	value := s.value[name]
	switch {
	case s.err != nil:
		return c.unknown("%v", s.err)
	case value == "": // Hadoop cannot unset again what steering would set
		return c.bad("not set: 40 opportunities are let pass first").set(capacityXML, name, "40")
	}
	if n, err := strconv.Atoi(value); err == nil && n > 0 {
		return c.ok("%s, switched off while a model steers", value)
	}
	return c.ok("%s", value)
}

// unlabelledJobs says what steering means for those who do not know of it.
func (e *examiner) unlabelledJobs(labels answer[[]yarnclient.NodeLabel]) Check {
	c := check("otherJobs", false, "jobs of others to go on while a model steers: without its labels they wait until the trial ends")
	workers := 0
	for _, n := range e.nodes.value {
		if n.State == "RUNNING" && (n.Label() == "" || n.Label() == lease.Parking || lease.InPool(n.Label())) {
			workers++
		}
	}
	switch {
	case labels.err != nil:
		return c.unknown("%v", labels.err)
	case workers == 0:
		return c.unknown("no running node to steer")
	}
	return c.ok("%s would be steered, all unless the experiment's keepNodes leaves some", count(workers, "node"))
}

func (e *examiner) priorities(ctx context.Context) Check {
	const name = "yarn.cluster.max-application-priority"
	c := check("priorities", false, "ordering jobs that share a label; above the maximum every priority is the maximum")
	value, err := e.property(ctx, name)
	switch {
	case err != nil:
		return c.unknown("%v", err)
	case value == "" || value == "0":
		return c.bad("all applications have priority 0").set(yarnXML, name, "100")
	}
	return c.ok("0 to %s", value)
}

func (e *examiner) liveQueues(ctx context.Context) Check {
	c := check("liveQueues", false, "changing queues and scheduler settings without a restart")
	value, err := e.property(ctx, storeClass)
	switch {
	case err != nil:
		return c.unknown("%v", err)
	case value == "" || value == "file":
		return c.bad("settings are read from the file only").set(yarnXML, storeClass, "memory")
	}
	return c.ok("store %s", value)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
