package whatif

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/replay/recorded"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/traces/printable"
	"heddle/yarnclient"
)

// LeftOut says what a trace does not hold of the cluster that it is from.
type LeftOut struct {
	// HeldPct is the share of the container memory, times time, of all applications of the
	// cluster that the trace's jobs had; not a number if it is not known.
	HeldPct compare.Number `json:"heldPct"`
	// Lines say all that is left out, the most important first.
	Lines []string `json:"lines"`

	byLabel map[string]state.Resource // of all nodes with a label, or without one
	spark   map[traces.JobID][]int64
}

// mostlyHeld is the share, in percent, from which on what is left out is taken not to decide
// the result.
const mostlyHeld = 90

// Known reports whether the trace holds enough of its cluster for a difference to be shown.
func (l *LeftOut) Known() bool { return float64(l.HeldPct) >= mostlyHeld }

// Cluster is what is known of the trace's cluster besides.
type Cluster struct {
	Apps      []yarnclient.App // the ResourceManager's list of applications; nil if there is none
	OthersPct float64          // share of container memory that other applications had; not a number if nobody said it
	Chains    bool             // jobs that follow others at once are kept behind them
}

// NewLeftOut says what is left out of a trace, replayed on this cluster.
func NewLeftOut(t *recorded.Trace, c *Cluster, x *traces.ClusterFacts) LeftOut {
	l := LeftOut{HeldPct: compare.Number(math.NaN()), spark: t.ExecutorAskMs, byLabel: map[string]state.Resource{}}
	counts := map[string]int{}
	for i := range x.Nodes {
		n := &x.Nodes[i]
		l.byLabel[n.Label] = l.byLabel[n.Label].Add(state.Resource{MemoryMB: int32(n.MemoryBytes >> 20), VCores: n.VCores})
		counts[n.Label]++
	}
	l.held(t, c)
	l.executors(t)
	l.nodes(t, len(x.Nodes))
	l.labels(counts)
	l.rejected(c)
	l.chains(t, c.Chains)
	l.sizes(t)
	return l
}

func (l *LeftOut) add(format string, args ...any) {
	l.Lines = append(l.Lines, fmt.Sprintf(format, args...))
}

// number is what ids of a job, its application and attempts of that have in common.
var number = regexp.MustCompile(`\d+_\d+`)

// held finds the share of container-hours that the trace holds.
func (l *LeftOut) held(t *recorded.Trace, c *Cluster) {
	if !math.IsNaN(c.OthersPct) {
		l.HeldPct = compare.Number(100 - c.OthersPct)
		l.add("Share of the cluster's container-hours: %s are of these jobs, as --others says; the rest is not simulated.", percent(l.HeldPct))
		return
	}
	from, to := span(t)
	ids := map[string]bool{}
	for _, j := range t.Jobs {
		ids[number.FindString(string(j.Job))] = true
	}
	all, ours, apps, found := 0.0, 0.0, 0, 0
	for i := range c.Apps {
		a := &c.Apps[i]
		if a.FinishedMs > 0 && a.FinishedMs < from || a.StartedMs > to {
			continue
		}
		apps++
		all += float64(a.MemorySeconds)
		if ids[number.FindString(a.ID)] {
			found++
			ours += float64(a.MemorySeconds)
		}
	}
	if all > 0 {
		l.HeldPct = compare.Number(100 * ours / all)
		l.add("Share of the cluster's container-hours: %s are of these jobs, %d of the %s that the ResourceManager lists of that time; the "+
			"rest is not simulated.", percent(l.HeldPct), found, printable.Count(apps, "application"))
		return
	}
	l.add("Share of the cluster's container-hours that these jobs had: not known. What else ran (Spark, Tez, services) is not simulated, so " +
		"no difference of waits is called shown; --applications FILE (the ResourceManager's /ws/v1/cluster/apps) or --others PERCENT tells it.")
}

// executors says what applications of Spark are taken for.
func (l *LeftOut) executors(t *recorded.Trace) {
	if n := len(l.spark); n > 0 {
		l.add("Tasks of Spark: none is predicted. Marked rows have %s, each a master and executors, containers of their recorded sizes that "+
			"live as long as recorded. Event logs do not say when an executor was asked for: as many as Spark asks for first come with the master, "+
			"others %v before they registered (the shortest start of one seen, or 30 s).",
			printable.Count(n, "application"), time.Duration(t.Launch).Round(time.Second/10))
	}
}

func percent(x compare.Number) string { return doc.Fixed(x, 0, "%").String() }

// span returns when the trace's first job was submitted and its last one ended, in Unix ms.
func span(t *recorded.Trace) (from, to int64) {
	start, last := t.Header.StartUnixNs, traces.Time(0)
	for _, j := range t.Jobs {
		last = max(last, j.T, j.Finished)
	}
	return (start + int64(t.FirstMs())*1e6) / 1e6, (start + int64(last)) / 1e6
}

// day is how often nodes are counted.
const day = traces.Time(24 * 3600 * 1e9)

// nodes says how many nodes ran something on each day.
func (l *LeftOut) nodes(t *recorded.Trace, simulated int) {
	counts := t.NodesUsed(day)
	text := "no list of jobs says which there were"
	if len(counts) > 0 {
		text = fmt.Sprintf("%d ran a task of these jobs on each day", counts[0])
		if least, most := slices.Min(counts), slices.Max(counts); least < most {
			text = fmt.Sprintf("%d to %d ran a task of these jobs on a day", least, most)
		}
	}
	l.add("Nodes over time: %s; %d are simulated, all the time.", text, simulated)
}

// labelled reports whether some node has a label.
func (l *LeftOut) labelled() bool {
	_, none := l.byLabel[""]
	return len(l.byLabel) > 1 || !none
}

// labels says how many nodes have labels.
func (l *LeftOut) labels(counts map[string]int) {
	if !l.labelled() {
		return
	}
	var list []string
	for _, label := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%d %s", counts[label], cmp.Or(label, "without one")))
	}
	l.add("Node labels: %s. A job runs on nodes of its maps' label, or of its queue's; idle nodes of a label that is not exclusive serve no "+
		"others here.", strings.Join(list, ", "))
}

// rejected counts applications that ended before they ran.
func (l *LeftOut) rejected(c *Cluster) {
	if len(c.Apps) == 0 {
		l.add("Applications that YARN rejected leave no history: how many there were is not known.")
		return
	}
	n := 0
	for i := range c.Apps {
		if a := &c.Apps[i]; a.Ended() && a.State != "FINISHED" && a.MemorySeconds == 0 {
			n++
		}
	}
	l.add("Applications that ended before they had a container, as rejected ones: %d of the ResourceManager's list; not simulated.", n)
}

// chains counts jobs that may have waited for others.
func (l *LeftOut) chains(t *recorded.Trace, kept bool) {
	switch n := len(t.Chains()); {
	case len(t.List) > 0:
		l.add("Jobs that waited for others to end: not known of a list of jobs; each arrives at its time.")
	case kept:
		l.add("Jobs that began within %v after another of their user: %d; each is kept as long behind that one (--chains).", recorded.ChainGap, n)
	default:
		l.add("Jobs that began within %v after another of their user: %d; they arrive at their recorded times whatever becomes of the other "+
			"(--chains keeps them behind it).", recorded.ChainGap, n)
	}
}

// sizes says what is missing of queues, users and containers.
func (l *LeftOut) sizes(t *recorded.Trace) {
	if len(t.List) > 0 {
		l.add("Sizes of containers and of ApplicationMasters: a list of jobs has none; each container is taken as 1024 MB and one core.")
	}
	for _, what := range []struct {
		text string
		of   func(j *recorded.Job) bool
	}{
		{"size of containers, taken as 1024 MB and one core", func(j *recorded.Job) bool {
			return j.MapMemoryBytes <= 0 && j.Maps > 0 || j.ReduceMemoryBytes <= 0 && l.spark[j.Job] != nil
		}},
		{"size of the ApplicationMaster, without which limits on ApplicationMasters do not act", func(j *recorded.Job) bool {
			return j.AMMemoryBytes <= 0
		}},
		{"queue", func(j *recorded.Job) bool { return j.Queue == "" }},
		{"user", func(j *recorded.Job) bool { return j.User == "" }},
	} {
		n := 0
		for _, j := range t.Jobs {
			if what.of(j) {
				n++
			}
		}
		if n > 0 {
			l.add("Not in the histories of %d of %s: %s.", n, printable.Count(len(t.Jobs), "job"), what.text)
		}
	}
}
