package model

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// TestConservation has random loads, jobs and ends of tasks between plans. A plan gives
// out no more slots than are free on nodes that are up, or than there are, for one that
// deals anew. It gives slots only to jobs with maps that have not ended, no more than
// they have such maps. What starts waits, and its node has room for it.
func TestConservation(t *testing.T) {
	for _, x := range []struct {
		info   sched.Info
		params sched.Params
	}{
		{AdaptiveInfo, nil},
		{AdaptiveInfo, sched.Params{"need": "forecast", "from": "anew"}},
		{ReverseInfo, nil},
		{ReverseInfo, sched.Params{"share": "ldf", "first": "cycle"}},
		{ReverseInfo, sched.Params{"from": "anew", "forecast": "mean"}},
	} {
		t.Run(fmt.Sprint(x.info.Name, x.params), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := errtest.Must(x.info.New(x.params))
				p, _ := sched.As[*planner](m)
				w := newShared(t, p)
				for range rapid.IntRange(1, 30).Draw(t, "steps") {
					w.step(t, m)
				}
			})
		})
	}
}

// TestSlots counts slots of 512 MB and a core where YARN gives containers of 128 MB too. Of
// three nodes of 1.5, 2 and 2.5 GB, the second is down, and the first uses more than it has.
func TestSlots(t *testing.T) {
	s := state.New()
	for i, mb := range []int32{1536, 2048, 2560} {
		errtest.Must(s.AddNode(fmt.Sprint("n", i), "rack", state.Resource{MemoryMB: mb, VCores: 1 << 20}))
	}
	s.SetSmallest(state.Resource{MemoryMB: 128, VCores: 1})
	id, err := s.Submit(&state.JobSpec{Name: "j", Maps: 9, MapSize: slot})
	mustDo(t, err)
	s.Ask(id, state.Map, 9)
	for i := range state.TaskID(3) {
		mustDo(t, s.Start(id, i, 0))
	}
	s.NodeDown(1)
	s.SetCapacity(0, slot)
	v := s.View()
	if all, free := slotsOf(v, slot), freeSlots(v, slot); all != 6 || free != 5 {
		t.Errorf("%d slots, %d free; want 6 and 5", all, free)
	}
	s.SetSlots(2, 1)
	if all, free := slotsOf(v, slot), freeSlots(v, slot); all != 3 || free != 2 {
		t.Errorf("with 2 map slots a node: %d slots, %d free; want 3 and 2", all, free)
	}
}

// shared is a cluster that other load shares.
type shared struct {
	*state.State
	v    *state.View
	p    *planner
	full []int32 // slots of each node without other load
	now  int64   // seconds
}

func newShared(t *rapid.T, p *planner) *shared {
	w := &shared{State: state.New(), p: p, full: rapid.SliceOfN(rapid.Int32Range(0, 4), 1, 5).Draw(t, "slots")}
	w.v = w.View()
	table := state.Timetable{EveryMs: 40_000}
	for n, slots := range w.full {
		errtest.Must(w.AddNode(fmt.Sprint("n", n), "rack", slot.Times(slots)))
		table.Changes = append(table.Changes, state.CapacityChange{
			Node: fmt.Sprint("n", n),
			Left: slot.Times(rapid.Int32Range(0, slots).Draw(t, "told")),
		})
	}
	w.SetSmallest(slot)
	if rapid.Bool().Draw(t, "told of the load") {
		p.Foresee(&table)
	}
	return w
}

func (w *shared) step(t *rapid.T, m sched.Model) {
	n := state.NodeID(rapid.IntRange(0, len(w.full)-1).Draw(t, "node"))
	switch rapid.IntRange(0, 8).Draw(t, "event") {
	case 0, 1:
		id := errtest.Must(w.Submit(&state.JobSpec{
			Name: fmt.Sprint("job", w.v.Jobs()), Maps: rapid.Int32Range(0, 9).Draw(t, "maps"), Reduces: rapid.Int32Range(0, 2).Draw(t, "reduces"),
			MapSize: slot, ReduceSize: slot,
			DeadlineMs: 1000 * rapid.Int64Range(0, 200).Draw(t, "due"),
		}))
		w.Ask(id, state.Map, w.v.Tasks(id, state.Map))
		w.Ask(id, state.Reduce, w.v.Tasks(id, state.Reduce))
		w.p.Observe(w.v, sched.Event{What: sched.JobSubmitted, Job: id})
	case 2:
		w.SetCapacity(n, slot.Times(rapid.Int32Range(0, w.full[n]).Draw(t, "left")))
	case 3:
		w.NodeDown(n)
	case 4:
		w.NodeUp(n)
	case 5:
		w.end(t)
	case 6:
		w.start(t, m, n)
	default:
		w.now += 10
		w.SetNow(w.now * 1e9)
		if len(w.v.Active()) > 0 {
			w.p.Tick(w.v)
			w.check(t)
		}
	}
}

// check holds the plan against the cluster.
func (w *shared) check(t *rapid.T) {
	free, all, given, targets := 0, 0, 0, 0
	for n := range state.NodeID(w.v.Nodes()) {
		if w.v.Up(n) {
			free += int(max(0, w.v.Free(n).VCores))
			all += int(w.v.Capacity(n).VCores)
		}
	}
	for i := range w.p.demands {
		id := w.p.demands[i].job
		x, runs := int(w.p.targets.Of(id).slots), int(w.v.Running(id, state.Map))
		given, targets = given+max(0, x-runs), targets+x
		if w.v.Ended(id) || x > int(pendingMaps(w.v, id)) {
			t.Fatalf("%d slots for job %d, which has %d maps that have not ended", x, id, pendingMaps(w.v, id))
		}
	}
	if w.p.From == "running" && given > free {
		t.Fatalf("%d slots are given out, and %d are free", given, free)
	}
	if w.p.From == "anew" && targets > all {
		t.Fatalf("%d slots are given out, and there are %d", targets, all)
	}
}

// start starts what the model decides for a node.
func (w *shared) start(t *rapid.T, m sched.Model, n state.NodeID) {
	for w.v.HasRoom(n) {
		out := m.Round(w.v, []state.NodeID{n}, nil)
		if len(out) == 0 {
			return
		}
		d := out[0]
		if err := sched.Possible(w.v, d); err != nil {
			t.Fatal(err)
		}
		if err := w.Start(d.Job, d.Task, d.Node); err != nil {
			t.Fatal(err)
		}
		w.p.Observe(w.v, sched.Event{What: sched.TaskStarted, Job: d.Job, Task: d.Task, Node: d.Node})
	}
}

// end ends a running task, and the job if that was its last.
func (w *shared) end(t *rapid.T) {
	for _, id := range w.v.Active() {
		for task := range state.TaskID(w.v.Tasks(id, state.Map) + w.v.Tasks(id, state.Reduce)) {
			if w.v.RunsOn(id, task) == state.None {
				continue
			}
			fails := rapid.IntRange(0, 3).Draw(t, "fails") == 0
			err := w.Finish
			if fails {
				err = func(id state.JobID, task state.TaskID) error { return w.Retry(id, task, true) }
			}
			if err := err(id, task); err != nil {
				t.Fatal(err)
			}
			w.p.Observe(w.v, sched.Event{What: sched.TaskEnded, Job: id, Task: task, Failed: fails})
			if w.v.Done(id, state.Map) == w.v.Tasks(id, state.Map) && w.v.Done(id, state.Reduce) == w.v.Tasks(id, state.Reduce) {
				w.EndJob(id)
				w.p.Observe(w.v, sched.Event{What: sched.JobEnded, Job: id})
			}
			return
		}
	}
}
