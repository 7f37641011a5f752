// Package doctor examines a cluster: can it be captured, run workloads, be
// steered, cached and measured, and if not, which property has to be set where?
// It only asks; nothing on the cluster changes.
//
// What it cannot see is unknown, not missing: files of the cluster's hosts, and
// settings that no daemon tells over REST.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"heddle/collectors/hdfs"
	"heddle/harness/config"
	"heddle/harness/require"
	"heddle/yarnclient"
)

// Report is what an examination found. Its JSON keys are stable.
type Report struct {
	Cluster  string    `json:"cluster"`
	Features []Feature `json:"features"`
}

// Feature is something that heddle can do with a cluster.
type Feature struct {
	// Name is Captured, Run, Steered, Cached or Measured.
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Why says what stands in the way when the verdict is not Yes.
	Why    []string `json:"why,omitempty"`
	Checks []Check  `json:"checks"`
}

// Names of features.
const (
	Captured = require.Captured
	Run      = "run" // workloads, by heddle run
	Steered  = require.Steered
	Cached   = require.Cached
	Measured = "measured" // node metrics and cold reads
)

// Verdict is on a feature as a whole.
type Verdict string

// Verdicts. Unknown is that something required could not be seen.
const (
	Yes     Verdict = "yes"
	No      Verdict = "no"
	Unclear Verdict = "unknown"
)

// Check is one thing that was looked at.
type Check struct {
	// ID is stable: "labelPool".
	ID     string `json:"id"`
	Status Status `json:"status"`
	// Required is that the feature does not work without it.
	Required bool `json:"required"`
	// Found is what there is, NeededFor what for.
	Found     string `json:"found"`
	NeededFor string `json:"neededFor"`
	// Set are properties that would put it right, Next what else to do.
	Set  []Property `json:"set,omitempty"`
	Next string     `json:"next,omitempty"`
}

// Status is the outcome of a check.
type Status string

// Statuses. Missing is said only of what is Required; Warn of what works, but
// less well.
const (
	OK      Status = "ok"
	Warn    Status = "warn"
	Missing Status = "missing"
	Unknown Status = "unknown"
)

// Property is a setting of the cluster.
type Property struct {
	File  string `json:"file"` // "yarn-site.xml"
	Name  string `json:"property"`
	Value string `json:"value"`
}

// Feature returns the feature of that name, nil if there is none.
func (r *Report) Feature(name string) *Feature {
	for i := range r.Features {
		if r.Features[i].Name == name {
			return &r.Features[i]
		}
	}
	return nil
}

// Examine looks at everything, however much of it is down. A daemon that does not
// answer at all costs a few seconds; all that daemons are asked ends within
// reportLimit.
func Examine(ctx context.Context, c *config.Cluster) (*Report, error) {
	if err := c.Supported(); err != nil {
		return nil, err
	}
	e, err := newExaminer(c)
	if err != nil {
		return nil, err
	}
	defer e.close()
	return e.report(ctx), ctx.Err()
}

// callTimeout bounds one question to one daemon, reportLimit all questions to all.
const (
	callTimeout = 5 * time.Second
	reportLimit = 20 * time.Second
)

// examiner holds clients, and the answers that several checks need.
type examiner struct {
	cluster *config.Cluster
	rm      *yarnclient.RM
	history *yarnclient.History
	hdfs    nameNode

	info    answer[yarnclient.ClusterInfo]
	nodes   answer[[]yarnclient.Node]
	disks   answer[[]hdfs.DataNode]
	jhs     answer[yarnclient.HistoryInfo]
	root    answer[hdfs.File]
	nnBeans map[string]any // JMX NameNodeInfo; nil: not seen
}

// nameNode is what doctor asks HDFS: of *hdfs.Client, or a test's.
type nameNode interface {
	Stat(ctx context.Context, path string) (hdfs.File, error)
	Locations(ctx context.Context, pattern string) iter.Seq2[hdfs.File, error]
	DataNodes(ctx context.Context) ([]hdfs.DataNode, error)
	CachePools(ctx context.Context) ([]hdfs.CachePool, error)
	Close() error
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
	o := yarnclient.Options{Addresses: c.ResourceManagers, User: c.User, Timeout: callTimeout, Retries: -1, DialContext: c.DialContext()}
	rm, err := yarnclient.NewRM(o)
	if err != nil {
		return nil, err
	}
	o.Addresses = []string{c.HistoryServer}
	history, err := yarnclient.NewHistory(o)
	if err != nil {
		return nil, err
	}
	nn, err := hdfs.New(hdfs.Options{
		NameNodes: c.NameNodes, User: c.User, DialContext: c.DialContext(), CallTimeout: callTimeout, RetryFor: callTimeout,
	})
	if err != nil {
		return nil, err
	}
	return &examiner{cluster: c, rm: rm, history: history, hdfs: nn}, nil
}

func (e *examiner) close() {
	e.rm.Close()
	e.history.Close()
	e.hdfs.Close() //nolint:errcheck // it was only asked
}

func (e *examiner) report(whole context.Context) *Report {
	ctx, cancel := context.WithTimeoutCause(whole, reportLimit, fmt.Errorf("no answer: all daemons together had %v", reportLimit))
	defer cancel()
	var asked sync.WaitGroup
	asked.Go(func() { e.info = ask(ctx, e.rm.Active) })
	asked.Go(func() { e.jhs = ask(ctx, e.history.Info) })
	asked.Go(func() {
		e.root = ask(ctx, func(ctx context.Context) (hdfs.File, error) { return e.hdfs.Stat(ctx, "/") })
	})
	asked.Wait()
	e.nodes.err, e.disks.err = e.info.err, e.root.err
	if e.info.err == nil {
		e.nodes = ask(ctx, func(ctx context.Context) ([]yarnclient.Node, error) { return e.rm.Nodes(ctx) })
		e.nnBeans = e.nameNodeInfo(ctx)
	}
	if e.root.err == nil {
		e.disks = ask(ctx, e.hdfs.DataNodes)
	}
	r := &Report{Cluster: e.cluster.Name}
	r.Features = []Feature{
		judge(Captured, e.capture(ctx)), judge(Run, e.run(whole)), judge(Steered, e.steer(ctx)),
		judge(Cached, e.cache(ctx)), judge(Measured, e.measure(ctx)),
	}
	return r
}

// judge is the verdict that checks amount to.
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

// check begins a check that is fine unless it is told otherwise.
func check(id string, required bool, neededFor string) Check {
	return Check{ID: id, Status: OK, Required: required, NeededFor: neededFor}
}

// about begins the check of that id in the table of requirements, with its rows.
func about(id string) (Check, []require.Setting) {
	rows := require.Of(id)
	return check(id, rows[0].Required, rows[0].Why), rows
}

// tells is a check of one setting, whose value is all there is to say.
func (e *examiner) tells(ctx context.Context, id, found, lacks string) Check {
	c, rows := about(id)
	value, err := e.value(ctx, rows[0])
	switch {
	case err != nil:
		return c.unknown("%v", err)
	case !rows[0].Met(value):
		return c.bad("%s", strings.ReplaceAll(lacks, "%s", value)).set(rows[0], rows[0].Value)
	}
	return c.ok(found, cmp.Or(value, rows[0].Default))
}

func (c Check) ok(format string, args ...any) Check      { return c.found(OK, format, args...) }
func (c Check) warn(format string, args ...any) Check    { return c.found(Warn, format, args...) }
func (c Check) unknown(format string, args ...any) Check { return c.found(Unknown, format, args...) }

// bad is missing or, where the feature works without it, a warning.
func (c Check) bad(format string, args ...any) Check {
	if c.Required {
		return c.found(Missing, format, args...)
	}
	return c.found(Warn, format, args...)
}

func (c Check) found(s Status, format string, args ...any) Check {
	const most = 2000
	// Hadoop's own messages may have several lines.
	c.Status, c.Found = s, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	if len(c.Found) > most {
		c.Found = strings.ToValidUTF8(c.Found[:most], "") + "…"
	}
	return c
}

// failed is bad with an error's cause and next step apart.
func (c Check) failed(err error) Check {
	var r *yarnclient.RequestError
	if errors.As(err, &r) {
		c.Next = r.Next
		if r.Status >= 400 {
			return c.bad("%s: status %d: %v", r.URL, r.Status, r.Err)
		}
		return c.bad("%s: %v", r.URL, r.Err)
	}
	return c.bad("%v", err)
}

func (c Check) set(s require.Setting, value string) Check {
	c.Set = append(c.Set, Property{s.File, s.Property, value})
	return c
}

// setIn is set of a queue's setting.
func (c Check) setIn(s require.Setting, queue, label string) Check {
	s.Property = s.In(queue, label)
	return c.set(s, s.Value)
}

func (c Check) next(text string) Check {
	c.Next = text
	return c
}

// value asks the daemon that a setting counts for; "" if it has none.
func (e *examiner) value(ctx context.Context, s require.Setting) (string, error) {
	if s.File == "mapred-site.xml" {
		return e.historyProperty(ctx, s.Property)
	}
	return e.property(ctx, s.Property)
}

// property asks the ResourceManager for a setting; "" if it has none.
func (e *examiner) property(ctx context.Context, name string) (string, error) {
	if e.info.err != nil {
		return "", errNoRM
	}
	return unset(e.rm.Conf(ctx, name))
}

// historyProperty asks the history server, whose mapred-site.xml counts.
func (e *examiner) historyProperty(ctx context.Context, name string) (string, error) {
	if e.jhs.err != nil {
		return "", errors.New("the history server cannot be asked")
	}
	return unset(e.history.Conf(ctx, name))
}

func unset(value string, err error) (string, error) {
	if errors.Is(err, yarnclient.ErrNotFound) {
		return "", nil
	}
	return value, err
}
