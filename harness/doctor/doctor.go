// Package doctor examines a cluster: can it be captured, run workloads, be
// steered, cached and measured? If not, which property has to be set where? It
// only asks questions and changes nothing on the cluster.
//
// It cannot see the files of the cluster's hosts, nor settings that no daemon
// reports over REST. A check that needs these has status unknown, not missing.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"heddle/collectors/hdfs"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/lease"
	"heddle/harness/require"
	"heddle/traces/printable"
	"heddle/yarnclient"
)

// Report is the result of examining a cluster. Its JSON keys are stable.
type Report struct {
	Cluster  string    `json:"cluster"`
	Features []Feature `json:"features"`
}

// Feature is one use that heddle makes of a cluster, such as capturing traces,
// with the checks for it.
type Feature struct {
	// Name is the name of the feature: Captured, Run, Steered, Cached or
	// Measured.
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Why gives the reasons for the verdict on the feature; it is empty if the
	// verdict is Yes.
	Why    []string `json:"why,omitempty"`
	Checks []Check  `json:"checks"`
}

// Names of the features of heddle (uses that it makes of a cluster) that doctor
// reports on.
const (
	Captured = require.Captured
	Run      = "run" // the feature of running workloads with heddle run
	Steered  = require.Steered
	Cached   = require.Cached
	Measured = "measured" // the feature of measuring nodes by agents, and of emptying page caches so that jobs read from disk
)

// Verdict says whether a feature of heddle, such as capturing traces, works on
// the examined cluster.
type Verdict string

// The verdicts on a feature of heddle. Unclear means that something the feature
// requires could not be checked.
const (
	Yes     Verdict = "yes"
	No      Verdict = "no"
	Unclear Verdict = "unknown"
)

// Check is one thing that heddle doctor checked on the cluster, and the result.
type Check struct {
	// ID is the check's name, such as "labelPool". It stays the same from
	// version to version.
	ID     string `json:"id"`
	Status Status `json:"status"`
	// Required is true if the feature of heddle does not work unless this check
	// is OK.
	Required bool `json:"required"`
	// Found says what the cluster has. NeededFor says what heddle needs the
	// checked thing for.
	Found     string `json:"found"`
	NeededFor string `json:"neededFor"`
	// Set lists the Hadoop properties that the user should set. Next says what
	// else the user should do.
	Set  []Property `json:"set,omitempty"`
	Next string     `json:"next,omitempty"`
}

// Status is the result of a check.
type Status string

// The statuses of a check. Only a check that is Required can be Missing. Warn
// means that the feature of heddle works, but less well.
const (
	OK      Status = "ok"
	Warn    Status = "warn"
	Missing Status = "missing"
	Unknown Status = "unknown"
)

// Property is a Hadoop property that the user should set.
type Property struct {
	// File is the name of the configuration file that the property belongs in, such
	// as "yarn-site.xml". It is empty if the ResourceManager keeps the Capacity
	// scheduler's settings in a store and ignores the file.
	File  string `json:"file"`
	Name  string `json:"property"`
	Value string `json:"value"`
	// Restart names the daemons that read the file only when they start, such as
	// "ResourceManager".
	Restart string `json:"restart,omitempty"`
}

// Feature returns the report on the feature of heddle with this name, or nil if
// there is none.
func (r *Report) Feature(name string) *Feature {
	if i := slices.IndexFunc(r.Features, func(f Feature) bool { return f.Name == name }); i >= 0 {
		return &r.Features[i]
	}
	return nil
}

// Examine checks all features of a cluster, even if some daemons are down. A
// daemon that does not answer takes a few seconds. All requests to daemons
// together end within reportLimit.
func Examine(ctx context.Context, c *config.Cluster) (*Report, error) {
	e, err := newExaminer(c)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.report(ctx), ctx.Err()
}

// callTimeout limits the time of one request to one daemon, and reportLimit
// the time of all requests together.
const (
	callTimeout = 5 * time.Second
	reportLimit = 20 * time.Second
)

// examiner has the clients of a cluster's daemons, and those answers of the
// daemons that several checks use.
type examiner struct {
	*clients.Clients
	hdfs  nameNode    // the field HDFS of Clients; tests replace it
	files lease.Files // where heddle notes what it changes on the cluster

	info    answer[yarnclient.ClusterInfo]
	nodes   answer[[]yarnclient.Node]
	disks   answer[[]hdfs.DataNode]
	jhs     answer[yarnclient.HistoryInfo]
	root    answer[hdfs.File]
	nnBeans map[string]any // the NameNode's attributes from JMX bean NameNodeInfo; nil if the NameNode did not give them

	scheduler     answer[yarnclient.Scheduler]
	schedulerConf answer[map[string]string] // the Capacity scheduler's settings
	labels        answer[[]yarnclient.NodeLabel]
}

// nameNode is the part of *hdfs.Client that doctor uses.
type nameNode interface {
	Stat(ctx context.Context, path string) (hdfs.File, error)
	Locations(ctx context.Context, name string) iter.Seq2[hdfs.File, error]
	DataNodes(ctx context.Context) ([]hdfs.DataNode, error)
	CachePools(ctx context.Context) ([]hdfs.CachePool, error)
}

type answer[T any] struct {
	value T
	err   error
}

func ask[T any](ctx context.Context, call func(context.Context) (T, error)) answer[T] {
	v, err := call(ctx)
	return answer[T]{v, err}
}

func newExaminer(c *config.Cluster) (*examiner, error) {
	to, err := clients.To(c, clients.Patience{Request: callTimeout, Call: callTimeout, Once: true})
	if err != nil {
		return nil, err
	}
	return &examiner{Clients: to, hdfs: to.HDFS, files: lease.On(to.HDFS)}, nil
}

func (e *examiner) report(whole context.Context) *Report {
	ctx, cancel := context.WithTimeoutCause(whole, reportLimit, fmt.Errorf("no answer within %v, the time for all daemons together",
		reportLimit))
	defer cancel()
	e.ask(ctx)
	steered := e.steer(ctx)
	if store, err := e.value(ctx, require.Of("liveQueues")[0]); err == nil && slices.Contains([]string{"leveldb", "zk", "fs"}, store) {
		fileIgnored(steered)
	}
	return &Report{Cluster: e.Config.Name, Features: []Feature{
		judge(Captured, e.capture(ctx)), judge(Run, e.run(whole)), judge(Steered, steered),
		judge(Cached, e.cache(ctx)), judge(Measured, e.measure(ctx)),
	}}
}

// fileIgnored marks the Capacity scheduler's properties in checks as those of a
// scheduler that ignores its file.
func fileIgnored(checks []Check) {
	for _, c := range checks {
		for i, p := range c.Set {
			if strings.HasPrefix(p.Name, require.Queues) {
				c.Set[i].File, c.Set[i].Restart = "", ""
			}
		}
	}
}

// The method ask fills in those answers of the daemons that several checks use.
func (e *examiner) ask(ctx context.Context) {
	var asked sync.WaitGroup
	asked.Go(func() { e.info = ask(ctx, e.RM.Active) })
	asked.Go(func() { e.jhs = ask(ctx, e.History.Info) })
	asked.Go(func() {
		e.root = ask(ctx, func(ctx context.Context) (hdfs.File, error) { return e.hdfs.Stat(ctx, "/") })
	})
	asked.Wait()
	e.nodes.err, e.disks.err = e.info.err, e.root.err
	e.scheduler.err, e.schedulerConf.err, e.labels.err = errNoRM, errNoRM, errNoRM
	if e.info.err == nil {
		e.scheduler, e.schedulerConf, e.labels = ask(ctx, e.RM.Scheduler), ask(ctx, e.RM.SchedulerConf), ask(ctx, e.RM.NodeLabels)
		e.nodes = ask(ctx, func(ctx context.Context) ([]yarnclient.Node, error) { return e.RM.Nodes(ctx) })
		e.nnBeans = e.nameNodeInfo(ctx)
	}
	if e.root.err == nil {
		e.disks = ask(ctx, e.hdfs.DataNodes)
	}
}

// judge derives the verdict on a feature of heddle from the results of the
// feature's checks.
func judge(name string, checks []Check) Feature {
	f := Feature{Name: name, Verdict: Yes, Checks: checks}
	for _, c := range checks {
		switch {
		case c.Status == Missing:
			if f.Verdict != No {
				f.Verdict, f.Why = No, nil
			}
			f.Why = append(f.Why, c.Found)
		case c.Required && c.Status == Unknown && f.Verdict != No:
			f.Verdict = Unclear
			f.Why = append(f.Why, c.Found)
		}
	}
	return f
}

// The method check returns a new check with status OK. The caller changes the
// status if the check fails.
func check(id string, required bool, neededFor string) Check {
	return Check{ID: id, Status: OK, Required: required, NeededFor: neededFor}
}

// about returns a new check, with the settings that package require lists for
// it.
func about(id string) (Check, []require.Setting) {
	rows := require.Of(id)
	return check(id, rows[0].Required, rows[0].Why), rows
}

// settings asks for the settings that a check looks at, and returns their values,
// Hadoop's default for one that is not set. If one is not known or not good, the check
// says so, and met is false.
func (e *examiner) settings(ctx context.Context, id string) (c Check, values []string, met bool) {
	c, rows := about(id)
	var bad []string
	for _, s := range rows {
		value, err := e.value(ctx, s)
		if err != nil {
			return e.unreported(c, s, err), nil, false
		}
		wanted, good := e.onCluster(ctx, s)
		switch {
		case good(value):
		case s.Met(value):
			bad = append(bad, fmt.Sprintf("%s is %s, which serves only one of %s",
				s.Property, value, printable.Count(len(e.Config.ResourceManagers), "ResourceManager")))
		case value == "":
			bad = append(bad, fmt.Sprintf("%s is not set, and Hadoop's default is %s", s.Property, cmp.Or(s.Default, "none")))
		default:
			bad = append(bad, s.Property+" is "+value)
		}
		if !good(value) {
			c = c.set(s, wanted)
		}
		values = append(values, cmp.Or(value, s.Default))
	}
	if bad != nil {
		return c.bad("%s", strings.Join(bad, ", ")), nil, false
	}
	return c, values, true
}

// tells checks the settings that a check looks at. found is the text that it shows for
// the value of the first.
func (e *examiner) tells(ctx context.Context, id, found string) Check {
	c, values, met := e.settings(ctx, id)
	if !met {
		return c
	}
	return c.ok("%s", strings.ReplaceAll(found, "%s", values[0]))
}

// onCluster returns the value of a requirement on this cluster, and the function
// that tells good values. With several ResourceManagers, what one of them stores
// has to be there for the others too.
func (e *examiner) onCluster(ctx context.Context, s require.Setting) (string, func(string) bool) {
	if len(e.Config.ResourceManagers) == 1 {
		return s.Value, s.Met
	}
	switch s.Check {
	case "labelStore":
		base, err := e.property(ctx, "fs.defaultFS")
		if err != nil || !strings.HasPrefix(base, "hdfs:") {
			base = "hdfs://" + e.Config.NameNodes[0]
		}
		return strings.TrimSuffix(base, "/") + "/yarn/node-labels",
			func(value string) bool { return s.Met(value) && !strings.HasPrefix(value, "file:") }
	case "liveQueues":
		return "zk", func(value string) bool { return s.Met(value) && value != "memory" && value != "leveldb" }
	}
	return s.Value, s.Met
}

// The method value asks the daemon that uses a setting for the setting's value: for
// mapred-site.xml the history server, else the ResourceManager. It returns "" if the
// setting is not set.
func (e *examiner) value(ctx context.Context, s require.Setting) (string, error) {
	switch {
	case s.File == "capacity-scheduler.xml":
		return e.schedulerConf.value[s.Property], e.schedulerConf.err
	case s.File != "mapred-site.xml":
		return e.property(ctx, s.Property)
	case e.jhs.err != nil:
		return "", errors.New("the history server cannot be asked")
	}
	return unset(e.History.Conf(ctx, s.Property))
}

// property asks the ResourceManager for the value of a setting. It returns ""
// if the setting is not set.
func (e *examiner) property(ctx context.Context, name string) (string, error) {
	if e.info.err != nil {
		return "", errNoRM
	}
	return unset(e.RM.Conf(ctx, name))
}

func unset(value string, err error) (string, error) {
	if errors.Is(err, yarnclient.ErrNotFound) {
		return "", nil
	}
	return value, err
}
