package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// JobSpec describes a job at its submission.
type JobSpec struct {
	Name, User, Queue string
	// Pool is the group of jobs among which a scheduler model such as fair1
	// shares the slots. YARN knows nothing of it. "" means a pool named like the
	// queue.
	Pool          string
	Label         string  // of the nodes on which its containers may run; "" is its queue's
	Priority      int32   // the job's priority; jobs with a higher number go first
	Weight        float64 // the job's weight in fair sharing; 0 means 1
	Maps, Reduces int32
	MapSize       Resource // memory and cores of the container of one map
	ReduceSize    Resource
	// Replicas are the nodes that store each map's input on disk, and Cached are
	// the nodes that have it in the HDFS cache. If these lists cover fewer maps
	// than the job has, the other maps have no such nodes.
	Replicas, Cached Hosts
	// SplitHosts are the nodes that each map's input split names to the
	// ApplicationMaster. nil means the nodes in Replicas.
	SplitHosts *Hosts
	// DeadlineMs is how long after its submission the job should have ended, in
	// ms. 0 means that it has no deadline.
	DeadlineMs int64
	// Price is what the job pays, in any unit.
	Price float64
	// Hints say, by kind of task, how heavily a task uses its node.
	Hints [2]Hints
	// ReduceShares says how the output of each map is divided among the reduces,
	// in proportion, by the reduces' numbers. nil means that this is not known; the
	// simulator then divides evenly.
	ReduceShares []int64
}

// Hosts lists nodes for each map of a job, such as the nodes that store its
// input. The nodes of map i are Nodes[Ends[i-1]:Ends[i]].
type Hosts struct {
	Nodes []NodeID
	Ends  []int32
}

// Add appends the nodes of the next map to the lists of nodes for each map.
func (h *Hosts) Add(nodes ...NodeID) {
	h.Nodes = append(h.Nodes, nodes...)
	h.Ends = append(h.Ends, int32(len(h.Nodes)))
}

// Reset empties the list of nodes for each map, and keeps its memory.
func (h *Hosts) Reset() { h.Nodes, h.Ends = h.Nodes[:0], h.Ends[:0] }

// count returns the length of the lists of nodes of all maps together.
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
			return fmt.Errorf(
				"map %d: its nodes end at index %d, which must be from %d (where those of the map before end) to %d (all that are listed)",
				i,
				e,
				end,
				len(h.Nodes),
			)
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

// job is a submitted job. Its arrays of task data are freed for reuse when the
// job ends.
type job struct {
	*arrays
	ended     bool
	priority  int32
	queue     QueueID
	pool      PoolID
	label     string
	user      UserID
	weight    float64
	size      [2]Resource // by kind of task: memory and cores of one container
	held      Resource
	counts    [2]counts
	name      string
	submitted int64

	reservations int32
	inputChanges int32 // number of changes so far of the nodes that have the job's input, for View.InputChanges
}

type arrays struct {
	where       []int32 // by task: the node that the task runs on, or a negative code for a task in another state; the codes are in tasks.go
	waited      bool    // true if some task of the job has waited for a container since the job's submission
	waiting     [2]set  // by kind of task: the tasks that wait for a container
	rerun       []TaskID
	requeued    []TaskID // maps whose attempt was killed, in the order in which the attempts were killed; some of these maps wait again
	data        located  // the nodes that store each map's input on disk
	split       *located // the nodes that each map's input split names; equal to &data if the splits name the nodes with replicas
	cached      *cache   // the cached copies of the job's input; nil if there never was one
	cachedTasks int32    // number of waiting maps whose input is cached on some node
	unhosted    bool     // at least one map of the job has an input split that names no host

	mem, splitMem []int32 // memory that the fields above share for their arrays, except the lists of hosts

	out  []int64 // by node: bytes of map output that the node stores for the job's reduces; empty if nobody counts them
	outs int32   // number of maps whose output is in out
}

// nothing replaces the task arrays of a job that has ended, so that their
// memory can be reused.
var nothing = arrays{split: &located{}}

// counts has the numbers of a job's tasks of one kind (map or reduce) by their
// state. The field asked counts the tasks for which the ApplicationMaster has
// asked for a container so far. The field done counts the tasks that
// succeeded.
type counts struct{ total, asked, waiting, reserved, running, done int32 }

// set is a set of a job's tasks of one kind, with one bit for each task. The
// field from is an index in the field bits: no earlier word there has a bit
// set, so a search can begin at this word.
type set struct {
	bits []int32
	from int32
}

// Submit adds a job to the cluster state. The job's tasks wait for containers
// only after Ask is called. Submit keeps no slice of the parameter spec, only
// copies.
func (s *State) Submit(spec *JobSpec) (JobID, error) {
	id := JobID(len(s.jobs))
	if err := s.check(spec); err != nil {
		return None, fmt.Errorf("submit job %q: %w", spec.Name, err)
	}
	s.jobs = append(s.jobs, job{
		priority: spec.Priority, weight: spec.Weight,
		queue:     QueueID(intern(s.names.queue, &s.names.queues, spec.Queue)),
		label:     spec.Label,
		pool:      PoolID(intern(s.names.pool, &s.names.pools, cmp.Or(spec.Pool, spec.Queue))),
		user:      UserID(intern(s.names.user, &s.names.users, spec.User)),
		size:      [2]Resource{spec.MapSize, spec.ReduceSize},
		name:      spec.Name,
		submitted: s.now,
	})
	s.terms = append(s.terms, terms{s.deadline(spec.DeadlineMs), spec.Price, spec.Hints})
	if spec.ReduceShares != nil {
		s.setShares(id, spec.ReduceShares)
	}
	j := &s.jobs[id]
	if int(j.queue) == len(s.queues) {
		s.queues, s.queued = append(s.queues, Resource{}), append(s.queued, nil)
	}
	if j.weight == 0 {
		j.weight = 1
	}
	j.counts[Map].total, j.counts[Reduce].total = spec.Maps, spec.Reduces
	if j.priority != 0 { // from now on, the FIFO order of jobs is not simply their order of submission
		s.prioritized, s.near = true, [nearnesses]near{}
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
	if err := spec.checkTerms(); err != nil {
		return err
	}
	if err := spec.checkShares(); err != nil {
		return err
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
// input splits were rewritten after submission. It fails if the
// ApplicationMaster has already asked for a container for a task of the job.
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

// EndJob records that a job has succeeded, failed or been killed. The job's
// waiting tasks are dropped. The memory and cores of its containers and
// reservations become free.
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
				s.giveTask(id, NodeID(n), j.kind(TaskID(t)))
			}
		}
	}
	for k := range j.counts {
		j.counts[k].waiting, j.counts[k].running = 0, 0
		s.listWaiting(id, Kind(k))
	}
	s.freeArrays(j)
	delete(s.shares, id)
	j.ended = true
	if i, ok := slices.BinarySearch(s.active, id); ok {
		s.active = slices.Delete(s.active, i, i+1)
	}
}

// listWaiting puts a job into the list of jobs with a waiting task of kind k,
// or removes it from that list, according to its number of waiting tasks.
func (s *State) listWaiting(id JobID, k Kind) {
	i, in := s.find(s.waiting[k], id)
	switch wants := s.jobs[id].counts[k].waiting > 0; {
	case wants && !in:
		s.noteChange(id)
		s.waiting[k] = slices.Insert(s.waiting[k], i, id)
		ofQueue := &s.queued[s.jobs[id].queue]
		if i, in = s.find(*ofQueue, id); !in {
			*ofQueue = slices.Insert(*ofQueue, i, id)
		}
		if k == Map && s.jobs[id].unhosted {
			s.unhosted++
		}
	case in && !wants:
		s.noteChange(id)
		s.delist(k, i)
	}
}

// delist removes the job at position i from the list of jobs with a waiting
// task of kind k.
func (s *State) delist(k Kind, i int) {
	id := s.waiting[k][i]
	if k == Map && s.jobs[id].unhosted {
		s.unhosted--
	}
	s.waiting[k] = slices.Delete(s.waiting[k], i, i+1)
	if _, in := s.find(s.waiting[1-k], id); !in {
		ofQueue := &s.queued[s.jobs[id].queue]
		i, _ = s.find(*ofQueue, id)
		*ofQueue = slices.Delete(*ofQueue, i, i+1)
	}
}

// find returns a job's position in a list of jobs in FIFO order. It also returns
// whether the job is in the list.
func (s *State) find(list []JobID, id JobID) (int, bool) {
	return slices.BinarySearchFunc(list, id, func(a, b JobID) int {
		if p := cmp.Compare(s.jobs[b].priority, s.jobs[a].priority); p != 0 {
			return p
		}
		return cmp.Compare(a, b)
	})
}
