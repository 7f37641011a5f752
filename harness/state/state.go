// Package state holds a Hadoop cluster in memory: its nodes and racks, the free
// room on each node, the jobs and their tasks, where each task's block and
// cached copies are, and the decisions that are still on their way.
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
// once the cluster is busy. A look-up may move a cursor, so one goroutine at a
// time may use a State and its View.
package state

import (
	"fmt"

	"heddle/traces"
)

// NodeID numbers nodes from 0, in the order in which AddNode added them.
type NodeID int32

// RackID numbers racks from 0, in the order of their first node.
type RackID int32

// JobID numbers jobs from 0, in the order in which they were submitted.
type JobID int32

// TaskID numbers the tasks of one job from 0: first the maps in the order of
// their splits, then the reduces. View.Index gives the kind and the number in
// it.
type TaskID int32

// QueueID numbers queues from 0, in the order of their first job.
type QueueID int32

// UserID numbers users from 0, in the order of their first job.
type UserID int32

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
// caches it), LevelNode (stores it), LevelRack (a node of the same rack stores
// it) or LevelOff.
type Level = traces.Level

// Levels, nearest first.
const (
	LevelCache = traces.LevelCache
	LevelNode  = traces.LevelNode
	LevelRack  = traces.LevelRack
	LevelOff   = traces.LevelOff
)

// Resource is memory and cores: what a container takes or what a node has.
// Where the cluster does not count cores, give its nodes more than anyone asks
// for.
type Resource struct {
	MemoryMB int32
	VCores   int32
}

// Add returns the sum of r and o.
func (r Resource) Add(o Resource) Resource {
	return Resource{r.MemoryMB + o.MemoryMB, r.VCores + o.VCores}
}

// Sub returns r minus o. It can be negative: a node may shrink below what runs
// on it.
func (r Resource) Sub(o Resource) Resource {
	return Resource{r.MemoryMB - o.MemoryMB, r.VCores - o.VCores}
}

// Times returns n times r, for n containers of size r.
func (r Resource) Times(n int32) Resource { return Resource{r.MemoryMB * n, r.VCores * n} }

// Holds reports whether o fits into r.
func (r Resource) Holds(o Resource) bool { return o.MemoryMB <= r.MemoryMB && o.VCores <= r.VCores }

func (r Resource) String() string { return fmt.Sprintf("%d MB, %d cores", r.MemoryMB, r.VCores) }

// State is a cluster at one moment. New makes an empty one.
type State struct {
	now   int64
	nodes []node
	racks []int32 // rack of each node; apart from nodes because submitting a job reads only this
	room  []uint64
	small Resource
	total Resource
	up    int32

	lateBinding bool

	jobs         []job
	active       []JobID
	waiting      [2][]JobID // by kind of task: the jobs with a waiting task, in FIFO order
	queues       []Resource // by queue: what its jobs take
	changes      [256]JobID // ring of the latest changed jobs, see View.Changes
	changed      uint64     // how many changes there were in all
	reservations []reservation
	spare        []ReservationID

	near        [nearnesses]near
	reruns      int32 // number of re-runs that wait or are reserved
	unhosted    int32 // number of jobs with a waiting map and at least one split that names no host
	prioritized bool  // a job has had a priority other than 0

	names  names
	pool   pool[int32]
	hosts  pool[NodeID]
	caches []*cache  // of ended jobs, to be reused
	arrays []*arrays // of ended jobs, to be reused
	work   scratch
	view   View
}

// names maps names to ids and back. The maps are only looked up: ranging over
// them would give a random order.
type names struct {
	nodes, racks, queues, users []string
	node, rack, queue, user     map[string]int32
}

// New returns an empty cluster at time 0.
func New() *State {
	s := &State{small: Resource{1, 1}}
	s.names.node, s.names.rack = map[string]int32{}, map[string]int32{}
	s.names.queue, s.names.user = map[string]int32{}, map[string]int32{}
	s.view.s = s
	return s
}

// View returns the read-only view of s that models get. Every call returns the
// same View, and it always shows the present state.
func (s *State) View() *View { return &s.view }

// SetNow sets the cluster's time, in nanoseconds since the run's start.
func (s *State) SetNow(ns int64) { s.now = ns }

// SetSmallest sets the smallest container that anyone asks for (YARN's minimum
// allocation), 1 MB and 1 core by default. A node that cannot hold it has no
// room.
func (s *State) SetSmallest(r Resource) {
	s.small = r
	for n := range s.nodes {
		s.noteRoom(NodeID(n))
	}
}

// SetLateBinding sets whether the ApplicationMaster chooses the task of each
// container, as under node labels. A decision then only gives a node to a job.
func (s *State) SetLateBinding(on bool) { s.lateBinding = on }

// noteChange records for View.Changes that the job's resources, priority or
// waiting tasks have changed.
func (s *State) noteChange(id JobID) {
	s.changes[s.changed%uint64(len(s.changes))] = id
	s.changed++
}

// intern returns the number of name and gives it the next free one if it has
// none.
func intern(numbers map[string]int32, list *[]string, name string) int32 {
	n, ok := numbers[name]
	if !ok {
		n = int32(len(*list))
		numbers[name] = n
		*list = append(*list, name)
	}
	return n
}
