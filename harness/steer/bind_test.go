package steer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/harness/state"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// TestBinding holds the map that View.WouldBind predicts against the one that the
// fake cluster's ApplicationMaster binds, by a rule of its own: over random jobs and
// orders of containers, with maps that fail or are killed and run again.
func TestBinding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		racks, perRack := rapid.IntRange(1, 3).Draw(t, "racks"), rapid.IntRange(1, 3).Draw(t, "nodes a rack")
		b := newBinding(t, racks, perRack, rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.IntRange(0, racks*perRack-1), 0, 3, rapid.ID[int]), 1,
			12).Draw(t, "splits"))
		defer b.rm.Close()
		for range 25 {
			waiting := int(b.state.View().Waiting(b.job, state.Map))
			if waiting == 0 && len(b.running) == 0 {
				return
			}
			var on []int
			if waiting > 0 {
				on = rapid.SliceOfNDistinct(rapid.IntRange(0, racks*perRack-1), 1, min(waiting, 4, racks*perRack), rapid.ID[int]).Draw(t,
					"containers on")
			}
			b.open(on)
			b.bound()
			b.end()
		}
	})
}

// binding is a job's maps in the eyes of a State and of a fake cluster.
type binding struct {
	*rapid.T
	clock   *yarntest.Clock
	cluster *yarntest.Fake
	rm      *yarnclient.RM
	app     string
	hosts   []string
	state   *state.State
	job     state.JobID
	seen    map[string]bool // containers
	failed  map[int]bool    // maps
	running []yarntest.Attempt
}

// newBinding starts a job whose master has a heartbeat a second, the first one now.
func newBinding(t *rapid.T, racks, perRack int, splits [][]int) *binding {
	b := &binding{T: t, clock: yarntest.NewClock(), state: state.New(), seen: map[string]bool{}, failed: map[int]bool{}}
	workers := yarntest.Workers(racks, perRack, 64<<10, 64)
	b.cluster = yarntest.New(yarntest.Config{
		Nodes: append(workers, yarntest.Node{Host: "master", Rack: "/core", Label: "am", MemoryMB: 64 << 10, VCores: 64}), Labels: []string{"m"},
		Heartbeat: 50 * time.Millisecond, AMHeartbeat: time.Second, MaxAssignments: 1, AMStart: time.Millisecond, TaskStart: time.Millisecond,
		Now: b.clock.Now,
	})
	var err error
	if b.rm, err = yarnclient.NewRM(yarnclient.Options{
		Addresses: []string{"http://rm:8088"}, Transport: b.cluster.Transport(),
		Retries: -1,
	}); err != nil {
		t.Fatal(err)
	}
	size := state.Resource{MemoryMB: 512, VCores: 1}
	for _, w := range workers {
		b.hosts = append(b.hosts, w.Host)
		if _, err := b.state.AddNode(w.Host, w.Rack, state.Resource{MemoryMB: 64 << 10, VCores: 64}); err != nil {
			t.Fatal(err)
		}
	}
	spec := state.JobSpec{Name: "job", Maps: int32(len(splits)), MapSize: size, ReduceSize: size}
	job := yarntest.Job{AMLabel: "am", MapLabel: "m", Run: func(string, int, int) (time.Duration, bool) {
		fate := rapid.IntRange(0, 3).Draw(t, "fate")
		return []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond, time.Hour}[fate], fate == 2
	}}
	for _, on := range splits {
		hosts, nodes := []string{}, []state.NodeID{}
		for _, n := range on {
			hosts, nodes = append(hosts, b.hosts[n]), append(nodes, state.NodeID(n))
		}
		job.Maps = append(job.Maps, hosts)
		spec.Replicas.Add(nodes...)
	}
	if b.job, err = b.state.Submit(&spec); err != nil {
		t.Fatal(err)
	}
	b.state.Ask(b.job, state.Map, spec.Maps)
	if b.app, err = b.cluster.Submit(job); err != nil {
		t.Fatal(err)
	}
	for {
		b.clock.Advance(time.Millisecond)
		if app, err := b.rm.App(context.Background(), b.app); err != nil || app.State == "RUNNING" {
			return b
		}
	}
}

// open brings the job one container on each of some nodes, before the next
// heartbeat of its master.
func (b *binding) open(on []int) {
	b.clock.Advance(100 * time.Millisecond)
	for _, label := range []string{"m", ""} {
		labelOf := map[string]string{}
		for _, n := range on {
			labelOf[b.hosts[n]+":45454"] = label
		}
		if err := b.rm.ReplaceLabels(context.Background(), labelOf); err != nil {
			b.Fatal(err)
		}
		b.clock.Advance(50 * time.Millisecond)
	}
}

// bound lets the master have its heartbeat, and expects of each new container that
// it runs the map predicted.
func (b *binding) bound() {
	b.clock.Advance(time.Second)
	var fresh []yarntest.Attempt
	for _, a := range b.cluster.Attempts(b.app) {
		if !b.seen[a.Container] {
			b.seen[a.Container] = true
			fresh = append(fresh, a)
		}
	}
	slices.SortFunc(fresh, func(x, y yarntest.Attempt) int { return x.Allocated.Compare(y.Allocated) })
	for branch := state.BindRerun; branch <= state.BindAny; branch++ { // over all containers of the heartbeat
		var left []yarntest.Attempt
		for _, a := range fresh {
			n := state.NodeID(slices.Index(b.hosts, a.Host))
			task, by := b.state.View().WouldBind(b.job, n)
			if by > branch {
				left = append(left, a)
				continue
			}
			got := fmt.Sprintf("map %d, %s", a.Task, a.Locality)
			if want := fmt.Sprintf("map %d, %s", task, map[state.Branch]string{
				state.BindNode: "node", state.BindRack: "rack",
				state.BindAny: "off",
			}[by]); got != want {
				b.Fatalf("container on %s runs %s; predicted is %s", a.Host, got, want)
			}
			if err := b.state.Start(b.job, task, n); err != nil {
				b.Fatal(err)
			}
			b.running = append(b.running, a)
		}
		fresh = left
	}
	if len(fresh) > 0 {
		b.Fatalf("%d containers run maps, none was predicted to", len(fresh))
	}
}

// end kills some of the maps that run on, takes in what has ended, and lets the
// master ask for what waits again.
func (b *binding) end() {
	for _, a := range b.running {
		if rapid.Bool().Draw(b.T, "killed") {
			if err := b.rm.AM(b.app).KillAttempt(context.Background(), a.ID); err != nil {
				break // the job has ended
			}
		}
	}
	now := map[string]yarntest.Attempt{}
	for _, a := range b.cluster.Attempts(b.app) {
		now[a.ID] = a
	}
	slices.SortStableFunc(b.running, func(x, y yarntest.Attempt) int { return now[x.ID].Finished.Compare(now[y.ID].Finished) })
	b.running = slices.DeleteFunc(b.running, func(a yarntest.Attempt) bool {
		var err error
		switch t := state.TaskID(a.Task); now[a.ID].State {
		case "SUCCEEDED":
			err = b.state.Finish(b.job, t)
		case "FAILED", "KILLED":
			b.failed[a.Task] = b.failed[a.Task] || now[a.ID].State == "FAILED"
			err = b.state.Retry(b.job, t, b.failed[a.Task])
		default:
			return false
		}
		if err != nil {
			b.Fatal(err)
		}
		return true
	})
	b.clock.Advance(800 * time.Millisecond)
}
