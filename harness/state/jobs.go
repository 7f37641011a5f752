package state

import (
	"cmp"
	"fmt"
	"slices"
)

// JobSpec is a job as it is submitted. Submit copies what it keeps.
type JobSpec struct {
	Name, User, Queue string
	Priority          int32   // higher goes first
	Weight            float64 // in fair shares; 0: 1
	Maps, Reduces     int32
	MapSize           Resource // of a container
	ReduceSize        Resource
	// Replicas and Cached are the nodes that have map i's input, on disk and in
	// the HDFS cache. Both may have fewer maps than the job: the rest have none.
	Replicas, Cached Hosts
	// SplitHosts are the nodes that the ApplicationMaster reads in map i's
	// split; nil: the replicas.
	SplitHosts *Hosts
}

// Hosts are nodes per map: those of map i are Nodes[Ends[i-1]:Ends[i]].
type Hosts struct {
	Nodes []NodeID
	Ends  []int32
}

// Add adds the nodes of the next map.
func (h *Hosts) Add(nodes ...NodeID) {
	h.Nodes = append(h.Nodes, nodes...)
	h.Ends = append(h.Ends, int32(len(h.Nodes)))
}

// Reset leaves no maps, and keeps the memory.
func (h *Hosts) Reset() { h.Nodes, h.Ends = h.Nodes[:0], h.Ends[:0] }

// count is how many nodes there are for all maps.
func (h *Hosts) count() int {
	if len(h.Ends) == 0 {
		return 0
	}
	return int(h.Ends[len(h.Ends)-1])
}

func (h *Hosts) check(maps int32, nodes int) error {
	if len(h.Ends) > int(maps) {
		return fmt.Errorf("nodes for %d maps, of %d", len(h.Ends), maps)
	}
	end := int32(0)
	for i, e := range h.Ends {
		if e < end || int(e) > len(h.Nodes) {
			return fmt.Errorf("map %d: its nodes end at %d of %d, those of the map before at %d", i, e, len(h.Nodes), end)
		}
		end = e
	}
	for _, n := range h.Nodes {
		if n < 0 || int(n) >= nodes {
			return fmt.Errorf("node %d of %d", n, nodes)
		}
	}
	return nil
}

// job is what stays of a job when it has ended, and its arrays while it lives.
type job struct {
	*arrays
	ended     bool
	priority  int32
	queue     QueueID
	user      UserID
	weight    float64
	size      [2]Resource // by kind
	held      Resource
	counts    [2]counts
	name      string
	submitted int64

	reservations int32
	moves        int32 // see View.Moves
}

type arrays struct {
	where       []int32 // by task, see tasks.go
	waited      bool    // some task waits or did
	open        [2]set  // by kind, the waiting tasks
	rerun       []TaskID
	late        []TaskID // maps that were killed, in that order: some wait again
	data        located  // replicas
	split       *located // what the ApplicationMaster reads: data, or its own
	cached      *cache   // nil: nothing is
	cachedTasks int32    // waiting maps with a cached copy
	unhosted    bool     // some map's split names no host

	mem, splitMem []int32 // where the arrays above lie, but for the hosts
}

// nothing is the arrays of a job that has ended.
var nothing = arrays{split: &located{}}

// counts are tasks of one kind. Those not counted have not been asked for.
type counts struct{ total, asked, waiting, reserved, running, done int32 }

// set is tasks of one kind by index within it, with a cursor below which none
// is a member.
type set struct {
	bits []int32
	from int32
}

// located says which maps have which hosts, both ways.
type located struct {
	hosts  []NodeID
	ends   []int32
	byNode index
	byRack index
}

// of is the hosts of map t, none where there is no such map any more.
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

// Submit adds a job. Its tasks wait when they have been asked for.
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
	s.lay(j, spec)
	s.active = append(s.active, id)
	return id, nil
}

func (s *State) check(spec *JobSpec) error {
	if spec.Maps < 0 || spec.Reduces < 0 || int64(spec.Maps)+int64(spec.Reduces) > 1<<30 {
		return fmt.Errorf("%d maps and %d reduces", spec.Maps, spec.Reduces)
	}
	if spec.Weight < 0 || spec.Weight != spec.Weight {
		return fmt.Errorf("weight %v", spec.Weight)
	}
	if r := (Resource{}); !spec.MapSize.Holds(r) || !spec.ReduceSize.Holds(r) {
		return fmt.Errorf("a container of %v, %v", spec.MapSize, spec.ReduceSize)
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

// Resplit replaces what Submit was told of replicas, cached copies and split
// hosts: of a job whose splits have been rewritten, before any of its tasks is
// asked for.
func (s *State) Resplit(id JobID, spec *JobSpec) error {
	j := &s.jobs[id]
	if j.ended || j.counts[Map].asked+j.counts[Reduce].asked > 0 || spec.Maps != j.counts[Map].total || spec.Reduces != j.counts[Reduce].total {
		return fmt.Errorf("split job %q anew: it has ended, begun, or has other tasks", j.name)
	}
	if err := s.check(spec); err != nil {
		return fmt.Errorf("split job %q anew: %w", j.name, err)
	}
	s.unlay(j)
	s.lay(j, spec)
	j.moves += max(1, spec.Maps)
	return nil
}

// lay makes a job's arrays: one piece of memory, and another one for split
// hosts of their own.
func (s *State) lay(j *job, spec *JobSpec) {
	a := again(&s.arrays)
	maps, tasks := spec.Maps, int(spec.Maps+spec.Reduces)
	own := tasks + words(maps) + words(spec.Reduces)
	a.mem = s.layHosts(&a.data, &spec.Replicas, maps, own)
	a.where = a.mem[:tasks]
	for t := range a.where {
		a.where[t] = unasked
	}
	a.open[Map] = set{bits: a.mem[tasks:][:words(maps)]}
	a.open[Reduce] = set{bits: a.mem[tasks+words(maps) : own]}
	if a.split = &a.data; spec.SplitHosts != nil {
		a.split = &located{}
		a.splitMem = s.layHosts(a.split, spec.SplitHosts, maps, 0)
	}
	j.arrays = a
	a.unhosted = a.split.unhosted()
	s.layCached(j, &spec.Cached)
}

// unhosted says whether some map has no host.
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

// unlay gives them back.
func (s *State) unlay(j *job) {
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

// layHosts makes l's arrays after the first room numbers of a piece of memory.
func (s *State) layHosts(l *located, h *Hosts, maps int32, room int) []int32 {
	rackEnds := sized(&s.work.rackEnds, int(maps))
	racks := s.racksOf(h, rackEnds)
	n, r := h.count(), len(racks)
	nodeSlots, rackSlots := tableSize(n, len(s.nodes)), tableSize(r, len(s.names.racks))
	mem := s.pool.get(room + int(maps) + n + r + nodeSlots + rackSlots)
	rest := mem[room:]
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

// racksOf is the racks of each map's hosts, once each; ends as in Hosts.
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

// EndJob says that a job has ended, however it did: what waited is dropped and
// what still ran or was reserved is given back.
func (s *State) EndJob(id JobID) {
	j := &s.jobs[id]
	if j.ended {
		return
	}
	for r := 0; j.reservations > 0; r++ {
		if x := &s.held[r]; x.live && x.job == id {
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
	s.unlay(j)
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
	s.note(id)
	for k := range s.waiting {
		s.listWaiting(id, Kind(k))
	}
}

// listWaiting has id among the jobs with waiting tasks if it has any.
func (s *State) listWaiting(id JobID, k Kind) {
	i, in := s.find(k, id)
	switch wants := s.jobs[id].counts[k].waiting > 0; {
	case wants && !in:
		s.note(id)
		s.waiting[k] = slices.Insert(s.waiting[k], i, id)
		if k == Map && s.jobs[id].unhosted {
			s.unhosted++
		}
	case in && !wants:
		s.note(id)
		s.delist(k, i)
	}
}

// delist takes the job at place i from those with waiting tasks.
func (s *State) delist(k Kind, i int) {
	if k == Map && s.jobs[s.waiting[k][i]].unhosted {
		s.unhosted--
	}
	s.waiting[k] = slices.Delete(s.waiting[k], i, i+1)
}

// prioritize says that order of submission is no longer that of jobs.
func (s *State) prioritize() {
	s.prioritized = true
	s.near = [places]near{}
}

// find is a job's place among those with waiting tasks: by priority, then
// submission.
func (s *State) find(k Kind, id JobID) (int, bool) {
	return slices.BinarySearchFunc(s.waiting[k], id, func(a, b JobID) int {
		if p := cmp.Compare(s.jobs[b].priority, s.jobs[a].priority); p != 0 {
			return p
		}
		return cmp.Compare(a, b)
	})
}
