package sched

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/harness/queues"
	"heddle/harness/state"
)

// Admit implements Masters.
func (m *tree) Admit(v *state.View, id state.JobID, master state.Resource) error {
	m.follow(v)
	q, err := m.file.Leaf(v.QueueName(v.Queue(id)))
	if err != nil {
		return err
	}
	b := m.all[q.Index]
	u := b.user(v, v.User(id))
	most := m.maxApplications(b)
	perUser := most
	if b.UserLimitFactor != -1 {
		perUser = min(most, int(float32(most)*(b.UserLimit/100)*b.UserLimitFactor))
	}
	switch {
	case m.label != "" && !q.MayUse(m.label):
		return fmt.Errorf("queue %s may not use nodes of label %s", q.Path, m.label)
	case m.label != "" && m.total == (state.Resource{}):
		return fmt.Errorf("no node has label %s", m.label)
	case q.Stopped:
		return fmt.Errorf("queue %s is STOPPED and takes no jobs", q.Path)
	case b.jobs >= most:
		return fmt.Errorf("queue %s already has %d applications, which is all that it takes", q.Path, b.jobs)
	case u.pending+u.active >= perUser:
		return fmt.Errorf("queue %s already has %d applications of user %s, which is all that it takes", q.Path, u.pending+u.active,
			v.UserName(v.User(id)))
	}
	m.begin(v, id, treeJob{leaf: b, user: u, master: master, waits: true})
	if !m.mayRun(v, id, b) {
		m.parked = append(m.parked, id)
		return nil
	}
	m.enter(v, id)
	return nil
}

// adopt takes a job of a driver that starts ApplicationMasters itself.
func (m *tree) adopt(v *state.View, id state.JobID) {
	q, err := m.file.Leaf(v.QueueName(v.Queue(id)))
	if err != nil {
		return
	}
	b := m.all[q.Index]
	m.begin(v, id, treeJob{leaf: b, user: b.user(v, v.User(id))})
	m.enter(v, id)
}

// begin takes a job.
func (m *tree) begin(v *state.View, id state.JobID, job treeJob) {
	j := m.jobs.Of(id)
	*j = job
	j.stage = stageParked
	j.leaf.jobs++
	m.live = append(m.live, id)
	m.use(j, v.Used(id)) // what runs of it on, if an ApplicationMaster of it was lost
	for int(v.User(id)) >= len(m.runs) {
		m.runs = append(m.runs, 0)
	}
}

// maxApplications returns how many jobs a queue takes at a time.
func (m *tree) maxApplications(b *branch) int {
	if b.MaxApplications >= 0 {
		return b.MaxApplications
	}
	return int(float32(m.file.MaxApplications) * b.Part)
}

// user returns a user of the queue.
func (b *branch) user(v *state.View, id state.UserID) *treeUser {
	for int(id) >= len(b.users) {
		b.users = append(b.users, nil)
	}
	if b.users[id] == nil {
		weight, ok := b.UserWeights[v.UserName(id)]
		if !ok {
			weight = 1
		}
		b.users[id] = &treeUser{weight: weight}
	}
	return b.users[id]
}

// mayRun reports whether fewer jobs run than max-parallel-apps, in the queue and all above it.
func (m *tree) mayRun(v *state.View, id state.JobID, b *branch) bool {
	for ; b != nil; b = b.parent {
		if b.running >= b.MaxParallel {
			return false
		}
	}
	return m.runs[v.User(id)] < m.file.MaxParallelOf(v.UserName(v.User(id)))
}

// enter has a job wait until its queue has room for its ApplicationMaster.
func (m *tree) enter(v *state.View, id state.JobID) {
	j := m.jobs.Of(id)
	for b := j.leaf; b != nil; b = b.parent {
		b.running++
	}
	m.runs[v.User(id)]++
	j.stage = stagePending
	if j.user.pending++; j.user.pending+j.user.active == 1 {
		j.leaf.weight += j.user.weight
	}
	j.leaf.pending = insert(v, j.leaf.pending, id)
	m.activate(v, j.leaf)
	m.ask(v, id)
}

// insert adds a job to a list in order.
func insert(v *state.View, list []state.JobID, id state.JobID) []state.JobID {
	at, _ := slices.BinarySearchFunc(list, id, func(x, id state.JobID) int { return inTurn(v, x, id) })
	return slices.Insert(list, at, id)
}

// inTurn compares jobs by priority, then by submission.
func inTurn(v *state.View, a, b state.JobID) int {
	return cmp.Or(cmp.Compare(v.Priority(b), v.Priority(a)), cmp.Compare(a, b))
}

// activate lets ApplicationMasters of a queue start, as long as they take no more of it than its
// limits for them. One may always run.
//
// Source: Hadoop 3.4 AbstractLeafQueue.activateApplications. It happens when a job comes or goes
// and when the cluster changes, not when limits do.
func (m *tree) activate(v *state.View, b *branch) {
	base := b.Guaranteed
	if m.fits(base, b.limit) {
		base = b.limit
	}
	limit := m.upTimes(base, b.AMPercent)
	var perUser state.Resource
	left := b.pending[:0]
	for i, id := range b.pending {
		j := m.jobs.Of(id)
		if i == 0 {
			perUser = m.min(m.mastersOfUser(b, j.user), limit)
		}
		alone := len(b.active) == 0 || m.none(b.mastersUsed)
		if !alone && (!m.fits(j.master.Add(b.mastersUsed), limit) || !m.fits(j.master.Add(j.user.masters), perUser)) {
			left = append(left, id)
			continue
		}
		j.stage = stageActive
		b.active = insert(v, b.active, id)
		j.user.pending--
		j.user.active++
		b.mastersUsed, j.user.masters = b.mastersUsed.Add(j.master), j.user.masters.Add(j.master)
		if m.none(j.master) {
			j.waits = false
		} else {
			m.masters++
			m.list(v, id, j) // its user counts as waiting from its next request on
		}
	}
	b.pending = left
}

// mastersOfUser returns what the ApplicationMasters of a user may take of a queue.
func (m *tree) mastersOfUser(b *branch, u *treeUser) state.Resource {
	if b.UserLimitFactor == -1 {
		return m.upTimes(b.Guaranteed, b.AMPercent)
	}
	users := b.activeUsers
	for _, u := range b.users {
		if u != nil && u.pending > 0 && u.active == 0 {
			users++
		}
	}
	share := min(max(b.UserLimit/100, 1/float32(max(1, users)))*u.weight, 1)
	return m.upTimes(b.Guaranteed, b.AMPercent*share*b.UserLimitFactor)
}

// userLimit returns how much a user may use of a queue before nothing more is given: beside those who wait
// for containers, or beside all.
//
// Source: Hadoop 3.4 UsersManager.computeUserLimit.
func (m *tree) userLimit(b *branch, u *treeUser, all bool) state.Resource {
	capacity := m.max(b.Guaranteed, m.step)
	current := capacity
	if used := m.upTimes(m.total, m.ratio(b.used, m.total)); !m.less(used, capacity) {
		current = used.Add(m.step)
	}
	part := current
	part.MemoryMB = int32(float64(current.MemoryMB) * float64(b.UserLimit))
	part.VCores = int32(float64(current.VCores) * float64(b.UserLimit))
	const percent = 100
	shared, weight := b.activeUsed.Add(m.step), b.activeWeight
	if all {
		shared, weight = current, b.weight
	}
	limit := m.max(over(shared, weight), over(part, percent))
	most := b.most
	if b.UserLimitFactor != -1 && b.Guaranteed != (state.Resource{}) {
		most = queues.Times(capacity, b.UserLimitFactor)
	}
	limit = m.up(m.min(limit, most))
	return m.down(queues.Times(limit, u.weight))
}

// Beat implements HearsMasters.
func (m *tree) Beat(v *state.View, id state.JobID) {
	m.follow(v)
	if m.jobs.Of(id).leaf != nil {
		m.nearness.Beat(v, id)
		m.ask(v, id)
	}
}

// Headroom implements Masters.
func (m *tree) Headroom(v *state.View, id state.JobID) state.Resource {
	m.follow(v)
	j := m.jobs.Of(id)
	b := j.leaf
	if b == nil {
		return m.total
	}
	left := smallest(m.userLimit(b, j.user, false).Sub(j.user.used), b.limit.Sub(b.used))
	return m.min(m.total.Sub(m.root.used), m.down(positive(left)))
}

// Wants implements Masters.
func (m *tree) Wants() bool { return m.masters > 0 }

// Leave implements Masters.
func (m *tree) Leave(v *state.View, id state.JobID) {
	m.follow(v)
	if m.jobs.Of(id).leaf != nil {
		m.leave(v, id)
	}
}

func (m *tree) leave(v *state.View, id state.JobID) {
	j := m.jobs.Of(id)
	b := j.leaf
	for n := range m.booked {
		if m.booked[n].made && m.booked[n].job == id {
			m.unbook(n)
		}
	}
	m.use(j, state.Resource{})
	m.unlist(id, j)
	m.count(j, false)
	if j.stage != stageParked {
		m.runs[v.User(id)]--
		for x := b; x != nil; x = x.parent {
			x.running--
		}
	}
	switch j.stage {
	case stageActive:
		if j.waits {
			m.masters--
		}
		b.active = without(b.active, id)
		j.user.active--
		b.mastersUsed, j.user.masters = b.mastersUsed.Sub(j.master), j.user.masters.Sub(j.master)
	case stagePending:
		j.user.pending--
		b.pending = without(b.pending, id)
	default:
		m.parked = without(m.parked, id)
	}
	if j.stage != stageParked && j.user.pending+j.user.active == 0 {
		b.weight -= j.user.weight
	}
	b.jobs--
	m.live = without(m.live, id)
	*j = treeJob{}
	m.forget(id)
	m.activate(v, b)
	for _, waits := range slices.Clone(m.parked) {
		if m.mayRun(v, waits, m.jobs.Of(waits).leaf) {
			m.parked = without(m.parked, waits)
			m.enter(v, waits)
		}
	}
}

func without(list []state.JobID, id state.JobID) []state.JobID {
	if i := slices.Index(list, id); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// follow brings what queues and users use up to date.
func (m *tree) follow(v *state.View) {
	if total, step := v.TotalOf(m.label), v.Smallest(); m.total != total || m.step != step {
		m.total, m.step = total, step
		m.resize(v)
	}
	var ok bool
	if m.changed, m.since, ok = v.Changes(m.since, m.changed[:0]); !ok {
		m.changed = append(append(m.changed[:0], m.live...), v.Active()...)
	}
	for _, id := range m.changed {
		j := m.jobs.Of(id)
		if j.leaf == nil && m.labelOf(v, id) == m.label && v.Waiting(id, state.Map)+v.Waiting(id, state.Reduce) > 0 {
			m.adopt(v, id)
		}
		switch {
		case j.leaf == nil:
			continue
		case v.Ended(id):
			m.leave(v, id)
			continue
		}
		if used := v.Used(id).Add(j.booked); used != j.used {
			if had := used.Sub(j.booked); j.waits && j.stage == stageActive && !m.less(had, j.master) && !m.none(had) {
				j.waits = false
				m.masters--
			}
			m.use(j, used)
			if j.leaf.Fair {
				m.unlist(id, j)
			}
		}
		m.ask(v, id)
	}
}

// resize gives all queues their shares of the cluster, which has changed.
func (m *tree) resize(v *state.View) {
	for i, s := range m.file.Shares(m.total, m.label) {
		b := m.all[i]
		b.Share, b.most = s, m.down(s.Most)
		m.rate(b)
		if b.limit = m.min(b.most, m.total); b.parent != nil {
			b.limit = m.min(b.limit, m.down(b.parent.Most.Sub(b.parent.used).Add(b.used)))
		}
	}
	for _, b := range m.all {
		m.activate(v, b)
	}
}

// rate computes how much of what is guaranteed the queue uses.
func (m *tree) rate(b *branch) { b.ratio = m.ratio(b.used, m.max(b.Guaranteed, m.step)) }

// use notes what a job uses now.
func (m *tree) use(j *treeJob, used state.Resource) {
	more := used.Sub(j.used)
	j.used = used
	j.user.used = j.user.used.Add(more)
	if j.user.asking > 0 {
		j.leaf.activeUsed = j.leaf.activeUsed.Add(more)
	}
	for b := j.leaf; b != nil; b = b.parent {
		b.used = b.used.Add(more)
		m.rate(b)
	}
}

// ask notes whether a job waits for containers.
func (m *tree) ask(v *state.View, id state.JobID) {
	j := m.jobs.Of(id)
	asks := j.waits && j.stage != stageParked || m.wants(v, id, state.Map)+m.wants(v, id, state.Reduce) > 0
	if !asks || j.user.active > 0 { // those of users without an active job do not count
		m.count(j, asks)
	}
	switch asks = asks && j.stage == stageActive; {
	case asks && !j.listed:
		m.list(v, id, j)
	case !asks:
		m.unlist(id, j)
	}
}

// count has a job count among those of its user that wait, or not.
func (m *tree) count(j *treeJob, asks bool) {
	if j.counted == asks {
		return
	}
	j.counted = asks
	b, u := j.leaf, j.user
	if asks {
		if u.asking++; u.asking == 1 {
			b.activeUsers++
			b.activeUsed, b.activeWeight = b.activeUsed.Add(u.used), b.activeWeight+u.weight
		}
	} else if u.asking--; u.asking == 0 {
		b.activeUsers--
		b.activeUsed, b.activeWeight = b.activeUsed.Sub(u.used), b.activeWeight-u.weight
	}
}

// list puts a job among those of its queue that wait for containers.
func (m *tree) list(v *state.View, id state.JobID, j *treeJob) {
	if j.listed = true; j.leaf.Fair {
		j.key = float64(j.used.Sub(j.booked).MemoryMB)
	}
	list := &j.leaf.asking
	at, _ := slices.BinarySearchFunc(*list, id, func(x, id state.JobID) int {
		return cmp.Or(cmp.Compare(m.jobs.Of(x).key, j.key), order(v, j.leaf.Fair, x, id))
	})
	*list = slices.Insert(*list, at, id)
}

// order compares jobs with the same key.
func order(v *state.View, fair bool, a, b state.JobID) int {
	if fair {
		return cmp.Compare(a, b)
	}
	return inTurn(v, a, b)
}

func (m *tree) unlist(id state.JobID, j *treeJob) {
	if j.listed {
		j.listed = false
		j.leaf.asking = without(j.leaf.asking, id)
	}
}
