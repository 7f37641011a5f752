package sched

import (
	"cmp"
	"slices"

	"heddle/harness/queues"
	"heddle/harness/state"
	"heddle/traces"
)

// Masters is a model that decides when ApplicationMasters start, as YARN's own scheduler does, and
// which jobs it takes at all. Drivers find out with As whether a model is one. It may then pick,
// with the reason Master, a job whose ApplicationMaster waits.
type Masters interface {
	// Admit takes a job, whose ApplicationMaster needs a container of this size; nothing if it runs
	// on no node. An error says why YARN refuses the job.
	Admit(v *state.View, id state.JobID, master state.Resource) error
	// Leave tells of the end of a job that was taken, or of an ApplicationMaster that was lost:
	// then the job is admitted again.
	Leave(v *state.View, id state.JobID)
	// Wants reports whether the ApplicationMaster of some job may start and waits for a node.
	Wants() bool
	// Headroom returns what YARN tells a job that it may still get.
	Headroom(v *state.View, id state.JobID) state.Resource
}

// tree is the model capacity by a capacity-scheduler.xml.
//
// Rule. A node is offered to the root, and by each queue to its children in their order (sort). A
// queue passes it on while it uses less than its maximum, and a child may use what its parent has
// left. A leaf offers it to its active jobs that wait for containers, by priority and submission or
// by memory used, but for those of users who use more than their limit (userLimit). The job takes a
// container for its ApplicationMaster, maps that run again, reduces or else maps, as near to their
// input as its delay says. If a container would exceed the queue's maximum, the queue gets nothing.
// Jobs are refused, or wait until their queue has room for ApplicationMasters (Admit, activate).
//
// Source. Hadoop 3.4.2 CapacityScheduler in legacy mode, held against a ResourceManager.
type tree struct {
	nearness
	amounts
	file    *queues.File
	label   string // of the nodes that it divides
	root    *branch
	all     []*branch // by queues.Queue.Index
	jobs    PerJob[treeJob]
	live    []state.JobID // jobs that were admitted
	parked  []state.JobID // of these, those that wait until fewer run
	runs    []int         // by user: jobs that count against max-parallel-apps
	masters int           // ApplicationMasters that may start and wait for a node
	since   uint64
	changed []state.JobID
	beat    heartbeatCount
	booked  []booking        // by node
	chosen  map[uint64]int64 // when containers were chosen, in ms, by Container.ID
	back    bool             // a round of preemption goes through queues of equal need from the last
}

// branch is a queue with what it uses.
type branch struct {
	*queues.Queue
	queues.Share
	parent   *branch
	children []*branch      // in the order of the last walk
	used     state.Resource // nodes reserved for its jobs among it
	booked   state.Resource // of that, what is reserved
	most     state.Resource // Most in whole smallest containers
	ratio    float32        // of what is used to what is guaranteed
	limit    state.Resource // that YARN knew last, for masters and headroom
	blocked  state.Resource // in a walk: what children could not use for their limits
	running  int            // jobs that count against MaxParallel

	jobs         int           // of a leaf: that it has taken
	pending      []state.JobID // that wait until ApplicationMasters take less, in order
	active       []state.JobID // in order
	asking       []state.JobID // active jobs that wait for containers, in order
	users        []*treeUser   // by state.UserID
	mastersUsed  state.Resource
	activeUsed   state.Resource // by users who wait for containers
	activeWeight float32
	activeUsers  int
	weight       float32 // of all users with jobs that wait or are active
	claim
}

// treeUser is a user in a queue.
type treeUser struct {
	weight          float32
	used, masters   state.Resource
	pending, active int
	asking          int            // jobs that wait for containers
	room            state.Resource // in a round of preemption: what is left of the limit
	part            userPart
}

// treeJob is a job that the tree has taken.
type treeJob struct {
	leaf    *branch
	user    *treeUser
	master  state.Resource
	used    state.Resource // nodes reserved for it among it
	booked  state.Resource // of that, what is reserved
	nodes   [3]int32       // that are reserved, by kind of container
	again   [3]int32       // how often these have reported since, without room for it
	key     float64        // place among the jobs of a queue with fair order
	stage   jobStage
	waits   bool // its ApplicationMaster waits for a container
	counted bool // among its user's jobs that wait for containers
	listed  bool // in its leaf's list asking
}

type jobStage uint8

const (
	stageNone jobStage = iota
	stageParked
	stagePending
	stageActive
)

// QueuesOf returns the file of queues that a model follows, nil if it follows none.
func QueuesOf(m Model) *queues.File {
	if t, ok := As[*partitions](m); ok {
		return t.file
	}
	return nil
}

func newTree(f *queues.File, label string) *tree {
	m := &tree{file: f, label: label, all: make([]*branch, len(f.Shares(state.Resource{}, label))), chosen: map[uint64]int64{}}
	m.NodeLocalityDelay, m.RackLocalityAdditionalDelay = f.NodeLocalityDelay, f.RackLocalityAdditionalDelay
	m.RackLocalityFullReset, m.dominant = f.RackLocalityFullReset, f.Dominant
	var plant func(q *queues.Queue, parent *branch) *branch
	plant = func(q *queues.Queue, parent *branch) *branch {
		b := &branch{Queue: q, parent: parent}
		m.all[q.Index] = b
		for _, c := range q.Children {
			b.children = append(b.children, plant(c, b))
		}
		return b
	}
	m.root = plant(f.Root, nil)
	return m
}

func (m *tree) Name() string { return "capacity" }

func (m *tree) Choose(v *state.View, n state.NodeID) (Pick, bool) {
	m.beat.round(v, n)
	if m.beat.full || m.beat.reached(m.file.OffSwitchPerHeartbeat, Off, Rerun, Reduces, Master) ||
		m.file.PerHeartbeat >= 0 && m.beat.reached(max(1, m.file.PerHeartbeat), Cache, Node, Rack, Off, Rerun, Reduces, Master) {
		return Pick{}, false
	}
	m.follow(v)
	if m.masters+len(v.WaitingJobs(state.Map))+len(v.WaitingJobs(state.Reduce)) == 0 {
		return Pick{}, false // who wants no more than a Surplus takes no room from others
	}
	m.Begin(traces.WaitOffers)
	p, how := m.offerBooked(v, n)
	if m.beat.full = how != passed; !m.beat.full {
		p, how = m.offer(m.root, v, n, m.total)
	}
	if how != picked {
		return Pick{}, false
	}
	m.beat.chose(p.Reason)
	m.gave(v, p, n)
	return p, true
}

// outcome is what came of the offer of a node to a queue or a job.
type outcome uint8

const (
	passed outcome = iota
	full           // the queue's limit is reached
	picked
	booked // nothing starts, but the node is reserved
)

// offer offers a node to a queue, which may use so much.
func (m *tree) offer(b *branch, v *state.View, n state.NodeID, limit state.Resource) (Pick, outcome) {
	b.blocked = state.Resource{}
	if len(b.children) == 0 {
		return m.offerLeaf(b, v, n, limit)
	}
	limit = m.min(limit, b.Most)
	if !m.less(b.used.Sub(b.booked), limit) {
		return Pick{}, passed
	}
	m.sort(b)
	how := passed
	for _, c := range b.children {
		if len(c.children) == 0 && len(c.asking)+len(c.pending) == 0 {
			continue
		}
		p, of := m.offer(c, v, n, m.down(limit.Sub(b.blocked).Sub(b.used).Add(c.used)))
		switch of {
		case picked, booked:
			return p, of
		case full:
			how = full
			b.blocked = b.blocked.Add(m.max(c.blocked, state.Resource{}))
		}
	}
	return Pick{}, how
}

// sort orders a queue's children: those that are guaranteed something first, then by priority if the
// queue says so, by use of what is guaranteed, and by that.
//
// Source: Hadoop 3.4 PriorityUtilizationQueueOrderingPolicy.
func (m *tree) sort(b *branch) {
	slices.SortFunc(b.children, func(x, y *branch) int {
		usedX, usedY := x.ratio, y.ratio
		if none := x.Part == 0; none != (y.Part == 0) {
			if none {
				return 1
			}
			return -1
		} else if none {
			usedX, usedY = m.ratio(x.used, m.total), m.ratio(y.used, m.total)
		}
		if c := b.before(x, y, usedX, usedY); c != 0 {
			return c
		}
		if m, n := x.Capacity.Absolute.MemoryMB, y.Capacity.Absolute.MemoryMB; m != n {
			return cmp.Compare(n, m)
		}
		return cmp.Or(cmp.Compare(y.Part, x.Part), cmp.Compare(x.Index, y.Index))
	})
}

// before compares children by priority if the queue says so, and by so much use of what is guaranteed to them.
func (b *branch) before(x, y *branch, usedX, usedY float32) int {
	if b.ByPriority && x.Priority != y.Priority && (usedX < 1) == (usedY < 1) {
		return cmp.Compare(y.Priority, x.Priority)
	}
	return cmp.Compare(usedX, usedY)
}

// offerLeaf offers a node to the jobs of a queue in their order.
func (m *tree) offerLeaf(b *branch, v *state.View, n state.NodeID, limit state.Resource) (Pick, outcome) {
	known := m.min(b.most, limit) // as soon as YARN looks at a job that is active
	limit = m.min(b.Most, limit)
	headroom := limit.Sub(b.used)
	checked := m.less(b.used, limit)
	if checked && len(b.active) > 0 && len(b.pending) > 0 {
		b.limit = known
	}
	for _, id := range b.asking {
		j := m.jobs.Of(id)
		if !checked && !m.less(b.used.Sub(j.booked), limit) {
			return Pick{}, passed
		}
		b.limit = known
		most := m.userLimit(b, j.user, false)
		if m.less(most, j.user.used.Sub(j.booked)) {
			m.PassOver(id, traces.PassedModel, 0)
			continue
		}
		p, how := m.offerJob(j, v, id, n, headroom, !m.less(most, j.user.used))
		if how == full {
			b.blocked = headroom
		}
		if how != passed {
			return p, how
		}
	}
	return Pick{}, passed
}

// offerJob offers a node to a job: to its ApplicationMaster, maps that run again, reduces or else
// its maps. If the first of these does not fit, the others are not tried. A job whose user has no
// room takes a container only in place of a node that is reserved for it.
func (m *tree) offerJob(j *treeJob, v *state.View, id state.JobID, n state.NodeID, headroom state.Resource, room bool) (Pick, outcome) {
	p, k, size := m.first(j, v, id)
	if !m.fits(size, headroom.Add(j.booked)) {
		m.PassOver(id, traces.PassedModel, 0)
		return Pick{}, full
	}
	room = room && m.fits(size, headroom)
	fits := v.Free(n).Holds(size) && (j.waits || v.Fits(n, id, p.Kind))
	more := m.mayBook(j, v, id, n, k, size)
	none := !(more && room) && (!fits || j.nodes[k] == 0)
	if k == bookMap && p.Task == state.None {
		missed := *m.missed.Of(id)
		var ok bool
		if p, ok = m.chooseMap(v, id, n); !ok {
			m.PassOver(id, traces.PassedWaits, *m.missed.Of(id))
			return Pick{}, passed
		}
		if none {
			*m.missed.Of(id) = missed + 1
		}
	}
	if none {
		m.PassOver(id, traces.PassedNoRoom, 0)
		return Pick{}, passed
	}
	switch {
	case !fits:
		m.book(id, n, k, size)
		return Pick{}, booked
	case !more || !room:
		m.unbook(slices.IndexFunc(m.booked, func(b booking) bool { return b.made && b.job == id && b.kind == k }))
	}
	return p, picked
}

// Kinds of containers for which nodes are reserved.
const (
	bookMap = iota
	bookReduce
	bookMaster
)

// first returns what a job asks for first, with the kind and size of the container. The pick of a
// map has no task.
func (m *tree) first(j *treeJob, v *state.View, id state.JobID) (p Pick, kind int, size state.Resource) {
	p = Pick{Job: id, Task: state.None, Reason: Master}
	if j.waits {
		return p, bookMaster, j.master
	}
	if p.Task = v.NextRerun(id); p.Task != state.None {
		p.Reason = Rerun
	} else if m.wants(v, id, state.Reduce) > 0 {
		p.Task = orSurplus(v.NextReduce(id))
		p.Kind, p.Reason, kind = state.Reduce, Reduces, bookReduce
	}
	return p, kind, v.ContainerSize(id, p.Kind)
}
