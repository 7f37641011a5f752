package state

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/traces/errtest"
)

// TestSlots has nodes of 2 map slots and 1 reduce slot: what fits and what has
// room goes by kind, and a pool is named by the job, or by its queue.
func TestSlots(t *testing.T) {
	s := New()
	n := must(s.AddNode("n0", "r", Resource{4096, 4}))
	v := s.View()
	if maps := v.Slots(n, Map); maps != 4 {
		t.Errorf("without slots: %d maps fit, want 4 by the cores", maps)
	}
	s.SetSlots(2, 1)
	id := must(s.Submit(&JobSpec{Queue: "q", Maps: 3, Reduces: 2, MapSize: Resource{512, 1}, ReduceSize: Resource{512, 1}}))
	pooled := must(s.Submit(&JobSpec{Queue: "q", Pool: "small", Maps: 1}))
	if a, b := v.PoolName(v.Pool(id)), v.PoolName(v.Pool(pooled)); a != "q" || b != "small" || v.Pools() != 2 {
		t.Errorf("pools %q and %q of %d, want q and small of 2", a, b, v.Pools())
	}
	s.Ask(id, Map, 3)
	s.Ask(id, Reduce, 2)
	for _, step := range []struct {
		task                      TaskID
		fitsMap, fitsReduce, room bool // after it has started
	}{{0, true, true, true}, {1, false, true, true}, {3, false, false, false}} {
		mustDo(t, s.Start(id, step.task, n))
		if m, r := v.Fits(n, id, Map), v.Fits(n, id, Reduce); m != step.fitsMap || r != step.fitsReduce || v.HasRoom(n) != step.room {
			t.Errorf("after task %d a map fits: %v, a reduce: %v, room: %v; want %+v", step.task, m, r, v.HasRoom(n), step)
		}
	}
	errtest.Has(t, errtest.Of(s.Reserve(id, Map, None, n)), "all 2 map slots")
	mustDo(t, s.Finish(id, 1))
	if !v.HasRoom(n) || v.FreeSlots(n, Map) != 1 || v.FreeSlots(n, Reduce) != 0 {
		t.Errorf("after a map has ended, %d map slots and %d reduce slots are free, want 1 and 0", v.FreeSlots(n, Map), v.FreeSlots(n, Reduce))
	}
}

// fourNodes is two racks of two nodes with two slots each, and a job whose maps
// have their blocks on the nodes given; the maps are asked for.
func fourNodes(t *testing.T, replicas ...[]NodeID) (*State, JobID) {
	t.Helper()
	s := New()
	for n := range 4 {
		must(s.AddNode(fmt.Sprint("n", n), fmt.Sprint("rack", n/2), Resource{1024, 2}))
	}
	spec := JobSpec{Name: "job", Maps: int32(len(replicas)), Reduces: 1, MapSize: Resource{512, 1}, ReduceSize: Resource{512, 1}}
	for _, nodes := range replicas {
		spec.Replicas.Add(nodes...)
	}
	id := must(s.Submit(&spec))
	s.Ask(id, Map, spec.Maps)
	return s, id
}

// TestWouldBind goes through the branches in the order the AM tries them.
func TestWouldBind(t *testing.T) {
	s, id := fourNodes(t, []NodeID{2}, []NodeID{0, 2}, []NodeID{1}, []NodeID{0}, nil)
	v := s.View()
	steps := []struct {
		name   string
		before func() error
		node   NodeID
		task   TaskID
		branch Branch
	}{
		{"lowest that lists the host", nil, 0, 1, BindNode},
		{"one that is reserved is left out", func() error { _, err := s.Reserve(id, Map, 1, 0); return err }, 0, 3, BindNode},
		{"rack when the host has none left", func() error { return s.Start(id, 3, 0) }, 0, 2, BindRack},
		{"other rack's node", nil, 3, 0, BindRack},
		{"any when the rack has none left", func() error { return s.Start(id, 2, 1) }, 1, 0, BindAny},
		{"a re-run before all, wherever", func() error { return s.Retry(id, 3, true) }, 2, 3, BindRerun},
		{"re-runs in the order they failed", func() error { return s.Retry(id, 2, true) }, 2, 3, BindRerun},
		{"killed maps keep their locality", func() error {
			for _, task := range []TaskID{3, 2, 0} {
				if err := s.Start(id, task, 3); err != nil {
					return err
				}
			}
			return s.Retry(id, 0, false)
		}, 2, 0, BindNode},
		{"a map without hosts is any's", func() error { return s.Start(id, 0, 2) }, 2, 4, BindAny},
		{"nothing waits", func() error { return s.Start(id, 4, 2) }, 2, None, BindNone},
	}
	for _, step := range steps {
		if step.before != nil {
			if err := step.before(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
		}
		if task, branch := v.WouldBind(id, step.node); task != step.task || branch != step.branch {
			t.Errorf("%s: bound %d by %v, want %d by %v", step.name, task, branch, step.task, step.branch)
		}
	}
}

// TestResplit has an ApplicationMaster that reads other hosts than HDFS has.
func TestResplit(t *testing.T) {
	s := New()
	for n := range 2 {
		must(s.AddNode(fmt.Sprint("n", n), "rack", Resource{1024, 2}))
	}
	spec := JobSpec{Name: "job", Maps: 2}
	spec.Replicas.Add(0)
	spec.Replicas.Add(0)
	id := must(s.Submit(&spec))
	var planned Hosts
	planned.Add(1)
	planned.Add(0)
	spec.SplitHosts = &planned
	mustDo(t, s.Resplit(id, &spec))
	s.Ask(id, Map, 2)
	v := s.View()
	if task, branch := v.WouldBind(id, 1); task != 0 || branch != BindNode {
		t.Errorf("on n1 the AM binds %d by %v, want 0 by node", task, branch)
	}
	if task, level := v.Nearest(id, 1, LevelCache, LevelOff); task != 0 || level != LevelRack {
		t.Errorf("nearest to n1 is %d by %v, want 0 by rack", task, level)
	}
	if got := v.SplitLevel(id, 0, 1); got != LevelNode {
		t.Errorf("split of map 0 is %v to n1, want node", got)
	}
	if err := s.Resplit(id, &spec); err == nil {
		t.Error("a job that has begun was split anew")
	}
}

// TestRefusals has what a driver may get wrong, and the words it is told.
func TestRefusals(t *testing.T) {
	s, id := fourNodes(t, []NodeID{0}, []NodeID{1})
	s.NodeDown(3)
	s.Hold(2, id, Resource{1024, 1})
	ran, _ := fourNodes(t)
	ran.EndJob(0)
	mustDo(t, s.Start(id, 1, 1))
	reserve := func(s *State, id JobID, k Kind, task TaskID, n NodeID) error {
		_, err := s.Reserve(id, k, task, n)
		return err
	}
	submit := func(change func(*JobSpec)) error {
		spec := JobSpec{Name: "bad", Maps: 1}
		change(&spec)
		_, err := s.Submit(&spec)
		return err
	}
	_, twice := s.AddNode("n0", "rack0", Resource{})
	for _, c := range []struct {
		err  error
		want string
	}{
		{reserve(s, id, Map, 0, 3), "down"},
		{reserve(s, id, Map, 0, 2), "free"},
		{reserve(s, id, Map, 1, 0), "runs on n1"},
		{reserve(s, id, Reduce, None, 0), "no reduce waits"},
		{reserve(s, id, Reduce, 2, 0), "not asked"},
		{reserve(s, id, Reduce, 0, 0), "is a map"},
		{reserve(s, id, Map, 99, 0), "no task 99"},
		{reserve(s, 9, Map, 0, 0), "job 9: 1 jobs have been submitted"},
		{reserve(ran, 0, Map, None, 0), "ended"},
		{s.Start(id, 1, 0), "runs on n1"},
		{s.Start(id, 0, 99), "node 99"},
		{s.Start(id, -7, 0), "task -7"},
		{ran.Start(0, 0, 0), "ended"},
		{s.Finish(id, 0), "waits"},
		{s.Retry(id, 2, false), "not asked"},
		{s.Confirm(5, 0), "reservation 5: there is none"},
		{twice, "exists already"},
		{submit(func(j *JobSpec) { j.Maps = -1 }), "-1 maps"},
		{submit(func(j *JobSpec) { j.Weight = -1 }), "weight"},
		{submit(func(j *JobSpec) { j.MapSize.MemoryMB = -1 }), "container"},
		{submit(func(j *JobSpec) { j.DeadlineMs = -1 }), "-1 ms after the submission"},
		{submit(func(j *JobSpec) { j.DeadlineMs = math.MaxInt64 }), "to ten years"},
		{submit(func(j *JobSpec) { j.Price = math.NaN() }), "price NaN"},
		{submit(func(j *JobSpec) { j.Price = math.Inf(1) }), "price +Inf"},
		{submit(func(j *JobSpec) { j.Hints[Reduce].Disk = 11 }), "a disk hint of 11 for a reduce"},
		{submit(func(j *JobSpec) { j.Replicas.Add(4) }), "replicas: node 4: the cluster has 4 nodes"},
		{submit(func(j *JobSpec) { j.Cached.Add(); j.Cached.Add() }), "2 maps, but the job has 1"},
		{submit(func(j *JobSpec) { j.SplitHosts = &Hosts{Ends: []int32{3}} }), "split hosts: map 0"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got error %v, want one with %q", c.err, c.want)
		}
	}
}

// TestRobbed has the AM bind another map than a decision expected, the one of
// another decision on its way.
func TestRobbed(t *testing.T) {
	s, id := fourNodes(t, []NodeID{0}, []NodeID{0, 2})
	first := must(s.Reserve(id, Map, None, 0))
	second := must(s.Reserve(id, Map, None, 2))
	mustDo(t, s.Confirm(first, 1))
	if _, _, task, node, ok := s.Reservation(second); !ok || task != 0 || node != 2 {
		t.Errorf("the other reservation has task %d on node %d, %v; want 0 on 2", task, node, ok)
	}
	if free := s.View().Free(0); free != (Resource{512, 1}) {
		t.Errorf("node 0 has %v free, want one container's less than its 1024 MB", free)
	}
}

// TestEndedJob has look-ups of a job that has ended, and of reduces, find
// nothing rather than fail.
func TestEndedJob(t *testing.T) {
	s, id := fourNodes(t, []NodeID{0})
	s.Cached(id, 0, 0)
	must(s.Reserve(id, Map, 0, 0))
	v := s.View()
	look := func(task TaskID) {
		t.Helper()
		bound, branch := v.WouldBind(id, 0)
		if level := v.Level(id, task, 0); level != LevelOff ||
			len(v.Replicas(id, task))+len(v.SplitHosts(id, task))+len(v.CachedOn(id, task, nil)) > 0 || bound != None || branch != BindNone {
			t.Errorf("task %d is %v to its data, on %v; %d would be bound by %v", task, level, v.Replicas(id, task), bound, branch)
		}
	}
	look(1) // the reduce
	s.EndJob(id)
	look(0)
	if v.IsWaiting(id, 0) || v.RunsOn(id, 0) != None || v.NextMap(id, 0, LevelCache) != None || v.NextReduce(id) != None {
		t.Error("a task of an ended job waits or runs")
	}
	if free := v.Free(0); free != (Resource{1024, 2}) || v.QueueUsed(0) != (Resource{}) {
		t.Errorf("after its end %v is free, the queue has %v", free, v.QueueUsed(0))
	}
}

func TestWithRoom(t *testing.T) {
	s, id := fourNodes(t, nil)
	s.SetSmallest(Resource{512, 1})
	s.Hold(1, id, Resource{600, 1})
	s.NodeDown(2)
	if got := s.View().WithRoom(3, nil); !slices.Equal(got, []NodeID{3, 0}) {
		t.Errorf("nodes with room, 3 first: %v, want [3 0]", got)
	}
	s.Release(1, id, Resource{600, 1})
	s.NodeUp(2)
	if got := s.View().WithRoom(None, nil); !slices.Equal(got, []NodeID{0, 1, 2, 3}) {
		t.Errorf("nodes with room: %v, want all", got)
	}
}

// TestNoAllocation holds the steady state to none, submissions and ends
// included.
func TestNoAllocation(t *testing.T) {
	l := newLoad(t, 50, 100)
	v := l.s.View()
	one := func() {
		l.submit(t)
		id := v.WaitingJobs(Map)[0]
		for range l.spec.Maps {
			task, _ := v.Nearest(id, 7, LevelCache, LevelOff)
			r := must(l.s.Reserve(id, Map, task, NodeID(task)%50))
			l.s.Cached(id, task, 3)
			mustDo(t, l.s.Confirm(r, task))
			mustDo(t, l.s.Finish(id, task))
		}
		l.s.EndJob(id)
	}
	for range 600 {
		one()
	}
	// The table of jobs itself grows, seldom.
	if n := testing.AllocsPerRun(200, one); n >= 1 {
		t.Errorf("%v allocations a job of 100 maps, want less than 1", n)
	}
}

func TestSizeClasses(t *testing.T) {
	last, lastSize := -1, 0
	for n := range 100_000 {
		class, size := sizeClass(n)
		if size < n || size > max(64, n+n/8+1) || class < last || class == last && size != lastSize {
			t.Fatalf("a piece of %d is of class %d and size %d, after class %d and size %d", n, class, size, last, lastSize)
		}
		if again, _ := sizeClass(size); again != class {
			t.Fatalf("a piece of size %d comes back into class %d, not %d", size, again, class)
		}
		last, lastSize = class, size
	}
}

// TestKilledMapsGoLast has maps that were killed bound after the others of their
// branch, in the order of their ends.
func TestKilledMapsGoLast(t *testing.T) {
	s := New()
	for _, name := range []string{"a", "b"} {
		must(s.AddNode(name, "r", Resource{8, 8}))
	}
	spec := &JobSpec{Maps: 5, MapSize: Resource{1, 1}}
	for range 4 {
		spec.Replicas.Add(0)
	}
	spec.Replicas.Add(1)
	id := must(s.Submit(spec))
	s.Ask(id, Map, 5)
	for _, killed := range []TaskID{2, 0} {
		mustDo(t, errors.Join(s.Start(id, killed, 0), s.Retry(id, killed, false)))
	}
	type bound struct {
		Task   TaskID
		Branch Branch
	}
	var got []bound
	for range 5 {
		task, branch := s.View().WouldBind(id, 0)
		got = append(got, bound{task, branch})
		mustDo(t, s.Start(id, task, 0))
	}
	want := []bound{{1, BindNode}, {3, BindNode}, {2, BindNode}, {0, BindNode}, {4, BindRack}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bound (-want +got):\n%s", diff)
	}
}

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var mustDo = errtest.None
