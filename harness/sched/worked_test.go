package sched

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/state"
	"heddle/traces/errtest"
)

// TestOffSwitchAfter has the worked examples of the Capacity scheduler's rule.
func TestOffSwitchAfter(t *testing.T) {
	for _, c := range []struct{ nodes, waiting, asks, want int64 }{
		{6, 10, 8, 6}, // f = 1
		{60, 3, 9, 0}, // 3·8/60 = 0.4: at once
		{60, 3, 1, 0}, // only "any" is asked
		{60, 60, 61, 60},
		{4, 2, 3, 1}, // 2·2/4
		{0, 5, 3, 0},
	} {
		if got := offSwitchAfter(c.nodes, c.waiting, c.asks); got != c.want {
			t.Errorf("%d nodes, %d waiting, %d asks: off-switch after %d, want %d", c.nodes, c.waiting, c.asks, got, c.want)
		}
	}
}

// TestAsksStay has the last two of 40 maps wait on 20 nodes. YARN was asked for containers on 19 hosts
// and two racks, whose names stay: f is 1, and the third offer is taken.
func TestAsksStay(t *testing.T) {
	const nodes = 20
	s := state.New()
	for n := range nodes {
		addNode(t, s, n, n/(nodes-1), slot.Times(40))
	}
	spec := state.JobSpec{Name: "job", Maps: 40, MapSize: slot}
	for i := range spec.Maps {
		spec.Replicas.Add(state.NodeID(i % (nodes - 1)))
	}
	id := submit(t, s, &spec)
	for i := range spec.Maps - 2 {
		mustDo(t, s.Start(id, state.TaskID(i), 0))
	}
	m := errtest.Must(New("capacity", nil))
	missed := 0
	for len(m.Round(s.View(), []state.NodeID{nodes - 1}, nil)) == 0 {
		missed++
	}
	if missed != 2 {
		t.Errorf("off-rack after %d offers, want 2", missed)
	}
}

// TestRackLocalityDelay has 40 of 60 nodes missed, and 6 of 6.
func TestRackLocalityDelay(t *testing.T) {
	for _, c := range []struct{ nodes, want int }{{60, 40}, {6, 6}} {
		s := state.New()
		for n := range c.nodes {
			addNode(t, s, n, 0, state.Resource{MemoryMB: 100 * 512, VCores: 100})
		}
		spec := state.JobSpec{Name: "job", Maps: 200, MapSize: slot}
		for range spec.Maps { // on every node but the last: f = 1
			spec.Replicas.Add(state.NodeID(len(spec.Replicas.Ends) % (c.nodes - 1)))
		}
		submit(t, s, &spec)
		m := errtest.Must(New("capacity", nil))
		missed := 0
		for len(m.Round(s.View(), []state.NodeID{state.NodeID(c.nodes - 1)}, nil)) == 0 {
			missed++
		}
		if missed != c.want {
			t.Errorf("%d nodes: rack-local after %d missed, want %d", c.nodes, missed, c.want)
		}
	}
}

// TestDominantResource has 100 GB and 10 cores: A uses 10 GB and 5 cores, B 30 GB
// and 1 core. With weight 2 A's share is 0.25 and goes before B's 0.3; with
// weight 1 it is 0.5 and goes after, though by memory it still goes before.
func TestDominantResource(t *testing.T) {
	for _, c := range []struct {
		policy  string
		weightA float64
		want    string
	}{{"drf", 2, "A"}, {"drf", 1, "B"}, {"fair", 1, "A"}} {
		s := state.New()
		addNode(t, s, 0, 0, state.Resource{MemoryMB: 100 << 10, VCores: 10})
		b := submit(t, s, &state.JobSpec{Name: "B", Maps: 2, MapSize: state.Resource{MemoryMB: 30 << 10, VCores: 1}})
		a := submit(t, s, &state.JobSpec{Name: "A", Maps: 6, Weight: c.weightA, MapSize: state.Resource{MemoryMB: 2 << 10, VCores: 1}})
		for task, id := range []state.JobID{a, a, a, a, a, b} {
			mustDo(t, s.Start(id, state.TaskID(task%5), 0))
		}
		m := errtest.Must(New("fair", Params{"policy": c.policy}))
		out := m.Round(s.View(), []state.NodeID{0}, nil)
		if len(out) != 1 || s.View().JobName(out[0].Job) != c.want {
			t.Errorf("%s, weight %v: %+v, want %s's", c.policy, c.weightA, out, c.want)
		}
	}
}

// TestAssignment has the worked example, and all pairings tried on small ones.
func TestAssignment(t *testing.T) {
	var a assignment
	if got := a.solve([]int64{-4, -3, -3, -1}, 2, 2); !slices.Equal(got, []int{1, 0}) {
		t.Errorf("of [[4 3] [3 1]] columns %v, want [1 0]", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "rows")
		m := rapid.IntRange(n, 6).Draw(t, "columns")
		cost := rapid.SliceOfN(rapid.Int64Range(-9, 9), n*m, n*m).Draw(t, "cost")
		got := a.solve(cost, n, m)
		sum, used := int64(0), map[int]bool{}
		for r, c := range got {
			if c < 0 || c >= m || used[c] {
				t.Fatalf("columns %v are not one each of %d", got, m)
			}
			used[c] = true
			sum += cost[r*m+c]
		}
		if want := cheapest(cost, n, m, 0, make([]bool, m)); sum != want {
			t.Fatalf("columns %v cost %d, the cheapest %d", got, sum, want)
		}
	})
}

// cheapest tries all.
func cheapest(cost []int64, n, m, row int, used []bool) int64 {
	if row == n {
		return 0
	}
	best := int64(math.MaxInt64)
	for c := range m {
		if !used[c] {
			used[c] = true
			best = min(best, cost[row*m+c]+cheapest(cost, n, m, row+1, used))
			used[c] = false
		}
	}
	return best
}

// TestDelayCurve has a job with one map left whose block is on R of M nodes, and
// nodes that report at random. It starts locally within D skips with
// probability 1 - (1-R/M)^D, or at the opportunity that ends the wait.
func TestDelayCurve(t *testing.T) {
	const nodes, replicas, trials = 30, 3, 4000
	rng := rand.New(rand.NewPCG(3, 4))
	for _, d := range []int{0, 3, 10, 30} {
		local := 0
		for range trials {
			s := state.New()
			for n := range nodes {
				addNode(t, s, n, 0, state.Resource{MemoryMB: 512, VCores: 1})
			}
			spec := state.JobSpec{Name: "job", Maps: 1, MapSize: slot}
			spec.Replicas.Add(0, 1, 2)
			submit(t, s, &spec)
			m := errtest.Must(New("delay", Params{"nodeSkips": fmt.Sprint(d), "rackSkips": "0"}))
			for {
				if out := m.Round(s.View(), []state.NodeID{state.NodeID(rng.IntN(nodes))}, nil); len(out) > 0 {
					if out[0].Reason == Node {
						local++
					}
					break
				}
			}
		}
		want := 1 - math.Pow(1-float64(replicas)/nodes, float64(d+1))
		got := float64(local) / trials
		if sigma := math.Sqrt(want * (1 - want) / trials); math.Abs(got-want) > 4*sigma {
			t.Errorf("D %d: node-local in %.3f, want %.3f within %.3f", d, got, want, 4*sigma)
		}
	}
}

// TestTurnaround has n equal jobs at once. Under fair all end late, under fifo
// one after the other: their mean turnaround is (n+1)/(2n) of fair's. A small
// job behind waits under fifo only.
func TestTurnaround(t *testing.T) {
	const jobs, maps, nodes = 4, 40, 8
	mean := func(model string) (mean, small float64) {
		s := state.New()
		for n := range nodes {
			addNode(t, s, n, 0, state.Resource{MemoryMB: 512, VCores: 1})
		}
		for range jobs {
			submit(t, s, &state.JobSpec{Name: "job", Maps: maps, MapSize: slot})
		}
		submit(t, s, &state.JobSpec{Name: "small", Maps: 1, MapSize: slot})
		m := errtest.Must(New(model, nil))
		v := s.View()
		var offers Offers
		var running []Decision
		for now := 1; len(v.Active()) > 0; now++ { // one map takes from one beat to the next
			for _, d := range running {
				mustDo(t, s.Finish(d.Job, d.Task))
				if v.Done(d.Job, state.Map) == v.Tasks(d.Job, state.Map) {
					s.EndJob(d.Job)
					if v.JobName(d.Job) == "small" {
						small = float64(now)
					} else {
						mean += float64(now-1) / jobs
					}
				}
			}
			running = running[:0]
			s.SetNow(int64(now))
			for n := range state.NodeID(nodes) {
				offers.Heartbeat(m, v, n, func(d Decision) bool {
					running = append(running, d)
					return s.Start(d.Job, d.Task, d.Node) == nil
				})
			}
		}
		return mean, small
	}
	fifo, lateSmall := mean("fifo")
	fair, earlySmall := mean("fair")
	if want := float64(jobs+1) / (2 * jobs); math.Abs(fifo/fair-want) > 0.05 {
		t.Errorf("mean turnaround %v under fifo, %v under fair: ratio %.3f, want %.3f", fifo, fair, fifo/fair, want)
	}
	if earlySmall > 3 || lateSmall < jobs*maps/nodes {
		t.Errorf("the small job ends at %v under fifo and %v under fair", lateSmall, earlySmall)
	}
}

// TestParams has values that are refused, and the words that say so.
func TestParams(t *testing.T) {
	for _, c := range []struct {
		model string
		p     Params
		want  string
	}{
		{"nosuch", nil, "no model \"nosuch\"; known here: acl, "},
		{"acl", Params{"C": "1"}, `no parameter "C"; did you mean "c"?`},
		{"matching", Params{"x": "1"}, `no parameter "x"`},
		{"acl", Params{"c": "many"}, "c: \"many\" is not a finite number"},
		{"acl", Params{"c": "NaN"}, "is not a finite number"},
		{"acl", Params{"c": "-1"}, "below 0"},
		{"acl", Params{"d": "1.5"}, "not a whole number"},
		{"capacity", Params{"rackLocalityFullReset": "perhaps"}, "neither true nor false"},
		{"capacity", Params{"capacities": "a"}, "form name=number"},
		{"capacity", Params{"capacities": "a=1,a=2"}, "twice"},
		{"capacity", Params{"capacities": "a=101"}, "a: 101 is outside 0 to 100"},
		{"capacity", Params{"capacities": "a=60,b=60"}, "120 percent"},
		{"capacity", Params{"queues": "root.queues=a"}, "are all 0"},
		{"capacity", Params{"queues": "root.queues=a\nroot.a.capacity=100", "order": "fair"}, "order has no effect with queues"},
		{"capacity", Params{"queues": "root.queues=a\nroot.a.capacity=100", "queues.root.a.state": "PAUSED"}, "want RUNNING or STOPPED"},
		{"capacity", Params{"order.x": "1"}, "no parameter"},
		{"delay", Params{"form": "space"}, "not one of skips, time"},
		{"delay", Params{"nodeWait": "5"}, "not a duration"},
		{"delay", Params{"nodeWait": "-5s"}, "negative"},
		{"fair", Params{"nodeThreshold": "2"}, "2 is outside -1 to 1"},
		{"matching", Params{"slots": "0"}, "outside 1 to 4096"},
	} {
		if _, err := New(c.model, c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: error %v, want one with %q", c.model, c.p, err, c.want)
		}
	}
}

var slot = state.Resource{MemoryMB: 512, VCores: 1}

func addNode(tb testing.TB, s *state.State, n, rack int, size state.Resource) {
	tb.Helper()
	errtest.Must(s.AddNode(fmt.Sprint("n", n), fmt.Sprint("rack", rack), size))
}

// submit submits a job and asks for its maps.
func submit(tb testing.TB, s *state.State, spec *state.JobSpec) state.JobID {
	tb.Helper()
	id := errtest.Must(s.Submit(spec))
	s.Ask(id, state.Map, spec.Maps)
	return id
}

// TestACLBindsLate has a job of two maps on node 0, of which the second is cached there, so that
// f = 0.5 and C·f = 2. acl starts the cached map at once. Where the ApplicationMaster binds late,
// it would start the first map, which is on disk: acl skips twice, and then starts that one.
func TestACLBindsLate(t *testing.T) {
	for late, want := range map[bool]string{false: "map 1, cache, after 0 skips", true: "map 0, node, after 2 skips"} {
		s := state.New()
		for n := range 2 {
			addNode(t, s, n, 0, slot)
		}
		spec := state.JobSpec{Name: "job", Maps: 2, MapSize: slot}
		spec.Replicas.Add(0, 1)
		spec.Replicas.Add(0)
		spec.Cached.Add()
		spec.Cached.Add(0)
		id := submit(t, s, &spec)
		s.SetLateBinding(late)
		m := errtest.Must(New("acl", Params{"c": "4"}))
		skips := 0
		var out []Decision
		for ; len(out) == 0 && skips < 9; skips++ {
			out = m.Round(s.View(), []state.NodeID{0}, nil)
		}
		d := out[0]
		if got := fmt.Sprintf("map %d, %s, after %d skips", d.Task, s.View().Level(id, d.Task, d.Node), skips-1); got != want {
			t.Errorf("late binding %t: %s, want %s", late, got, want)
		}
	}
}

var mustDo = errtest.None
