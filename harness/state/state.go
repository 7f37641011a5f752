// Package state holds a Hadoop cluster in memory: its nodes and racks, the free
// room on each node, the jobs and their tasks, the nodes with each task's input
// block and its cached copies, and the decisions that are not yet carried out.
//
// A driver of a real cluster or a simulator reports events, and each event is
// one method that changes the State. Scheduler models read the State through a
// View. The package knows no clock, no scheduler and no wire format. It leaves
// out what models do not choose by: progress of attempts, bytes, the network.
//
// Words:
//
//	room         memory and cores of a node that nothing takes
//	held         room taken by a container that is no task's first attempt
//	reservation  a decision that has neither been confirmed nor cancelled
//	waiting      asked for by the ApplicationMaster, and not yet decided
//	re-run       a map that waits again because an attempt of it failed
//	requeued     a map that waits again because its attempt was killed
//	binding      the ApplicationMaster's choice of the task that a container runs
//
// The package has to keep up with a simulator that starts millions of tasks a
// second. Therefore ids are dense numbers that index slices, a job's arrays
// share one piece of memory that the next job reuses, and nothing is allocated
// once the cluster is busy. A search may move a cursor, so only one goroutine
// at a time may use a State and its View.
package state

import (
	"fmt"

	"heddle/traces"
)

// NodeID numbers nodes from 0, in the order in which AddNode added them.
type NodeID int32

// RackID numbers racks from 0, in the order in which their first nodes were
// added.
type RackID int32

// JobID numbers jobs from 0, in the order in which they were submitted.
type JobID int32

// TaskID numbers the tasks of one job from 0: first the maps in the order of
// their splits, then the reduces. View.Index returns the kind of a task, and
// its number among the tasks of that kind.
type TaskID int32

// QueueID numbers queues from 0, in the order in which their first jobs were
// submitted.
type QueueID int32

// UserID numbers users from 0, in the order in which their first jobs were
// submitted.
type UserID int32

// PoolID numbers pools from 0, in the order in which their first jobs were
// submitted.
type PoolID int32

// None stands for no node, no task, no job or no reservation.
const None = -1

// Kind is the kind of a task: Map or Reduce.
type Kind = traces.TaskKind

// The two kinds of task.
const (
	Map    = traces.Map
	Reduce = traces.Reduce
)

// Level says how near a node is to a map's input block: LevelCache (the node
// caches the block), LevelNode (the node stores it), LevelRack (another node of
// the rack stores it) or LevelOff (none of these).
type Level = traces.Level

// Distances of a node from a map's input block, nearest first.
const (
	LevelCache = traces.LevelCache
	LevelNode  = traces.LevelNode
	LevelRack  = traces.LevelRack
	LevelOff   = traces.LevelOff
)

// Resource is memory and cores: what a container takes, or what a node has. If
// the cluster does not count cores, give its nodes more cores than all
// containers ask for.
type Resource struct {
	MemoryMB int32
	VCores   int32
}

// Add returns the sums of the memory and of the cores of r and o.
func (r Resource) Add(o Resource) Resource {
	return Resource{r.MemoryMB + o.MemoryMB, r.VCores + o.VCores}
}

// Sub returns the memory and cores of r minus those of o. The result can be
// negative, because a node's capacity may shrink below what its containers
// take.
func (r Resource) Sub(o Resource) Resource {
	return Resource{r.MemoryMB - o.MemoryMB, r.VCores - o.VCores}
}

// Times returns the memory and cores that n containers of size r take
// together.
func (r Resource) Times(n int32) Resource { return Resource{r.MemoryMB * n, r.VCores * n} }

// Holds reports whether r has at least as much memory and as many cores as o.
func (r Resource) Holds(o Resource) bool { return o.MemoryMB <= r.MemoryMB && o.VCores <= r.VCores }

func (r Resource) String() string { return fmt.Sprintf("%d MB, %d cores", r.MemoryMB, r.VCores) }

// State is the state of a cluster at one moment. New makes an empty one.
type State struct {
	now      int64
	nodes    []node
	labels   map[NodeID]string   // of nodes that have one
	labelled map[string]Resource // of all nodes with a label that are up
	racks    []int32             // by node: number of the node's rack; kept apart, since submitting a job reads only the racks
	capacity []Resource
	room     NodeSet // nodes that are up and have room for the smallest container
	up       NodeSet
	small    Resource
	slots    [2]int32 // by kind of task: how many of its tasks a node runs at the same time; both 0: there is no such limit
	total    Resource
	nodesUp  int32
	beside   int32 // nodes that run no tasks, see SetBeside

	lateBinding bool

	jobs         []job
	terms        []terms           // by job
	shares       map[JobID][]int64 // JobSpec.ReduceShares of jobs that have not ended
	active       []JobID
	waiting      [2][]JobID // by kind of task: jobs with a waiting task, in FIFO order
	queues       []Resource // by queue: memory and cores that its jobs use
	queued       [][]JobID  // by queue: its jobs with a waiting task of any kind, in FIFO order
	changes      [256]JobID // ring buffer of the jobs whose resources or waiting tasks changed last, for View.Changes
	changed      uint64     // number of changes of jobs' resources or waiting tasks so far, for View.Changes
	reservations []reservation
	spare        []ReservationID

	near        [nearnesses]near
	reruns      int32 // number of failed maps that wait again, or that have a container decided on but not started
	unhosted    int32 // number of jobs with a waiting map and at least one split that names no host
	prioritized bool  // true if some job has a priority other than 0

	logs []nodeLog // by node; nil unless FollowRoom was called

	names  names
	pool   pool[int32]
	hosts  pool[NodeID]
	caches []*cache  // memory of ended jobs' lists of cached copies, for new jobs to use
	arrays []*arrays // memory of ended jobs' arrays of task data, for new jobs to use
	work   scratch
	view   View
	only   [2]View // by kind of task: see View.Only
}

// names maps names of nodes, racks, queues, pools and users to their ids, and ids to
// names. Go's maps are never ranged over here, because their order is random.
type names struct {
	nodes, racks, queues, pools, users []string
	node, rack, queue, pool, user      map[string]int32
}

// New returns the state of an empty cluster at time 0.
func New() *State {
	s := &State{small: Resource{1, 1}}
	s.names.node, s.names.rack = map[string]int32{}, map[string]int32{}
	s.names.queue, s.names.pool, s.names.user = map[string]int32{}, map[string]int32{}, map[string]int32{}
	s.view.s = s
	s.only = [2]View{Map: {s: s, hides: [2]bool{Reduce: true}}, Reduce: {s: s, hides: [2]bool{Map: true}}}
	return s
}

// View returns the read-only view of the cluster for scheduler models. Every
// call returns the same View, which always shows the present state.
func (s *State) View() *View { return &s.view }

// SetNow sets the cluster's present time, in nanoseconds since the run's start.
func (s *State) SetNow(ns int64) { s.now = ns }

// SetSmallest sets the smallest container that a job asks for (YARN's minimum
// allocation). The default is 1 MB and 1 core. A node that cannot hold such a
// container counts as full.
func (s *State) SetSmallest(r Resource) {
	s.small = r
	for n := range s.nodes {
		s.noteRoom(NodeID(n))
	}
}

// SetLateBinding sets whether the ApplicationMaster chooses the task of each
// container, as on a real cluster. If so, a scheduling decision only chooses a
// job and a node.
func (s *State) SetLateBinding(on bool) { s.lateBinding = on }

// noteChange records that a job's resources or waiting tasks have
// changed. View.Changes reports such jobs to scheduler models.
func (s *State) noteChange(id JobID) {
	s.changes[s.changed%uint64(len(s.changes))] = id
	s.changed++
}

// intern returns the number of the name of a node, rack, queue or pool. A
// new name gets the next free number.
func intern(numbers map[string]int32, list *[]string, name string) int32 {
	n, ok := numbers[name]
	if !ok {
		n = int32(len(*list))
		numbers[name] = n
		*list = append(*list, name)
	}
	return n
}
