package queues

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"heddle/harness/nearest"
)

// labels reads which node labels a queue's jobs may ask for, and what it has of their nodes.
func (f *File) labels(q *Queue) {
	key := q.Path + ".accessible-node-labels"
	text, set := f.keys[key]
	f.text(key, "")
	switch {
	case q.Parent == nil:
		q.Labels = []string{"*"}
	case !set:
		q.Labels = q.Parent.Labels
	default:
		for label := range strings.SplitSeq(f.expand(text), ",") {
			if label = strings.TrimSpace(label); label != "" && !slices.Contains(q.Labels, label) {
				q.Labels = append(q.Labels, label)
			}
		}
		if slices.Contains(q.Labels, "*") {
			q.Labels = []string{"*"}
		}
		if of := q.Parent.Labels; !slices.Contains(of, "*") {
			for _, label := range q.Labels {
				if !slices.Contains(of, label) {
					fail(key, "label %s is not among those of its parent %s", label, q.Parent.Path)
				}
			}
		}
	}
	q.ByLabel = map[string]Part{}
	for _, rest := range f.under(key + ".") {
		if label, _, more := strings.Cut(rest, "."); more {
			s := q.ByLabel[label]
			s.Capacity, s.MaxCapacity = f.amounts(key+"."+label, q.Parent == nil)
			q.ByLabel[label] = s
		}
	}
	expression := q.Path + ".default-node-label-expression"
	q.DefaultLabel = strings.TrimSpace(f.text(expression, ""))
	if q.DefaultLabel == "" && q.Parent != nil && !set {
		q.DefaultLabel = q.Parent.DefaultLabel
	}
	if q.DefaultLabel != "" && !q.MayUse(q.DefaultLabel) {
		fail(expression, "the queue's jobs may not ask for label %s", q.DefaultLabel)
	}
}

// check holds what a queue's children have together against the queue.
func (f *File) check(q *Queue) {
	if len(q.Children) == 0 {
		return
	}
	labels := []string{""}
	note := func(of *Queue) {
		for label := range of.ByLabel {
			if !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	if note(q); q.Parent == nil {
		for c := range f.All() {
			note(c)
		}
	}
	slices.Sort(labels)
	f.checkModes(q, labels)
	zero := f.bool(q.Path+".allow-zero-capacity-sum", false)
	for _, label := range labels {
		checkSum(q, label, zero)
	}
}

// of returns what a queue has of the nodes of a label, or of those without one.
func (q *Queue) of(label string) Part {
	if label == "" {
		return Part{q.Capacity, q.MaxCapacity, q.AMPercent}
	}
	if s, ok := q.ByLabel[label]; ok {
		return s
	}
	if q.Parent == nil {
		return Part{Amount{Value: 100}, Amount{Value: 100}, q.AMPercent}
	}
	return Part{Amount{}, Amount{Value: 100}, q.AMPercent}
}

// checkModes refuses children whose capacities are written in different ways, or in another than
// absolute resources if the queue's is, and the other way round.
func (f *File) checkModes(q *Queue, labels []string) {
	var by [3]string
	for _, c := range q.Children {
		for _, label := range labels {
			if s := c.of(label).Capacity; s.Mode != Percent || s.Value > 0 {
				by[s.Mode] = c.Path
			}
		}
	}
	used := slices.DeleteFunc([]Mode{Percent, Weight, Absolute}, func(m Mode) bool { return by[m] == "" })
	key := q.Path + ".queues"
	if len(used) > 1 {
		fail(key, "the children of %s mix capacities: that of %s is a %s, that of %s %s; use one of percentage, weight and absolute resources",
			q.Path, by[used[0]], used[0], by[used[1]], used[1])
	}
	if own := q.Capacity.Mode == Absolute; q.Parent != nil && own != (by[Absolute] != "") {
		fail(key, "of queue %s and its children, all or none must have absolute resources", q.Path)
	}
}

// near is by how much the sum of percentages may differ from 100.
const near = 0.05

func checkSum(q *Queue, label string, zero bool) {
	key := q.Path + ".queues"
	if label != "" {
		key += ", for label " + label
	}
	var sum float32
	mode := Percent
	var memory int64
	for _, c := range q.Children {
		s := c.of(label)
		sum += s.Capacity.Value
		mode = max(mode, s.Capacity.Mode)
		memory += int64(s.Capacity.Absolute.MemoryMB)
		if most := s.MaxCapacity; s.Capacity.Mode == Absolute && most.Mode == Absolute &&
			most.Absolute.MemoryMB < s.Capacity.Absolute.MemoryMB {
			fail(c.Path+".capacity", "%v is more than its maximum-capacity %v", s.Capacity.Absolute, most.Absolute)
		}
	}
	own := q.of(label).Capacity
	if mode == Absolute && own.Mode == Absolute && memory > int64(own.Absolute.MemoryMB) {
		fail(key, "the children of %s have %d MB together, it has %d", q.Path, memory, own.Absolute.MemoryMB)
	}
	if mode == Percent {
		checkPercent(key, q.Path, sum, own, zero)
	}
}

func checkPercent(key, path string, sum float32, own Amount, zero bool) {
	full, none := math.Abs(float64(sum-100)) <= near, math.Abs(float64(sum)) <= near
	has := own.Mode == Percent && own.Value > 0
	switch {
	case !full && !none:
		fail(key, "the capacities of the children of %s add up to %v percent; they must to 100, or all be 0", path, sum)
	case none && has && !zero:
		fail(key, "the capacities of the children of %s are all 0, but it has %v percent itself", path, own.Value)
	case full && own.Mode == Percent && own.Value == 0 && !zero:
		fail(key, "the capacity of %s is 0, but its children have some", path)
	}
}

// NoLabels is why keys about node labels do nothing on a cluster whose nodes have none.
const NoLabels = "the nodes have no labels; --cluster asks a ResourceManager for them"

// without are keys that do nothing in a simulation though they are read, by their first or last
// part, and why.
var without = map[string]string{
	"schedule-asynchronously":      "when nodes are looked at is the cluster's setting",
	"queue-mappings":               "jobs go to the queue that they name",
	"queue-mappings-override":      "jobs go to the queue that they name",
	"acl_submit_applications":      "everybody may submit to each queue",
	"maximum-allocation-mb":        "containers have the sizes that jobs ask for",
	"maximum-allocation-vcores":    "containers have the sizes that jobs ask for",
	"default-application-priority": "jobs have the priorities that they were run with",
}

// harmless are last parts of keys that have nothing to do with who runs when.
var harmless = []string{"acl_administer_queue", "acl_administer_jobs", "acl_administer_reservations", "acl_list_reservations"}

// others begin the names of keys of Hadoop 3.4 that nothing here asks for.
var others = strings.Fields(`acl_ additional_res_ allow-zero- application.fail-fast auto-create- auto-queue- average-capacity
	conservative-drf default-application-lifetime global-queue- instantaneous- lazy- leaf-queue-template
	mapping-rule- maximum-allocation maximum-application-lifetime multi-node- ordering-policy.
	preemption-to-balance- queue-mappings queue.auto. reservable reservation schedule-asynchronously. select_based_
	show-reservations- skip-allocate- user-metrics. workflow-priority-`)

// unknown says of a key that nothing has asked for that Hadoop has none of this name, and which is near; "" if it has, or none is near.
func (f *File) unknown(name string) string {
	if f.read[name] || slices.ContainsFunc(others, func(begin string) bool { return strings.Contains("."+name, "."+begin) }) {
		return ""
	}
	var read []string
	for _, key := range slices.Sorted(maps.Keys(f.read)) {
		read = append(read, key[strings.LastIndexByte(key, '.')+1:])
	}
	if near := nearest.Name(name[strings.LastIndexByte(name, '.')+1:], read); near != "" {
		return fmt.Sprintf("no such key; did you mean %q?", near)
	}
	return ""
}

// listKeys lists the keys that nothing has asked for, and those that do nothing.
func (f *File) listKeys() {
	known := map[string]bool{"root": true}
	for q := range f.All() {
		known[q.Path] = true
	}
	for _, name := range f.names {
		value, last := f.keys[name], name[strings.LastIndexByte(name, '.')+1:]
		first, _, _ := strings.Cut(name, ".")
		why, does := f.inVain(name, first, last)
		unknown := ""
		if first != "root" || ofQueue(name, known) {
			unknown = f.unknown(name)
		}
		switch {
		case unknown != "":
			why = unknown
		case slices.Contains(harmless, last) || last == "acl_submit_applications" && strings.TrimSpace(value) == "*" ||
			last == "enable" && strings.TrimSpace(value) == "false" || f.read[name] && !does:
			continue
		case first == "root" && !ofQueue(name, known):
			why = "no queue of the file has this path"
		case !does:
			why = "the simulated scheduler knows nothing of it"
		}
		f.NotSimulated = append(f.NotSimulated, Key{name, value, why, unknown != ""})
	}
}

// inVain says what a key would do that nothing here does; does is false if nobody knows.
func (f *File) inVain(name, first, last string) (why string, does bool) {
	if needs := f.off(name, last); needs != "" {
		return needs + " is not true", true
	}
	if strings.Contains(name, ".accessible-node-labels") && strings.TrimSpace(f.keys[name]) != "*" || last == "default-node-label-expression" {
		return NoLabels, true
	}
	if why, does = without[last]; !does {
		why, does = without[first]
	}
	return why, does
}

// off returns the key without which a key of preemption does nothing, if it is not true.
func (f *File) off(name, last string) string {
	switch {
	case !f.Preemption.Enabled && (strings.HasPrefix(name, monitor) || last == "disable_preemption"):
		return monitorSwitch
	case !f.Preemption.Within && strings.Contains(name, within) && last != "enabled":
		return monitor + within + "enabled"
	}
	return ""
}

// ofQueue says whether a key may be that of a queue of the file: all before its last part, or
// before another, is the path of one.
func ofQueue(name string, known map[string]bool) bool {
	for i := len(name) - 1; i > len("root"); i-- {
		if name[i] == '.' && known[name[:i]] {
			return true
		}
	}
	return strings.Count(name, ".") == 1
}

func (a Amount) String() string {
	switch a.Mode {
	case Weight:
		return fmt.Sprintf("%vw", a.Value)
	case Absolute:
		return fmt.Sprintf("[memory=%d,vcores=%d]", a.Absolute.MemoryMB, a.Absolute.VCores)
	}
	return fmt.Sprint(a.Value)
}
