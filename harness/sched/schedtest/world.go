package schedtest

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// World is a small random cluster on which a model decides. It checks every
// decision before it carries it out, and that a model leaves the View as it was.
// If the model is an Observer, it is told of jobs, tasks and decisions.
type World struct {
	State     *state.State
	View      *state.View
	Decisions []sched.Decision // all so far, in order
	// Plain has the jobs of Submit without priorities, their blocks all somewhere,
	// and no map run again.
	Plain bool

	full []state.Resource // of each node, without other load
	driver
}

// NewWorld draws a cluster of 1 to 6 nodes in up to three racks, without jobs.
func NewWorld(t *rapid.T, m sched.Model) *World {
	if err := sched.CheckPeriod(m); err != nil {
		t.Fatal(err)
	}
	w := &World{driver: newDriver(m)}
	w.State, w.View = w.state, w.view
	w.model = &watched{m}
	if p, ok := m.(sched.PerNode); ok {
		w.model = sched.PerNode{NodeModel: &watchedNode{p.NodeModel}}
	}
	for n := range rapid.IntRange(1, 6).Draw(t, "nodes") {
		size := state.Resource{MemoryMB: 512 * rapid.Int32Range(2, 4).Draw(t, "slots"), VCores: rapid.Int32Range(2, 4).Draw(t, "cores")}
		if _, err := w.State.AddNode(fmt.Sprint("n", n), fmt.Sprint("rack", rapid.IntRange(0, 2).Draw(t, "rack")), size); err != nil {
			t.Fatal(err)
		}
		w.full = append(w.full, size)
	}
	if rapid.IntRange(0, 2).Draw(t, "has slots") == 0 {
		w.State.SetSlots(rapid.Int32Range(1, 3).Draw(t, "map slots"), rapid.Int32Range(1, 2).Draw(t, "reduce slots"))
	}
	return w
}

// watched sees to it that a Round changes nothing in the View.
type watched struct{ sched.Model }

func (m *watched) Unwrap() sched.Model { return m.Model }

func (m *watched) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	before := dump(v)
	out = m.Model.Round(v, free, out)
	if after := dump(v); after != before {
		panic("Round changed the View from\n" + before + "to\n" + after)
	}
	return out
}

type watchedNode struct{ sched.NodeModel }

func (m *watchedNode) Unwrap() sched.NodeModel { return m.NodeModel }

func (m *watchedNode) Choose(v *state.View, n state.NodeID) (sched.Pick, bool) {
	before := dump(v)
	p, ok := m.NodeModel.Choose(v, n)
	if after := dump(v); after != before {
		panic("Choose changed the View from\n" + before + "to\n" + after)
	}
	return p, ok
}

// dump is all that a View shows of nodes and jobs.
func dump(v *state.View) string {
	var out strings.Builder
	for n := range state.NodeID(v.Nodes()) {
		fmt.Fprintln(&out, n, v.Up(n), v.Free(n))
	}
	fmt.Fprintln(&out, v.Now(), v.Active(), v.WaitingJobs(state.Map), v.WaitingJobs(state.Reduce))
	for _, id := range v.Active() {
		fmt.Fprintln(&out, id, v.Waiting(id, state.Map), v.Running(id, state.Map),
			v.WaitingCached(id), v.NextRerun(id), v.NextReduce(id), v.Used(id))
		for n := range state.NodeID(v.Nodes()) {
			t, branch := v.WouldBind(id, n)
			fmt.Fprint(&out, v.NextMap(id, n, state.LevelCache), v.NextMap(id, n, state.LevelNode),
				v.NextMap(id, n, state.LevelRack), t, branch, " ")
		}
		for t := range state.TaskID(v.Tasks(id, state.Map) + v.Tasks(id, state.Reduce)) {
			fmt.Fprint(&out, v.IsWaiting(id, t), v.RunsOn(id, t))
		}
	}
	return out.String()
}

// Submit submits a random job of up to 8 maps and 2 reduces, which asks for all of
// them at once.
func (w *World) Submit(t *rapid.T) {
	node := rapid.Custom(func(t *rapid.T) state.NodeID {
		return state.NodeID(rapid.IntRange(0, w.View.Nodes()-1).Draw(t, "host"))
	})
	size := func(what string) state.Resource {
		return state.Resource{MemoryMB: 512 * rapid.Int32Range(1, 2).Draw(t, what), VCores: rapid.Int32Range(1, 2).Draw(t, what)}
	}
	spec := state.JobSpec{
		Name: fmt.Sprint("job", w.View.Jobs()), Queue: fmt.Sprint("q", rapid.IntRange(0, 2).Draw(t, "queue")),
		Priority: rapid.Int32Range(0, 2).Draw(t, "priority"), Weight: float64(rapid.IntRange(1, 3).Draw(t, "weight")),
		Maps: rapid.Int32Range(0, 8).Draw(t, "maps"), Reduces: rapid.Int32Range(0, 2).Draw(t, "reduces"),
		MapSize: size("map"), ReduceSize: size("reduce"),
	}
	if rapid.Bool().Draw(t, "shares") && spec.Reduces > 0 {
		spec.ReduceShares = rapid.SliceOfN(rapid.Int64Range(1, 9), int(spec.Reduces), int(spec.Reduces)).Draw(t, "share")
	}
	placed, least := rapid.Int32Range(0, spec.Maps).Draw(t, "placed"), 0
	if w.Plain {
		spec.Priority, placed, least = 0, spec.Maps, 1
	}
	for range placed {
		hosts := rapid.SliceOfNDistinct(node, least, min(3, w.View.Nodes()), rapid.ID).Draw(t, "hosts")
		spec.Replicas.Add(hosts...)
		spec.Cached.Add(hosts[:rapid.IntRange(0, len(hosts)).Draw(t, "cached")]...)
	}
	if _, err := w.submit(&spec); err != nil {
		t.Fatal(err)
	}
}

// SubmitEqual submits a job of 6 maps that differs from others of this method only
// in where its blocks are: it has no reduces and no priority, and each block is on
// the disk of one node.
func (w *World) SubmitEqual(t *rapid.T) state.JobID {
	spec := state.JobSpec{Name: "job", Queue: "q", Maps: 6, MapSize: state.Resource{MemoryMB: 512, VCores: 1}}
	for range spec.Maps {
		spec.Replicas.Add(state.NodeID(rapid.IntRange(0, w.View.Nodes()-1).Draw(t, "host")))
	}
	id, err := w.submit(&spec)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Heartbeat is one node's, a second after the last. What the model decides starts
// at once.
func (w *World) Heartbeat(t *rapid.T, n state.NodeID) {
	if err := w.heartbeat(n, 1000, func(d sched.Decision, _ state.TaskID) { w.Decisions = append(w.Decisions, d) }); err != nil {
		t.Fatal(err)
	}
}

// FinishOne ends the first task that runs, if any does.
func (w *World) FinishOne(t *rapid.T) { w.finish(t, 1) }

// finish ends tasks that run, up to a number of them.
func (w *World) finish(t *rapid.T, most int) {
	jobs, tasks := w.running()
	for i := range min(most, len(tasks)) {
		if err := w.end(jobs[i], tasks[i], false, false); err != nil {
			t.Fatal(err)
		}
	}
}

// Step is one random event: mostly a node's heartbeat, or else a job that comes, a
// node that goes or comes back, a task that ends, or other load that takes a part of a
// node, which may be more than is free, or gives it back.
func (w *World) Step(t *rapid.T) {
	w.cancels = func() bool { return rapid.IntRange(0, 2).Draw(t, "group is cancelled") == 0 }
	defer func() { w.cancels = nil }()
	n := state.NodeID(rapid.IntRange(0, w.View.Nodes()-1).Draw(t, "node"))
	switch rapid.IntRange(0, 11).Draw(t, "event") {
	case 0:
		w.Submit(t)
	case 1:
		w.State.NodeDown(n)
	case 2:
		w.State.NodeUp(n)
	case 3, 4:
		jobs, tasks := w.running()
		if len(tasks) == 0 {
			return
		}
		i := rapid.IntRange(0, len(tasks)-1).Draw(t, "task")
		fails := rapid.Bool().Draw(t, "fails")
		if err := w.end(jobs[i], tasks[i], fails, fails && rapid.Bool().Draw(t, "rerun") && !w.Plain); err != nil {
			t.Fatal(err)
		}
	case 5:
		slots := rapid.Int32Range(0, 4).Draw(t, "slots left")
		w.State.SetCapacity(n, state.Resource{MemoryMB: min(512*slots, w.full[n].MemoryMB), VCores: min(slots, w.full[n].VCores)})
	case 6:
		w.State.SetCapacity(n, w.full[n])
	default:
		w.Heartbeat(t, n)
	}
}

// Busy has jobs come, run and end.
func Busy(t *rapid.T, w *World) {
	w.Plain = rapid.Bool().Draw(t, "plain")
	for range 4 {
		w.Submit(t)
	}
	for range 100 {
		w.Step(t)
		if active := w.View.Active(); len(active) > 3 && rapid.IntRange(0, 9).Draw(t, "ends") == 0 {
			w.State.EndJob(active[0])
		}
	}
}
