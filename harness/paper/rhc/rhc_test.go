package rhc

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/paper"
	"heddle/harness/sched"
	"heddle/harness/stats"
	"heddle/traces/errtest"
)

func set(t *testing.T, pairs ...string) monteCarlo {
	t.Helper()
	var x paper.Setting = standard
	for i := 0; i < len(pairs); i += 2 {
		var err error
		if x, err = x.With(pairs[i], pairs[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	return x.(monteCarlo)
}

// notes simulates a scheduler of the paper, by its label.
func notes(t *testing.T, x monteCarlo, label string, seed uint64) map[string]float64 {
	t.Helper()
	p := Paper()
	i := slices.IndexFunc(p.Schedulers, func(s paper.Scheduler) bool { return s.Label == label })
	s, err := x.Simulate(context.Background(), p.Schedulers[i], seed)
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	return s.Notes
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %.6g, want %.6g within %g", what, got, want, within)
	}
}

// TestByHand holds a run against what follows from its draws: under Random a job costs the
// mean slot's cost times its mean data; without other jobs, Greedy gives each job the very
// cheapest slots; the bound is below all.
func TestByHand(t *testing.T) {
	x := set(t, "load", "0.4")
	for seed := range uint64(3) {
		costs := x.costs(seed)
		jobs, _ := x.jobs(seed)
		data, alone, meanCost := 0.0, 0.0, 0.0
		for i := range jobs {
			j := &jobs[i]
			data += j.Data / float64(len(jobs))
			for k := range j.Reduces {
				alone += costs[k] * j.each[k] / float64(len(jobs))
			}
		}
		for _, c := range costs {
			meanCost += c / float64(len(costs))
		}
		near(t, "data of a job", data, 50.5, 0.5) // 28.9 of deviation over sqrt(50,000) is .13
		// A job's reduce tasks differ in place, so its cost has a deviation of about 1,900; over sqrt(50,000) 8.5.
		near(t, "cost by Random", notes(t, x, random, seed)["cost"], meanCost*data, 35)
		lone := set(t, "load", "0.0001")
		loneJobs, _ := lone.jobs(seed)
		if jobs[7].Data != loneJobs[7].Data || jobs[7].Reduces != loneJobs[7].Reduces {
			t.Fatal("jobs differ by load")
		}
		near(t, "cost by Greedy of jobs that do not meet", notes(t, lone, greedy, seed)["cost"], alone, 0.01*alone)
		near(t, "bound of jobs that do not meet", notes(t, lone, lowest, seed)["cost"], alone, 0.01*alone)
		least := notes(t, x, lowest, seed)["cost"]
		for _, label := range []string{claimant, known, greedy, random, "coin", "constant 1/8", "constant 1/4", "law of R"} {
			if cost := notes(t, x, label, seed)["cost"]; cost < least || least < alone {
				t.Errorf("seed %d: %s costs %g, the bound is %g, and without other jobs a job costs %g", seed, label, cost, least, alone)
			}
		}
	}
}

// TestQueues holds the mean number of jobs met against theory: load/(1-load) with one server,
// shared or first come first served, by exponential work; load with a server each; and half of
// load^2/(1-load) more with one server and work that is in proportion to uniform data, first
// come first served (Pollaczek and Khinchine; a share of 1/3 of the squared mean as variance).
func TestQueues(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want float64
	}{
		{nil, 1},
		{[]string{"queue", "fifo"}, 1},
		{[]string{"queue", "none"}, 0.5},
		{[]string{"present", "all"}, 2},
		{[]string{"service", "size"}, 1}, // processor sharing does not heed the law of work
		{[]string{"service", "size", "queue", "fifo"}, 0.5 + 0.25*(1+0.3267)/2/0.5},
	} {
		var met []float64
		for seed := range uint64(4) {
			met = append(met, notes(t, set(t, append(c.set, "load", "0.5")...), greedy, seed)["met"])
		}
		near(t, fmt.Sprint("jobs met with ", c.set), stats.Mean(met).Value, c.want, 0.05*c.want)
	}
}

// TestQueueByHand has jobs served by hand.
func TestQueueByHand(t *testing.T) {
	// Jobs come at 0, 1 and 2, and have 2, 2 and 1 of work.
	for _, c := range []struct {
		rule  string
		limit int
		want  [3][2]float64
		leave []int32
	}{
		// Alone to 1, then two at half the rate to 2, where .5 and 1.5 are left. Three at a
		// third: job 0 ends at 3.5; then two, with 1 and .5 left: job 2 at 4.5, job 1 at 5.
		{"sharing", 9, [3][2]float64{{0, 3.5}, {1, 5}, {2, 4.5}}, []int32{0, 2, 1}},
		// At most two: job 2 begins when job 0 ends, at 3, with 1 left of job 1.
		{"sharing", 2, [3][2]float64{{0, 3}, {1, 5}, {3, 5}}, []int32{1, 2}},
		{"fifo", 9, [3][2]float64{{0, 2}, {1, 4}, {2, 5}}, []int32{0, 1, 2}},
		{"none", 9, [3][2]float64{{0, 2}, {1, 3}, {2, 3}}, nil},
	} {
		q := queue{limit: c.limit, rule: c.rule, jobs: make([]job, 3), work: []float64{2, 2, 1}}
		var met []int
		for i, at := range []float64{0, 1, 2} {
			met = append(met, q.arrive(int32(i), at))
		}
		q.until(math.Inf(1))
		for i, want := range c.want {
			near(t, fmt.Sprintf("%s, at most %d: job %d begins", c.rule, c.limit, i), q.jobs[i].from, want[0], 1e-9)
			near(t, fmt.Sprintf("%s, at most %d: job %d ends", c.rule, c.limit, i), q.jobs[i].to, want[1], 1e-9)
		}
		if c.limit == 9 && c.leave != nil && !slices.Equal(q.leave, c.leave) {
			t.Errorf("%s: jobs leave in the order %v, want %v", c.rule, q.leave, c.leave)
		}
		if want := map[string][]int{"none": {0, 1, 1}, "fifo": {0, 1, 1}}[c.rule]; want != nil && !slices.Equal(met, want) {
			t.Errorf("%s: jobs meet %v others, want %v", c.rule, met, want)
		}
	}
}

// TestSlots holds the bits of free slots against a list.
func TestSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "slots")
		s, free := newSlots(n), map[int32]bool{}
		for i := range n {
			free[int32(i)] = true
		}
		for _, i := range rapid.SliceOf(rapid.Int32Range(0, int32(n-1))).Draw(t, "taken and given") {
			if free[i] = !free[i]; free[i] {
				s.give(i)
			} else {
				s.take(i)
			}
		}
		var list []int32
		for i := range n {
			if free[int32(i)] {
				list = append(list, int32(i))
			}
		}
		if s.count != len(list) {
			t.Fatalf("%d free, want %d", s.count, len(list))
		}
		for rank, want := range list {
			if got := s.at(rank); got != want {
				t.Fatalf("rank %d is slot %d, want %d", rank, got, want)
			}
		}
		if len(list) == 0 {
			return
		}
		from := rapid.IntRange(0, n-1).Draw(t, "from")
		first, _ := slices.BinarySearch(list, int32(from))
		got := make([]int32, len(list))
		s.following(from, got)
		if want := slices.Concat(list[first:], list[:first]); !slices.Equal(got, want) {
			t.Fatalf("after %d come %v, want %v", from, got, want)
		}
	})
}

// TestBound holds the bound against all placements of a few jobs, of which none is cheaper,
// and against a single slot, where it is exact: the best set of tasks that do not overlap.
func TestBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "jobs")
		jobs := make([]job, n)
		at, tasks := 0.0, 0
		for i := range jobs {
			at += rapid.Float64Range(0.01, 2).Draw(t, "gap")
			j := &jobs[i]
			j.from, j.to, j.Reduces = at, at+rapid.Float64Range(0.01, 4).Draw(t, "stay"), rapid.IntRange(1, 2).Draw(t, "reduces")
			for k := range j.Reduces {
				j.each[k] = float64(rapid.IntRange(1, 9).Draw(t, "data"))
			}
			tasks += j.Reduces
		}
		costs := []float64{1, 2, 5, 6, 20, 30, 40, 50}
		used := make([][]int, len(costs)) // jobs on each slot
		var cheapest func(i, k int) float64
		cheapest = func(i, k int) float64 {
			if i == n {
				return 0
			}
			if k == jobs[i].Reduces {
				return cheapest(i+1, 0)
			}
			least := math.Inf(1)
			for s := range costs {
				if slices.ContainsFunc(used[s], func(other int) bool { return other == i || jobs[other].to > jobs[i].from }) {
					continue
				}
				used[s] = append(used[s], i)
				least = min(least, costs[s]*jobs[i].each[k]+cheapest(i, k+1))
				used[s] = used[s][:len(used[s])-1]
			}
			return least
		}
		best, low, all := cheapest(0, 0), bound(jobs, costs), 0.0
		for i := range jobs {
			for k := range jobs[i].Reduces {
				all += jobs[i].each[k]
			}
		}
		if low > best+1e-9 || low < all-1e-9 {
			t.Fatalf("the bound is %g, the best placement costs %g, on slots of cost 1 it were %g", low, best, all)
		}
		// If slots but the first cost the same, the bound is exact.
		step := slices.Concat([]float64{0}, slices.Repeat([]float64{1}, 7))
		costs = step
		if best, low := cheapest(0, 0), bound(jobs, step); math.Abs(best-low) > 1e-9 {
			t.Fatalf("one free slot: the bound is %g, the best placement costs %g", low, best)
		}
	})
}

// TestOracle compares savings with those of another program, which are means over three draws
// of costs. The last number is the deviation from draw to draw, in points; the means may differ
// by two deviations of their difference.
func TestOracle(t *testing.T) {
	const seeds = 8
	for _, c := range []struct {
		set             string
		label, over     string
		want, deviation float64
	}{
		{"load=0.2", known, greedy, -0.02, 0.15},
		{"load=0.4", known, greedy, 0.50, 0.25},
		{"load=0.6", known, greedy, 2.13, 0.4},
		{"load=0.6", claimant, greedy, 2.13, 0.4},
		{"load=0.2", known, random, 97.01, 0.4},
		{"load=0.6", known, random, 96.06, 0.5},
		{"load=0.6 costs=integer", known, greedy, 2.37, 0.5},
		{"load=0.6 costs=fromZero", known, greedy, 4.3, 0.8},
		{"load=0.6 sizes=perReduce", known, greedy, 1.50, 0.3},
		{"load=0.6 sizes=own", known, greedy, 0.04, 0.05},
		{"load=0.6 queue=none", known, greedy, -0.83, 0.5},
		{"load=0.6 queue=none", claimant, greedy, 0.63, 0.3},
		{"load=0.6 queue=fifo", known, greedy, 1.82, 0.4},
		{"load=0.6 sizes=even", known, greedy, 10.17, 1.5},
		{"load=0.6 sizes=rare", known, greedy, 19.15, 3},
		{"load=0.6 sizes=log", known, greedy, 7.40, 1.2},
		{"load=0.4 service=withSize", known, greedy, -1.69, 0.5},
		{"load=0.4 service=size", known, greedy, -1.54, 0.5},
		{"load=0.4", "coin", greedy, -4.9, 1.2},
		{"load=0.4", "constant 1/8", greedy, 0.87, 0.3},
		{"load=0.4", "constant 1/4", greedy, 0.67, 0.3},
		{"load=0.4", "law of R", greedy, 1.25, 0.4},
		{"load=0.2", lowest, greedy, 4.3, 1.2},
		{"load=0.6", lowest, greedy, 15.7, 2.5},
		{"load=0.6 sizes=rare", lowest, greedy, 28.3, 4},
		{"load=0.6 list=all", claimant, greedy, 1.36, 0.5},
		{"load=0.6 present=all", claimant, greedy, 1.54, 0.5},
		{"load=0.2 present=all", claimant, greedy, -2.87, 0.7},
	} {
		var pairs []string
		for _, x := range strings.Fields(c.set) {
			name, value, _ := strings.Cut(x, "=")
			pairs = append(pairs, name, value)
		}
		x := set(t, append(pairs, "jobs", "20000")...)
		sum := 0.0
		for seed := range uint64(seeds) {
			sum += 100 * (1 - notes(t, x, c.label, seed+100)["cost"]/notes(t, x, c.over, seed+100)["cost"]) / seeds
		}
		near(t, fmt.Sprintf("%s: saving of %s over %s", c.set, c.label, c.over), sum, c.want, 2*c.deviation*math.Sqrt(1.0/seeds+1.0/3))
	}
}

// TestDeferred has the share of jobs that RHC defers with the load known, by the law.
func TestDeferred(t *testing.T) {
	for load, want := range map[float64]float64{0.2: 0.130, 0.3: 0.183, 0.4: 0.228, 0.5: 0.265, 0.6: 0.300} {
		near(t, "deferred in theory", deferredInTheory(load), want, 5e-4)
		near(t, "deferred", notes(t, set(t, "load", fmt.Sprint(load)), known, 1)["deferred"], want, 0.01)
	}
}

// TestTheorem2 holds the cost of jobs that stay against the thresholds', in batches of ten.
func TestTheorem2(t *testing.T) {
	got := notes(t, set(t, "batch", "10"), "Optimal", 5)
	near(t, "cost over expected cost", got["cost"]/got["expected"], 1, 0.01)
	for _, label := range []string{"Optimal, printed form", claimant, greedy} {
		if other := notes(t, set(t, "batch", "10"), label, 5)["cost"]; other < got["cost"] {
			t.Errorf("%s costs %g, optimal %g", label, other, got["cost"])
		}
	}
}

// TestTable1 holds the published table against the fits of the specification, and its outputs of the
// last family against what ten digits without leading zero give of 7515 MB.
func TestTable1(t *testing.T) {
	list := families(Paper().Numbers)
	for i, want := range [][4]float64{{11, .0634, 1168.2, .9227}, {5, .1156, 444.1, .9874}, {7, .0600, 195.2, .9938}} {
		f := &list[i]
		l := line(f.inter, f.times)
		if len(f.rows) != int(want[0]) {
			t.Fatalf("family %d has %d rows, want %g", i, len(f.rows), want[0])
		}
		near(t, "slope", l.Slope.Value, want[1], 5e-5)
		near(t, "intercept", l.Intercept.Value, want[2], 0.05)
		near(t, "R2", l.R2, want[3], 5e-5)
		near(t, "R2 of output", line(f.output, f.times).R2, []float64{.927, .984, .997}[i], 1e-3)
	}
	// Of numbers without a leading zero: a first digit of 1, 2 and so on, and shares of the second.
	for i, share := range []float64{2.0 / 9 * .3, 3.0 / 9 * .2, 4.0 / 9 * .2, 1.0 / 9, 2.0 / 9 * .8, 2.0 / 9 * .9, 2.0 / 9} {
		near(t, "output of "+list[2].rows[i], list[2].output[i], 7515*share, 0.15)
	}
	sum := 0.0
	for _, f := range list {
		for i := range f.rows {
			sum += f.times[i]
		}
	}
	near(t, "all times", sum, 13949+4905+2984, 1e-9) // added up from the paper's table
}

// TestTableClaims holds what H7 and H7b find against another program's figures. Slopes are apart
// by an interval that is as wide as three pairs need: in one of them they are not.
func TestTableClaims(t *testing.T) {
	d := map[string]stats.Estimate{}
	for _, e := range append(linear(Paper().Numbers), together(Paper().Numbers)...) {
		d[e.What] = e.Estimate
	}
	above := "error of a row left out by output, above that by intermediate data, "
	for what, want := range map[string][2]float64{
		above + "[a-b]*":      {1.206, 10.107},
		above + "[a-b][c-d]*": {3.565, 27.11},
		above + "^…":          {-1.914, 5.537},
		"intermediate data that output explains, [a-b]*":      {98.96, 0},
		"intermediate data that output explains, [a-b][c-d]*": {95.51, 0},
		"intermediate data that output explains, ^…":          {99.04, 0},
		"slopes of [a-b]* and [a-b][c-d]* apart":              {.0522, .0408},
		"slopes of [a-b][c-d]* and ^… apart":                  {.0557, .0374},
		"slopes of [a-b]* and ^… apart":                       {.0034, .01945},
	} {
		e, ok := d[what]
		if !ok {
			t.Errorf("no effect %q", what)
		}
		near(t, what, e.Value, want[0], 1e-3*math.Abs(want[0])+5e-5)
		near(t, "margin of "+what, e.Hi-e.Value, want[1], 2e-3*want[1]+1e-4)
	}
}

// TestDesignsVary: what claims about the paper rest on fixes no more of a reading than it must.
// Only checks rest on fixed values.
func TestDesignsVary(t *testing.T) {
	for _, d := range Paper().Designs {
		fixed := map[string][]string{"loads": {"load"}, "correlated": {"load", "service"}}[d.ID]
		for _, c := range d.Columns {
			if names := slices.Sorted(maps.Keys(c.Set)); fixed != nil && !slices.Equal(names, fixed) {
				t.Errorf("design %s sets %v, want %v", d.ID, names, fixed)
			}
		}
	}
}

// TestTree has the costs of Figure 1, and of its best and worst two nodes.
func TestTree(t *testing.T) {
	for v, want := range []float64{13, 11, 19, 19, 13, 17, 19, 19} {
		near(t, fmt.Sprintf("H(%c)", 'A'+v), treeCosts()[v], want, 1e-9)
	}
}

// TestRefused has unknown properties and parameters refused.
func TestRefused(t *testing.T) {
	for _, x := range [][2]string{
		{"load", "1"},
		{"load", "0"},
		{"slots", "9"},
		{"jobs", "0"},
		{"sizes", "huge"},
		{"batch", "101"},
		{"links", "none"},
		{"rare", "1.5"},
		{"offering", "all"},
	} {
		if _, err := standard.With(x[0], x[1]); err == nil {
			t.Errorf("%s=%s: no error", x[0], x[1])
		}
	}
	for _, s := range []paper.Scheduler{
		{Model: "fifo"},
		{Model: "greedy", Params: sched.Params{"p": "1"}},
		{Model: "rhc", Params: sched.Params{"p": "2"}},
		{Model: "rhc", Params: sched.Params{"p": "x"}},
		{Model: "rhc", Params: sched.Params{"tau": "-1"}},
		{Model: "rhc", Params: sched.Params{"next": "some"}},
		{Model: "optimal", Params: sched.Params{"form": "new"}},
	} {
		if err := standard.Check(s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	errtest.Is(t, errtest.Of(standard.Simulate(ctx, paper.Scheduler{Model: "greedy"}, 1)), context.Canceled)
	x := set(t, "slots", "10", "queue", "none", "load", "0.9") // one job at once: the others wait
	if got := notes(t, x, greedy, 1); got["busy"] > 10 {
		t.Errorf("%g of 10 slots are busy", got["busy"])
	}
}

// BenchmarkRun gives 50,000 jobs slots by one rule, the drawing of the jobs included.
func BenchmarkRun(b *testing.B) {
	x := errtest.Must(standard.With("load", "0.6"))
	for b.Loop() {
		errtest.Must(x.(monteCarlo).Simulate(context.Background(), paper.Scheduler{Model: "rhc"}, 1))
	}
}

// TestSorts: in Figure 10 RHC places both jobs as Greedy does, so their times are the same. Two
// reduces that fetch 64 blocks over a link each cannot end before half of the bytes are through.
// Where links differ, the fastest ones are learnt; where they are alike, there is nothing to learn.
func TestSorts(t *testing.T) {
	const seeds = 12 // of one seed the second job's time is off by a fifth
	byRHC, byRandom := map[string]float64{}, map[string]float64{}
	for seed := range uint64(seeds) {
		x := set(t, "cluster", "fig10")
		rhc, other, any := notes(t, x, claimant, seed), notes(t, x, greedy, seed), notes(t, x, random, seed)
		for _, job := range []string{"first", "second"} {
			near(t, job+" job by RHC, as by Greedy", rhc[job], other[job], 0)
			byRHC[job] += rhc[job] / seeds
			byRandom[job] += any[job] / seeds
		}
		if least := 32.0 * blockBytes * 14 / 15 / linkBytesPerSec; rhc["first"] < least {
			t.Errorf("the first job took %g s, its reduces fetch for %g s at least", rhc["first"], least)
		}
		if rhc["firstDeviation"] <= 0 || rhc["secondDeviation"] <= 0 {
			t.Error("repeats do not vary by RHC")
		}
	}
	for _, job := range []string{"first", "second"} {
		if byRHC[job] > 0.8*byRandom[job] {
			t.Errorf("uneven links: the %s job takes %g s by RHC, %g s by Random", job, byRHC[job], byRandom[job])
		}
	}
	if _, err := set(t, "cluster", "fig10").Simulate(t.Context(), paper.Scheduler{Model: "bound"}, 1); err == nil {
		t.Error("the bound places reduces")
	}
}
