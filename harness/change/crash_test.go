package change

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/collectors/hdfs"
	"heddle/harness/config"
	"heddle/harness/internal/poll"
	"heddle/harness/lease"
	"heddle/harness/lease/leasetest"
	"heddle/traces"
	"heddle/yarnclient"
)

// process is one process's way to the world, which dies at one of its steps: a
// call to the ResourceManager or an operation on HDFS.
type process struct {
	*leasetest.Files
	rm http.RoundTripper

	mu    sync.Mutex
	left  int // steps to go; negative: lives for ever
	after bool
	cut   int // a file that is created in the last step keeps so many bytes
	dead  bool
}

var errDead = errors.New("the process is dead")

// step carries out do, unless the process dies before.
func (p *process) step(do func() error) error {
	p.mu.Lock()
	dies := p.left == 0
	p.left--
	if p.dead || dies && !p.after {
		p.dead = true
		p.mu.Unlock()
		return errDead
	}
	p.dead = dies
	p.mu.Unlock()
	err := do()
	if dies {
		return errDead
	}
	return err
}

func (p *process) died() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *process) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	if err = p.step(func() (err error) { resp, err = p.rm.RoundTrip(r); return err }); err != nil {
		return nil, err
	}
	return resp, nil
}

func (p *process) MkdirAll(ctx context.Context, name string) error {
	return p.step(func() error { return p.Files.MkdirAll(ctx, name) })
}

func (p *process) Create(ctx context.Context, name string, data []byte) error {
	p.mu.Lock()
	if p.left == 0 && p.after {
		data = data[:min(len(data), p.cut)]
	}
	p.mu.Unlock()
	return p.step(func() error { return p.Files.Create(ctx, name, data) })
}

func (p *process) Read(ctx context.Context, name string) (data []byte, err error) {
	err = p.step(func() (err error) { data, err = p.Files.Read(ctx, name); return err })
	return data, err
}

func (p *process) Names(ctx context.Context, name string) (names []string, err error) {
	err = p.step(func() (err error) { names, err = p.Files.Names(ctx, name); return err })
	return names, err
}

func (p *process) Modified(ctx context.Context, name string) (t time.Time, err error) {
	err = p.step(func() (err error) { t, err = p.Files.Modified(ctx, name); return err })
	return t, err
}

func (p *process) Rename(ctx context.Context, from, to string) error {
	return p.step(func() error { return p.Files.Rename(ctx, from, to) })
}

func (p *process) RemoveAll(ctx context.Context, name string) error {
	return p.step(func() error { return p.Files.RemoveAll(ctx, name) })
}

// processHDFS is the process's way to cache pools and folders.
type processHDFS struct {
	*fakeHDFS
	p *process
}

func (h processHDFS) AddCachePool(ctx context.Context, pool hdfs.CachePool) error {
	return h.p.step(func() error { return h.fakeHDFS.AddCachePool(ctx, pool) })
}

func (h processHDFS) RemoveCachePool(ctx context.Context, name string) error {
	return h.p.step(func() error { return h.fakeHDFS.RemoveCachePool(ctx, name) })
}

func (h processHDFS) RemoveAll(ctx context.Context, name string) error {
	return h.p.step(func() error { return h.fakeHDFS.RemoveAll(ctx, name) })
}

func (h processHDFS) List(ctx context.Context, folder string) (list []hdfs.File, err error) {
	err = h.p.step(func() (err error) { list, err = h.fakeHDFS.List(ctx, folder); return err })
	return list, err
}

// death says when a process dies: see process.
type death struct {
	Steps int
	After bool
	Cut   int
}

func (w *world) process(d death) (*process, *Target) {
	p := &process{Files: w.files, rm: w.yarn.Transport(), left: d.Steps, after: d.After, cut: d.Cut}
	rm, err := yarnclient.NewRM(yarnclient.Options{Addresses: []string{"http://rm:8088"}, Transport: p, Retries: -1})
	if err != nil {
		panic(err)
	}
	return p, &Target{
		Name: "test", RM: rm, Files: p, HDFS: processHDFS{w.hdfs, p}, Staging: staging, Faults: faultCommands,
		Run: func(ctx context.Context, command []string) (out []byte, err error) {
			err = p.step(func() (err error) { out, err = w.faults.run(ctx, command); return err })
			return out, err
		},
	}
}

// action is something that happens while the cluster is held.
type action struct {
	What  string
	Node  string
	Label string
	N     int
}

func (a action) do(ctx context.Context, w *world, h *Hold, app string) error {
	switch a.What {
	case "move":
		return h.ReplaceLabels(ctx, map[string]string{a.Node: a.Label})
	case "moveTwo":
		return h.ReplaceLabels(ctx, map[string]string{a.Node: a.Label, "r2n2:45454": "idle"})
	case "resize":
		return h.SetNodeResource(ctx, a.Node, yarnclient.Resource{MemoryMB: 512 * int64(a.N), VCores: 100})
	case "add":
		return h.AddLabels(ctx, fmt.Sprintf("r%02d", a.N), "m00")
	case "configure":
		return h.SetSchedulerConf(ctx, yarnclient.SchedulerChange{
			Update: []yarnclient.QueueSettings{{
				Queue:    "root.a",
				Settings: map[string]string{"accessible-node-labels.m00.capacity": fmt.Sprint(a.N)},
			}},
			Global: map[string]string{localityDelay: fmt.Sprint(a.N)},
		})
	case "cache":
		_, err := h.AddCachePool(ctx)
		return err
	case "submit":
		return w.submit(ctx, h)
	case config.FaultDown, config.FaultSlow, config.FaultUp:
		host := strings.TrimSuffix(a.Node, ":45454")
		if err := h.NoteFaults(ctx, a.What, []traces.Node{traces.Node(host)}); err != nil {
			return err
		}
		_, err := h.Fault(ctx, a.What, traces.Node(host), float64(a.N)/10)
		return err
	case "undo":
		which := []Kind{NodeDown, NodeSlow}
		for i := range a.N {
			which = append(which, kinds[i].Kind)
		}
		_, err := h.Undo(ctx, which...)
		return err
	case "restart":
		w.yarn.RestartRM(time.Second, time.Second)
	case "wait":
		return poll.Wait(ctx, time.Duration(a.N)*4*time.Second)
	}
	return nil
}

const localityDelay = "yarn.scheduler.capacity.node-locality-delay"

func drawAction(t *rapid.T) action {
	return action{
		What: rapid.SampledFrom([]string{
			"move", "move", "moveTwo", "resize", "add", "configure", "cache", "submit", "down", "up", "slow",
			"undo", "restart", "wait",
		}).Draw(t, "what"),
		Node:  rapid.SampledFrom([]string{node1, node2, "r2n1:45454"}).Draw(t, "node"),
		Label: rapid.SampledFrom([]string{"", "idle", "m00", "a07"}).Draw(t, "label"),
		N:     rapid.IntRange(1, 8).Draw(t, "n"),
	}
}

func drawDeath(t *rapid.T, name string, most int) death {
	return death{rapid.IntRange(0, most).Draw(t, name), rapid.Bool().Draw(t, name+" after"), rapid.IntRange(0, 60).Draw(t, name+" cut")}
}

// TestEveryCrashIsUndone lets a harness die at any step, then those that
// restore, and wants the cluster as it was in the end.
func TestEveryCrashIsUndone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		actions := rapid.SliceOfN(rapid.Custom(drawAction), 1, 8).Draw(rt, "actions")
		deaths := []death{drawDeath(rt, "harness dies", 250)}
		for i := range rapid.IntRange(0, 3).Draw(rt, "restores that die") {
			deaths = append(deaths, drawDeath(rt, fmt.Sprintf("restore %d dies", i), 90))
		}
		old := rapid.SampledFrom([]string{"", "a07", "idle"}).Draw(rt, "label of r1n1")
		down := rapid.Bool().Draw(rt, "r1n2 is down")
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = crash(t, actions, deaths, old, down) })
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

func crash(t *testing.T, actions []action, deaths []death, old string, down bool) error {
	w := newWorld()
	app := w.longJob(t)
	if err := w.rm.ReplaceLabels(t.Context(), map[string]string{node1: old}); err != nil {
		return err
	}
	if err := w.rm.SetSchedulerConf(t.Context(), yarnclient.SchedulerChange{Global: map[string]string{localityDelay: "40"}}); err != nil {
		return err
	}
	w.theirs(t)
	before, rest := w.state(t), w.rest(t)

	p, cluster := w.process(deaths[0])
	h, err := Take(t.Context(), cluster, Options{})
	restarted, downed := false, false // sizes of nodes that are down cannot be noted
	if err == nil {
		for _, a := range actions {
			if err = a.do(t.Context(), w, h, app); err != nil {
				break
			}
			restarted, downed = restarted || a.What == "restart", downed || a.What == config.FaultDown
		}
		if err == nil {
			_, err = h.Release(t.Context())
		}
		h.die()
	}
	if err != nil && !p.died() && !restarted && !downed {
		return fmt.Errorf("steering failed without a crash: %w", err)
	}
	if down {
		w.yarn.StopNode("r1n2")
	}
	for _, d := range deaths[1:] {
		p, cluster := w.process(d)
		if _, err := Restore(t.Context(), cluster, RestoreOptions{}); err != nil && !p.died() {
			return fmt.Errorf("restore failed without a crash: %w", err)
		}
	}
	last := func() error {
		_, cluster := w.process(death{Steps: -1})
		r, err := Restore(t.Context(), cluster, RestoreOptions{})
		if err != nil {
			return fmt.Errorf("last restore: %w", err)
		}
		return r.Err()
	}
	err = last()
	if down {
		w.yarn.StartNode("r1n2")
		synctest.Wait()
		pass(time.Second)
		err = last()
	}
	if err != nil {
		return err
	}
	now := w.state(t)
	maps.DeleteFunc(now.Conf, func(_, value string) bool { return value == "" })
	if restarted { // the store was in memory
		now.Conf, before.Conf = nil, nil
	}
	// the jobs that were submitted have ended
	maps.DeleteFunc(now.Priorities, func(id string, _ int) bool { _, there := before.Priorities[id]; return !there })
	if d := cmp.Diff(before, now); d != "" {
		return fmt.Errorf("not as before:\n%s", d)
	}
	if d := cmp.Diff(rest, w.rest(t)); d != "" {
		return fmt.Errorf("not as before:\n%s", d)
	}
	if _, open, err := notesBefore(t.Context(), w.files, 1000); err != nil || len(open) > 0 {
		return fmt.Errorf("the journal still has %v (%v)", open, err)
	}
	if names, _ := w.files.Names(t.Context(), lease.Root); len(slices.DeleteFunc(names, func(n string) bool { return n[0] == '.' })) > 2 {
		return fmt.Errorf("folders of old holds are still there: %v", names)
	}
	return nil
}
