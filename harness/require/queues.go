package require

import (
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
	Present string // the value now; "" if it is not set
	Value   string // the value wanted
	Added   string // what Value adds to Present, if that is a list
}

// LackingQueueSettings returns the settings that give a leaf queue, and each
// queue above it, the whole capacity of the labels of steered jobs. For the label
// of the ApplicationMasters' nodes, any capacity that a queue already has is
// enough. conf has the scheduler's settings by full property name. The queue's own
// settings come first. The error says which other queue has a part of a label.
func LackingQueueSettings(s yarnclient.Scheduler, conf map[string]string, queue string, labels Labels) ([]QueueSetting, error) {
	if q := s.Queue(queue); q == nil || !q.Leaf {
		return nil, fmt.Errorf("there is no leaf queue %q", queue)
	}
	rows := Of("queueLabels")
	capacity, access := rows[0], rows[1]
	want := append([]string{labels.Masters}, labels.Jobs...)
	var lacking []QueueSetting
	for path := queue; path != ""; path = s.Queue(path).Parent {
		name := access.In(path, "")
		if listed, set := conf[name]; path != "root" && (set || path == queue) {
			has := strings.FieldsFunc(listed, func(r rune) bool { return r == ',' || r == ' ' })
			if i := slices.IndexFunc(has, func(label string) bool { return label != "*" && !yarnclient.IsLabel(label) }); i >= 0 {
				return nil, fmt.Errorf("%s has %.80q; want names of node labels", name, has[i])
			}
			if more := missingFrom(has, want); !slices.Contains(has, "*") && len(more) > 0 {
				lacking = append(lacking, QueueSetting{access, path, name, listed, strings.Join(append(has, more...), ","), strings.Join(more, ",")})
			}
		}
		for _, label := range want {
			name := capacity.In(path, label)
			if has := trimZero(conf[name]); has == capacity.Value || label == labels.Masters && has != "" && has != "0" {
				continue
			}
			for _, other := range s.Queues {
				given := conf[capacity.In(other.Path, label)]
				if other.Parent == s.Queue(path).Parent && other.Path != path && trimZero(given) != "" && trimZero(given) != "0" {
					return nil, fmt.Errorf("queue %s has %s %% of label %s, which %s needs the whole of; set it to 0, or name the queue with --queue", other.Path, given, label, path)
				}
			}
			lacking = append(lacking, QueueSetting{capacity, path, name, conf[name], capacity.Value, ""})
		}
	}
	return lacking, nil
}

// LargestLeaf returns the path of the leaf queue with the largest capacity, or ""
// if there is no leaf queue.
func LargestLeaf(s yarnclient.Scheduler) string {
	var best yarnclient.Queue
	for _, q := range s.Queues {
		if q.Leaf && (best.Path == "" || q.CapacityPct > best.CapacityPct) {
			best = q
		}
	}
	return best.Path
}

func missingFrom(have, want []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(s string) bool { return slices.Contains(have, s) })
}

// trimZero turns a capacity in percent such as "100.0" into "100", so that
// equal capacities are equal texts.
func trimZero(percent string) string {
	if whole, fraction, ok := strings.Cut(percent, "."); ok && strings.Trim(fraction, "0") == "" {
		return whole
	}
	return percent
}
