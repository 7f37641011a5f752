package change

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/lease"
	"heddle/harness/lease/leasetest"
	"heddle/harness/require"
	"heddle/traces/errtest"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// cutOff is HDFS behind a network that fails.
type cutOff struct {
	*leasetest.Files
	cut  atomic.Bool // calls fail
	hang bool        // or do not come back while the context lasts
}

func (f *cutOff) Names(ctx context.Context, name string) ([]string, error) {
	if !f.cut.Load() {
		return f.Files.Names(ctx, name)
	}
	if f.hang {
		<-ctx.Done()
	}
	return nil, errors.New("network is unreachable")
}

// TestCutOffHolderStops before another may take the cluster, which that does
// and restores.
func TestCutOffHolderStops(t *testing.T) {
	for _, hang := range []bool{false, true} {
		t.Run(fmt.Sprintf("hang=%v", hang), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				app := w.longJob(t)
				before := w.state(t)
				c := w.cluster()
				net := &cutOff{Files: w.files, hang: hang}
				c.Files = net
				h := must(Take(t.Context(), c, Options{}))
				steer(t, h, app)
				pass(12 * time.Second)
				net.cut.Store(true)
				cut := time.Now()
				restored := make(chan time.Duration, 1)
				go func() {
					r, err := Restore(t.Context(), w.cluster(), RestoreOptions{})
					if err != nil || r.Err() != nil {
						t.Error(err, r.Err())
					}
					restored <- time.Since(cut)
				}()
				<-h.Context().Done()
				if d := time.Since(cut); d > stopLimit {
					t.Errorf("stopped after %v", d)
				}
				if err := context.Cause(h.Context()); !errors.Is(err, lease.ErrLost) || !errors.Is(h.Lost(), lease.ErrLost) {
					t.Errorf("the cause is %v", err)
				}
				errtest.Is(t, h.ReplaceLabels(t.Context(), map[string]string{node1: "idle"}), lease.ErrLost)
				if d := <-restored; d < stopLimit+5*time.Second {
					t.Errorf("taken over %v after the cut, when a call may be under way", d)
				}
				w.same(t, before)
				h.die()
			})
		})
	}
}

func TestReleaseAfterLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		app := w.longJob(t)
		before := w.state(t)
		c := w.cluster()
		net := &cutOff{Files: w.files}
		c.Files = net
		h := must(Take(t.Context(), c, Options{}))
		steer(t, h, app)
		net.cut.Store(true)
		<-h.Context().Done()
		net.cut.Store(false)
		start := time.Now()
		if r, err := h.Release(t.Context()); err != nil || len(r.Back) == 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if d := time.Since(start); d > lookEvery {
			t.Errorf("took %v, although the lease was its own", d)
		}
		w.same(t, before)
	})
}

// TestCancelledSteeringIsReleased: the lease outlives the context of Take.
func TestCancelledSteeringIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		app := w.longJob(t)
		before := w.state(t)
		ctx, cancel := context.WithCancel(t.Context())
		h := must(Take(ctx, w.cluster(), Options{}))
		steer(t, h, app)
		cancel()
		pass(time.Minute)
		if h.Context().Err() == nil || h.Lost() != nil {
			t.Errorf("context %v, lost %v", h.Context().Err(), h.Lost())
		}
		if _, err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
		w.same(t, before)
	})
}

func TestWatchdogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		before := w.state(t)
		ctx, stop := context.WithCancel(t.Context())
		var dogs sync.WaitGroup
		var text strings.Builder
		log := slog.New(slog.NewTextHandler(&text, nil))
		for range 3 {
			dogs.Go(func() { Watch(ctx, w.cluster(), "watchdog", log) })
		}
		h := take(t, w)
		mustDo(t, h.ReplaceLabels(ctx, map[string]string{node1: "idle", node2: "m00"}))
		mustDo(t, h.SetNodeResource(ctx, node2, w.state(t).Size[node1]))
		pass(5 * time.Minute)
		if err := h.Alive(); err != nil {
			t.Fatalf("watchdogs took a live hold: %v", err)
		}
		w.yarn.StopNode("r1n2")
		h.die()
		pass(leaseLimit + 3*watchEvery)
		if got := w.state(t).LabelOf; len(got) > 0 {
			t.Errorf("labels are still %v", got)
		}
		w.yarn.StartNode("r1n2")
		pass(3 * retryEvery)
		w.same(t, before)
		s, err := Inspect(ctx, w.cluster())
		if err != nil || s.Hold != "released" || len(s.Noted) > 0 {
			t.Errorf("%+v, %v", s, err)
		}
		epoch := s.Lease.Epoch
		pass(time.Hour)
		if s, err = Inspect(ctx, w.cluster()); err != nil || s.Lease.Epoch != epoch {
			t.Errorf("watchdogs took the lease %d times with nothing to do (%v)", s.Lease.Epoch-epoch, err)
		}
		stop()
		dogs.Wait()
		if n := strings.Count(text.String(), "put back as it was"); n != 1 {
			t.Errorf("put back %d times, want once: the node came back with its own size:\n%s", n, text.String())
		}
	})
}

// TestRestartedRM asks a ResourceManager that is down, then answers wrong.
func TestRestartedRM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		app := w.longJob(t)
		before := w.state(t)
		h := take(t, w)
		steer(t, h, app)
		h.die()
		pass(time.Minute)
		w.yarn.RestartRM(watchLimit+time.Second, 10*time.Second) // starts when the restore does
		r, err := Restore(t.Context(), w.cluster(), RestoreOptions{})
		if err != nil || r.Err() != nil {
			t.Fatal(err, r.Err())
		}
		w.same(t, before)
	})
}

// TestSizesAreNotedFirst notes the sizes of two nodes and changes one, to nothing: after a
// crash both are as before.
func TestSizesAreNotedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		before := w.state(t)
		h := take(t, w)
		mustDo(t, h.NoteSizes(t.Context(), node1, node2))
		if !h.noted(key{kind: NodeResource, name: node1}) || !h.noted(key{kind: NodeResource, name: node2}) {
			t.Error("the sizes are not noted")
		}
		if err := h.NoteSizes(t.Context(), "nobody:1"); err == nil {
			t.Error("the size of an unknown node was noted")
		}
		mustDo(t, h.SetNodeResource(t.Context(), node2, yarnclient.Resource{VCores: 1}))
		h.die()
		pass(time.Minute)
		r, err := Restore(t.Context(), w.cluster(), RestoreOptions{})
		if err != nil || r.Err() != nil {
			t.Fatal(err, r.Err())
		}
		w.same(t, before)
	})
}

// TestFirstTouchDuringStart must not note that a labelled node has none.
func TestFirstTouchDuringStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		mustDo(t, w.rm.ReplaceLabels(t.Context(), map[string]string{node1: "a07"}))
		before := w.state(t)
		h := take(t, w)
		w.yarn.RestartRM(0, 5*time.Second)
		mustDo(t, h.ReplaceLabels(t.Context(), map[string]string{node1: "idle"}))
		if _, err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(before.LabelOf, w.state(t).LabelOf); d != "" {
			t.Error(d)
		}
	})
}

// TestSteeredJobsEnd although the harness that moved nodes for them has died.
func TestSteeredJobsEnd(t *testing.T) {
	for _, drain := range []time.Duration{0, time.Hour} {
		t.Run(fmt.Sprintf("drain=%v", drain), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				h := take(t, w)
				all := map[string]string{}
				for _, n := range []string{node1, node2, "r2n1:45454", "r2n2:45454"} {
					all[n] = require.Parking
				}
				var apps []string
				for range 2 {
					app := must(w.yarn.Submit(yarntest.Job{MapLabel: "m00", ReduceLabel: "r00", Maps: make([][]string, 20), Reduces: 2, Slowstart: 1}))
					apps = append(apps, app)
				}
				pass(2 * time.Second) // their masters run, unlabelled
				mustDo(t, h.ReplaceLabels(t.Context(), all))
				h.die()
				r, err := Restore(t.Context(), w.cluster(), RestoreOptions{Drain: drain})
				if err != nil || r.Err() != nil {
					t.Fatal(err, r.Err())
				}
				for _, id := range apps {
					a, err := w.rm.App(t.Context(), id)
					if err != nil || (a.State == "FINISHED") != (drain > 0) {
						t.Errorf("%s is %s, %v", id, a.State, err)
					}
				}
				if (len(r.Stranded) == 0) != (drain > 0) {
					t.Errorf("left waiting: %v", r.Stranded)
				}
				if s := w.state(t); len(s.LabelOf) > 0 {
					t.Errorf("labels: %v", s.LabelOf)
				}
			})
		})
	}
}

// TestHeldMastersStart although the harness that held them has died: on the nodes
// for masters where those are noted, also with others' masters waiting.
func TestHeldMastersStart(t *testing.T) {
	for _, noted := range []bool{true, false} {
		t.Run(fmt.Sprintf("noted=%v", noted), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				nodes := append(yarntest.Workers(2, 2, 1024, 8), yarntest.Node{Host: "master", Label: "am", MemoryMB: 4096, VCores: 8})
				w.yarn = yarntest.New(yarntest.Config{Nodes: nodes, Labels: []string{"idle", "a00", "a01", "m00", "r00", "m01", "r01", "am"}})
				w.rm = w.cluster().RM
				before := w.state(t)
				h := take(t, w)
				all := map[string]string{node1: require.Parking, node2: require.Parking, "r2n1:45454": require.Parking, "r2n2:45454": require.Parking}
				if noted {
					all["master:45454"] = "am"
				}
				mustDo(t, h.ReplaceLabels(t.Context(), all))
				var apps []string
				for _, number := range []string{"00", "01"} {
					app := must(w.yarn.Submit(yarntest.Job{
						AMLabel: "a" + number, MapLabel: "m" + number, ReduceLabel: "r" + number,
						Maps: make([][]string, 6), Reduces: 1,
					}))
					apps = append(apps, app)
				}
				h.die()
				r, err := Restore(t.Context(), w.cluster(), RestoreOptions{Drain: time.Hour})
				if err != nil || r.Err() != nil || len(r.Stranded) > 0 {
					t.Fatal(err, r.Err(), r.Stranded)
				}
				for _, id := range apps {
					a, err := w.rm.App(t.Context(), id)
					if err != nil || a.State != "FINISHED" {
						t.Errorf("%s is %s, %v", id, a.State, err)
					}
					attempts, err := w.rm.Attempts(t.Context(), id)
					if err != nil || noted && attempts[0].NodeID != "master:45454" {
						t.Errorf("master of %s: %+v, %v", id, attempts, err)
					}
				}
				if d := cmp.Diff(before.LabelOf, w.state(t).LabelOf); d != "" {
					t.Errorf("labels not as before:\n%s", d)
				}
			})
		})
	}
}

func TestPrepare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		before := w.state(t)
		o := PrepareOptions{Triples: 2, DryRun: true}
		p, err := Prepare(t.Context(), w.cluster(), o)
		want := []string{"am", "a00", "a01", "m01", "r01"}
		if d := cmp.Diff(want, p.Labels); err != nil || d != "" || len(p.Settings) != 1+2*7 {
			t.Errorf("%v %s: %+v", err, d, p)
		}
		w.same(t, before)

		o.DryRun = false
		if _, err = Prepare(t.Context(), w.cluster(), o); err != nil {
			t.Fatal(err)
		}
		prepared := w.state(t)
		if p, err = Prepare(t.Context(), w.cluster(), o); err != nil || len(p.Labels)+len(p.Settings) != 0 {
			t.Errorf("a second time: %v %+v", err, p)
		}
		// A hold, and a restore of one, leave it.
		h := take(t, w)
		mustDo(t, h.ReplaceLabels(t.Context(), map[string]string{node1: "m01"}))
		h.die()
		must(Restore(t.Context(), w.cluster(), RestoreOptions{}))
		if d := cmp.Diff(prepared, w.state(t)); d != "" {
			t.Error(d)
		}
		if r, err := Restore(t.Context(), w.cluster(), RestoreOptions{}); err != nil || r.Epoch != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if r, err := Restore(t.Context(), w.cluster(), RestoreOptions{Prepared: true}); err != nil || r.Err() != nil {
			t.Error(err, r.Err())
		}
		w.same(t, before)
	})
}

// The label of ApplicationMasters is the one that the ResourceManager names, and
// a queue that has a part of it keeps that.
func TestPrepareTakesTheMastersLabelAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.yarn = yarntest.New(yarntest.Config{
			Nodes: yarntest.Workers(2, 2, 4096, 8), Labels: []string{"masters"},
			Conf: map[string]string{"yarn.resourcemanager.node-labels.am.default-node-label-expression": "masters"},
		})
		w.rm = w.cluster().RM
		part := func(queue, percent string) yarnclient.QueueSettings {
			return yarnclient.QueueSettings{Queue: queue, Settings: map[string]string{"accessible-node-labels.masters.capacity": percent}}
		}
		change := yarnclient.SchedulerChange{Update: []yarnclient.QueueSettings{part("root", "100.0"), part("root.default", "40")}}
		mustDo(t, w.rm.SetSchedulerConf(t.Context(), change))
		p, err := Prepare(t.Context(), w.cluster(), PrepareOptions{Triples: 1, DryRun: true})
		if d := cmp.Diff([]string{"idle", "a00", "m00", "r00"}, p.Labels); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
		if len(p.Settings) != 1+2*3 || !strings.HasPrefix(p.Settings[require.Queues+"root.default.accessible-node-labels"], "masters,") {
			t.Errorf("settings: %v", p.Settings)
		}
	})
}
