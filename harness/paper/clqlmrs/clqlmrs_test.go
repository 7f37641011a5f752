package clqlmrs

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/config"
	"heddle/harness/lab/labtest"
	"heddle/harness/paper"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/state"
)

// TestSetUp holds the testbed to what the paper says of it.
func TestSetUp(t *testing.T) {
	columns, settings := byApplication()
	var first sim.Job
	for i, x := range settings {
		c, jobs, err := x.Config(5)
		if err != nil || len(jobs) != 1 {
			t.Fatalf("%s: %d jobs, error %v", columns[i], len(jobs), err)
		}
		j := jobs[0]
		if i == 0 {
			first = j
		}
		if !cmp.Equal(j.Replicas, first.Replicas) || !cmp.Equal(j.Cached, first.Cached) {
			t.Errorf("%s: blocks are elsewhere than %s's", columns[i], columns[0])
		}
		cached := make([]int, len(c.Cluster.Nodes))
		start := int32(0)
		for m, end := range j.Replicas.Ends {
			hosts := j.Replicas.Nodes[start:end]
			racks := map[string]bool{}
			for _, n := range hosts {
				racks[c.Cluster.Nodes[n].Rack] = true
			}
			if len(hosts) != 3 || len(racks) != 2 {
				t.Errorf("%s: map %d on %v, want 3 nodes in 2 racks", columns[i], m, hosts)
			}
			start = end
		}
		for _, n := range j.Cached.Nodes {
			cached[n]++
		}
		if most, least := slices.Max(cached), slices.Min(cached); most-least > 2 {
			t.Errorf("%s: nodes cache %v blocks, want about as many each", columns[i], cached)
		}
	}
	x := standard
	x.app = ""
	if _, jobs, err := x.Config(5); err != nil || len(jobs) != len(applications) {
		t.Errorf("all at once: %d jobs, error %v", len(jobs), err)
	}
}

// TestCachedShare holds what is said to be cached against what is: in all set-ups
// of the figures, on many seeds, the number of maps with a cached block is the
// nearest to the cache's share of the input.
func TestCachedShare(t *testing.T) {
	type setting struct {
		testbed
		cached []int // maps of each job, from the paper's sizes alone
	}
	one := func(maps, cached int, change func(x *testbed)) setting {
		x := standard
		x.maps = maps
		change(&x)
		return setting{x, []int{cached}}
	}
	var settings []setting
	for maps, cached := range map[int]int{10: 6, 20: 13, 25: 16, 30: 19, 40: 26, 50: 32, 100: 64} {
		_, by := byMaps(maps)
		settings = append(settings, setting{by[0], []int{cached}})
		for _, a := range applications {
			x := by[0]
			x.app = a.name
			settings = append(settings, setting{x, []int{cached}})
		}
	}
	for gib, cached := range map[float64]int{2: 16, 4: 32, 6: 48, 8: 64} {
		settings = append(settings, one(100, cached, func(x *testbed) { x.cacheGiB = gib }))
	}
	for mib, cached := range map[int64]int{64: 128, 128: 64, 256: 32} {
		settings = append(settings, one(int(100*128/mib), cached, func(x *testbed) { x.blockMiB = mib }))
	}
	settings = append(settings, one(480, 64, func(*testbed) {}), one(3, 3, func(*testbed) {}))
	x := standard
	x.app = ""
	settings = append(settings, setting{x, []int{13, 13, 12, 13, 13}})
	for _, s := range settings {
		for seed := range uint64(50) {
			_, jobs, err := s.Config(seed)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]int, len(jobs))
			for i, j := range jobs {
				start := int32(0)
				for _, end := range j.Cached.Ends {
					if end > start {
						got[i]++
					}
					start = end
				}
				if len(j.Cached.Nodes) != got[i] {
					t.Errorf("%#v, seed %d: %d copies of %d blocks", s.testbed, seed, len(j.Cached.Nodes), got[i])
				}
			}
			if !slices.Equal(got, s.cached) {
				t.Errorf("%#v, seed %d: %v maps have a cached block, want %v", s.testbed, seed, got, s.cached)
			}
		}
	}
	// The page says 64 %, and the figures what was measured.
	said := 0
	for _, c := range append(Paper().Setup, Paper().Open...) {
		if strings.Contains(c.Taken+c.Why, "64 %") {
			said++
		}
	}
	if said != 2 {
		t.Errorf("the set-up says 64 %% %d times, want twice", said)
	}
	p := &paper.Paper{Parts: []paper.Part{{ID: "rates", Run: func(b *paper.Bench) (*paper.Figure, error) {
		columns, by := byMaps(10, 25, 50, 100)
		g, err := newGrid(b, []scheduler{fifo}, columns, by)
		if err != nil {
			return nil, err
		}
		return g.rateFigure("maps", paper.LocalRate), nil
	}}}}
	r, err := p.Run(context.Background(), paper.Options{Seeds: 3, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range []string{"60.0", "64.0", "64.0", "64.0"} {
		if got := r.Figures[0].Rows[1].Cells[k].String(); got != want {
			t.Errorf("%s: measured %s, want %s", r.Figures[0].Columns[k], got, want)
		}
	}
}

// TestCorners has every model through layouts that leave nothing to choose, or
// nothing to learn.
func TestCorners(t *testing.T) {
	corners := map[string]environment{
		"more slots than maps": {nodes: 6, slots: 4, maps: 3, replication: 3, cachedPct: 60},
		"no cached block":      {nodes: 6, slots: 2, maps: 20, replication: 3},
		"all cached":           {nodes: 6, slots: 2, maps: 20, replication: 3, cachedPct: 100},
		"one node":             {nodes: 1, slots: 2, maps: 5, replication: 1, cachedPct: 50},
		"one map":              {nodes: 6, slots: 1, maps: 1, replication: 1, cachedPct: 100},
		"everywhere":           {nodes: 4, slots: 1, maps: 8, replication: 4, cachedPct: 50},
	}
	for name, x := range corners {
		p := &paper.Paper{Parts: []paper.Part{{ID: "all", Run: func(b *paper.Bench) (*paper.Figure, error) {
			for _, s := range learners {
				if s.model == "clqlmrs" {
					s.params = withEpisodes(s.params)
				}
				trials, err := b.Trials(s.in(x))
				if err != nil {
					return nil, err
				}
				for _, trial := range trials[0] {
					maps := int64(0)
					for level := state.LevelCache; level <= state.LevelOff; level++ {
						maps += trial.Maps[level]
					}
					if maps != int64(x.maps) || trial.Maps[state.LevelCache] > trial.Cached {
						t.Errorf("%s under %s: %d maps of %d, %d cache-local of %d", name, s.label, maps, x.maps, trial.Maps[state.LevelCache], trial.Cached)
					}
				}
			}
			return &paper.Figure{}, nil
		}}}}
		if _, err := p.Run(context.Background(), paper.Options{Seed: 1, Seeds: 2, Workers: 2}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func withEpisodes(p sched.Params) sched.Params {
	q := sched.Params{"episodes": "100"}
	for k, v := range p {
		q[k] = v
	}
	return q
}

func TestLiveExperiment(t *testing.T) {
	e, err := config.ParseExperiment("clqlmrs.yaml", Paper().Live.Experiment)
	if err != nil {
		t.Fatal(err)
	}
	if e.Repeats < 5 || e.Cache.Fraction != 0.5 || len(e.Workloads) != 3 || len(e.Models) < 4 {
		t.Errorf("%+v: want 5 repeats of 3 workloads under 4 models, half cached", e)
	}
}

// TestSameVerdicts holds verdicts to come out alike from two seeds, with as few
// as --quick takes.
func TestSameVerdicts(t *testing.T) {
	labtest.Long(t)
	verdicts := func(seed uint64) map[string]paper.Verdict {
		p := Paper()
		var rules []string
		for _, r := range p.Rules {
			rules = append(rules, r.ID)
		}
		r, err := p.Run(context.Background(), paper.Options{Parts: rules, Seed: seed, Seeds: 6, Workers: runtime.GOMAXPROCS(0)})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]paper.Verdict{}
		for _, c := range append(r.Criteria, r.Findings...) {
			got[c.ID] = c.Verdict
			t.Logf("seed %d: %s %s: ours %v %v; %s", seed, c.ID, c.Verdict, c.Ours, c.CI95, c.Note)
		}
		return got
	}
	if diff := cmp.Diff(verdicts(1), verdicts(2)); diff != "" {
		t.Errorf("from another seed (-1 +2):\n%s", diff)
	}
}

// TestRatesStayInside: whatever is printed in % or points of the cheap parts stays
// within what such a figure can be, and all that is estimated has an interval.
func TestRatesStayInside(t *testing.T) {
	columns, settings := byMaps(10, 20, 50)
	p := &paper.Paper{Parts: []paper.Part{{ID: "rates", Run: func(b *paper.Bench) (*paper.Figure, error) {
		g, err := newGrid(b, []scheduler{fifo, delay, acl, matching, trainedFor("100")}, columns, settings)
		if err != nil {
			return nil, err
		}
		f := g.rateFigure("maps", paper.LocalRate)
		g.rateRows(f, ", cache", paper.CacheRate)
		g.rateRows(f, ", of cached", paper.HitShare)
		for i := range g.schedulers {
			for k := range g.settings {
				f.Beside = append(f.Beside, quantity(columns[k], g.schedulers[i].label, "points", "", more(g.rate(0, k, paper.LocalRate), g.rate(i, k, paper.CacheRate))))
			}
		}
		return f, nil
	}}}}
	for seed := range uint64(3) {
		r, err := p.Run(context.Background(), paper.Options{Seed: seed, Seeds: 5, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Figures[0].Rows {
			for k, c := range row.Cells {
				if c.CI95[0] < 0 || c.CI95[1] > 100 || !c.CI95.Bounded() || c.CI95[0] == c.CI95[1] && row.Name != "cached anywhere" {
					t.Errorf("seed %d: %s at %s: %v", seed, row.Name, columns[k], c)
				}
			}
		}
		for _, q := range r.Figures[0].Beside {
			if q.CI95.Bounded() && (q.CI95[0] < -100 || q.CI95[1] > 100) {
				t.Errorf("seed %d: %s of %s: %v", seed, q.What, q.Model, q)
			}
		}
	}
}
