package tracefile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"heddle/traces"
)

// field is the range of one field of an event, both ends included: of a number
// its value, of a text its length in bytes. Its name is that of JSON Lines.
type field struct {
	name        string
	least, most int64
}

// Limits. They are far above what clusters have, and keep sums and differences
// inside 64 bits.
const (
	mostBytes = 1 << 60 // also of records, milliseconds and bytes a second
	mostTasks = 1 << 24 // of a job, and the numbers of tasks and attempts
	mostCores = 1 << 20
	mostText  = maxBlockBytes
	// A trace may begin after the jobs that it has: 30 years before and 250
	// years after its Time 0.
	leastTime = -1e18
	mostTime  = 8e18
)

func at(name string) field      { return field{name, leastTime, mostTime} }
func text(name string) field    { return field{name, 0, mostText} }
func some(name string) field    { return field{name, 1, mostText} }
func amount(name string) field  { return field{name, 0, mostBytes} }
func cores(name string) field   { return field{name, 0, mostCores} }
func tasks(name string) field   { return field{name, 0, mostTasks} }
func count(name string) field   { return field{name, 0, math.MaxInt32} }
func anyInt(name string) field  { return field{name, math.MinInt64, math.MaxInt64} }
func yesNo(name string) field   { return field{name, 0, 1} }
func share(name string) field   { return field{name, 0, 1} }
func outcome(name string) field { return field{name, 0, int64(traces.Killed)} }
func level(name string) field   { return field{name, 0, int64(traces.LevelOff)} }

// orNone also takes -1, which stands for what is not known or not reported.
func orNone(f field) field { return field{f.name, -1, f.most} }

// rough also takes numbers below 0, which a cluster may report: of memory that
// is handed out twice, or of a difference between two readings.
func rough(f field) field { return field{f.name, -f.most, f.most} }

func task(name string) []field {
	return []field{some(name + ".job"), {name + ".kind", 0, int64(traces.Reduce)}, tasks(name + ".index")}
}

func attempt(name string) []field { return append(task(name), tasks(name+".number")) }

// maybeAttempt is an attempt that may be none, or a task or a job.
func maybeAttempt(name string) []field {
	return []field{text(name + ".job"), {name + ".kind", 0, int64(traces.Reduce)}, orNone(tasks(name + ".index")), orNone(tasks(name + ".number"))}
}

func counters() []field {
	var all []field
	for _, name := range []string{
		"hdfsReadBytes", "hdfsWrittenBytes", "fileReadBytes", "fileWrittenBytes", "shuffleBytes", "mapOutputBytes",
		"inputRecords", "outputRecords", "spilledRecords", "cpuMs", "gcMs", "physicalBytes",
	} {
		all = append(all, orNone(amount("counters."+name)))
	}
	return all
}

func list(parts ...any) []field {
	var all []field
	for _, p := range parts {
		switch p := p.(type) {
		case field:
			all = append(all, p)
		case []field:
			all = append(all, p...)
		}
	}
	return all
}

// ranges has the fields of each kind in the order of its Fields.
var ranges = [traces.Kinds][]field{
	traces.KindNodeUp: list(at("t"), some("node"), text("rack"), amount("memoryBytes"), cores("vcores"), amount("cacheBytes"), cores("cores"), yesNo("worker")),

	traces.KindNodeDown: list(at("t"), some("node"), text("reason")),

	traces.KindNodeSample: list(
		at("t"), some("node"), amount("intervalNs"),
		orNone(cores("cpuUser")), orNone(cores("cpuSystem")), orNone(cores("cpuIOWait")), orNone(cores("cpuSteal")), orNone(amount("cpuThrottledNs")),
		orNone(amount("load1")), rough(amount("memoryUsedBytes")), orNone(amount("pageCacheBytes")), orNone(amount("memoryFreeBytes")),
		orNone(amount("diskReadBytesPerSec")), orNone(amount("diskWriteBytesPerSec")), orNone(amount("diskQueue")),
		orNone(amount("netRecvBytesPerSec")), orNone(amount("netSentBytesPerSec")),
		orNone(count("containersRunning")), rough(amount("allocatedMemoryBytes")), rough(count("allocatedVCores")), orNone(amount("hdfsCacheUsedBytes")),
		count("agentLostSamples"), rough(amount("clockOffsetNs")), amount("clockUncertaintyNs")),

	traces.KindNodeLabel: list(at("t"), some("node"), text("label")),

	traces.KindJobSubmitted: list(
		at("t"), some("job"), text("name"), text("user"), text("queue"), rough(count("priority")), tasks("maps"), tasks("reduces"), text("workload"),
		amount("mapMemoryBytes"), cores("mapVCores"), amount("reduceMemoryBytes"), cores("reduceVCores"),
		share("slowStart"), text("mapLabel"), text("reduceLabel"), yesNo("speculation")),

	traces.KindJobStarted: list(at("t"), some("job"), text("amNode"), tasks("amAttempt"), amount("amMemoryBytes")),

	traces.KindJobFinished: list(
		at("t"), some("job"), outcome("outcome"), text("diagnostics"), counters(), orNone(amount("dataLocalMaps")), orNone(amount("rackLocalMaps")),
		orNone(amount("otherLocalMaps")), orNone(amount("launchedMaps")), orNone(amount("launchedReduces"))),

	traces.KindTaskScheduled: list(at("t"), task("task"), tasks("splitHosts"), text("path"), amount("offsetBytes"), amount("lengthBytes"), tasks("blocks")),

	traces.KindTaskFinished: list(at("t"), task("task"), outcome("outcome"), orNone(tasks("winner"))),

	traces.KindAttemptStarted: list(
		at("t"), attempt("attempt"), text("node"), text("rack"), text("container"), level("splitLocality"), level("replicaLocality"),
		orNone(field{"sampleAgeNs", 0, mostTime}), yesNo("speculative")),

	traces.KindAttemptFinished: list(
		at("t"), attempt("attempt"), outcome("outcome"), yesNo("unlaunched"), at("mapDone"), at("shuffleDone"), at("sortDone"), text("error"),
		counters(), text("node"), level("splitLocality")),

	traces.KindBlockReplica: list(at("t"), anyInt("block"), some("node"), text("path"), amount("offsetBytes"), amount("lengthBytes"), yesNo("gone")),

	traces.KindBlockCached: list(at("t"), anyInt("block"), some("node"), yesNo("gone")),

	traces.KindDecision: list(
		at("t"), field{"id", 1, math.MaxInt64}, some("job"), field{"what", 0, int64(traces.Reduce)}, text("node"),
		orNone(tasks("taskIndex")), orNone(tasks("bindIndex")), text("bindBranch"), anyInt("group"), text("reason")),

	traces.KindActuation: list(
		at("t"), field{"decision", 1, math.MaxInt64}, at("askedAt"), at("grantedAt"), text("outcome"), text("container"), maybeAttempt("bound"), text("cause")),

	traces.KindHeartbeat: list(
		at("t"), some("node"), rough(amount("freeMemoryBytes")), rough(count("freeVCores")), rough(count("containersFree")), rough(count("running"))),

	traces.KindNote: list(at("t"), text("text")),

	traces.KindJobListed: list(at("t"), some("job"), text("name"), amount("gapSec"), amount("inputBytes"), amount("shuffleBytes"), amount("outputBytes"), text("path")),
}

// rangeCheck is a traces.Visitor that tells of fields outside their ranges.
type rangeCheck struct {
	wrong  func(kind traces.Kind, f field, value string)
	kind   traces.Kind // of the event under way
	fields []field
	next   int
}

func (c *rangeCheck) event(e traces.Event) {
	c.kind = e.Kind()
	c.fields, c.next = ranges[c.kind], 0
	e.Fields(c)
}

func (c *rangeCheck) int(n int64) {
	f := &c.fields[c.next]
	c.next++
	if n < f.least || n > f.most {
		c.wrong(c.kind, *f, strconv.FormatInt(n, 10))
	}
}

func (c *rangeCheck) When(t *traces.Time)           { c.int(int64(*t)) }
func (c *rangeCheck) Time(t *traces.Time)           { c.int(int64(*t)) }
func (c *rangeCheck) Int64(n *int64)                { c.int(*n) }
func (c *rangeCheck) Int32(n *int32)                { c.int(int64(*n)) }
func (c *rangeCheck) Uint8(n *uint8)                { c.int(int64(*n)) }
func (c *rangeCheck) Uint64(*uint64)                { c.next++ } // block ids are any numbers
func (c *rangeCheck) Bool(*bool)                    { c.next++ }
func (c *rangeCheck) Name(s *string)                { c.text(*s) }
func (c *rangeCheck) Text(s *string)                { c.text(*s) }
func (c *rangeCheck) Nodes(nodes *[]traces.Node)    { c.int(int64(len(*nodes))) }
func (c *rangeCheck) Blocks(blocks *[]traces.Block) { c.int(int64(len(*blocks))) }

func (c *rangeCheck) text(s string) {
	f := &c.fields[c.next]
	c.next++
	if n := int64(len(s)); n < f.least || n > f.most {
		c.wrong(c.kind, field{f.name + "'s length", f.least, f.most}, strconv.FormatInt(n, 10))
	}
}

func (c *rangeCheck) Float64(v *float64) {
	f := &c.fields[c.next]
	c.next++
	if !(*v >= float64(f.least) && *v <= float64(f.most)) { // so that NaN is wrong
		c.wrong(c.kind, *f, strconv.FormatFloat(*v, 'g', -1, 64))
	}
}

func (f field) want() string {
	if f.most == math.MaxInt64 {
		return fmt.Sprintf("%d or more", f.least)
	}
	return fmt.Sprintf("%d to %d", f.least, f.most)
}

// checkHeader looks at the numbers of a header as rangeCheck does at events'.
func checkHeader(h traces.Header, wrong func(what string)) {
	number := func(v float64, f field) {
		if !(v >= float64(f.least) && v <= float64(f.most)) {
			wrong(fmt.Sprintf("%s is %v, want %s", f.name, v, f.want()))
		}
	}
	number(float64(h.StartUnixNs), field{"startUnixNs", 0, mostTime})
	number(h.Cluster.HostCores, cores("cluster.hostCores"))
	seen := map[traces.Node]bool{}
	for i, n := range h.Cluster.Nodes {
		place := fmt.Sprintf("cluster.nodes[%d].", i)
		c := rangeCheck{wrong: func(_ traces.Kind, f field, value string) {
			wrong(fmt.Sprintf("%s%s is %s, want %s", place, f.name, value, f.want()))
		}}
		c.event(&traces.NodeUp{NodeFacts: n})
		if seen[n.Node] {
			wrong(fmt.Sprintf("%snode is %q, which an earlier node is", place, n.Node))
		}
		seen[n.Node] = true
	}
	for i, l := range h.Cluster.Links {
		number(float64(l.BytesPerSec), amount(fmt.Sprintf("cluster.links[%d].bytesPerSec", i)))
		if l.Node != "" && !seen[l.Node] {
			wrong(fmt.Sprintf("cluster.links[%d].node is %q, which is no node of the cluster", i, l.Node))
		}
	}
	for i, d := range h.Cluster.Disks {
		number(float64(d.BytesPerSec), amount(fmt.Sprintf("cluster.disks[%d].bytesPerSec", i)))
		if !seen[d.Node] {
			wrong(fmt.Sprintf("cluster.disks[%d].node is %q, which is no node of the cluster", i, d.Node))
		}
	}
	for i, q := range h.Cluster.Queue {
		number(q.Capacity, share(fmt.Sprintf("cluster.queues[%d].capacity", i)))
	}
	for _, kind := range slices.Sorted(maps.Keys(h.Mended)) {
		number(float64(h.Mended[kind]), amount(fmt.Sprintf("mended[%q]", kind)))
	}
}
