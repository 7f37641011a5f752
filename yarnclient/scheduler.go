package yarnclient

import (
	"context"
	"strings"
)

// CapacityScheduler is the type by which a ResourceManager reports the Capacity scheduler.
const CapacityScheduler = "capacityScheduler"

// Scheduler is the ResourceManager's scheduler: its type and its queues.
type Scheduler struct {
	Type string // type of the scheduler: CapacityScheduler, "fairScheduler", "fifoScheduler"
	// Queues are all queues of the scheduler: the root first, parents before
	// their children.
	Queues []Queue
}

// Queue is a queue of the Capacity or Fair scheduler. Capacities are in
// percent. Fields of the Capacity scheduler are about the default partition,
// except those that name a partition.
type Queue struct {
	Path   string `wire:"queuePath" form:"queue"` // path of the queue, such as "root.a"
	Name   string `wire:"queueName" form:"queue"`
	Parent string // path of the parent queue; empty for the root queue
	Leaf   bool

	// Fields of a queue that only the Capacity scheduler sets.
	CapacityPct float64          `wire:"capacity"`
	Labels      []string         `wire:"nodeLabels" form:"label"` // node labels that applications in the queue may request; "*" means all
	Partitions  []QueuePartition `wire:"capacities>queueCapacitiesByPartition"`
}

// QueuePartition is a queue's share of one partition of the cluster. A
// partition is the nodes of one node label; "" is the default partition.
type QueuePartition struct {
	Partition   string  `wire:"partitionName" form:"label"`
	CapacityPct float64 `wire:"capacity"`
	MaxAMPct    float64 `wire:"maxAMLimitPercentage"`
}

// wireQueue is a queue in the ResourceManager's answer, with its child queues.
// The Capacity and the Fair scheduler name the list of children differently.
type wireQueue struct {
	Queue
	Capacity []wireQueue `wire:"queues>queue"`
	Fair     []wireQueue `wire:"childQueues>queue"`
}

// Scheduler returns the type of the scheduler and a flat list of its queues. A
// FIFO scheduler has no queues.
func (rm *RM) Scheduler(ctx context.Context) (Scheduler, error) {
	var w struct {
		Type string `wire:"type"`
		wireQueue
		FairRoot []wireQueue `wire:"rootQueue"`
	}
	if err := rm.c.get(ctx, request{path: "/ws/v1/cluster/scheduler"}, &w, "scheduler", "schedulerInfo"); err != nil {
		return Scheduler{}, err
	}
	s := Scheduler{Type: w.Type}
	roots := w.FairRoot
	if w.Name != "" { // the Capacity scheduler's answer has the root queue as its outermost object
		roots = []wireQueue{w.wireQueue}
	}
	for _, root := range roots {
		s.add(root, "")
	}
	return s, nil
}

func (s *Scheduler) add(w wireQueue, parent string) {
	q, children := w.Queue, append(w.Capacity, w.Fair...)
	q.Parent, q.Leaf = parent, len(children) == 0
	if q.Path == "" { // in Hadoop 3.3 the Fair scheduler sends the full path of a queue as its name
		q.Path = q.Name
		if parent != "" && !strings.HasPrefix(q.Name, parent+".") {
			q.Path = parent + "." + q.Name
		}
	}
	q.Name = q.Path[strings.LastIndexByte(q.Path, '.')+1:]
	s.Queues = append(s.Queues, q)
	for _, child := range children {
		s.add(child, q.Path)
	}
}

// Queue returns the queue with the given path, or nil if there is none.
func (s *Scheduler) Queue(path string) *Queue {
	for i := range s.Queues {
		if s.Queues[i].Path == path {
			return &s.Queues[i]
		}
	}
	return nil
}
