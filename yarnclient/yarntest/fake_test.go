package yarntest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/traces/errtest"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// fixture is a cluster on a manual clock, with a client and a node for masters.
type fixture struct {
	*testing.T
	*yarntest.Fake
	clock *yarntest.Clock
	rm    *yarnclient.RM
	ctx   context.Context
}

func newFixture(t *testing.T, change func(*yarntest.Config)) *fixture {
	t.Helper()
	f := &fixture{T: t, clock: yarntest.NewClock(), ctx: t.Context()}
	cfg := yarntest.Config{
		Nodes:  append(yarntest.Workers(2, 2, 1024, 8), yarntest.Node{Host: "master", Rack: "/core", Label: "am", MemoryMB: 4096, VCores: 32}),
		Labels: []string{"idle", "s00", "s01"},
		Async:  20 * time.Millisecond,
		Now:    f.clock.Now,
	}
	if change != nil {
		change(&cfg)
	}
	f.Fake = yarntest.New(cfg)
	f.rm = f.client("")
	return f
}

func (f *fixture) client(user string) *yarnclient.RM {
	f.Helper()
	rm, err := yarnclient.NewRM(yarnclient.Options{Addresses: []string{"rm:8088"}, User: user, Transport: f.Transport(), Retries: -1})
	f.must(err)
	return rm
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) submit(j yarntest.Job) string {
	f.Helper()
	j.AMLabel = "am"
	id, err := f.Submit(j)
	f.must(err)
	f.until("the job runs", func() bool {
		app, err := f.rm.App(f.ctx, id)
		f.must(err)
		return app.State == "RUNNING"
	})
	return id
}

// until moves the clock in steps of 5 ms, as a poller would, for a minute.
func (f *fixture) until(what string, done func() bool) {
	f.Helper()
	for range 12000 {
		if done() {
			return
		}
		f.clock.Advance(5 * time.Millisecond)
	}
	f.Fatalf("not within a minute: %s", what)
}

func (f *fixture) label(labels map[string]string) {
	f.Helper()
	f.must(f.rm.ReplaceLabels(f.ctx, labels))
}

func (f *fixture) park() {
	f.label(map[string]string{"r1n1:45454": "idle", "r1n2:45454": "idle", "r2n1:45454": "idle", "r2n2:45454": "idle"})
}

// tasks lists the containers of a job but the master's.
func (f *fixture) tasks(appID string) []yarnclient.Container {
	f.Helper()
	attempts, err := f.rm.Attempts(f.ctx, appID)
	f.must(err)
	list, err := f.rm.Containers(f.ctx, attempts[len(attempts)-1].ID)
	f.must(err)
	return slices.DeleteFunc(list, func(k yarnclient.Container) bool { return k.Priority == yarnclient.PriorityAM })
}

var fourMaps = [][]string{{"r1n1", "r2n1"}, {"r1n2"}, {"r1n1"}, {"r2n2"}}

func minute(string, int, int) (time.Duration, bool) { return time.Minute, false }

// TestSteering carries out decisions by labels: exactly one container each, on
// the node, and the map that late binding takes.
func TestSteering(t *testing.T) {
	f := newFixture(t, nil)
	f.park()
	id := f.submit(yarntest.Job{Maps: fourMaps, MapLabel: "s00", Run: minute})
	for i, decision := range []struct {
		host     string
		wantMap  int
		locality string
	}{
		{"r1n1", 0, "node"}, // maps 0 and 2 list it: the lowest
		{"r1n1", 2, "node"},
		{"r1n2", 1, "node"},
		{"r1n2", 3, "off"}, // nothing left for the node or its rack
	} {
		node := decision.host + ":45454"
		f.must(f.rm.SetNodeResource(f.ctx, node, yarnclient.Resource{MemoryMB: int64(512 * (len(f.on(id, node)) + 1)), VCores: 100}))
		f.label(map[string]string{node: "s00"})
		before := f.clock.Now()
		f.until("container", func() bool { return len(f.tasks(id)) > i })
		if took := f.clock.Now().Sub(before); took > 30*time.Millisecond {
			t.Errorf("decision %d took %v, want the asynchronous interval of 20 ms", i, took)
		}
		f.label(map[string]string{node: "idle"})
		f.clock.Advance(300 * time.Millisecond)
		attempts := f.Attempts(id)
		if len(attempts) != i+1 {
			t.Fatalf("decision %d: %d attempts, want %d", i, len(attempts), i+1)
		}
		at := slices.IndexFunc(attempts, func(a yarntest.Attempt) bool { return a.Task == decision.wantMap })
		if at < 0 || attempts[at].Host != decision.host || attempts[at].Locality != decision.locality {
			t.Errorf("decision %d: %+v, want map %d on %s, %s", i, attempts, decision.wantMap, decision.host, decision.locality)
		}
	}
}

func (f *fixture) on(appID, node string) []yarnclient.Container {
	return slices.DeleteFunc(f.tasks(appID), func(k yarnclient.Container) bool { return k.NodeID != node })
}

// TestLabelFaults: a call that succeeds after its timeout, an allocation on
// the old label, two containers at once.
func TestLabelFaults(t *testing.T) {
	t.Run("applied and silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := yarntest.New(yarntest.Config{Nodes: yarntest.Workers(1, 1, 1024, 8), Labels: []string{"s00"}})
			rm, err := yarnclient.NewRM(yarnclient.Options{Addresses: []string{"rm:8088"}, Transport: c.Transport(), Timeout: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			c.Inject(yarntest.Fault{Method: http.MethodPost, Path: "replace-node-to-labels", Apply: true, Hang: true})
			err = rm.ReplaceLabels(t.Context(), map[string]string{"r1n1:45454": "s00"})
			if e := new(yarnclient.RequestError); !errors.Is(err, yarnclient.ErrUnreachable) || !errors.As(err, &e) || e.Unsent {
				t.Errorf("%v, want ErrUnreachable of a call that may have been carried out", err)
			}
			if n, err := rm.Node(t.Context(), "r1n1:45454"); err != nil || n.Label() != "s00" {
				t.Errorf("label %q, %v; want it changed", n.Label(), err)
			}
		})
	})
	t.Run("old label", func(t *testing.T) {
		f := newFixture(t, nil)
		f.park()
		id := f.submit(yarntest.Job{Maps: fourMaps, MapLabel: "s00", Run: minute})
		f.must(f.rm.SetNodeResource(f.ctx, "r1n1:45454", yarnclient.Resource{MemoryMB: 512, VCores: 100}))
		f.label(map[string]string{"r1n1:45454": "s00"})
		f.StaleLabel("r1n1", 50*time.Millisecond)
		f.label(map[string]string{"r1n1:45454": "idle"}) // before any allocation
		f.clock.Advance(time.Second)
		if n := len(f.tasks(id)); n != 1 {
			t.Errorf("%d containers after the label was taken back, want the late one", n)
		}
	})
	t.Run("two at once", func(t *testing.T) {
		f := newFixture(t, nil)
		f.park()
		id := f.submit(yarntest.Job{Maps: fourMaps, MapLabel: "s00", Run: minute})
		f.must(f.rm.SetNodeResource(f.ctx, "r1n1:45454", yarnclient.Resource{MemoryMB: 512, VCores: 100}))
		f.AllocateTwice("r1n1")
		f.label(map[string]string{"r1n1:45454": "s00"})
		f.until("container", func() bool { return len(f.tasks(id)) > 0 })
		if n := len(f.tasks(id)); n != 2 {
			t.Errorf("%d containers, want 2 at once", n)
		}
	})
}

// TestRestart: refused, then wrong with status 200, then as it was with
// another epoch.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := yarntest.New(yarntest.Config{Nodes: yarntest.Workers(1, 2, 1024, 8), Labels: []string{"s00"}})
		rm, err := yarnclient.NewRM(yarnclient.Options{Addresses: []string{"rm:8088"}, Transport: c.Transport(), Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		id, err := c.Submit(yarntest.Job{Maps: [][]string{{"r1n1"}}, Run: minute})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second) // virtual
		if err := rm.ReplaceLabels(ctx, map[string]string{"r1n2:45454": "s00"}); err != nil {
			t.Fatal(err)
		}
		if err := rm.SetNodeResource(ctx, "r1n2:45454", yarnclient.Resource{MemoryMB: 4, VCores: 4}); err != nil {
			t.Fatal(err)
		}
		before, err := rm.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c.RestartRM(3*time.Second, time.Second)
		errtest.Is(t, errtest.Of(rm.Nodes(ctx)), yarnclient.ErrUnreachable)
		<-time.After(3500 * time.Millisecond)
		if info, err := rm.Info(ctx); err != nil || info.HAState != yarnclient.HAInitializing {
			t.Errorf("initializing: %+v, %v", info, err)
		}
		if m, err := rm.NodesToLabels(ctx); err != nil || len(m) != 0 {
			t.Errorf("initializing: labels %v, %v; want none, without an error", m, err)
		}
		if err := rm.ReplaceLabels(ctx, map[string]string{"r1n1:45454": "s00"}); err == nil {
			t.Error("initializing: a label was taken")
		}
		after, err := rm.WaitActive(ctx, 2)
		if err != nil || after.ID == before.ID {
			t.Errorf("%+v, %v; want another epoch than %d", after, err, before.ID)
		}
		if n, err := rm.Node(ctx, "r1n2:45454"); err != nil || n.Label() != "s00" || n.Total.MemoryMB != 1024 {
			t.Errorf("%+v, %v; want the label kept and the size back", n, err)
		}
		<-time.After(time.Second)
		if app, err := rm.App(ctx, id); err != nil || app.State != "RUNNING" || app.Containers != 2 {
			t.Errorf("%+v, %v; want the job back with two containers", app, err)
		}
	})
}

// TestDialects: the typed answers of 3.5 decode to what the quoted ones do.
func TestDialects(t *testing.T) {
	look := func(typed bool) []any {
		f := newFixture(t, func(c *yarntest.Config) { c.Typed = typed })
		id := f.submit(yarntest.Job{Maps: fourMaps, MapLabel: "s00", Run: minute})
		var out []any
		add := func(v any, err error) {
			f.must(err)
			out = append(out, v)
		}
		for range 3 { // no, one and several labelled workers
			add(f.tasks(id), nil)
			add(f.rm.NodeLabels(f.ctx))
			add(f.rm.NodesToLabels(f.ctx))
			add(f.rm.SchedulerConf(f.ctx))
			node := []string{"r1n1:45454", "r1n2:45454", "r2n1:45454"}[len(out)/5%3]
			f.label(map[string]string{node: "s00"})
			f.must(f.rm.SetSchedulerConf(f.ctx, yarnclient.SchedulerChange{Global: map[string]string{"yarn.scheduler.capacity.x." + node: " "}}))
			f.clock.Advance(time.Second)
		}
		return out
	}
	if d := cmp.Diff(look(false), look(true)); d != "" {
		t.Errorf("quoted (-) and typed (+) differ:\n%s", d)
	}
}

// TestDeterministic runs one scenario twice.
func TestDeterministic(t *testing.T) {
	run := func() []yarntest.Attempt {
		f := newFixture(t, nil)
		var maps [][]string
		for i := range 50 {
			maps = append(maps, []string{fmt.Sprintf("r%dn%d", i%2+1, i/2%2+1)})
		}
		a := f.submit(yarntest.Job{Maps: maps, Reduces: 3})
		b := f.submit(yarntest.Job{Maps: maps, Reduces: 3, Slowstart: 1})
		f.clock.Advance(time.Minute)
		return append(f.Attempts(a), f.Attempts(b)...)
	}
	if d := cmp.Diff(run(), run()); d != "" {
		t.Error(d)
	}
}
