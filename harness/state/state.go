// Package state is the state of a Hadoop cluster in memory: nodes and the
// room on them, racks, jobs, tasks, where their blocks and cached copies are,
// and what has been decided but not yet seen to happen.
//
// A State is changed by events, one method each, that a driver of a real
// cluster or a simulator reports. Scheduler models read it through a View. The
// package knows no clock, no scheduler and no wire format; it leaves out what
// models do not choose by: progress of attempts, bytes, the network.
//
// It has to keep up with a simulator at millions of tasks a second. Ids are
// dense numbers into slices, a job's arrays are one piece of memory that is
// used again when the job ends, and the steady state allocates nothing. Look-ups
// move cursors, so a State and its View belong to one goroutine.
package state

import (
	"fmt"

	"heddle/traces"
)

// NodeID numbers a node from 0, in the order of AddNode.
type NodeID int32

// RackID numbers a rack from 0, in the order of first mention.
type RackID int32

// JobID numbers a job from 0, in the order of submission.
type JobID int32

// TaskID numbers the tasks of one job: its maps from 0, in the order of their
// splits, then its reduces. View.Index tells them apart.
type TaskID int32

// QueueID numbers a queue from 0, in the order of first mention.
type QueueID int32

// UserID numbers a user from 0, in the order of first mention.
type UserID int32

// None is the id of nothing: no node, no task.
const None = -1

// Kind is map or reduce.
type Kind = traces.TaskKind

// Kinds of task.
const (
	Map    = traces.Map
	Reduce = traces.Reduce
)

// Level is how near a node is to a map's data: LevelCache, LevelNode,
// LevelRack or LevelOff.
type Level = traces.Level

// Levels, nearest first.
const (
	LevelCache = traces.LevelCache
	LevelNode  = traces.LevelNode
	LevelRack  = traces.LevelRack
	LevelOff   = traces.LevelOff
)

// Resource is what a container takes and a node has. Where a cluster does not
// count cores, its nodes are given more than anyone asks for.
type Resource struct {
	MemoryMB int32
	VCores   int32
}

// Add is r and o together.
func (r Resource) Add(o Resource) Resource {
	return Resource{r.MemoryMB + o.MemoryMB, r.VCores + o.VCores}
}

// Sub is r without o; it may be negative, on a node that was made smaller.
func (r Resource) Sub(o Resource) Resource {
	return Resource{r.MemoryMB - o.MemoryMB, r.VCores - o.VCores}
}

// Times is n of r.
func (r Resource) Times(n int32) Resource { return Resource{r.MemoryMB * n, r.VCores * n} }

// Holds says whether o fits into r.
func (r Resource) Holds(o Resource) bool { return o.MemoryMB <= r.MemoryMB && o.VCores <= r.VCores }

func (r Resource) String() string { return fmt.Sprintf("%d MB, %d cores", r.MemoryMB, r.VCores) }

// State is a cluster at one moment. Make it with New.
type State struct {
	now   int64
	nodes []node
	racks []int32 // by node: kept apart, submissions look at nothing else
	room  []uint64
	small Resource
	total Resource
	up    int32

	lateBinding bool

	jobs    []job
	active  []JobID
	waiting [2][]JobID // by kind, those with a waiting task, in FIFO order
	queues  []Resource // by queue, what its jobs take
	changes [256]JobID // the last ones, see View.Changes
	changed uint64     // how many there were
	held    []reservation
	spare   []ReservationID

	near        [places]near
	reruns      int32 // that wait or are reserved
	unhosted    int32 // jobs with a waiting map, and some map whose split names no host
	prioritized bool  // some job has had a priority

	names  names
	pool   pool[int32]
	hosts  pool[NodeID]
	caches []*cache  // of ended jobs, to be used again
	arrays []*arrays // likewise
	work   scratch
	view   View
}

// names are the side tables. The maps are looked up, never ranged over.
type names struct {
	nodes, racks, queues, users []string
	node, rack, queue, user     map[string]int32
}

// New is an empty cluster at time 0.
func New() *State {
	s := &State{small: Resource{1, 1}}
	s.names.node, s.names.rack = map[string]int32{}, map[string]int32{}
	s.names.queue, s.names.user = map[string]int32{}, map[string]int32{}
	s.view.s = s
	return s
}

// View is what models see of s. It is always the same View and always shows
// the present.
func (s *State) View() *View { return &s.view }

// SetNow moves the cluster's time, in nanoseconds since the run's start.
func (s *State) SetNow(ns int64) { s.now = ns }

// SetSmallest says what the smallest container is that anyone asks for (YARN's
// minimum allocation). A node that cannot hold one has no room; by default
// 1 MB and 1 core.
func (s *State) SetSmallest(r Resource) {
	s.small = r
	for n := range s.nodes {
		s.noteRoom(NodeID(n))
	}
}

// SetLateBinding says whether decisions only open a node to a job and its
// ApplicationMaster chooses the task, as under node labels.
func (s *State) SetLateBinding(on bool) { s.lateBinding = on }

// note records that what a job takes, its priority, or which of its tasks wait
// has changed.
func (s *State) note(id JobID) {
	s.changes[s.changed%uint64(len(s.changes))] = id
	s.changed++
}

// intern is the number of name, which is given one where it has none.
func intern(numbers map[string]int32, list *[]string, name string) int32 {
	n, ok := numbers[name]
	if !ok {
		n = int32(len(*list))
		numbers[name] = n
		*list = append(*list, name)
	}
	return n
}
