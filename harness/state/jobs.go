package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// JobSpec describes a job at submission. Submit copies what it keeps.
type JobSpec struct {
	Name, User, Queue string
	Priority          int32   // of the job; higher goes first
	Weight            float64 // the job's weight in fair shares; 0 means 1
	Maps, Reduces     int32
	MapSize           Resource // resources of one container
	ReduceSize        Resource
	// Replicas and Cached are the nodes that have each map's input, on disk and
	// in the HDFS cache. They may list fewer maps than the job has: the rest
	// have none.
	Replicas, Cached Hosts
	// SplitHosts are the nodes that each map's split names, as the
	// ApplicationMaster reads it. nil means the replicas.
	SplitHosts *Hosts
}

// Hosts lists nodes for each map: those of map i are Nodes[Ends[i-1]:Ends[i]].
type Hosts struct {
	Nodes []NodeID
	Ends  []int32
}

// Add appends the nodes of the next map.
func (h *Hosts) Add(nodes ...NodeID) {
	h.Nodes = append(h.Nodes, nodes...)
	h.Ends = append(h.Ends, int32(len(h.Nodes)))
}

// Reset removes all maps and keeps the memory.
func (h *Hosts) Reset() { h.Nodes, h.Ends = h.Nodes[:0], h.Ends[:0] }

// count returns how many nodes all maps have together.
func (h *Hosts) count() int {
	if len(h.Ends) == 0 {
		return 0
	}
	return int(h.Ends[len(h.Ends)-1])
}

func (h *Hosts) check(maps int32, nodes int) error {
	if len(h.Ends) > int(maps) {
		return fmt.Errorf("nodes are listed for %d maps, but the job has %d", len(h.Ends), maps)
	}
	end := int32(0)
	for i, e := range h.Ends {
		if e < end || int(e) > len(h.Nodes) {
			return fmt.Errorf("map %d: its nodes end at index %d, which must be from %d (where those of the map before end) to %d (all that are listed)", i, e, end, len(h.Nodes))
		}
		end = e
	}
	for _, n := range h.Nodes {
		if n < 0 || int(n) >= nodes {
			return fmt.Errorf("node %d: the cluster has %d nodes, numbered from 0", n, nodes)
		}
	}
	return nil
}

// job is one job. The embedded arrays are emptied when the job ends.
type job struct {
	*arrays
	ended     bool
	priority  int32
	queue     QueueID
	user      UserID
	weight    float64
	size      [2]Resource // of a container, by kind
	held      Resource
	counts    [2]counts
	name      string
	submitted int64

	reservations int32
	inputChanges int32 // see View.InputChanges
}

type arrays struct {
	where       []int32 // for each task, where it is, see tasks.go
	waited      bool    // a task has waited at some time
	waiting     [2]set  // by kind: the waiting tasks
	rerun       []TaskID
	requeued    []TaskID // maps that were killed, in that order; some of them wait again
	data        located  // the hosts that store each map's input
	split       *located // the hosts in each split; &data if they are the replicas
	cached      *cache   // nil if nothing is cached
	cachedTasks int32    // number of waiting maps with a cached copy
	unhosted    bool     // some map's split names no host

	mem, splitMem []int32 // memory of the arrays above, except the hosts
}

// nothing stands for the arrays of a job that has ended.
var nothing = arrays{split: &located{}}

// counts are numbers of tasks of one kind. asked counts all that were ever asked
// for, done those that succeeded.
type counts struct{ total, asked, waiting, reserved, running, done int32 }

// set is the set of a job's tasks of one kind, one bit for each. from is a
// cursor: no word of bits before it has a member.
type set struct {
	bits []int32
	from int32
}

// located knows the hosts of each map, and the maps of each host and rack.
type located struct {
	hosts  []NodeID
	ends   []int32
	byNode index
	byRack index
}

// of returns the hosts of map t, none if the job has ended.
func (l *located) of(t TaskID) []NodeID {
	if uint(t) >= uint(len(l.ends)) {
		return nil
	}
	start := int32(0)
	if t > 0 {
		start = l.ends[t-1]
	}
	return l.hosts[start:l.ends[t]]
}

// Submit adds a job. Its tasks wait only after Ask.
func (s *State) Submit(spec *JobSpec) (JobID, error) {
	id := JobID(len(s.jobs))
	if err := s.check(spec); err != nil {
		return None, fmt.Errorf("submit job %q: %w", spec.Name, err)
	}
	s.jobs = append(s.jobs, job{
		priority: spec.Priority, weight: spec.Weight,
		queue:     QueueID(intern(s.names.queue, &s.names.queues, spec.Queue)),
		user:      UserID(intern(s.names.user, &s.names.users, spec.User)),
		size:      [2]Resource{spec.MapSize, spec.ReduceSize},
		name:      spec.Name,
		submitted: s.now,
	})
	j := &s.jobs[id]
	if int(j.queue) == len(s.queues) {
		s.queues = append(s.queues, Resource{})
	}
	if j.weight == 0 {
		j.weight = 1
	}
	j.counts[Map].total, j.counts[Reduce].total = spec.Maps, spec.Reduces
	if j.priority != 0 {
		s.prioritize()
	}
	s.layOut(j, spec)
	s.active = append(s.active, id)
	return id, nil
}

func (s *State) check(spec *JobSpec) error {
	if spec.Maps < 0 || spec.Reduces < 0 {
		return fmt.Errorf("%d maps and %d reduces: neither may be negative", spec.Maps, spec.Reduces)
	}
	if n := int64(spec.Maps) + int64(spec.Reduces); n > 1<<30 {
		return fmt.Errorf("%d tasks: at most %d are possible", n, 1<<30)
	}
	if spec.Weight < 0 || spec.Weight != spec.Weight {
		return fmt.Errorf("weight %v: it must be 0 or more", spec.Weight)
	}
	if !spec.MapSize.Holds(Resource{}) {
		return fmt.Errorf("a map container of %v: neither may be negative", spec.MapSize)
	}
	if !spec.ReduceSize.Holds(Resource{}) {
		return fmt.Errorf("a reduce container of %v: neither may be negative", spec.ReduceSize)
	}
	for _, h := range []struct {
		what string
		*Hosts
	}{{"replicas", &spec.Replicas}, {"cached copies", &spec.Cached}, {"split hosts", spec.SplitHosts}} {
		if h.Hosts == nil {
			continue
		}
		if err := h.check(spec.Maps, len(s.nodes)); err != nil {
			return fmt.Errorf("%s: %w", h.what, err)
		}
	}
	return nil
}

// Resplit replaces the replicas, cached copies and split hosts of a job whose
// splits have been rewritten. It fails once a task has been asked for.
func (s *State) Resplit(id JobID, spec *JobSpec) error {
	j := &s.jobs[id]
	maps, reduces := j.counts[Map], j.counts[Reduce]
	var err error
	switch {
	case j.ended:
		err = errors.New("the job has ended")
	case maps.asked+reduces.asked > 0:
		err = errors.New("its tasks have been asked for already")
	case spec.Maps != maps.total || spec.Reduces != reduces.total:
		err = fmt.Errorf("it has %d maps and %d reduces, not %d and %d", maps.total, reduces.total, spec.Maps, spec.Reduces)
	default:
		err = s.check(spec)
	}
	if err != nil {
		return fmt.Errorf("replace the splits of job %q: %w", j.name, err)
	}
	s.freeArrays(j)
	s.layOut(j, spec)
	j.inputChanges += max(1, spec.Maps)
	return nil
}

// layOut makes a job's arrays. They lie in one piece of memory, and split hosts
// that differ from the replicas in another.
func (s *State) layOut(j *job, spec *JobSpec) {
	a := reuse(&s.arrays)
	maps, tasks := spec.Maps, int(spec.Maps+spec.Reduces)
	own := tasks + words(maps) + words(spec.Reduces)
	a.mem = s.layHosts(&a.data, &spec.Replicas, maps, own)
	a.where = a.mem[:tasks]
	for t := range a.where {
		a.where[t] = unasked
	}
	a.waiting[Map] = set{bits: a.mem[tasks:][:words(maps)]}
	a.waiting[Reduce] = set{bits: a.mem[tasks+words(maps) : own]}
	if a.split = &a.data; spec.SplitHosts != nil {
		a.split = &located{}
		a.splitMem = s.layHosts(a.split, spec.SplitHosts, maps, 0)
	}
	j.arrays = a
	a.unhosted = a.split.unhosted()
	s.layCached(j, &spec.Cached)
}

// unhosted reports whether some map has no host.
func (l *located) unhosted() bool {
	before := int32(0)
	for _, end := range l.ends {
		if end == before {
			return true
		}
		before = end
	}
	return false
}

// freeArrays returns the memory of a job's arrays to the pools.
func (s *State) freeArrays(j *job) {
	a := j.arrays
	j.arrays = &nothing
	s.reruns -= int32(len(a.rerun))
	s.pool.put(a.mem)
	s.pool.put(a.splitMem)
	s.hosts.put(a.data.hosts)
	if a.split != &a.data {
		s.hosts.put(a.split.hosts)
	}
	if a.cached != nil {
		s.retire(a.cached)
	}
	*a = arrays{}
	s.arrays = append(s.arrays, a)
}

// layHosts makes l's arrays from h in a new piece of memory, and returns the
// piece. It leaves the first reserved numbers of the piece to the caller.
func (s *State) layHosts(l *located, h *Hosts, maps int32, reserved int) []int32 {
	rackEnds := sized(&s.work.rackEnds, int(maps))
	racks := s.racksOf(h, rackEnds)
	n, r := h.count(), len(racks)
	nodeSlots, rackSlots := tableSize(n, len(s.nodes)), tableSize(r, len(s.names.racks))
	mem := s.pool.get(reserved + int(maps) + n + r + nodeSlots + rackSlots)
	rest := mem[reserved:]
	cut := func(n int) []int32 {
		piece := rest[:n:n]
		rest = rest[n:]
		return piece
	}
	l.ends = cut(int(maps))
	filled := copy(l.ends, h.Ends)
	for i := filled; i < len(l.ends); i++ {
		l.ends[i] = int32(n)
	}
	l.hosts = s.hosts.get(n)
	copy(l.hosts, h.Nodes)
	at := sized(&s.work.at, max(n, r))
	l.byNode.tasks = cut(n)
	l.byNode.cursors.reset(cut(nodeSlots), len(s.nodes))
	build(&l.byNode, l.hosts, l.ends, at)
	l.byRack.tasks = cut(r)
	l.byRack.cursors.reset(cut(rackSlots), len(s.names.racks))
	build(&l.byRack, racks, rackEnds, at)
	return mem
}

// racksOf returns the racks of each map's hosts, each rack once. It fills ends
// as in Hosts.
func (s *State) racksOf(h *Hosts, ends []int32) []int32 {
	racks := s.work.racks[:0]
	start, i := int32(0), 0
	for t := range ends {
		if t < len(h.Ends) {
			first := len(racks)
			for _, n := range h.Nodes[start:h.Ends[t]] {
				if r := s.racks[n]; !slices.Contains(racks[first:], r) {
					racks = append(racks, r)
				}
			}
			start, i = h.Ends[t], len(racks)
		}
		ends[t] = int32(i)
	}
	s.work.racks = racks
	return racks
}

// EndJob says that a job has ended, successfully or not. It drops the waiting
// tasks and frees the room of running tasks and reservations.
func (s *State) EndJob(id JobID) {
	j := &s.jobs[id]
	if j.ended {
		return
	}
	for r := 0; j.reservations > 0; r++ {
		if x := &s.reservations[r]; x.live && x.job == id {
			s.Cancel(ReservationID(r))
		}
	}
	if j.counts[Map].running+j.counts[Reduce].running > 0 {
		for t, n := range j.where {
			if n >= 0 {
				s.giveFor(id, NodeID(n), j.size[j.kind(TaskID(t))])
			}
		}
	}
	for k := range j.counts {
		j.counts[k].waiting, j.counts[k].running = 0, 0
		s.listWaiting(id, Kind(k))
	}
	s.freeArrays(j)
	j.ended = true
	if i, ok := slices.BinarySearch(s.active, id); ok {
		s.active = slices.Delete(s.active, i, i+1)
	}
}

// SetPriority changes a job's priority.
func (s *State) SetPriority(id JobID, priority int32) {
	j := &s.jobs[id]
	for k := range s.waiting {
		if i, ok := s.find(Kind(k), id); ok {
			s.delist(Kind(k), i)
		}
	}
	if j.priority = priority; priority != 0 {
		s.prioritize()
	}
	s.noteChange(id)
	for k := range s.waiting {
		s.listWaiting(id, Kind(k))
	}
}

// listWaiting adds the job to the jobs with a waiting task of a kind, or
// removes it, as its count says.
func (s *State) listWaiting(id JobID, k Kind) {
	i, in := s.find(k, id)
	switch wants := s.jobs[id].counts[k].waiting > 0; {
	case wants && !in:
		s.noteChange(id)
		s.waiting[k] = slices.Insert(s.waiting[k], i, id)
		if k == Map && s.jobs[id].unhosted {
			s.unhosted++
		}
	case in && !wants:
		s.noteChange(id)
		s.delist(k, i)
	}
}

// delist removes the i-th of the jobs with a waiting task of a kind.
func (s *State) delist(k Kind, i int) {
	if k == Map && s.jobs[s.waiting[k][i]].unhosted {
		s.unhosted--
	}
	s.waiting[k] = slices.Delete(s.waiting[k], i, i+1)
}

// prioritize notes that a job has a priority, so FIFO order is no longer the
// order of submission.
func (s *State) prioritize() {
	s.prioritized = true
	s.near = [nearnesses]near{}
}

// find returns a job's position among the jobs with a waiting task of a kind,
// in FIFO order, and whether it is there.
func (s *State) find(k Kind, id JobID) (int, bool) {
	return slices.BinarySearchFunc(s.waiting[k], id, func(a, b JobID) int {
		if p := cmp.Compare(s.jobs[b].priority, s.jobs[a].priority); p != 0 {
			return p
		}
		return cmp.Compare(a, b)
	})
}
