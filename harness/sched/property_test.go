package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/state"
)

// baseline is a model with parameters that the properties are checked for.
type baseline struct {
	name   string
	params Params
}

// baselines are models with the parameters that change most. Models that are not
// named here are checked with their defaults.
var baselines = []baseline{
	{"fifo", nil},
	{"fifo", Params{"offRackPerHeartbeat": "1"}},
	{"fair", nil},
	{"fair", Params{"policy": "drf", "weights": "q0=3", "nodeThreshold": "0.5", "rackThreshold": "1", "maxPerHeartbeat": "1"}},
	{"fair", Params{"minShares": "q1=1024"}},
	{"capacity", nil},
	{"capacity", Params{"capacities": "q0=80", "order": "fair", "rackLocalityAdditionalDelay": "3", "rackLocalityFullReset": "false"}},
	{"delay", nil},
	{"delay", Params{"form": "time", "nodeWait": "3s", "rackWait": "2s"}},
	{"delay", Params{"order": "fair", "nodeSkips": "3", "rackSkips": "1"}},
	{"acl", nil},
	{"acl", Params{"c": "7.5", "d": "2"}},
	{"planned", nil},
	{"clqlmrs", Params{"episodes": "20"}},
	{"clqlmrs", Params{"episodes": "20", "update": "q", "reward": "cumulative", "episode": "wave", "retrain": "0"}},
	{"clqlmrs", Params{"episodes": "20", "table": "class"}},
	{"clqlmrs", Params{"episodes": "20", "pairs": "12"}},
	{"fair1", nil},
	{"fair1", Params{"inPool": "fifo", "nodeDelayMs": "3000", "rackDelayMs": "2000", "minMaps": "q0=2,*=1", "maxMaps": "*=3", "maxReduces": "q1=1", "weights": "q2=2"}},
	{"fifo1", nil},
	{"modfair", nil},
	{"modfair", Params{"mechanisms": "m1,m2,m3,m5", "share": "total", "grant": "each", "sharedPlace": "sorted", "sharedOrder": "factors", "mostPending": "last", "minimum": "ratchet", "table3": "printed", "endLevel": "prose", "minMaps": "*=3", "maxMaps": "*=6"}},
	{"modfair", Params{"mechanisms": "m2,m4", "share": "freeOnly", "cap": "borrow", "round": "ceil", "wait": "pending", "delayMean": "recent", "rackTimer": "sameStart", "pick": "next"}},
	{"random", nil},
	{"matching", nil},
	{"matching", Params{"slots": "2", "off": "0"}},
}

func forEachBaseline(t *testing.T, check func(*rapid.T, func() Model)) {
	list := slices.Clone(baselines)
	for _, info := range List() {
		if !slices.ContainsFunc(baselines, func(b baseline) bool { return b.name == info.Name }) {
			list = append(list, baseline{name: info.Name})
		}
	}
	for i, b := range list {
		t.Run(fmt.Sprint(b.name, i), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				check(t, func() Model {
					m, err := New(b.name, b.params)
					if err != nil {
						t.Fatal(err)
					}
					return m
				})
			})
		})
	}
}

// world is a random cluster on which a model decides. Every decision is checked
// before it is carried out, and every Round for what it leaves as it was.
type world struct {
	s      *state.State
	v      *state.View
	m      Model
	offers Offers
	now    int64
	log    []string // decisions
	plain  bool     // no priorities, no failures, and all input somewhere
}

func newWorld(t *rapid.T, m Model) *world {
	w := &world{s: state.New(), m: &watched{Model: m}}
	w.v = w.s.View()
	if p, ok := m.(PerNode); ok {
		w.m = PerNode{&watchedNode{NodeModel: p.NodeModel}}
	}
	for n := range rapid.IntRange(1, 6).Draw(t, "nodes") {
		size := state.Resource{MemoryMB: 512 * rapid.Int32Range(2, 4).Draw(t, "slots"), VCores: rapid.Int32Range(2, 4).Draw(t, "cores")}
		if _, err := w.s.AddNode(fmt.Sprint("n", n), fmt.Sprint("rack", rapid.IntRange(0, 2).Draw(t, "rack")), size); err != nil {
			t.Fatal(err)
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "has slots") == 0 {
		w.s.SetSlots(rapid.Int32Range(1, 3).Draw(t, "map slots"), rapid.Int32Range(1, 2).Draw(t, "reduce slots"))
	}
	return w
}

// watched sees to it that a Round changes nothing in the View.
type watched struct{ Model }

func (m *watched) Round(v *state.View, free []state.NodeID, out []Decision) []Decision {
	before := dump(v)
	out = m.Model.Round(v, free, out)
	if after := dump(v); after != before {
		panic("Round changed the View from\n" + before + "to\n" + after)
	}
	return out
}

type watchedNode struct{ NodeModel }

func (m *watchedNode) Choose(v *state.View, n state.NodeID) (Pick, bool) {
	before := dump(v)
	d, ok := m.NodeModel.Choose(v, n)
	if after := dump(v); after != before {
		panic("Choose changed the View from\n" + before + "to\n" + after)
	}
	return d, ok
}

// dump is all that a View shows of nodes and jobs.
func dump(v *state.View) string {
	var out strings.Builder
	for n := range state.NodeID(v.Nodes()) {
		fmt.Fprintln(&out, n, v.Up(n), v.Free(n))
	}
	fmt.Fprintln(&out, v.Now(), v.Active(), v.WaitingJobs(state.Map), v.WaitingJobs(state.Reduce))
	for _, id := range v.Active() {
		fmt.Fprintln(&out, id, v.Waiting(id, state.Map), v.Running(id, state.Map), v.WaitingCached(id), v.NextRerun(id), v.NextReduce(id), v.Used(id))
		for n := range state.NodeID(v.Nodes()) {
			t, branch := v.WouldBind(id, n)
			fmt.Fprint(&out, v.NextMap(id, n, state.LevelCache), v.NextMap(id, n, state.LevelNode), v.NextMap(id, n, state.LevelRack), t, branch, " ")
		}
		for t := range state.TaskID(v.Tasks(id, state.Map) + v.Tasks(id, state.Reduce)) {
			fmt.Fprint(&out, v.IsWaiting(id, t), v.RunsOn(id, t))
		}
	}
	return out.String()
}

func (w *world) submit(t *rapid.T) {
	node := rapid.Custom(func(t *rapid.T) state.NodeID {
		return state.NodeID(rapid.IntRange(0, w.v.Nodes()-1).Draw(t, "host"))
	})
	size := func(what string) state.Resource {
		return state.Resource{MemoryMB: 512 * rapid.Int32Range(1, 2).Draw(t, what), VCores: rapid.Int32Range(1, 2).Draw(t, what)}
	}
	spec := state.JobSpec{
		Name: fmt.Sprint("job", w.v.Jobs()), Queue: fmt.Sprint("q", rapid.IntRange(0, 2).Draw(t, "queue")),
		Priority: rapid.Int32Range(0, 2).Draw(t, "priority"), Weight: float64(rapid.IntRange(1, 3).Draw(t, "weight")),
		Maps: rapid.Int32Range(0, 8).Draw(t, "maps"), Reduces: rapid.Int32Range(0, 2).Draw(t, "reduces"),
		MapSize: size("map"), ReduceSize: size("reduce"),
	}
	placed, least := rapid.Int32Range(0, spec.Maps).Draw(t, "placed"), 0
	if w.plain {
		spec.Priority, placed, least = 0, spec.Maps, 1
	}
	for range placed {
		hosts := rapid.SliceOfNDistinct(node, least, min(3, w.v.Nodes()), rapid.ID).Draw(t, "hosts")
		spec.Replicas.Add(hosts...)
		spec.Cached.Add(hosts[:rapid.IntRange(0, len(hosts)).Draw(t, "cached")]...)
	}
	id, err := w.s.Submit(&spec)
	if err != nil {
		t.Fatal(err)
	}
	w.s.Ask(id, state.Map, spec.Maps)
	w.s.Ask(id, state.Reduce, spec.Reduces)
}

// heartbeat is one node's; it returns how many decisions were carried out.
func (w *world) heartbeat(t *rapid.T, n state.NodeID) int {
	w.now += 1e9
	w.s.SetNow(w.now)
	did := 0
	w.offers.Heartbeat(w.m, w.v, n, func(d Decision) bool {
		if err := check(w.v, d); err != nil {
			t.Fatalf("node %d: %+v: %v", n, d, err)
		}
		if _, ok := w.m.(PerNode); ok && d.Node != n {
			t.Fatalf("node %d: a decision for another, %+v", n, d)
		}
		r, err := w.s.Reserve(d.Job, d.Kind, d.Task, d.Node)
		if err != nil {
			t.Fatal(err)
		}
		_, _, task, _, _ := w.s.Reservation(r)
		if err := w.s.Confirm(r, task); err != nil {
			t.Fatal(err)
		}
		w.log = append(w.log, fmt.Sprintf("%+v", d))
		did++
		return true
	})
	return did
}

func (w *world) running() (jobs []state.JobID, tasks []state.TaskID) {
	for _, id := range w.v.Active() {
		for t := range state.TaskID(w.v.Tasks(id, state.Map) + w.v.Tasks(id, state.Reduce)) {
			if w.v.RunsOn(id, t) != state.None {
				jobs, tasks = append(jobs, id), append(tasks, t)
			}
		}
	}
	return jobs, tasks
}

// step is one random event.
func (w *world) step(t *rapid.T) {
	n := state.NodeID(rapid.IntRange(0, w.v.Nodes()-1).Draw(t, "node"))
	switch rapid.IntRange(0, 9).Draw(t, "event") {
	case 0:
		w.submit(t)
	case 1:
		w.s.NodeDown(n)
	case 2:
		w.s.NodeUp(n)
	case 3, 4:
		jobs, tasks := w.running()
		if len(tasks) == 0 {
			return
		}
		i := rapid.IntRange(0, len(tasks)-1).Draw(t, "task")
		var err error
		if rapid.Bool().Draw(t, "fails") {
			err = w.s.Retry(jobs[i], tasks[i], rapid.Bool().Draw(t, "rerun") && !w.plain)
		} else {
			err = w.s.Finish(jobs[i], tasks[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	default:
		w.heartbeat(t, n)
	}
}

// TestModelsKeepTheRules has random events and models that never start more
// than a node holds, a task twice, anything on a lost node or what does not wait,
// and never change the View.
func TestModelsKeepTheRules(t *testing.T) {
	forEachBaseline(t, func(t *rapid.T, make func() Model) {
		w := newWorld(t, make())
		w.submit(t)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			w.step(t)
		}
	})
}

// TestNoModelStarves has every task started within a bounded number of
// heartbeats once all nodes are up and tasks end.
func TestNoModelStarves(t *testing.T) {
	forEachBaseline(t, func(t *rapid.T, make func() Model) {
		w := newWorld(t, make())
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			w.step(t)
		}
		w.submit(t)
		for n := range state.NodeID(w.v.Nodes()) {
			w.s.NodeUp(n)
		}
		idle := 0
		for len(w.v.WaitingJobs(state.Map))+len(w.v.WaitingJobs(state.Reduce)) > 0 {
			jobs, tasks := w.running()
			for i := range tasks {
				if err := w.s.Finish(jobs[i], tasks[i]); err != nil {
					t.Fatal(err)
				}
			}
			did := 0
			for n := range state.NodeID(w.v.Nodes()) {
				did += w.heartbeat(t, n)
			}
			// The longest wait here is acl's: C·f + D opportunities of each job.
			if idle++; did > 0 {
				idle = 0
			} else if idle > 20 {
				t.Fatalf("nothing started in %d heartbeats of every node while these wait: %s", idle, dump(w.v))
			}
		}
	})
}

// TestModelsAreDeterministic has the same events and seed lead to the same
// decisions.
func TestModelsAreDeterministic(t *testing.T) {
	forEachBaseline(t, func(t *rapid.T, make func() Model) {
		seed := rapid.Uint32().Draw(t, "seed")
		run := func() []string {
			// The same draws for both: an example of a generator by its seed.
			return rapid.Custom(func(t *rapid.T) []string {
				w := newWorld(t, make())
				w.submit(t)
				for range 30 {
					w.step(t)
				}
				return append(w.log, "end")
			}).Example(int(seed))
		}
		if first, second := run(), run(); !slices.Equal(first, second) {
			t.Fatalf("decisions differ:\n%s\n%s", strings.Join(first, "\n"), strings.Join(second, "\n"))
		}
	})
}

// thorough is planned, looking at all jobs each time.
type thorough struct{ *planned }

func (m thorough) Round(v *state.View, free []state.NodeID, out []Decision) []Decision {
	if d, ok := walkPlanned(v, free[:1]); ok {
		return append(out, d)
	}
	return out
}

// TestPlannedOverlooksNothing has planned decide the same by the jobs of a node
// as by all.
func TestPlannedOverlooksNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint32().Draw(t, "seed")
		run := func(m Model) []string {
			return rapid.Custom(func(t *rapid.T) []string {
				w := newWorld(t, m)
				w.plain = rapid.Bool().Draw(t, "plain")
				for range 4 {
					w.submit(t)
				}
				for range 100 {
					w.step(t)
					if active := w.v.Active(); len(active) > 3 && rapid.IntRange(0, 9).Draw(t, "ends") == 0 {
						w.s.EndJob(active[0])
					}
				}
				return append(w.log, "end")
			}).Example(int(seed))
		}
		if is, all := run(&planned{}), run(thorough{&planned{}}); !slices.Equal(is, all) {
			t.Fatalf("decisions differ:\n%s\nlooking at all jobs:\n%s", strings.Join(is, "\n"), strings.Join(all, "\n"))
		}
	})
}

// drawn is random, counting anew each time.
type drawn struct{ *random }

func (m drawn) Choose(v *state.View, n state.NodeID) (Pick, bool) {
	m.waits = waiting{}
	return m.random.Choose(v, n)
}

// TestRandomCounts has random draw the same by what it has counted as by what
// it counts anew, and by a walk.
func TestRandomCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint32().Draw(t, "seed")
		run := func(make func(*random) NodeModel) []string {
			return rapid.Custom(func(t *rapid.T) []string {
				w := newWorld(t, PerNode{make(&random{rng: rand.New(rand.NewPCG(1, 0))})})
				w.plain = rapid.Bool().Draw(t, "plain")
				for range 80 {
					w.step(t)
				}
				return append(w.log, "end")
			}).Example(int(seed))
		}
		counted := run(func(m *random) NodeModel { return m })
		if anew := run(func(m *random) NodeModel { return drawn{m} }); !slices.Equal(counted, anew) {
			t.Fatalf("decisions differ:\n%s\ncounting anew:\n%s", strings.Join(counted, "\n"), strings.Join(anew, "\n"))
		}
		if walked := run(func(m *random) NodeModel { return walked{m} }); !slices.Equal(counted, walked) {
			t.Fatalf("decisions differ:\n%s\nby a walk:\n%s", strings.Join(counted, "\n"), strings.Join(walked, "\n"))
		}
	})
}

// walked is random, going through all jobs each time.
type walked struct{ *random }

func (m walked) Choose(v *state.View, n state.NodeID) (Pick, bool) { return m.walk(v, n) }

// TestEqualModels has pairs of models that are the same by their rules decide
// the same: delay without a wait and fair; acl without a cache and delay that
// waits for the node only; capacity with 40 and with the number of nodes.
func TestEqualModels(t *testing.T) {
	for _, pair := range []struct {
		name          string
		a, b          string
		paramA, param Params
		plain         bool // equal jobs, nothing cached
	}{
		{"delay 0 is fair", "delay", "fair", Params{"order": "fair", "nodeSkips": "0", "rackSkips": "0"}, nil, true},
		{"acl without cache is delay", "acl", "delay", Params{"d": "3"}, Params{"nodeSkips": "3", "rackSkips": "0"}, true},
		{"acl with C 0 is acl without cache", "acl", "acl", Params{"c": "0", "d": "3"}, Params{"c": "9", "d": "3"}, true},
		{"modfair without mechanisms is fair1", "modfair", "fair1", Params{"mechanisms": "", "minMaps": "*=1", "maxMaps": "q1=2"}, Params{"minMaps": "*=1", "maxMaps": "q1=2"}, false},
		{"fair1 with one job a pool and no wait is fair1 by jobs", "fair1", "fair1", Params{"nodeDelayMs": "0", "rackDelayMs": "0", "weights": "q=2"}, Params{"nodeDelayMs": "0", "rackDelayMs": "0"}, true},
		{"capacity's 40 is the nodes", "capacity", "capacity", nil, Params{"nodeLocalityDelay": "6"}, false},
	} {
		t.Run(pair.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				seed := rapid.Uint32().Draw(t, "seed")
				run := func(name string, p Params) []string {
					return rapid.Custom(func(t *rapid.T) []string {
						m, err := New(name, p)
						if err != nil {
							t.Fatal(err)
						}
						w := newWorld(t, m)
						for range 4 {
							if pair.plain {
								w.submitPlain(t)
							} else {
								w.submit(t)
							}
						}
						for range 60 {
							w.heartbeat(t, state.NodeID(rapid.IntRange(0, w.v.Nodes()-1).Draw(t, "node")))
							if jobs, tasks := w.running(); len(tasks) > 0 && rapid.Bool().Draw(t, "ends") {
								if err := w.s.Finish(jobs[0], tasks[0]); err != nil {
									t.Fatal(err)
								}
							}
						}
						return w.log
					}).Example(int(seed))
				}
				if a, b := run(pair.a, pair.paramA), run(pair.b, pair.param); !slices.Equal(a, b) {
					t.Fatalf("decisions of %s:\n%s\nof %s:\n%s", pair.a, strings.Join(a, "\n"), pair.b, strings.Join(b, "\n"))
				}
			})
		})
	}
}

// submitPlain submits a job with equal containers, no reduces, no priority and
// every block somewhere on disk.
func (w *world) submitPlain(t *rapid.T) {
	spec := state.JobSpec{Name: "job", Queue: "q", Maps: 6, MapSize: state.Resource{MemoryMB: 512, VCores: 1}}
	for range spec.Maps {
		spec.Replicas.Add(state.NodeID(rapid.IntRange(0, w.v.Nodes()-1).Draw(t, "host")))
	}
	id, err := w.s.Submit(&spec)
	if err != nil {
		t.Fatal(err)
	}
	w.s.Ask(id, state.Map, spec.Maps)
}

// TestMatchingIsTheBound has no model that fills the same slots reach a larger
// sum of weights in one pass.
func TestMatchingIsTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint32().Draw(t, "seed")
		sum := func(name string, p Params) int {
			return rapid.Custom(func(t *rapid.T) int {
				m, err := New(name, p)
				if err != nil {
					t.Fatal(err)
				}
				w := newWorld(t, m)
				for range 3 {
					w.submitPlain(t)
				}
				for _, id := range w.v.Active() {
					for task := range state.TaskID(6) {
						if rapid.Bool().Draw(t, "cached") {
							w.s.Cached(id, task, w.v.Replicas(id, task)[0])
						}
					}
				}
				total := 0
				for n := range state.NodeID(w.v.Nodes()) {
					w.offers.Heartbeat(w.m, w.v, n, func(d Decision) bool {
						total += 4 - int(w.v.Level(d.Job, d.Task, d.Node)-state.LevelCache)
						return w.s.Start(d.Job, d.Task, d.Node) == nil
					})
				}
				return total
			}).Example(int(seed))
		}
		bound := sum("matching", nil)
		for _, b := range baselines {
			if got := sum(b.name, b.params); b.name != "matching" && got > bound {
				t.Errorf("%s %v reaches %d, matching %d", b.name, b.params, got, bound)
			}
		}
	})
}
