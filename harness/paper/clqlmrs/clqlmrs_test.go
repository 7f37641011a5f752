package clqlmrs

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/config"
	"heddle/harness/lab/labtest"
	"heddle/harness/paper"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/traces/errtest"
)

// with returns the standard testbed with properties changed: names and values.
func with(t *testing.T, set ...string) testbed {
	t.Helper()
	var x paper.Setting = standard
	for i := 0; i < len(set); i += 2 {
		var err error
		if x, err = x.With(set[i], set[i+1]); err != nil {
			t.Fatalf("%s=%s: %v", set[i], set[i+1], err)
		}
	}
	return x.(testbed)
}

func stages(t *testing.T, x testbed, seed uint64) []paper.Stage {
	t.Helper()
	list := errtest.Must(x.Stages(seed))
	return list
}

// cachedOf returns for how many of a job's maps the block is cached, and how many
// cached copies each node has.
func cachedOf(j *sim.Job) (maps int, byNode [6]int) {
	start := int32(0)
	for _, end := range j.Cached.Ends {
		if end > start {
			maps++
		}
		start = end
	}
	for _, n := range j.Cached.Nodes {
		byNode[n]++
	}
	return maps, byNode
}

// TestSetUp holds the testbed to what the paper says of it, and each application
// to blocks of its own.
func TestSetUp(t *testing.T) {
	var first sim.Job
	for i, a := range applications {
		s := stages(t, with(t, "app", a.name), 5)
		if want := 1 + a.later; len(s) != want || len(s[0].Jobs) != 1 {
			t.Fatalf("%s: %d stages, the first of %d jobs, want %d and 1", a.name, len(s), len(s[0].Jobs), want)
		}
		j := s[0].Jobs[0]
		if i == 0 {
			first = j
		} else if cmp.Equal(j.Replicas, first.Replicas) {
			t.Errorf("%s: its blocks are where those of %s are", a.name, applications[0].name)
		}
		start := int32(0)
		for m, end := range j.Replicas.Ends {
			hosts, racks := j.Replicas.Nodes[start:end], map[string]bool{}
			for _, n := range hosts {
				racks[s[0].Config.Cluster.Nodes[n].Rack] = true
			}
			if len(hosts) != 3 || len(racks) != 2 {
				t.Errorf("%s: map %d on %v, want 3 nodes in 2 racks", a.name, m, hosts)
			}
			start = end
		}
		if _, by := cachedOf(&j); slices.Max(by[:])-slices.Min(by[:]) > 2 {
			t.Errorf("%s: nodes cache %v blocks, want about as many each", a.name, by)
		}
		for _, later := range s[1:] {
			if n, _ := cachedOf(&later.Jobs[0]); n != 0 || later.Jobs[0].Maps != reduces ||
				later.Jobs[0].MapWork[0].InputBytes >= j.MapWork[0].InputBytes {
				t.Errorf("%s: a later stage of %d maps, %d cached, of %d bytes", a.name, later.Jobs[0].Maps, n, later.Jobs[0].MapWork[0].InputBytes)
			}
		}
	}
	if s := stages(t, with(t, "app", "join", "join", "single"), 5); len(s) != 1 {
		t.Errorf("a single-stage join has %d stages", len(s))
	}
	if s := stages(t, with(t, "app", "all"), 5); len(s) != 1 || len(s[0].Jobs) != len(applications) {
		t.Errorf("all at once: %d stages, %d jobs", len(s), len(s[0].Jobs))
	}
	for value, want := range map[string][]int32{"8": {8, 8, 8, 8, 8, 8}, "ram": {2, 3, 4, 2, 3, 4}} {
		for i, n := range stages(t, with(t, "containers", value), 1)[0].Config.Cluster.Nodes {
			if n.Capacity != container.Times(want[i]) {
				t.Errorf("containers=%s: node %d has %v", value, i+1, n.Capacity)
			}
		}
	}
}

// TestCached holds what is said to be cached against what is, on many seeds: the
// same share for all numbers of maps, the nearest whole number of blocks for
// caches that are cut as a whole, and what each node holds for those cut by node.
func TestCached(t *testing.T) {
	type row struct {
		set    []string
		cached []int // maps with a cached block, of each job
	}
	rows := []row{
		{[]string{"cache", "2GiB"}, []int{16}},
		{[]string{"cache", "4GiB"}, []int{32}},
		{[]string{"cache", "6GiB"}, []int{48}},
		{nil, []int{64}},
		{[]string{"block", "64MiB", "maps", "200"}, []int{128}},
		{[]string{"block", "256MiB", "maps", "50"}, []int{32}},
		{[]string{"maps", "480"}, []int{64}},
		{[]string{"maps", "3"}, []int{3}},
		{[]string{"app", "all"}, []int{13, 13, 12, 13, 13}},
		{[]string{"cacheBy", "spare"}, []int{64}},
		{[]string{"cut", "node"}, []int{60}},
	}
	for _, maps := range []int{10, 20, 25, 30, 40, 50, 100} {
		for _, cut := range []string{"whole", "node"} {
			rows = append(rows, row{[]string{"maps", fmt.Sprint(maps), "cachedPct", "60", "cut", cut}, []int{maps * 60 / 100}})
		}
	}
	for _, r := range rows {
		x := with(t, r.set...)
		for seed := range uint64(50) {
			var got []int
			for _, j := range stages(t, x, seed)[0].Jobs {
				n, _ := cachedOf(&j)
				got = append(got, n)
			}
			// A node's cache may stay partly empty if it stores too few blocks.
			if short := x.Cut == "node" && x.CachedPct == 0 && got[0] < r.cached[0] && got[0] > r.cached[0]-4; !short &&
				!slices.Equal(got, r.cached) {
				t.Errorf("%v, seed %d: %v maps have a cached block, want %v", r.set, seed, got, r.cached)
			}
		}
	}
	var sum [6]int
	for seed := range uint64(20) {
		j := stages(t, with(t, "cacheBy", "spare", "cut", "node"), seed)[0].Jobs[0]
		_, by := cachedOf(&j)
		for n := range by {
			sum[n] += by[n]
		}
	}
	if !(3*sum[0] < sum[1] && sum[1] < sum[2] && sum[2] <= 20*17) {
		t.Errorf("caches by spare memory hold %v blocks in 20 layouts, want 1 : 3 : 5 and at most 17 in the largest", sum)
	}
}

// TestProperties has every value of every axis be one that the set-up or a model
// takes, and what is wrong said.
func TestProperties(t *testing.T) {
	p := Paper()
	for _, a := range p.Axes {
		for _, v := range a.Values {
			if _, err := p.Run(context.Background(), paper.Options{
				Parts: []string{"C7"}, Seeds: 2, Set: map[string]string{p.Key(a.Name): v.Value},
				Simulate: func(paper.Case, uint64) (paper.Simulation, error) { return paper.Simulation{Seconds: 1}, nil },
			}); err != nil {
				t.Errorf("%s=%s: %v", a.Name, v.Value, err)
			}
		}
	}
	for _, set := range [][2]string{
		{"containers", "9"},
		{"cache", "much"},
		{"maps", "0"},
		{"block", "1KiB"},
		{"beat", "0s"},
		{"cachedPct", "101"},
		{"slowstart", "2"},
		{"color", "red"},
	} {
		if _, err := standard.With(set[0], set[1]); err == nil {
			t.Errorf("%s=%s is taken", set[0], set[1])
		}
	}
	set := with(t, "containers", "8", "cache", "16GB")
	if set.Containers != "8" || set.Cache != 16e9 {
		t.Errorf("%+v: want 8 containers and 16 GB", set)
	}
}

// FuzzWith has any text be refused, or make a set-up that has its jobs.
func FuzzWith(f *testing.F) {
	for _, x := range [][2]string{
		{"cache", "16GB"},
		{"maps", "7"},
		{"block", "1GiB"},
		{"beat", "3s"},
		{"cachedPct", "NaN"},
		{"compute", "1e308"},
		{"disk", "0"},
		{"cut", "node"},
		{"layout", "-1"},
		{"link", "10Gbit"},
	} {
		f.Add(x[0], x[1])
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		x, err := standard.With(name, value)
		if err != nil {
			return
		}
		list, err := x.(paper.Staged).Stages(1)
		if err != nil || len(list) == 0 || len(list[0].Jobs) == 0 {
			t.Fatalf("%s=%q: %d stages, error %v", name, value, len(list), err)
		}
		for _, w := range append(list[0].Jobs[0].MapWork, list[0].Jobs[0].ReduceWork...) {
			if w.InputBytes < 0 || w.OutputBytes < 0 || w.ComputeMs < 0 {
				t.Errorf("%s=%q: work %+v", name, value, w)
			}
		}
	})
}

// TestDefaultReading has the reading "default" be the model's own defaults, but
// that training until epsilon is 0.01 is a number of episodes.
func TestDefaultReading(t *testing.T) {
	p := Paper()
	i := slices.IndexFunc(sched.List(), func(m sched.Info) bool { return m.Name == "clqlmrs" })
	for _, param := range sched.List()[i].Params {
		value, ok := p.Readings[0].Set["clqlmrs."+param.Name]
		if ok && param.Name != "episodes" && value != param.Default {
			t.Errorf("%s=%s, the model's default is %s", param.Name, value, param.Default)
		}
		for _, a := range p.Axes {
			if a.Sets == "clqlmrs."+param.Name && !ok && param.Name != "splits" && param.Name != "episodes" && a.Values[0].Value != param.Default {
				t.Errorf("%s is as printed, %s, the model's default is %s", param.Name, a.Values[0].Value, param.Default)
			}
		}
	}
}

// TestCorners has every scheduler through set-ups that leave nothing to choose,
// or nothing to learn.
func TestCorners(t *testing.T) {
	p := Paper()
	p.Designs = []paper.Design{{ID: "corners", Columns: []paper.Column{{Name: "it"}}}}
	p.Measures, p.Controls = nil, nil
	for name, set := range map[string]map[string]string{
		"more slots than maps": {"maps": "3"},
		"no cached block":      {"cache": "0B", "maps": "20"},
		"all cached":           {"cachedPct": "100", "maps": "20"},
		"one map":              {"maps": "1"},
		"three stages":         {"app": "join", "maps": "20"},
		"labels":               {"actuator": "labels", "maps": "20"},
		"a plan":               {"clqlmrs.splits": "plan", "maps": "20"},
		"by class":             {"clqlmrs.table": "class", "maps": "20"},
		"reported":             {paper.Offering: paper.OfferReported, paper.Training: "20us", "maps": "20"},
	} {
		for _, s := range p.Schedulers {
			p.Claims = []paper.Claim{{ID: "K", Effects: func(d *paper.Data) []paper.Effect {
				g := d.Grid("corners", s.Label)
				rates := [2][]float64{paper.Percents(g.Shares(s.Label, paper.CacheRate)), paper.Percents(g.Shares(s.Label, paper.CachedShare))}
				for i := range rates[0] {
					if !(rates[0][i] <= rates[1][i]) {
						t.Errorf("%s under %s: %v %% of the maps read from a cache, %v %% are cached", name, s.Label, rates[0][i], rates[1][i])
					}
				}
				if len(g.Seconds(s.Label)) != 2 {
					t.Errorf("%s under %s: %d results", name, s.Label, len(g.Seconds(s.Label)))
				}
				return []paper.Effect{{}}
			}}}
			values := map[string]string{"clqlmrs.episodes": "100"}
			maps.Copy(values, set)
			if _, err := p.Run(context.Background(), paper.Options{Parts: []string{"K"}, Seed: 1, Seeds: 2, Workers: 2, Set: values}); err != nil {
				t.Errorf("%s under %s: %v", name, s.Label, err)
			}
		}
	}
}

// TestLiveExperiment has the same patience in time on the lab as in the
// simulations: as long as so many opportunities take there.
func TestLiveExperiment(t *testing.T) {
	text := errtest.Must(files.ReadFile("live.yaml"))
	e := errtest.Must(config.ParseExperiment("clqlmrs.yaml", text))
	if e.Repeats < 5 || e.Cache.Fraction != 0.5 || len(e.Workloads) != 3 || len(e.Models) < 4 {
		t.Errorf("%+v: want 5 repeats of 3 workloads under 4 models, half cached", e)
	}
	const labBeat, labNodes = 200 * time.Millisecond, 4
	simulated := func(skips int) time.Duration {
		return time.Duration(skips) * time.Duration(standard.Beat) / time.Duration(len(ramGB))
	}
	for _, m := range e.Models {
		for param, skips := range map[string]int{"c": 3, "d": len(ramGB), "nodeSkips": len(ramGB), "rackSkips": len(ramGB)} {
			text, ok := m.Params[param]
			if !ok {
				if wants := map[string]bool{"acl c": true, "acl d": true, "delay nodeSkips": true, "delay rackSkips": true}; wants[m.Model+" "+param] {
					t.Errorf("%s: %s is not set", m.Label, param)
				}
				continue
			}
			var n int
			fmt.Sscan(text, &n)
			if got, want := time.Duration(n)*labBeat/labNodes, simulated(skips); got != want {
				t.Errorf("%s: %s of %d is %v on the lab, %v in the simulations", m.Label, param, n, got, want)
			}
		}
	}
}

// TestSameVerdicts holds verdicts to come out alike from two seeds, under as many
// as --quick takes: none is the opposite of the other.
func TestSameVerdicts(t *testing.T) {
	labtest.Long(t)
	verdicts := func(seed uint64) map[string]paper.Verdict {
		got := map[string]paper.Verdict{}
		for _, reading := range []string{paper.AsPrinted, "repaired"} {
			r := errtest.Must(Paper().Run(context.Background(), paper.Options{
				Parts:   []string{"C1", "C2", "C3", "C5", "C6"},
				Reading: reading, Seed: seed, Seeds: 10, Workers: runtime.GOMAXPROCS(0),
			}))
			for _, c := range r.Criteria {
				got[reading+" "+c.ID] = c.Verdict
				t.Logf("seed %d, %s: %s %s: %s", seed, reading, c.ID, c.Verdict, c.Note)
			}
		}
		return got
	}
	one, two := verdicts(1), verdicts(2)
	for id := range one {
		if one[id] != two[id] && (one[id] == paper.Reversed || two[id] == paper.Reversed) && (one[id] == paper.Holds || two[id] == paper.Holds) {
			t.Errorf("%s: %s with one seed, %s with another", id, one[id], two[id])
		}
	}
}
