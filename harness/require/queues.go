package require

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"heddle/yarnclient"
)

// Scheduler returns an error if node labels do not work with a scheduler.
func Scheduler(s yarnclient.Scheduler) error {
	if s.Type == yarnclient.CapacityScheduler {
		return nil
	}
	return fmt.Errorf("the scheduler is %.80s; node labels need the Capacity scheduler (heddle doctor says what to set)", s.Type)
}

// QueueSetting is a setting of one queue of the Capacity scheduler that steering
// needs and the cluster lacks.
type QueueSetting struct {
	Setting        // the requirement, with QUEUE and LABEL in its property's name
	Queue   string // path of the queue, such as root.default
	Name    string // full name of the property
	Value   string // the value wanted
}

// LackingQueueSettings returns the settings that give a leaf queue, and each
// queue above it, the whole capacity of the labels of steered jobs. For the label
// of the ApplicationMasters' nodes, any capacity that a queue already has is
// enough. conf has the scheduler's settings by full property name; nil stands for
// what s shows of them. The queue's own settings come first. The error says which other queue has a part of a label.
func LackingQueueSettings(s yarnclient.Scheduler, conf map[string]string, queue string, labels Labels) ([]QueueSetting, error) {
	if err := steerable(s, conf, queue); err != nil {
		return nil, err
	}
	rows := Of("queueLabels")
	capacity, access := rows[0], rows[1]
	if conf == nil {
		conf = seen(s)
	}
	want := append([]string{labels.Masters}, labels.Jobs...)
	var lacking []QueueSetting
	for q := s.Queue(queue); q != nil; q = s.Queue(q.Parent) {
		path := q.Path
		name := access.In(path, "")
		if listed, set := conf[name]; path != "root" && (set || path == queue) {
			has := strings.FieldsFunc(listed, func(r rune) bool { return r == ',' || r == ' ' })
			if i := slices.IndexFunc(has, func(label string) bool { return label != "*" && !yarnclient.IsLabel(label) }); i >= 0 {
				return nil, fmt.Errorf("%s has %.80q; want names of node labels", name, has[i])
			}
			more := slices.DeleteFunc(slices.Clone(want), func(label string) bool { return slices.Contains(has, label) })
			if !slices.Contains(has, "*") && len(more) > 0 {
				lacking = append(lacking, QueueSetting{access, path, name, strings.Join(append(has, more...), ",")})
			}
		}
		value := whole(*q)
		for _, label := range want {
			name := capacity.In(path, label)
			has := trimZero(conf[name])
			if label == labels.Masters && !none(has) {
				continue
			}
			if other, given := sibling(s, conf, q, func(path string) string { return capacity.In(path, label) }); other != "" {
				return nil, fmt.Errorf("queue %s has the capacity %s of label %s, which %s needs the whole of; "+
					"set it to 0 in the same terms, or name the queue with --queue", other, given, label, path)
			}
			if has != value && (none(has) || q.Terms != yarnclient.InWeights) {
				lacking = append(lacking, QueueSetting{capacity, path, name, value})
			}
		}
	}
	return lacking, nil
}

// sibling returns a queue beside q that has some of a capacity, and how much.
func sibling(s yarnclient.Scheduler, conf map[string]string, q *yarnclient.Queue, capacity func(path string) string) (path, given string) {
	for _, other := range s.Queues {
		if given := conf[capacity(other.Path)]; other.Parent == q.Parent && other.Path != q.Path && !none(given) {
			return other.Path, given
		}
	}
	return "", ""
}

// steerable refuses a queue whose jobs cannot be steered.
func steerable(s yarnclient.Scheduler, conf map[string]string, queue string) error {
	const legacy = Queues + "legacy-queue-mode.enabled"
	switch q := s.Queue(queue); {
	case queue == "":
		return errors.New("the scheduler has no leaf queue but those that YARN makes by itself; add one in capacity-scheduler.xml")
	case q == nil || !q.Leaf:
		return fmt.Errorf("there is no leaf queue %q", queue)
	case q.AutoCreated:
		return fmt.Errorf("queue %s was made by YARN and has no settings of its own; name another leaf queue with --queue", queue)
	case q.Terms == "mixed" || conf[legacy] == "false":
		return fmt.Errorf("queue %s: without %s, the ResourceManager shows no capacity of labels that no node has, "+
			"so nothing can be steered; set it to true", queue, legacy)
	}
	return nil
}

// seen returns the labels of queues and their capacities that the scheduler shows,
// as settings.
func seen(s yarnclient.Scheduler) map[string]string {
	rows, conf := Of("queueLabels"), map[string]string{}
	for _, q := range s.Queues {
		for _, p := range q.Partitions {
			if p.Partition != "" && (p.AbsolutePct > 0 || p.MinMemoryMB > 0) {
				conf[rows[0].In(q.Path, p.Partition)] = fmt.Sprint(p.AbsolutePct, " %")
			}
		}
		for _, label := range WholeLabels(q) {
			conf[rows[0].In(q.Path, label)] = whole(q)
		}
		if len(q.Labels) > 0 {
			conf[rows[1].In(q.Path, "")] = strings.Join(q.Labels, ",")
		}
	}
	return conf
}

// LargestLeaf returns the path of the leaf queue with the largest part of the
// cluster, or "" if there is no leaf queue. It passes over queues that YARN made.
func LargestLeaf(s yarnclient.Scheduler) string {
	memory := func(q yarnclient.Queue) (mb int64) {
		for _, p := range q.Partitions {
			if p.Partition == "" {
				mb = p.MinMemoryMB
			}
		}
		return mb
	}
	var best yarnclient.Queue
	for _, q := range s.Queues {
		larger := cmp.Or(cmp.Compare(q.AbsolutePct, best.AbsolutePct), cmp.Compare(memory(q), memory(best))) > 0
		if q.Leaf && !q.AutoCreated && (best.Path == "" || larger) {
			best = q
		}
	}
	return best.Path
}

// absoluteMB is the memory of a label by which a queue in absolute terms may use all
// nodes of it: more than any cluster has. YARN gives the queue what is there.
const absoluteMB = 1_000_000_000

// whole returns the capacity by which a queue may use all nodes of a label, in the
// terms of the queue: YARN refuses one in others, and does not start with it.
func whole(q yarnclient.Queue) string {
	switch q.Terms {
	case yarnclient.InWeights:
		return "1w"
	case yarnclient.InAbsolute:
		return fmt.Sprintf("[memory=%d,vcores=%d]", absoluteMB, absoluteMB/1000)
	}
	return "100"
}

// WholeLabels returns the node labels of which a queue may use all nodes.
func WholeLabels(q yarnclient.Queue) []string {
	var labels []string
	for _, p := range q.Partitions {
		if p.AbsolutePct > 99.99 || q.Terms == yarnclient.InAbsolute && p.MinMemoryMB >= absoluteMB {
			labels = append(labels, p.Partition)
		}
	}
	return labels
}

// none reports whether a capacity is nothing, in any terms.
func none(capacity string) bool { return !strings.ContainsAny(capacity, "123456789") }

// trimZero turns a capacity in percent such as "100.0" into "100", so that
// equal capacities are equal texts.
func trimZero(percent string) string {
	if whole, fraction, ok := strings.Cut(percent, "."); ok && strings.Trim(fraction, "0") == "" {
		return whole
	}
	return percent
}
