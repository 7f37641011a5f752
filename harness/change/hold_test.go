package change

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/lease"
	"heddle/harness/lease/leasetest"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// world is a cluster to hold, in virtual time.
type world struct {
	yarn  *yarntest.Fake
	files *leasetest.Files
	rm    *yarnclient.RM // of an onlooker

	hdfs   *fakeHDFS
	faults *fakeFaults
}

func newWorld() *world {
	yarn := yarntest.New(yarntest.Config{Nodes: yarntest.Workers(2, 2, 4096, 8), Labels: []string{"idle", "m00", "r00", "gpu", "a07"}})
	w := &world{yarn: yarn, files: leasetest.New()}
	w.hdfs, w.faults = newFakeHDFS(w.files), &fakeFaults{yarn: yarn, slow: map[string]bool{}}
	w.rm = w.cluster().RM
	return w
}

// cluster is the world as one process sees it.
func (w *world) cluster() *Target {
	rm, err := yarnclient.NewRM(yarnclient.Options{Addresses: []string{"http://rm:8088"}, Transport: w.yarn.Transport()})
	if err != nil {
		panic(err)
	}
	return &Target{Name: "test", RM: rm, Files: w.files, HDFS: w.hdfs, Staging: staging, Faults: faultCommands, Run: w.faults.run}
}

// state is what a hold may change.
type state struct {
	LabelOf    map[string]string
	Size       map[string]yarnclient.Resource
	Labels     map[string]bool
	Priorities map[string]int
	Conf       map[string]string
}

func (w *world) state(t testing.TB) state {
	t.Helper()
	ctx := context.Background()
	s := state{Size: map[string]yarnclient.Resource{}, Priorities: map[string]int{}}
	var err error
	check := func(err error) {
		t.Helper()
		mustDo(t, err)
	}
	s.LabelOf, err = nodesToLabels(ctx, w.rm)
	check(err)
	s.Labels, err = labelNames(ctx, w.rm)
	check(err)
	nodes, err := w.rm.Nodes(ctx)
	check(err)
	for _, n := range nodes {
		s.Size[n.ID] = n.Total
	}
	apps, err := w.rm.Apps(ctx, yarnclient.AppFilter{})
	check(err)
	for _, a := range apps {
		s.Priorities[a.ID] = a.Priority
	}
	s.Conf, err = w.rm.SchedulerConf(ctx)
	check(err)
	return s
}

// pass lets virtual time go on.
func pass(d time.Duration) { <-time.After(d) }

// die ends a hold as a kill does. A renewal that is under way gets through.
func (h *Hold) die() {
	h.abandon()
	synctest.Wait()
}

func take(t testing.TB, w *world) *Hold {
	t.Helper()
	h := must(Take(t.Context(), w.cluster(), Options{Purpose: "test"}))
	return h
}

// How long a lease lasts, how often and until when its holder renews it, and how long
// another watches it: package lease says so.
const (
	leaseLimit = 30 * time.Second
	renewEvery = 5 * time.Second
	stopLimit  = 20 * time.Second
	watchLimit = 10 * time.Second
)

const (
	node1 = "r1n1:45454"
	node2 = "r1n2:45454"
)

// AddLabels adds node labels that Release removes again, unless a queue, a node or an
// application uses them by then.
func (h *Hold) AddLabels(ctx context.Context, names ...string) error {
	return h.do("add labels", func() error { return h.addLabels(ctx, false, names) })
}

// steer changes one of everything.
func steer(t testing.TB, h *Hold, app string) {
	t.Helper()
	ctx := t.Context()
	for _, err := range []error{
		h.AddLabels(ctx, "m01", "m00"),
		h.ReplaceLabels(ctx, map[string]string{node1: "idle", node2: "idle"}),
		h.ReplaceLabels(ctx, map[string]string{node1: "m01"}),
		h.SetNodeResource(ctx, node1, yarnclient.Resource{MemoryMB: 512, VCores: 100}),
		h.SetNodeResource(ctx, node1, yarnclient.Resource{MemoryMB: 1024, VCores: 100}),
		h.SetSchedulerConf(ctx, yarnclient.SchedulerChange{Update: []yarnclient.QueueSettings{
			{Queue: "root.a", Settings: map[string]string{"accessible-node-labels.m00.capacity": "10"}},
		}}),
	} {
		mustDo(t, err)
	}
}

// longJob runs through every test, unlabelled.
func (w *world) longJob(t testing.TB) string {
	app := must(w.yarn.Submit(yarntest.Job{
		Priority: 3, Maps: [][]string{{"r2n1"}},
		Run: func(string, int, int) (time.Duration, bool) { return time.Hour, false },
	}))
	return app
}

func TestReleasePutsEverythingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		app := w.longJob(t)
		before := w.state(t)
		h := take(t, w)
		steer(t, h, app)
		if cmp.Equal(before, w.state(t)) {
			t.Fatal("steering changed nothing")
		}
		r, err := h.Release(t.Context())
		if err != nil || len(r.Left) > 0 || len(r.Back) != 5 {
			t.Errorf("released with %v: %+v", err, r)
		}
		w.same(t, before)
		if err := h.ReplaceLabels(t.Context(), map[string]string{node1: "idle"}); err == nil {
			t.Error("a released hold changes labels")
		}
	})
}

// A trial that fails ends the applications of one tag, and no others. The hold goes on.
func TestEndApps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.theirs(t)
		h := take(t, w)
		mustDo(t, w.submit(t.Context(), h))
		var ours string
		for _, tag := range w.unfinishedApps(t) {
			if base, ok := strings.CutSuffix(tag, "-1"); ok {
				ours = base
			}
		}
		for _, c := range []struct{ end, rest []string }{
			{[]string{ours + "-1"}, []string{ours + "-2", ours + "-prep", "nightly"}},
			{[]string{ours + "-2", ours + "-prep"}, []string{"nightly"}},
			{[]string{"nightly"}, []string{"nightly"}}, // heddle gives no such tag
		} {
			mustDo(t, h.EndApps(t.Context(), c.end...))
			if got := w.unfinishedApps(t); !slices.Equal(got, c.rest) {
				t.Errorf("after the end of %q unfinished are %q, want %q", c.end, got, c.rest)
			}
		}
		must(h.Release(t.Context()))
	})
}

// same compares with a state from before. Hadoop keeps an unset setting of a
// queue as an empty one.
func (w *world) same(t testing.TB, before state) {
	t.Helper()
	now := w.state(t)
	for name, value := range now.Conf {
		if value == "" {
			delete(now.Conf, name)
		}
	}
	if d := cmp.Diff(before, now); d != "" {
		t.Errorf("not as before:\n%s", d)
	}
}

func TestRestoreAfterCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		app := w.longJob(t)
		before := w.state(t)
		h := take(t, w)
		steer(t, h, app)
		h.die()
		start := time.Now()
		r, err := Restore(t.Context(), w.cluster(), RestoreOptions{})
		if err != nil || r.Err() != nil {
			t.Fatal(err, r.Err())
		}
		if d := time.Since(start); d < leaseLimit-renewEvery || d > leaseLimit+2*lookEvery {
			t.Errorf("restored %v after the crash, want when the lease was void, after %v", d, leaseLimit)
		}
		w.same(t, before)
		if r, err := Restore(t.Context(), w.cluster(), RestoreOptions{}); err != nil || r.Epoch != 0 {
			t.Errorf("a second restore did %+v, %v", r, err)
		}
	})
}

func TestHeldIsToldByWhom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		h := take(t, w)
		pass(42 * time.Second)
		for _, contend := range []func() error{
			func() error { _, err := Take(t.Context(), w.cluster(), Options{}); return err },
			func() error { _, err := Restore(t.Context(), w.cluster(), RestoreOptions{}); return err },
		} {
			start := time.Now()
			err := contend()
			var held *lease.HeldError
			if !errors.As(err, &held) || held.Lease.Epoch != h.Epoch() || !strings.Contains(err.Error(), "(test)") {
				t.Errorf("got %v, want who holds the cluster", err)
			}
			if d := time.Since(start); d > renewEvery+2*lookEvery {
				t.Errorf("told after %v", d)
			}
		}
		if err := h.Alive(); err != nil {
			t.Error(err)
		}
		if _, err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
		start := time.Now()
		next := take(t, w)
		if next.Epoch() <= h.Epoch() || time.Since(start) != 0 {
			t.Errorf("epoch %d after %d, taken after %v", next.Epoch(), h.Epoch(), time.Since(start))
		}
		next.abandon()
	})
}
