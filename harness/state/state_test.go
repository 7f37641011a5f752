package state

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plain is the same cluster kept in the simplest way, to compare with: every
// look-up goes through all tasks.
type plain struct {
	slots    [2]int32 // of each node, by kind; both 0: no limit
	racks    []RackID
	capacity []Resource
	labels   []string
	up       []bool
	jobs     []plainJob
	held     map[ReservationID]plainHold
}

type plainJob struct {
	maps, reduces int32
	size          [2]Resource
	priority      int32
	replicas      [][]NodeID
	splits        [][]NodeID
	cached        [][]NodeID
	state         []string // "", waiting, rerun, reserved, running, done
	node          []NodeID
	reruns        []TaskID
	killed        []TaskID // in the order of the last time
	asked         [2]int32
	ended         bool
}

type plainHold struct {
	job  JobID
	task TaskID
	node NodeID
	kind Kind
}

func (j *plainJob) waits(t TaskID) bool { return j.state[t] == "waiting" || j.state[t] == "rerun" }

func (j *plainJob) kind(t TaskID) Kind {
	if int32(t) < j.maps {
		return Map
	}
	return Reduce
}

func (p *plain) near(hosts []NodeID, n NodeID, level Level) bool {
	return level == LevelOff || slices.ContainsFunc(hosts, func(h NodeID) bool {
		return h == n || level == LevelRack && p.racks[h] == p.racks[n]
	})
}

func (p *plain) maps(id JobID, n NodeID, level Level) []TaskID {
	j := &p.jobs[id]
	var found []TaskID
	for t := range TaskID(j.maps) {
		if j.waits(t) && (level == LevelCache && slices.Contains(j.cached[t], n) || level != LevelCache && p.near(j.replicas[t], n, level)) {
			found = append(found, t)
		}
	}
	return found
}

func (p *plain) bind(id JobID, n NodeID) (TaskID, Branch) {
	j := &p.jobs[id]
	for _, t := range j.reruns {
		if j.state[t] == "rerun" {
			return t, BindRerun
		}
	}
	for _, x := range []struct {
		Level
		Branch
	}{{LevelNode, BindNode}, {LevelRack, BindRack}, {LevelOff, BindAny}} {
		for _, t := range j.queue() {
			if j.waits(t) && p.near(j.splits[t], n, x.Level) {
				return t, x.Branch
			}
		}
	}
	return None, BindNone
}

// queue is the maps as the ApplicationMaster goes through them: those that were
// killed are asked for anew, behind the others.
func (j *plainJob) queue() []TaskID {
	var order []TaskID
	for t := range TaskID(j.maps) {
		if !slices.Contains(j.killed, t) {
			order = append(order, t)
		}
	}
	return append(order, j.killed...)
}

func (p *plain) free(n NodeID) Resource {
	r := p.capacity[n]
	p.tasksOn(n, func(j *plainJob, k Kind) { r = r.Sub(j.size[k]) })
	return r
}

// tasksOn calls yield for each task that runs on a node or has a reservation there.
func (p *plain) tasksOn(n NodeID, yield func(*plainJob, Kind)) {
	for i := range p.jobs {
		j := &p.jobs[i]
		for t, at := range j.node {
			if j.state[t] == "running" && at == n {
				yield(j, j.kind(TaskID(t)))
			}
		}
	}
	for _, h := range p.held {
		if h.node == n {
			yield(&p.jobs[h.job], h.kind)
		}
	}
}

func (p *plain) taken(n NodeID, k Kind) (taken int32) {
	p.tasksOn(n, func(_ *plainJob, of Kind) {
		if of == k {
			taken++
		}
	})
	return taken
}

func (p *plain) hasSlot(n NodeID, k Kind) bool {
	return p.slots == [2]int32{} || p.taken(n, k) < p.slots[k]
}

// TestStateAgainstPlain puts random events into a State and its plain twin, and
// compares every answer after each.
func TestStateAgainstPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New()
		p := &plain{held: map[ReservationID]plainHold{}}
		nodes := rapid.IntRange(1, 9).Draw(t, "nodes")
		for n := range nodes {
			capacity := Resource{int32(rapid.IntRange(0, 4).Draw(t, "slots")) * 512, 8}
			rack := rapid.IntRange(0, 2).Draw(t, "rack")
			must(s.AddNode(fmt.Sprint("n", n), fmt.Sprint("rack", rack), capacity))
			p.racks = append(p.racks, s.View().Rack(NodeID(n)))
			p.capacity = append(p.capacity, capacity)
			p.up = append(p.up, true)
			if p.labels = append(p.labels, rapid.SampledFrom([]string{"", "", "gpu", "ssd"}).Draw(t, "label")); p.labels[n] != "" {
				s.SetNodeLabel(NodeID(n), p.labels[n])
			}
		}
		if rapid.Bool().Draw(t, "has slots") {
			p.slots = [2]int32{rapid.Int32Range(0, 3).Draw(t, "map slots"), rapid.Int32Range(0, 2).Draw(t, "reduce slots")}
			s.SetSlots(p.slots[Map], p.slots[Reduce])
		}
		w := &twins{s: s, p: p, priorities: rapid.Bool().Draw(t, "priorities")}
		t.Repeat(map[string]func(*rapid.T){
			"submit": w.submit, "ask": w.ask, "reserve": w.reserve, "confirm": w.confirm, "cancel": w.cancel,
			"start": w.start, "finish": w.finish, "retry": w.retry, "cache": w.cache, "end": w.end,
			"node": w.node,
			"":     w.compare,
		})
	})
}

type twins struct {
	s          *State
	p          *plain
	priorities bool
}

func (w *twins) aNode(t *rapid.T) NodeID {
	return NodeID(rapid.IntRange(0, len(w.p.racks)-1).Draw(t, "node"))
}

// aJob is a job that has not ended.
func (w *twins) aJob(t *rapid.T) JobID {
	active := w.s.View().Active()
	if len(active) == 0 {
		t.Skip("no job")
	}
	return rapid.SampledFrom(slices.Clone(active)).Draw(t, "job")
}

func (w *twins) aTask(t *rapid.T) (JobID, TaskID) {
	id := w.aJob(t)
	n := len(w.p.jobs[id].state)
	if n == 0 {
		t.Skip("no task")
	}
	return id, TaskID(rapid.IntRange(0, n-1).Draw(t, "task"))
}

func (w *twins) submit(t *rapid.T) {
	hosts := func(what string, maps int32) (Hosts, [][]NodeID) {
		var h Hosts
		lists := make([][]NodeID, maps)
		for i := range rapid.Int32Range(0, maps).Draw(t, what) {
			lists[i] = rapid.SliceOfNDistinct(rapid.Custom(w.aNode), 0, min(3, len(w.p.racks)), rapid.ID).Draw(t, what)
			h.Add(lists[i]...)
		}
		return h, lists
	}
	j := plainJob{
		maps: rapid.Int32Range(0, 12).Draw(t, "maps"), reduces: rapid.Int32Range(0, 3).Draw(t, "reduces"),
		size: [2]Resource{{512, 1}, {1024, 1}},
	}
	if w.priorities {
		j.priority = rapid.Int32Range(0, 2).Draw(t, "priority")
	}
	spec := JobSpec{Name: "j", Maps: j.maps, Reduces: j.reduces, Priority: j.priority, MapSize: j.size[0], ReduceSize: j.size[1]}
	spec.Replicas, j.replicas = hosts("replicas", j.maps)
	spec.Cached, j.cached = hosts("cached", j.maps)
	if j.splits = j.replicas; rapid.Bool().Draw(t, "own splits") {
		var own Hosts
		own, j.splits = hosts("splits", j.maps)
		spec.SplitHosts = &own
	}
	j.state = make([]string, j.maps+j.reduces)
	j.node = make([]NodeID, j.maps+j.reduces)
	must(w.s.Submit(&spec))
	w.p.jobs = append(w.p.jobs, j)
}

func (w *twins) ask(t *rapid.T) {
	id := w.aJob(t)
	j := &w.p.jobs[id]
	k := rapid.SampledFrom([]Kind{Map, Reduce}).Draw(t, "kind")
	n := rapid.Int32Range(0, 13).Draw(t, "n")
	w.s.Ask(id, k, n)
	total := []int32{j.maps, j.reduces}[k]
	for i := j.asked[k]; i < min(n, total); i++ {
		if t := i + int32(k)*j.maps; j.state[t] == "" {
			j.state[t] = "waiting"
		}
	}
	j.asked[k] = max(j.asked[k], min(n, total))
}

func (w *twins) reserve(t *rapid.T) {
	id, task := w.aTask(t)
	n := w.aNode(t)
	j := &w.p.jobs[id]
	k := j.kind(task)
	ask := task
	if rapid.Bool().Draw(t, "any") {
		ask, task = None, w.expected(id, k, n)
	}
	r, err := w.s.Reserve(id, k, ask, n)
	may := task != None && j.waits(task) && w.p.up[n] && w.p.free(n).Holds(j.size[k]) && w.p.hasSlot(n, k)
	if (err == nil) != may {
		t.Fatalf("reserve of task %d on %d: error %v, may is %v", task, n, err, may)
	}
	if may {
		w.p.held[r] = plainHold{id, task, n, k}
		j.state[task] += " reserved"
	}
}

func (w *twins) aHold(t *rapid.T) (ReservationID, plainHold) {
	var ids []ReservationID
	for r := range w.p.held {
		ids = append(ids, r)
	}
	if slices.Sort(ids); len(ids) == 0 {
		t.Skip("no reservation")
	}
	r := rapid.SampledFrom(ids).Draw(t, "reservation")
	return r, w.p.held[r]
}

func (w *twins) confirm(t *rapid.T) {
	r, h := w.aHold(t)
	j := &w.p.jobs[h.job]
	task := h.task
	if rapid.Bool().Draw(t, "other") && len(j.state) > 0 {
		task = TaskID(rapid.IntRange(0, len(j.state)-1).Draw(t, "task"))
	}
	err := w.s.Confirm(r, task)
	w.release(r, h)
	w.started(t, h.job, task, h.node, err)
}

func (w *twins) cancel(t *rapid.T) {
	r, h := w.aHold(t)
	w.s.Cancel(r)
	w.release(r, h)
}

// release has the task of a reservation wait again.
func (w *twins) release(r ReservationID, h plainHold) {
	delete(w.p.held, r)
	if h.task == None {
		return
	}
	state := &w.p.jobs[h.job].state[h.task]
	*state = map[string]string{"waiting reserved": "waiting", "rerun reserved": "rerun"}[*state]
}

func (w *twins) start(t *rapid.T) {
	id, task := w.aTask(t)
	n := w.aNode(t)
	w.started(t, id, task, n, w.s.Start(id, task, n))
}

// started is Start in plain; err is what the State's said.
func (w *twins) started(t *rapid.T, id JobID, task TaskID, n NodeID, err error) {
	if task == None {
		return
	}
	j := &w.p.jobs[id]
	if may := j.state[task] != "running" && j.state[task] != "done"; (err == nil) != may {
		t.Fatalf("start of task %d, %q: error %v", task, j.state[task], err)
	}
	if err != nil {
		return
	}
	j.state[task], j.node[task] = "running", n
	j.reruns = slices.DeleteFunc(j.reruns, func(x TaskID) bool { return x == task })
	for r, h := range w.p.held { // one that is robbed gets another task
		if h.job == id && h.task == task {
			h.task = None
			delete(w.p.held, r)
			_, _, now, _, _ := w.s.Reservation(r)
			if expected := w.expected(id, h.kind, h.node); now != expected {
				t.Fatalf("reservation %d has task %d now, expected %d", r, now, expected)
			}
			if h.task = now; now != None {
				j.state[now] += " reserved"
			}
			w.p.held[r] = h
		}
	}
}

func (w *twins) expected(id JobID, k Kind, n NodeID) TaskID {
	if k == Map {
		t, _ := w.p.bind(id, n)
		return t
	}
	j := &w.p.jobs[id]
	for i := j.maps; i < j.maps+j.reduces; i++ {
		if j.waits(TaskID(i)) {
			return TaskID(i)
		}
	}
	return None
}

func (w *twins) finish(t *rapid.T) {
	id, task := w.aTask(t)
	state := &w.p.jobs[id].state[task]
	err := w.s.Finish(id, task)
	if (err == nil) != (*state == "running") {
		t.Fatalf("finish of task %d, %q: error %v", task, *state, err)
	}
	if err == nil {
		*state = "done"
	}
}

func (w *twins) retry(t *rapid.T) {
	id, task := w.aTask(t)
	j := &w.p.jobs[id]
	rerun := rapid.Bool().Draw(t, "rerun")
	err := w.s.Retry(id, task, rerun)
	if may := j.state[task] == "running" || j.state[task] == "done"; (err == nil) != may {
		t.Fatalf("retry of task %d, %q: error %v", task, j.state[task], err)
	}
	if err != nil {
		return
	}
	j.state[task] = "waiting"
	if !rerun && j.kind(task) == Map {
		j.killed = append(slices.DeleteFunc(j.killed, func(x TaskID) bool { return x == task }), task)
	}
	if rerun && j.kind(task) == Map {
		j.state[task] = "rerun"
		j.reruns = append(j.reruns, task)
	}
}

func (w *twins) cache(t *rapid.T) {
	id, task := w.aTask(t)
	j := &w.p.jobs[id]
	if j.kind(task) == Reduce {
		t.Skip("a reduce")
	}
	n := w.aNode(t)
	if i := slices.Index(j.cached[task], n); i >= 0 {
		w.s.Uncached(id, task, n)
		j.cached[task] = slices.Delete(slices.Clone(j.cached[task]), i, i+1)
		return
	}
	w.s.Cached(id, task, n)
	j.cached[task] = append(slices.Clone(j.cached[task]), n)
}

func (w *twins) end(t *rapid.T) {
	id := w.aJob(t)
	w.s.EndJob(id)
	w.p.jobs[id] = plainJob{ended: true, size: w.p.jobs[id].size}
	for r, h := range w.p.held {
		if h.job == id {
			delete(w.p.held, r)
		}
	}
}

func (w *twins) node(t *rapid.T) {
	n := w.aNode(t)
	switch rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		w.s.NodeDown(n)
		w.p.up[n] = false
	case 1:
		w.s.NodeUp(n)
		w.p.up[n] = true
	default:
		w.p.capacity[n] = Resource{int32(rapid.IntRange(0, 4).Draw(t, "slots")) * 512, 8}
		w.s.SetCapacity(n, w.p.capacity[n])
	}
}

func (w *twins) compare(t *rapid.T) {
	v := w.s.View()
	var total Resource
	for n := range NodeID(len(w.p.racks)) {
		if got, want := v.Free(n), w.p.free(n); got != want {
			t.Fatalf("free on node %d: %v, want %v", n, got, want)
		}
		if got, want := v.HasRoom(n), w.p.up[n] && w.p.free(n).Holds(Resource{1, 1}) &&
			(w.p.hasSlot(n, Map) || w.p.hasSlot(n, Reduce)); got != want {
			t.Fatalf("room on node %d: %v, want %v", n, got, want)
		}
		for _, k := range []Kind{Map, Reduce} {
			want := int32(math.MaxInt32)
			if w.p.slots != [2]int32{} {
				want = w.p.slots[k] - w.p.taken(n, k)
			}
			if got := v.FreeSlots(n, k); v.Taken(n, k) != w.p.taken(n, k) || got != want {
				t.Fatalf("node %d has %d %vs and %d free slots, want %d and %d", n, v.Taken(n, k), k, got, w.p.taken(n, k), want)
			}
		}
		if w.p.up[n] {
			total = total.Add(w.p.capacity[n])
		}
	}
	var used Resource
	for id := range JobID(v.Jobs()) {
		used = used.Add(v.Used(id))
	}
	if v.Queues() > 0 && v.QueueUsed(0) != used {
		t.Fatalf("the queue uses %v, its jobs %v", v.QueueUsed(0), used)
	}
	for _, label := range []string{"", "gpu", "ssd"} {
		var of Resource
		for n, c := range w.p.capacity {
			if w.p.up[n] && w.p.labels[n] == label {
				of = of.Add(c)
			}
		}
		if v.TotalOf(label) != of {
			t.Fatalf("total of label %q is %v, want %v", label, v.TotalOf(label), of)
		}
	}
	if v.Total() != total {
		t.Fatalf("total %v, want %v", v.Total(), total)
	}
	var active []JobID
	var waiting [2][]JobID
	for id := range JobID(len(w.p.jobs)) {
		if j := &w.p.jobs[id]; !j.ended {
			active = append(active, id)
			w.compareJob(t, id, &waiting)
		}
	}
	if !slices.Equal(v.Active(), active) {
		t.Fatalf("active jobs %v, want %v", v.Active(), active)
	}
	for k := range waiting {
		slices.SortStableFunc(waiting[k], func(a, b JobID) int { return int(w.p.jobs[b].priority - w.p.jobs[a].priority) })
		if got := v.WaitingJobs(Kind(k)); !slices.Equal(got, waiting[k]) {
			t.Fatalf("jobs with waiting tasks of kind %d: %v, want %v", k, got, waiting[k])
		}
	}
	if rapid.Bool().Draw(t, "near") {
		w.compareNear(t)
	}
}

// compareNear compares the jobs near a node with a walk through all.
func (w *twins) compareNear(t *rapid.T) {
	v := w.s.View()
	n := NodeID(rapid.IntRange(0, len(w.p.racks)-1).Draw(t, "near node"))
	most := rapid.IntRange(1, 4).Draw(t, "most")
	collect := func(each func(yield func(JobID) bool), has func(JobID) bool) {
		var got, want []JobID
		each(func(id JobID) bool { got = append(got, id); return len(got) < most })
		for _, id := range v.WaitingJobs(Map) {
			if len(want) < most && has(id) {
				want = append(want, id)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("jobs near node %d: %v, want %v", n, got, want)
		}
	}
	for _, level := range []Level{LevelCache, LevelNode, LevelRack, LevelOff} {
		collect(func(yield func(JobID) bool) { v.EachJob(n, level, yield) }, func(id JobID) bool { return v.NextMap(id, n, level) != None })
	}
	only := true
	named := func(id JobID) bool {
		for i, hosts := range w.p.jobs[id].splits {
			if w.p.jobs[id].waits(TaskID(i)) && slices.Contains(hosts, n) {
				return true
			}
		}
		return false
	}
	collect(func(yield func(JobID) bool) { v.EachNamed(n, yield) }, named)
	for _, id := range v.WaitingJobs(Map) {
		for i, hosts := range w.p.jobs[id].splits {
			if w.p.jobs[id].waits(TaskID(i)) && (len(hosts) == 0 || w.p.jobs[id].state[i] == "rerun") {
				only = false
			}
		}
	}
	if !v.AnyRerun() && !v.AnyUnhosted() && !only {
		t.Fatalf("no map waits that may start anywhere, says the View; one does")
	}
}

func (w *twins) compareJob(t *rapid.T, id JobID, waiting *[2][]JobID) {
	v, j := w.s.View(), &w.p.jobs[id]
	var waits, runs [2]int32
	var cached int32
	for i, state := range j.state {
		switch task := TaskID(i); state {
		case "waiting", "rerun":
			waits[j.kind(task)]++
			if int32(i) < j.maps && len(j.cached[i]) > 0 {
				cached++
			}
		case "running", "waiting reserved", "rerun reserved":
			runs[j.kind(task)]++
		}
	}
	for k := range waits {
		if got, want := [2]int32{v.Waiting(id, Kind(k)), v.Running(id, Kind(k))}, [2]int32{waits[k], runs[k]}; got != want {
			t.Fatalf("job %d kind %d: waiting, running %v, want %v", id, k, got, want)
		}
		if waits[k] > 0 {
			waiting[k] = append(waiting[k], id)
		}
	}
	if v.WaitingCached(id) != cached {
		t.Fatalf("job %d: %d waiting maps are cached, want %d", id, v.WaitingCached(id), cached)
	}
	if got, want := v.NextReduce(id), w.expected(id, Reduce, 0); got != want {
		t.Fatalf("job %d: next reduce %d, want %d", id, got, want)
	}
	for n := range NodeID(len(w.p.racks)) {
		for _, level := range []Level{LevelCache, LevelNode, LevelRack, LevelOff} {
			w.compareMaps(t, id, n, level)
		}
		task, branch := v.WouldBind(id, n)
		if wantTask, want := w.p.bind(id, n); task != wantTask || branch != want {
			t.Fatalf("job %d on node %d would bind %d by %v, want %d by %v", id, n, task, branch, wantTask, want)
		}
		for task := range TaskID(j.maps) {
			want := LevelOff
			for _, level := range []Level{LevelRack, LevelNode} {
				if w.p.near(j.replicas[task], n, level) {
					want = level
				}
			}
			if slices.Contains(j.cached[task], n) {
				want = LevelCache
			}
			if got := v.Level(id, task, n); got != want {
				t.Fatalf("job %d map %d on node %d: level %v, want %v", id, task, n, got, want)
			}
		}
	}
}

func (w *twins) compareMaps(t *rapid.T, id JobID, n NodeID, level Level) {
	v := w.s.View()
	want := w.p.maps(id, n, level)
	got := v.NextMap(id, n, level)
	var each []TaskID
	v.EachMap(id, n, level, func(t TaskID) bool { each = append(each, t); return true })
	first := TaskID(None)
	if len(want) > 0 {
		first = want[0]
	}
	if level == LevelCache { // in an order of its own
		if (got == None) != (first == None) || got != None && (got != each[0] || !slices.Contains(want, got)) {
			t.Fatalf("job %d on node %d: next cached map %d of %v, want one of %v", id, n, got, each, want)
		}
		slices.Sort(each)
	} else if got != first {
		t.Fatalf("job %d on node %d: next map by %v is %d, want %d", id, n, level, got, first)
	}
	if !slices.Equal(each, want) {
		t.Fatalf("job %d on node %d: maps by %v are %v, want %v", id, n, level, each, want)
	}
	if level == LevelOff {
		for i, t2 := range want {
			if got := v.NthWaiting(id, Map, int32(i)); got != t2 {
				t.Fatalf("job %d: waiting map %d is %d, want %d", id, i, got, t2)
			}
		}
	}
}
