package queues

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/state"
)

// Settings are what the file says of all queues.
type Settings struct {
	Dominant                    bool // DominantResourceCalculator: cores count as well as memory
	NodeLocalityDelay           int64
	RackLocalityAdditionalDelay int64
	RackLocalityFullReset       bool
	// OffSwitchPerHeartbeat is after how many containers for requests of any node a node gets nothing
	// more with a heartbeat, and PerHeartbeat after how many of any kind; -1: no limit.
	OffSwitchPerHeartbeat, PerHeartbeat int
	MaxApplications                     int // of all queues together, divided by their capacities
	Async                               bool
	Preemption                          Preemption
	perUser                             map[string]int // max-parallel-apps of users; "" is of those not named
}

// Preemption is how YARN takes containers from queues that use more than they are guaranteed.
type Preemption struct {
	Enabled, ObserveOnly bool
	IntervalMs           int64   // between two rounds; 0: there are none
	WaitMs               int64   // from the choice of a container to its end
	PerRound             float32 // share of the cluster that is chosen in a round at most
	Ignored              float32 // share of its guarantee that a queue may use above it
	Part                 float32 // of what a queue has too much, that is chosen in a round

	Within     bool    // containers are taken for other jobs of the same queue, too
	WithinFrom float32 // share of its guarantee that a queue then uses at least
	WithinMost float32 // share of its guarantee that is chosen in a round at most
	UsersFirst bool    // limits of users go before priorities of jobs
}

// MaxParallelOf returns how many jobs of a user run at a time.
func (s *Settings) MaxParallelOf(user string) int {
	if n, ok := s.perUser[user]; ok {
		return n
	}
	return s.perUser[""]
}

// Queue is a queue of the tree.
type Queue struct {
	Index      int // from 0, the root's, parents before their children
	Name, Path string
	Parent     *Queue
	Children   []*Queue // none: jobs are submitted to it
	Stopped    bool     // it takes no jobs

	Capacity, MaxCapacity Amount
	AMPercent             float32 // share of what it may use that ApplicationMasters may have, from 0 to 1
	UserLimit             float32 // least share of the queue that each of its users gets, in percent
	UserLimitFactor       float32 // most that a user may have, in parts of its capacity; -1: no limit
	UserWeights           map[string]float32
	Priority              int
	ByPriority            bool // its children go by priority before use
	Fair, BySize          bool // its jobs go by what they use, by priority and submission otherwise
	MaxApplications       int  // that it takes at a time; -1: by its share of Settings.MaxApplications
	MaxParallel           int  // of its jobs that run at a time
	NoPreemption          bool // no container of its jobs is taken
	NoPreemptionWithin    bool // none is taken for another job of it

	Labels       []string // node labels that its jobs may ask for; "*" is any
	DefaultLabel string
	ByLabel      map[string]Part // by node label, what it has of the nodes that have it
}

// MayUse reports whether jobs of the queue may ask for nodes of a label.
func (q *Queue) MayUse(label string) bool {
	return slices.Contains(q.Labels, label) || slices.Contains(q.Labels, "*")
}

// Part is what a queue has of the nodes of a label.
type Part struct {
	Capacity, MaxCapacity Amount
	AMPercent             float32
}

// Amount is a queue's share of its parent, in one of three ways.
type Amount struct {
	Mode     Mode
	Value    float32 // percent, or weight
	Absolute state.Resource
}

// Mode is the way in which a capacity is written.
type Mode uint8

// The ways to write a capacity: 40, 2w and [memory=4096,vcores=4].
const (
	Percent Mode = iota
	Weight
	Absolute
)

func (m Mode) String() string { return [...]string{"percentage", "weight", "absolute"}[m] }

// each yields the queue and all below it, parents first.
func (q *Queue) each(yield func(*Queue) bool) bool {
	if !yield(q) {
		return false
	}
	for _, c := range q.Children {
		if !c.each(yield) {
			return false
		}
	}
	return true
}

// refused is an error that stops the reading of a file.
type refused struct{ error }

// parse makes the tree of queues.
func parse(keys map[string]string) (f *File, err error) {
	f = &File{keys: keys, names: slices.Sorted(maps.Keys(keys)), read: map[string]bool{}, leaves: map[string]*Queue{}}
	defer func() {
		if r := recover(); r != nil {
			no, ok := r.(refused)
			if !ok {
				panic(r)
			}
			f, err = nil, no.error
		}
	}()
	f.settings()
	f.Root = f.queue(nil, "root", 0)
	for q := range f.All() {
		f.check(q)
	}
	f.listKeys()
	return f, nil
}

// fail refuses the file.
func fail(key, format string, args ...any) {
	panic(refused{fmt.Errorf("%s: %w", property(key), fmt.Errorf(format, args...))})
}

func (f *File) text(key, otherwise string) string {
	f.read[key] = true
	if v, ok := f.keys[key]; ok {
		return f.expand(v)
	}
	return otherwise
}

// under yields the keys that begin so, in order, with the rest of each.
func (f *File) under(begin string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		i, _ := slices.BinarySearch(f.names, begin)
		for ; i < len(f.names); i++ {
			if rest, ok := strings.CutPrefix(f.names[i], begin); !ok || !yield(f.names[i], rest) {
				return
			}
		}
	}
}

// expand replaces ${key} by the value of another key of the file, as Hadoop does.
func (f *File) expand(value string) string {
	const deepest = 20
	for range deepest {
		before, rest, ok := strings.Cut(value, "${")
		name, after, closed := strings.Cut(rest, "}")
		key, ours := strings.CutPrefix(name, Prefix)
		v, set := f.keys[key]
		if !ok || !closed || !ours || !set {
			break
		}
		f.read[key] = true
		value = before + v + after
	}
	return value
}

// float reads a number as Java does. NaN and the infinite are no shares of anything.
func (f *File) float(key string, otherwise float32) float32 {
	text := f.text(key, "")
	if text == "" {
		return otherwise
	}
	return float(key, text)
}

func float(key, text string) float32 {
	x, err := strconv.ParseFloat(strings.TrimRight(strings.TrimSpace(text), "fFdD"), 32)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		fail(key, "%q is no number", text)
	}
	return float32(x)
}

func (f *File) int(key string, otherwise int) int {
	text := strings.TrimSpace(f.text(key, ""))
	if f.keys[key] == "" {
		return otherwise
	}
	base := 10
	hex, is := strings.CutPrefix(strings.ToLower(text), "0x")
	if is {
		text, base = hex, 16
	}
	n, err := strconv.ParseInt(text, base, 32)
	if err != nil {
		fail(key, "%q is no whole number", f.keys[key])
	}
	return int(n)
}

// bool reads true or false; any other text counts as if there were none.
func (f *File) bool(key string, otherwise bool) bool {
	switch strings.ToLower(strings.TrimSpace(f.text(key, ""))) {
	case "true":
		return true
	case "false":
		return false
	}
	return otherwise
}

// The classes of Hadoop that a file may name as resource-calculator.
const (
	defaultCalculator  = "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator"
	dominantCalculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
)

func (f *File) settings() {
	switch class := strings.TrimSpace(f.text("resource-calculator", defaultCalculator)); class {
	case dominantCalculator:
		f.Dominant = true
	case defaultCalculator:
	default:
		fail("resource-calculator", "class %s is none of Hadoop's; want %s or %s", class, defaultCalculator, dominantCalculator)
	}
	const nodes, atOnce, applications = 40, 100, 10000
	f.NodeLocalityDelay = int64(f.int("node-locality-delay", nodes))
	f.RackLocalityAdditionalDelay = int64(f.int("rack-locality-additional-delay", -1))
	f.RackLocalityFullReset = f.bool("rack-locality-full-reset", true)
	const beat = "per-node-heartbeat."
	f.OffSwitchPerHeartbeat = max(1, f.int(beat+"maximum-offswitch-assignments", 1))
	f.PerHeartbeat = f.int(beat+"maximum-container-assignments", atOnce)
	if !f.bool(beat+"multiple-assignments-enabled", true) {
		f.PerHeartbeat = 1
	}
	f.MaxApplications = f.int("maximum-applications", applications)
	if f.Async = f.bool("schedule-asynchronously.enable", false); f.Async {
		f.PerHeartbeat = 1 // each time that a node's turn comes
	}
	f.preemption()
	const parallel = "max-parallel-apps"
	f.perUser = map[string]int{"": f.int("user."+parallel, math.MaxInt32)}
	for key, user := range f.under("user.") {
		if user, is := strings.CutSuffix(user, "."+parallel); is {
			f.perUser[user] = f.int(key, math.MaxInt32)
		}
	}
	if !f.bool("legacy-queue-mode.enabled", true) {
		fail("legacy-queue-mode.enabled", "only true is simulated: capacities of one way a parent, adding up to 100 percent")
	}
}

func (f *File) preemption() {
	const usersFirst, policy = "userlimit_first", monitor + within + "preemption-order-policy"
	const interval, wait = 3000, 15_000
	f.Preemption = Preemption{
		Enabled: f.bool(monitorSwitch, false), ObserveOnly: f.bool(monitor+"observe_only", false),
		IntervalMs: max(1, int64(f.int(monitor+"monitoring_interval", interval))), WaitMs: int64(f.int(monitor+"max_wait_before_kill", wait)),
		PerRound: f.float(monitor+"total_preemption_per_round", 0.1), Ignored: f.float(monitor+"max_ignored_over_capacity", 0.1),
		Part:   f.float(monitor+"natural_termination_factor", 0.2),
		Within: f.bool(monitor+within+"enabled", false), WithinFrom: f.float(monitor+within+"minimum-threshold", 0.5),
		WithinMost: f.float(monitor+within+"max-allowable-limit", 0.2),
	}
	switch order := f.text(policy, usersFirst); strings.ToLower(order) {
	case usersFirst:
		f.Preemption.UsersFirst = true
	case "priority_first":
	default:
		fail(policy, "%q is neither %s nor priority_first", order, usersFirst)
	}
	if p := &f.Preemption; !p.Enabled || p.ObserveOnly {
		p.IntervalMs = 0
	}
}

// deepest is how many queues may stand above each other. Hadoop has no limit but its stack.
const deepest = 100

// queue makes a queue and all below it.
func (f *File) queue(parent *Queue, name string, depth int) *Queue {
	q := &Queue{Index: f.count, Name: name, Path: name, Parent: parent}
	f.count++
	if parent != nil {
		q.Path = parent.Path + "." + name
	}
	key := func(last string) string { return q.Path + "." + last }
	names := f.text(key("queues"), "")
	if depth > deepest {
		fail(key("queues"), "more than %d queues above each other", deepest)
	}
	f.labels(q)
	q.Capacity, q.MaxCapacity = f.amounts(q.Path, parent == nil)
	const percent = "maximum-am-resource-percent"
	q.AMPercent = f.float(key(percent), f.float(percent, 0.1))
	for label, s := range q.ByLabel {
		s.AMPercent = f.float(key("accessible-node-labels."+label+"."+percent), q.AMPercent)
		q.ByLabel[label] = s
	}
	q.UserLimit = f.float(key("minimum-user-limit-percent"), f.float("minimum-user-limit-percent", 100))
	q.UserLimitFactor = f.float(key("user-limit-factor"), f.float("user-limit-factor", 1))
	q.Priority = f.int(key("priority"), 0)
	q.MaxParallel = f.int(key("max-parallel-apps"), f.int("max-parallel-apps", math.MaxInt32))
	q.MaxApplications = f.int(key("maximum-applications"), -1)
	if q.MaxApplications < 0 {
		if n := f.int("global-queue-max-application", -1); n > 0 {
			q.MaxApplications = n
		}
	}
	for _, most := range []string{"maximum-allocation-mb", "maximum-allocation-vcores", "default-application-priority"} {
		f.int(key(most), 0) // not simulated, but a number
	}
	q.NoPreemption = f.bool(key("disable_preemption"), parent != nil && parent.NoPreemption)
	q.NoPreemptionWithin = f.bool(key(within+"disable_preemption"), parent != nil && parent.NoPreemptionWithin)
	f.state(q)
	f.weights(q)
	for child := range strings.SplitSeq(names, ",") {
		if child = strings.TrimSpace(child); child == "" {
			continue
		}
		if strings.Contains(child, ".") || slices.ContainsFunc(q.Children, func(c *Queue) bool { return c.Name == child }) {
			fail(key("queues"), "%q: want the names of queues without dots, each once", child)
		}
		q.Children = append(q.Children, f.queue(q, child, depth+1))
	}
	f.order(q)
	if len(q.Children) == 0 {
		if parent == nil {
			fail(key("queues"), "the root has no queues; list them")
		}
		f.leaf(q)
	}
	return q
}

// leaf takes a queue among those that jobs may name.
func (f *File) leaf(q *Queue) {
	f.leaves[q.Path] = q
	if _, twice := f.leaves[q.Name]; twice {
		f.leaves[q.Name] = nil
	} else {
		f.leaves[q.Name] = q
	}
	least := 100 / min(100, q.UserLimit)
	for _, user := range slices.Sorted(maps.Keys(q.UserWeights)) {
		if w := q.UserWeights[user]; w < 0 || w > least {
			fail(q.Path+".user-settings."+user+".weight", "%v is outside 0 to 100/minimum-user-limit-percent = %v", w, least)
		}
	}
}

// state reads whether the queue takes jobs.
func (f *File) state(q *Queue) {
	key := q.Path + ".state"
	text := strings.ToUpper(f.text(key, ""))
	switch {
	case text == "":
		q.Stopped = q.Parent != nil && q.Parent.Stopped
	case text == "RUNNING" && q.Parent != nil && q.Parent.Stopped:
		fail(key, "the queue is RUNNING, but its parent %s is STOPPED", q.Parent.Path)
	case text == "STOPPED":
		q.Stopped = true
	case text != "RUNNING":
		fail(key, "state %q: want RUNNING or STOPPED", f.keys[key])
	}
}

// weights reads the weights of users, which queues below have too.
func (f *File) weights(q *Queue) {
	q.UserWeights = map[string]float32{}
	if q.Parent != nil {
		maps.Copy(q.UserWeights, q.Parent.UserWeights)
	}
	for key, user := range f.under(q.Path + ".user-settings.") {
		if user, ok := strings.CutSuffix(user, ".weight"); ok && user != "" {
			q.UserWeights[user] = float(key, f.text(key, ""))
		}
	}
}

// order reads how the queue's children, or its jobs, are ordered.
func (f *File) order(q *Queue) {
	key := q.Path + ".ordering-policy"
	if len(q.Children) > 0 {
		q.ByPriority = q.Parent != nil && q.Parent.ByPriority
		switch policy := strings.TrimSpace(f.text(key, "")); policy {
		case "":
		case "utilization", "priority-utilization":
			q.ByPriority = policy == "priority-utilization"
		default:
			fail(key, "%q orders no queues; want utilization or priority-utilization", policy)
		}
		return
	}
	switch policy := strings.TrimSpace(f.text(key, "fifo")); policy {
	case "fifo", "fifo-with-partitions", "fifo-for-pending-apps":
	case "fair":
		q.Fair, q.BySize = true, f.bool(key+".fair.enable-size-based-weight", false)
	default:
		fail(key, "%q orders no jobs; want fifo or fair", policy)
	}
}

var errBrackets = errors.New("want [memory=MB,vcores=N]")

// amounts reads what a queue is guaranteed and what it may use at most, of all nodes or of those
// of a label.
func (f *File) amounts(path string, root bool) (capacity, most Amount) {
	capacity = f.amount(path+".capacity", 0)
	if most = f.amount(path+".maximum-capacity", 100); most.Mode == Percent && most.Value == -1 {
		most.Value = 100
	}
	if root {
		return Amount{Value: 100}, Amount{Value: 100}
	}
	switch {
	case capacity.Mode == Percent && (capacity.Value < 0 || capacity.Value > 100):
		fail(path+".capacity", "%v percent is outside 0 to 100", capacity.Value)
	case capacity.Mode == Weight && (capacity.Value < 0 && capacity.Value != -1 || capacity.Value > 10000):
		fail(path+".capacity", "weight %v is outside 0 to 10000", capacity.Value)
	}
	if capacity.Mode == Weight && capacity.Value == -1 { // as if there were none
		capacity = Amount{}
	}
	return capacity, most
}

func (f *File) amount(key string, otherwise float32) Amount {
	text := strings.TrimSpace(f.text(key, ""))
	weight, is := strings.CutSuffix(text, "w")
	switch {
	case text == "":
		return Amount{Value: otherwise}
	case is:
		return Amount{Mode: Weight, Value: float(key, weight)}
	case strings.HasPrefix(text, "["):
		r, err := resource(text)
		if err != nil {
			fail(key, "%q: %w", text, err)
		}
		return Amount{Mode: Absolute, Absolute: r}
	}
	return Amount{Value: float(key, text)}
}

// units are the factors of Hadoop's units, in bytes.
var units = map[string]float64{
	"": 1 << 20, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}

// resource reads [memory=4096,vcores=4]. Memory must be above 0.
func resource(text string) (r state.Resource, err error) {
	inner, closed := strings.CutSuffix(strings.TrimPrefix(text, "["), "]")
	if !closed {
		return r, errBrackets
	}
	for pair := range strings.SplitSeq(inner, ",") {
		name, value, ok := strings.Cut(strings.ReplaceAll(pair, " ", ""), "=")
		if !ok {
			return r, errBrackets
		}
		digits := strings.TrimRight(value, "KMGTPkmi")
		n, err := strconv.ParseInt(digits, 10, 64)
		factor, known := units[value[len(digits):]]
		if err != nil || n < 0 || !known {
			return r, fmt.Errorf("%s: %q is no amount; %w", name, value, errBrackets)
		}
		switch name {
		case "memory", "memory-mb":
			r.MemoryMB = int32(min(float64(n)*factor/(1<<20), math.MaxInt32))
		case "vcores":
			r.VCores = int32(min(n, math.MaxInt32))
		}
	}
	if r.MemoryMB == 0 {
		return r, fmt.Errorf("memory must be above 0; %w", errBrackets)
	}
	return r, nil
}
