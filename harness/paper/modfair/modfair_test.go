package modfair

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"heddle/harness/paper"
	"heddle/traces/errtest"
)

// TestBestOrder has the shortest job first on all slots save, where maps take equally long,
// about what waves of equal maps give, as worked out by hand for the nine cells of A and the three
// of B.
func TestBestOrder(t *testing.T) {
	waves := []float64{44, 56, 60, 61, 62, 64, 59, 65, 67, 41, 48, 48}
	p := Paper()
	var saved []float64
	p.Explain = func(d *paper.Data) string {
		for _, x := range []string{"A, best order", "B, best order"} {
			g := d.Grid(x, original, fifo)
			for k := range g.Columns {
				saved = append(saved, paper.Saved(g.Seconds(original, k), g.Seconds(fifo, k)).Value)
			}
		}
		return ""
	}
	p.Claims, p.Parts = nil, nil
	errtest.Must(p.Run(t.Context(), paper.Options{Seed: 1, Seeds: 2, Workers: 2}))
	for i, want := range waves {
		// A wave that is not full, and maps of unequal time, make up to 14 points.
		if math.Abs(saved[i]-want) > 14 {
			t.Errorf("cell %d: the shortest job first on all slots saves %.1f %%, and whole waves give %.0f", i, saved[i], want)
		}
	}
}

// TestSetup has the jobs of both experiments: sizes, pools, order and layout.
func TestSetup(t *testing.T) {
	for _, c := range []struct {
		set   string
		sizes string
		pools string
		on    func(node int) bool
		slots int32
	}{
		{"experiment=A size=10 jobs=5 layout=hot", "[10 10 10 10 10]", "[pool1 pool2 pool3 pool1 pool2]", func(n int) bool { return n == 0 }, 4},
		{
			"experiment=B jobs=5 order=ascending layout=hotRack", "[6 10 16 21 25]", "[pool1 pool2 pool3 pool1 pool2]",
			func(n int) bool { return n < 4 }, 2,
		},
		{
			"experiment=B jobs=10 order=descending", "[25 25 21 21 16 16 10 10 6 6]",
			"[pool1 pool2 pool3 pool1 pool2 pool3 pool1 pool2 pool3 pool1]", func(n int) bool { return n < 8 }, 2,
		},
	} {
		var x paper.Setting = standard
		for _, set := range strings.Fields(c.set) {
			name, value, _ := strings.Cut(set, "=")
			var err error
			if x, err = x.With(name, value); err != nil {
				t.Fatal(err)
			}
		}
		stages := errtest.Must(x.(paper.Staged).Stages(7))
		var sizes, pools []string
		for _, j := range stages[0].Jobs {
			sizes, pools = append(sizes, fmt.Sprint(j.Maps)), append(pools, j.Pool)
			for _, n := range j.Replicas.Nodes {
				if !c.on(int(n)) {
					t.Errorf("%s: a block on node %d", c.set, n)
				}
			}
			if len(j.Replicas.Nodes) != int(j.Maps) {
				t.Errorf("%s: %d replicas for %d maps, want one each", c.set, len(j.Replicas.Nodes), j.Maps)
			}
		}
		if fmt.Sprint(sizes) != c.sizes || fmt.Sprint(pools) != c.pools {
			t.Errorf("%s: sizes %v in pools %v, want %s in %s", c.set, sizes, pools, c.sizes, c.pools)
		}
		if got := stages[0].Config; got.MapSlots != c.slots || got.ReduceSlots != 1 || len(got.Cluster.Nodes) != 8 {
			t.Errorf("%s: %d map slots, %d reduce slots, %d nodes, want %d, 1 and 8", c.set, got.MapSlots, got.ReduceSlots, len(got.Cluster.Nodes),
				c.slots)
		}
	}
	for _, wrong := range []string{"layout=mars", "jobs=0", "size=0", "slowstart=2", "beat=0s", "nothing=1"} {
		name, value, _ := strings.Cut(wrong, "=")
		if _, err := standard.With(name, value); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// times makes up simulations in which each scheduler takes a given time, and
// jobs of more maps longer: n times the maps take n to the given power.
func times(of map[string]float64, power float64) func(paper.Case, uint64) (paper.Simulation, error) {
	return func(c paper.Case, seed uint64) (paper.Simulation, error) {
		x := c.Setting.(testbed)
		t, ok := of[c.Scheduler.Label]
		if !ok {
			t = 100
		}
		work := float64(x.Jobs)
		if x.Experiment == "A" {
			work *= math.Pow(float64(x.Size), power)
		}
		s := paper.Simulation{Seconds: t * work * (1 + float64(seed%17)/10_000)}
		s.Locality.Node, s.Locality.Off = 20+int(seed%3), 80
		if t > 100 {
			s.Locality.Node, s.Locality.Off = s.Locality.Node-10, s.Locality.Off+10
		}
		if c.Scheduler.Label == modified {
			s.Notes = map[string]float64{"updates": 10}
			if x.Experiment == "B" {
				s.Notes["sharedUpdates"] = 9
			}
		}
		return s, nil
	}
}

// TestClaims has made-up results force verdicts on the claims of times: as
// published, without a difference, and the other way round.
func TestClaims(t *testing.T) {
	for _, c := range []struct {
		name  string
		power float64
		times map[string]float64
		want  map[string]paper.Verdict
	}{
		{"published", 2, map[string]float64{original: 100, modified: 50, fifo: 60}, map[string]paper.Verdict{
			"F1": paper.Holds, "F2": paper.Holds,
			"F4": paper.Holds, "F5": paper.Holds, "F7": paper.Holds, "F3": paper.Reversed,
		}},
		{"equal", 2, map[string]float64{original: 100, modified: 100, fifo: 100}, map[string]paper.Verdict{
			"F1": paper.Fails, "F2": paper.Fails,
			"F3": paper.Fails, "F4": paper.Fails, "F7": paper.Holds,
		}},
		{
			"maps of equal time", 0.8,
			map[string]float64{original: 100, modified: 50},
			map[string]paper.Verdict{"F1": paper.Holds, "F5": paper.Holds},
		},
		{
			"slower", 2,
			map[string]float64{original: 100, modified: 150, fifo: 120},
			map[string]paper.Verdict{
				"F1": paper.Reversed, "F2": paper.Reversed, "F3": paper.Reversed, "F4": paper.Reversed, "F9": paper.Reversed,
				"F10": paper.Reversed, "F11": paper.Reversed,
			},
		},
	} {
		r := errtest.Must(Paper().Run(t.Context(), paper.Options{Seed: 1, Seeds: 12, Simulate: times(c.times, c.power)}))
		for _, x := range r.Criteria {
			if want, ok := c.want[x.ID]; ok && x.Verdict != want {
				t.Errorf("%s: %s %s, want %s: %s", c.name, x.ID, x.Verdict, want, x.Note)
			}
		}
		if !strings.Contains(r.Summary, "M4 alone saves ") || !strings.Contains(r.Summary, "71 % in B with 5 jobs (at most ") {
			t.Errorf("%s: the summary lacks the delays or the ceiling: %s", c.name, r.Summary)
		}
	}
}

// TestNoMechanismIsOriginal has the modified scheduler without mechanisms give
// the original's results, simulated.
func TestNoMechanismIsOriginal(t *testing.T) {
	p := Paper()
	p.Schedulers = append(p.Schedulers, paper.Scheduler{
		Label: "none", Model: "modfair",
		Params: changed(schedulerOf(original), "mechanisms", ""),
	})
	p.Parts = []paper.Part{{ID: "none", Design: "B", Schedulers: []string{original, "none"}, Rows: []paper.Row{{Is: "time"}, {Is: "local"}}}}
	r := errtest.Must(p.Run(t.Context(), paper.Options{Parts: []string{"none"}, Seed: 1, Seeds: 2, Workers: 2}))
	rows := r.Figures[0].Rows
	for i := 0; i < len(rows); i += 2 {
		if fmt.Sprint(rows[i].Cells) != fmt.Sprint(rows[i+1].Cells) {
			t.Errorf("%s %v, without mechanisms %v", rows[i].Name, rows[i].Cells, rows[i+1].Cells)
		}
	}
}
