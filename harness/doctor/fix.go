package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/require"
	"heddle/traces/printable"
	"heddle/yarnclient"
)

// FixOptions say for what a plan is made.
type FixOptions struct {
	// Features are those that the cluster is to have: Captured, Steered, Cached.
	// Others need no property.
	Features []string
	// Queue is the path of the leaf queue for steered jobs; empty for the one
	// with the largest capacity.
	Queue string
	// Triples is how many jobs are to be steered at a time.
	Triples int
	// Cache is how much memory each DataNode locks for cached blocks.
	// CacheFolder, if set, is a tmpfs that takes its place; see
	// dfs.datanode.pmem.cache.dirs.
	Cache       units.Size
	CacheFolder string
	// File is the name of the cluster, as the flag --cluster takes it.
	File string
}

// DefaultFix returns the options for a plan of all features.
func DefaultFix() FixOptions {
	return FixOptions{Features: slices.Clone(fixable), Triples: require.Triples, Cache: units.GiB}
}

// fixable are the features that Hadoop's properties give a cluster.
var fixable = []string{Captured, Steered, Cached}

// Validate returns an error that names the flag with a wrong value.
func (o FixOptions) Validate() error {
	for _, feature := range o.Features {
		if !slices.Contains(fixable, feature) {
			return fmt.Errorf("--for %s: want a list of %s", feature, strings.Join(fixable, ", "))
		}
	}
	switch {
	case o.Triples < 1 || o.Triples > 100:
		return fmt.Errorf("--triples %d: want 1 to 100", o.Triples)
	case o.Cache < units.MiB:
		return fmt.Errorf("--cache %v: want 1MiB or more", o.Cache)
	}
	return nil
}

// FixPlan says what to change on a cluster so that it has some features. Its
// JSON keys are stable.
type FixPlan struct {
	Cluster  string   `json:"cluster"`
	Features []string `json:"features"`
	Changes  []Change `json:"changes"` // by file, in the order of the requirements
	// Restart are the daemons to restart after the changes in files, by the
	// names of Hadoop's commands, in the order in which to restart them.
	Restart []string `json:"restart"`
	// Then are commands to run after the restarts, in their order.
	Then []string `json:"then"`
	// Notes say what to mind, and what could not be found out.
	Notes []string `json:"notes"`
}

// Change is one property to set.
type Change struct {
	Feature  string `json:"feature"`
	File     string `json:"file"`
	Property string `json:"property"`
	// Present is the value now, or if Known is false, what is known instead.
	// "" means that the property is not set; Default is then Hadoop's value.
	Present string `json:"present"`
	Known   bool   `json:"known"`
	Default string `json:"default"`
	Value   string `json:"value"`
	// Added is the part of a list that Value adds to Present.
	Added    string `json:"added,omitempty"`
	Required bool   `json:"required"`
	Why      string `json:"why"`
	// Restart are the daemons that see the change in the file only after a
	// restart.
	Restart []string `json:"restart"`
	// Command sets the property on the running cluster; empty if nothing does.
	Command string `json:"command,omitempty"`
	// FileIgnored is true if the ResourceManager keeps the Capacity scheduler's
	// settings elsewhere: then the command is the only way.
	FileIgnored bool `json:"fileIgnored"`
}

// PlanFix finds out what to change on a cluster. It changes nothing. It fails if
// the ResourceManager cannot be asked.
func PlanFix(ctx context.Context, c *config.Cluster, o FixOptions) (*FixPlan, error) {
	e, err := newExaminer(c)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.plan(ctx, o)
}

// planner makes one plan.
type planner struct {
	*examiner
	FixOptions
	store string // where the Capacity scheduler keeps its settings
	plan  FixPlan
}

func (e *examiner) plan(whole context.Context, o FixOptions) (*FixPlan, error) {
	ctx, cancel := context.WithTimeoutCause(whole, reportLimit, fmt.Errorf("no answer within %v, the time for all daemons together", reportLimit))
	defer cancel()
	e.ask(ctx)
	if e.info.err != nil {
		return nil, fmt.Errorf("plan changes of cluster %s: %w", e.Config.Name, e.info.err)
	}
	p := &planner{
		examiner: e, FixOptions: o,
		plan: FixPlan{Cluster: e.Config.Name, Features: o.Features, Changes: []Change{}, Restart: []string{}, Then: []string{}, Notes: []string{}},
	}
	var err error
	if p.store, err = e.value(ctx, require.Of("liveQueues")[0]); err != nil {
		return nil, fmt.Errorf("plan changes of cluster %s: %w", e.Config.Name, err)
	}
	for _, s := range require.All(o.Triples).Settings {
		if slices.Contains(o.Features, s.Feature) && !strings.Contains(s.Property, "QUEUE") {
			p.row(ctx, s)
		}
	}
	if slices.Contains(o.Features, Steered) {
		if err := p.queue(ctx); err != nil {
			return nil, fmt.Errorf("plan changes of cluster %s: %w", e.Config.Name, err)
		}
	}
	p.finish()
	if err := p.plan.check(); err != nil {
		return nil, fmt.Errorf("plan changes of cluster %s: %w", e.Config.Name, err)
	}
	return &p.plan, whole.Err()
}

// row adds the change for a requirement that is about the whole cluster.
func (p *planner) row(ctx context.Context, s require.Setting) {
	if s.Check == "cacheCapacity" {
		p.cache(s)
		return
	}
	wanted, met := p.wanted(ctx, s)
	c := changeOf(s, s.Property, wanted)
	if strings.HasPrefix(s.Property, require.Queues) {
		if p.settings.err == nil {
			c.Known, c.Present = true, p.settings.value[s.Property]
		} else if c.Present = "the ResourceManager does not report it"; s.Default != "" && s.Met("") {
			return // most likely it is not set, and Hadoop's default is good
		}
		if c.Known && met(c.Present) {
			return
		}
		c.Command = p.atRunTime("yarn schedulerconf -global " + printable.ShellWord(s.Property+"="+wanted))
		p.add(c)
		return
	}
	values := p.values(ctx, s)
	if !slices.ContainsFunc(values, func(v reported) bool { return v.err == nil && !met(v.value) }) {
		for _, v := range values {
			if v.err != nil {
				p.note("%s of %s cannot be known: %v", s.Property, v.who, v.err)
			}
		}
		return
	}
	c.Known, c.Present = true, describe(values)
	switch s.Check {
	case "labelWrites":
		var why string
		if c.Value, c.Added, why = admins(values[0].value, p.Config.User); why != "" {
			p.note("%s", why)
			return
		}
	case "authentication":
		p.note("%s = %s turns a protection off that others may need; heddle cannot use this cluster with it", s.Property, wanted)
	case "labelStore":
		p.note("the user of the ResourceManager needs to own %s, or to be able to make it: the ResourceManager does not start otherwise", wanted)
	case "scheduler":
		c.Present = cmp.Or(c.Present, p.scheduler.value.Type)
	}
	if wanted == "zk" {
		p.note("the store zk is in the ZooKeeper that hadoop.zk.address names; it takes over what capacity-scheduler.xml has at its first start, and ignores the file from then on")
	}
	p.add(c)
}

// wanted returns the value that a requirement has on this cluster, and the
// function that tells good values.
func (p *planner) wanted(ctx context.Context, s require.Setting) (string, func(string) bool) {
	switch s.Check {
	case "scheduler":
		return s.Value, func(string) bool {
			return p.scheduler.err != nil || p.scheduler.value.Type == yarnclient.CapacityScheduler
		}
	case "labelWrites":
		return s.Value, func(value string) bool {
			_, added, _ := admins(value, p.Config.User)
			return added == ""
		}
	}
	return p.onCluster(ctx, s)
}

// cache adds the one of the two ways to have a cache that was asked for.
func (p *planner) cache(s require.Setting) {
	check := p.cacheCapacity()
	folder := s.Property == "dfs.datanode.pmem.cache.dirs"
	switch {
	case check.Status == Unknown:
		if !folder {
			p.note("whether DataNodes have a cache cannot be known: %s", check.Found)
		}
		return
	case len(check.Set) == 0, folder != (p.CacheFolder != ""):
		return
	}
	c := changeOf(s, s.Property, cmp.Or(p.CacheFolder, strconv.FormatInt(int64(p.Cache), 10)))
	c.Present = check.Found
	p.add(c)
	if folder {
		p.note("%s has to be a tmpfs of its own on each DataNode's host, mounted before the DataNode starts", p.CacheFolder)
	} else {
		p.note("a DataNode with %s refuses to start without Hadoop's native library (hadoop checknative), or if its limit of locked memory (ulimit -l) is lower; --cache-folder plans a tmpfs instead", s.Property)
	}
}

// queue adds the changes of the steered queue and of those above it.
func (p *planner) queue(ctx context.Context) error {
	if p.scheduler.err != nil {
		return p.scheduler.err
	}
	if p.scheduler.value.Type != yarnclient.CapacityScheduler {
		p.note("the queues of the %s are not those of the Capacity scheduler: write capacity-scheduler.xml for the queues that jobs use, and ask for a plan again after the restart", p.scheduler.value.Type)
		return nil
	}
	labels, err := p.needed(ctx)
	if err != nil {
		return err
	}
	p.Queue = cmp.Or(p.Queue, require.LargestLeaf(p.scheduler.value))
	conf, known := p.settings.value, p.settings.err == nil
	if !known {
		conf = seen(p.scheduler.value)
	}
	lacking, err := require.LackingQueueSettings(p.scheduler.value, conf, p.Queue, labels)
	if err != nil {
		return err
	}
	for _, q := range lacking {
		c := changeOf(q.Setting, q.Name, q.Value)
		c.Present, c.Added, c.Known = q.Present, q.Added, known || q.Present != ""
		if !c.Known {
			c.Present = "the ResourceManager does not report it"
		}
		c.Command = p.atRunTime(p.prepare())
		p.add(c)
	}
	masters := require.Of("queueLabels")[2]
	q := p.scheduler.value.Queue(p.Queue)
	none := func(part yarnclient.QueuePartition) bool { return part.MaxAMPct <= 0 && part.CapacityPct > 0 }
	if name := masters.In(p.Queue, ""); slices.ContainsFunc(q.Partitions, none) {
		c := changeOf(masters, name, masters.Value)
		c.Present, c.Known = conf[name], known
		if !c.Known {
			c.Present = "ApplicationMasters may use nothing"
		}
		c.Command = p.atRunTime("yarn schedulerconf -update " + printable.ShellWord(p.Queue+":maximum-am-resource-percent="+masters.Value))
		p.add(c)
	}
	p.labelSteps(labels)
	return nil
}

// ignoresFile reports whether the Capacity scheduler ignores its file since its
// settings are in a store that outlives the ResourceManager.
func (p *planner) ignoresFile() bool {
	return slices.Contains([]string{"leveldb", "zk", "fs"}, p.store)
}

// atRunTime returns a command that changes the Capacity scheduler's settings, or
// nothing if they can be changed only in the file.
func (p *planner) atRunTime(command string) string {
	if p.scheduler.value.Type == yarnclient.CapacityScheduler && (p.ignoresFile() || p.store == "memory") {
		return command
	}
	return ""
}

func changeOf(s require.Setting, name, value string) Change {
	return Change{
		Feature: s.Feature, File: s.File, Property: name, Default: s.Default, Value: value,
		Required: s.Required, Why: s.Why, Restart: s.Daemons(),
	}
}

func (p *planner) add(c Change) {
	if c.FileIgnored = strings.HasPrefix(c.Property, require.Queues) && p.ignoresFile(); c.FileIgnored {
		c.Restart = []string{}
		p.then(c.Command)
	}
	p.plan.Changes = append(p.plan.Changes, c)
}

// then adds a command to run after the restarts, once.
func (p *planner) then(command string) {
	if !slices.Contains(p.plan.Then, command) {
		p.plan.Then = append(p.plan.Then, command)
	}
}

func (p *planner) note(format string, args ...any) {
	p.plan.Notes = append(p.plan.Notes, fmt.Sprintf(format, args...))
}

// finish puts changes of one file together and sums up what follows from all.
func (p *planner) finish() {
	files := []string{"core-site.xml", "hdfs-site.xml", "mapred-site.xml", "yarn-site.xml", "capacity-scheduler.xml"}
	slices.SortStableFunc(p.plan.Changes, func(a, b Change) int {
		return cmp.Compare(slices.Index(files, a.File), slices.Index(files, b.File))
	})
	for _, daemon := range require.RestartOrder {
		if slices.ContainsFunc(p.plan.Changes, func(c Change) bool { return slices.Contains(c.Restart, daemon) }) {
			p.plan.Restart = append(p.plan.Restart, daemon)
		}
	}
	if len(p.plan.Changes) > 0 || len(p.plan.Then) > 0 {
		p.then("heddle doctor" + p.clusterFlag())
	}
	restarts := func(daemon string) bool { return slices.Contains(p.plan.Restart, daemon) }
	if rms := p.Config.ResourceManagers; restarts("resourcemanager") && len(rms) > 1 {
		standby := slices.DeleteFunc(slices.Clone(rms), func(address string) bool { return address == p.RM.Address() })
		p.note("change the files of all ResourceManagers; restart the standby first (%s), and the active one (%s) when the standby answers", strings.Join(standby, ", "), p.RM.Address())
	}
	if len(p.Config.NameNodes) > 1 && restarts("namenode") {
		p.note("change the files of all NameNodes; restart the standby first: hdfs haadmin -getAllServiceState says which it is")
	}
	if p.ignoresFile() && slices.ContainsFunc(p.plan.Changes, func(c Change) bool { return c.FileIgnored }) {
		p.note("the ResourceManager keeps the Capacity scheduler's settings in the store %s and ignores changes of capacity-scheduler.xml: run the commands instead", p.store)
	}
	if p.store == "memory" && slices.ContainsFunc(p.plan.Changes, func(c Change) bool { return c.Command != "" }) {
		p.note("what a command sets on the running cluster lasts until the ResourceManager restarts; the file keeps it")
	}
}
