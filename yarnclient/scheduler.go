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
	Leaf   bool   // it takes applications; a queue in which YARN makes queues, such as one a user, does not

	// Fields of a queue that only the Capacity scheduler sets.
	CapacityPct float64          `wire:"capacity"`                // of the parent queue; 0 if the capacity is a weight
	AbsolutePct float64          `wire:"absoluteCapacity"`        // of the cluster
	Terms       string           `wire:"mode"`                    // in which its capacity is set: InPercent, InWeights or InAbsolute
	AutoCreated bool             `wire:"isAutoCreatedLeafQueue"`  // YARN made the queue, such as one for a user, by a template
	Labels      []string         `wire:"nodeLabels" form:"label"` // node labels that applications in the queue may request; "*" means all
	Partitions  []QueuePartition `wire:"capacities>queueCapacitiesByPartition"`
	Used        []PartitionUse   `wire:"resources>resourceUsagesByPartition"`
}

// PartitionUse is what a queue or an application uses of one partition, as the scheduler counts it,
// and what it waits for.
type PartitionUse struct {
	Partition  string `wire:"partitionName" form:"label"`
	MemoryMB   int64  `wire:"used>memory"` // what is reserved among it
	ReservedMB int64  `wire:"reserved>memory"`
	PendingMB  int64  `wire:"pending>memory"`
}

// QueuePartition is a queue's share of one partition of the cluster. A
// partition is the nodes of one node label; "" is the default partition.
type QueuePartition struct {
	Partition   string  `wire:"partitionName" form:"label"`
	CapacityPct float64 `wire:"capacity"`
	AbsolutePct float64 `wire:"absoluteCapacity"`
	MinMemoryMB int64   `wire:"configuredMinResource>memory"` // set for a queue in absolute terms
	MaxAMPct    float64 `wire:"maxAMLimitPercentage"`
}

// Terms in which the capacity of a queue, and of its node labels, can be set.
const (
	InPercent  = "percentage"
	InWeights  = "weight"
	InAbsolute = "absolute"
)

// wireQueue is a queue in the ResourceManager's answer, with its child queues.
// The Capacity and the Fair scheduler name the list of children differently.
type wireQueue struct {
	Queue
	Capacity []wireQueue `wire:"queues>queue"`
	Fair     []wireQueue `wire:"childQueues>queue"`
	Kind     string      `wire:"queueType"`                   // "leaf" or "parent"; since Hadoop 3.4
	Created  string      `wire:"creationMethod"`              // "static" or how YARN made it; since Hadoop 3.4
	Creates  bool        `wire:"autoCreateChildQueueEnabled"` // queues of users in it
	Absolute bool        `wire:"isAbsoluteResource"`          // instead of mode, before Hadoop 3.4
}

// Scheduler returns the type of the scheduler and a flat list of its queues. A
// FIFO scheduler has no queues.
func (rm *RM) Scheduler(ctx context.Context) (Scheduler, error) {
	w, err := get[struct {
		Type string `wire:"type"`
		wireQueue
		FairRoot []wireQueue `wire:"rootQueue"`
	}](ctx, rm.c, request{path: "/ws/v1/cluster/scheduler"}, "scheduler", "schedulerInfo")
	if err != nil {
		return Scheduler{}, err
	}
	s := Scheduler{Type: w.Type}
	roots := w.FairRoot
	if w.Name != "" { // the Capacity scheduler's answer has the root queue as its outermost object
		roots = []wireQueue{w.wireQueue}
	}
	for _, root := range roots {
		s.add(root, Queue{AbsolutePct: 100})
	}
	return s, nil
}

func (s *Scheduler) add(w wireQueue, above Queue) {
	q, children, parent := w.Queue, append(w.Capacity, w.Fair...), above.Path
	q.Parent, q.Leaf = parent, len(children) == 0 && w.Kind != "parent" && !w.Creates
	q.AutoCreated = q.AutoCreated || w.Created != "" && w.Created != "static"
	if w.Absolute {
		q.Terms = InAbsolute
	}
	if q.AbsolutePct == 0 { // as of the root queue, which has none in the answer
		q.AbsolutePct = above.AbsolutePct * q.CapacityPct / 100
	}
	if q.Path == "" { // in Hadoop 3.3 the Fair scheduler sends the full path of a queue as its name
		q.Path = q.Name
		if parent != "" && !strings.HasPrefix(q.Name, parent+".") {
			q.Path = parent + "." + q.Name
		}
	}
	q.Name = q.Path[strings.LastIndexByte(q.Path, '.')+1:]
	s.Queues = append(s.Queues, q)
	for _, child := range children {
		s.add(child, q)
	}
}

// UsedMB returns the memory that the queues count as used under a node label, with what is reserved.
func (s *Scheduler) UsedMB(label string) (sum int64) {
	for i := range s.Queues {
		for _, use := range s.Queues[i].Used {
			if s.Queues[i].Leaf && use.Partition == label {
				sum += use.MemoryMB
			}
		}
	}
	return sum
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
