package modfair

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/harness/measure"
	"heddle/harness/paper"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/traces/errtest"
)

// forced has a world for verdicts that TestClaims does not force: times by scheduler,
// and local maps of 100, give or take a spread over seeds.
var forced = []struct {
	claim         string
	want          paper.Verdict
	local, spread map[string]float64
	gainBySize    float64 // of Modified's time, what is gained for each map of a job
	gainInB       float64
}{
	{"F6", paper.Direction, map[string]float64{original: 30, modified: 31}, nil, 0, 0},
	{"F6", paper.Direction, map[string]float64{original: 97, modified: 98}, nil, 0, 0}, // of 2 points that are asked for 3 are there
	{"F6", paper.Fails, map[string]float64{original: 30, modified: 30}, nil, 0, 0},
	{"F6", paper.Reversed, map[string]float64{original: 30, modified: 27}, nil, 0, 0},
	{"F6", paper.Ceiling, map[string]float64{original: 99, modified: 99}, nil, 0, 0},
	{"F8", paper.Reversed, map[string]float64{original: 30, modified: 30}, map[string]float64{original: 3, modified: 8}, 0, 0},
	{"F9", paper.Reversed, nil, nil, -0.02, 0},
	{"F10", paper.Direction, nil, nil, 0, 0.06},
	{"F10", paper.Reversed, nil, nil, 0, -0.3},
}

// TestForced has made-up simulations force verdicts on the claims of locality, and of gains by size and experiment.
func TestForced(t *testing.T) {
	for _, w := range forced {
		r := errtest.Must(Paper().Run(t.Context(),
			paper.Options{Parts: []string{w.claim}, Seed: 1, Seeds: 12, Simulate: func(c paper.Case, seed uint64) (paper.Simulation, error) {
				x, label := c.Setting.(testbed), c.Scheduler.Label
				if _, ok := w.local[label]; !ok && label != modified {
					label = original
				}
				key := draw.Stream(seed, fmt.Sprint(label, x))
				s := paper.Simulation{Seconds: 1000 * math.Exp(0.01*key.At(0).Normal())}
				if label == modified {
					if s.Seconds *= 1 - w.gainBySize*float64(x.Size-6); x.Experiment == "B" {
						s.Seconds *= math.Exp(-w.gainInB)
					}
				}
				s.Locality.Node = min(100, int(math.Round(w.local[label]+max(0.5, w.spread[label])*key.At(1).Normal())))
				s.Locality.Off = 100 - s.Locality.Node
				return s, nil
			}}))
		if c := r.Criteria[0]; c.Verdict != w.want {
			t.Errorf("%+v: %s: %s", w, c.Verdict, c.Note)
		}
	}
}

// TestJain has the notes of a simulation worked out by hand: Jain's index of times
// that are equal is 1, and 1/n if one job takes all of the time.
func TestJain(t *testing.T) {
	for _, x := range []struct {
		ms            []float64
		jain, longest float64
	}{
		{[]float64{5000}, 1, 5},
		{[]float64{4000, 4000, 4000}, 1, 4},
		{[]float64{9000, 0, 0}, 1.0 / 3, 9},
		{[]float64{1000, 2000, 3000}, 36.0 / 42, 3},
	} {
		f := &measure.Figures{}
		for _, ms := range x.ms {
			f.JobList = append(f.JobList, &measure.Job{CompletionMs: ms})
		}
		f.Nodes = []*measure.Node{{MeanRunning: 1.5}, {MeanRunning: 2.25}}
		s := paper.Simulation{Notes: map[string]float64{}}
		standard.Note(&s, 1, nil, f)
		if got := s.Notes; math.Abs(got["jain"]-x.jain) > 1e-12 || got["longestS"] != x.longest || got["running"] != 3.75 {
			t.Errorf("%v ms: %v, want Jain's index %v, the longest %v s, 3.75 running", x.ms, got, x.jain, x.longest)
		}
	}
	for _, x := range [][3]float64{{10, 9, 90}, {10, 0, 0}, {0, 0, 0}, {4, 4, 100}} {
		if got := sharedTime(&paper.Simulation{Notes: map[string]float64{"updates": x[0], "sharedUpdates": x[1]}}); got != x[2] {
			t.Errorf("%v of %v updates: %v %%, want %v", x[1], x[0], got, x[2])
		}
	}
}

// TestArrivals has jobs come at once, 2 s apart, or at random times that are as an exponential
// distribution has them: its mean, its deviation, and its share above the mean.
func TestArrivals(t *testing.T) {
	for arrival, want := range map[string]string{"together": "0 0 0 0", "apart": "0 2000 4000 6000"} {
		x := with(t, "arrival", arrival, "jobs", "4")
		list := errtest.Must(x.Stages(1))
		var at []string
		for _, j := range list[0].Jobs {
			at = append(at, fmt.Sprint(j.SubmitMs))
		}
		if got := strings.Join(at, " "); got != want {
			t.Errorf("%s: jobs at %s ms, want %s", arrival, got, want)
		}
	}
	const n = 40_000
	sum, squares, above := 0.0, 0.0, 0
	for i := range uint64(n) {
		x := draw.Stream(3, "arrivals").At(i).Exponential()
		if x < 0 {
			t.Fatalf("a time of %v", x)
		}
		if sum, squares = sum+x/n, squares+x*x/n; x > 1 {
			above++
		}
	}
	// Four deviations of the mean of so many.
	margin := 4 / math.Sqrt(n)
	if math.Abs(sum-1) > margin || math.Abs(squares-2) > 5*margin || math.Abs(float64(above)/n-math.Exp(-1)) > margin/2 {
		t.Errorf("mean %v, mean square %v, share above the mean %v; want 1, 2 and 1/e", sum, squares, float64(above)/n)
	}
	x := with(t, "arrival", "poisson", "jobs", "1000")
	list := errtest.Must(x.Stages(5))
	jobs := list[0].Jobs
	if !slices.IsSortedFunc(jobs, func(a, b sim.Job) int { return int(a.SubmitMs - b.SubmitMs) }) {
		t.Error("jobs that come at random are not in order of time")
	}
	if mean := float64(jobs[999].SubmitMs) / 999; math.Abs(mean/2000-1) > 4/math.Sqrt(999) {
		t.Errorf("%v ms between jobs in the mean, want 2000", mean)
	}
}

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

// TestNotesAreThere simulates, and has every note that the paper's figures and texts name
// be noted: a name that is misspelt would be a row of zeros.
func TestNotesAreThere(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, file := range []string{"modfair.go", "explain.go", "paper.yaml"} {
		text := errtest.Must(os.ReadFile(file))
		for _, m := range regexp.MustCompile(`(?:Noted\("|Notes\["|is: )(\w+)["}]`).FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = !slices.Contains([]string{"time", "local", "sharedTime"}, m[1]) // these are computed
		}
	}
	if len(names) < 8 {
		t.Fatalf("the paper names %v, want more", names)
	}
	p := Paper()
	p.Claims = []paper.Claim{{ID: "K", Effects: func(d *paper.Data) []paper.Effect {
		d.Grid("B", modified).Mean(modified, func(s *paper.Simulation) float64 {
			for name := range names {
				if _, ok := s.Notes[name]; !ok && names[name] {
					t.Errorf("%s is not noted: %v", name, s.Notes)
				}
			}
			return 0
		}, 0)
		return []paper.Effect{{}}
	}}}
	p.Controls, p.Bars = nil, nil
	errtest.Must(p.Run(t.Context(), paper.Options{Parts: []string{"K"}, Seed: 1, Seeds: 2, Workers: 2}))
}

// TestAxesDiffer simulates each value of each axis on two seeds. The seeds differ, and an
// axis changes something, as printed or where M4's delays last: one that never does is none.
func TestAxesDiffer(t *testing.T) {
	t.Parallel()
	p := Paper()
	p.Claims = []paper.Claim{{ID: "K", Effects: func(d *paper.Data) []paper.Effect {
		g := d.Grid("B", modified, original)
		xs := g.Seconds(modified)
		if xs[0] == xs[1] {
			t.Errorf("two seeds have one result, %v s", xs[0])
		}
		return []paper.Effect{{What: fmt.Sprint(xs, g.Shares(modified, paper.LocalRate), g.Seconds(original))}}
	}}}
	p.Controls, p.Bars = nil, nil
	p.Designs = []paper.Design{{ID: "B", Columns: columnsOf("B")[1:2]}} // 10 jobs
	for _, a := range p.Axes {
		most := 0
		for _, where := range []map[string]string{
			{},
			{"modfair.wait": "pending", "layout": "hot"},
			{"modfair.wait": "pending", "arrival": "apart"},
		} {
			results := map[string]bool{}
			for _, v := range a.Values {
				set := maps.Clone(where)
				set[p.Key(a.Name)] = v.Value
				r, err := p.Run(t.Context(), paper.Options{Parts: []string{"K"}, Seed: 1, Seeds: 2, Workers: 2, Set: set})
				if err != nil {
					t.Fatalf("%s=%s: %v", a.Name, v.Value, err)
				}
				results[r.Criteria[0].Effects[0].What] = true
			}
			if most = max(most, len(results)); most > 1 {
				break
			}
		}
		// A minimum that was lowered rises again if more tasks wait, but here all jobs are there before a pool's tasks run out.
		if most < 2 && a.Name != "minimum" {
			t.Errorf("axis %s changes nothing", a.Name)
		}
	}
}

// best is a world in which all claims hold: FIFO beats Modified in B at 15 jobs alone.
func best(c paper.Case, seed uint64) (paper.Simulation, error) {
	x, label := c.Setting.(testbed), c.Scheduler.Label
	key := draw.Stream(seed, fmt.Sprint(label, x))
	s := paper.Simulation{Seconds: 100 * float64(x.Jobs) * math.Exp(0.002*key.At(0).Normal()), Notes: map[string]float64{"updates": 10}}
	local, spread := 30.0, 4.0
	if x.Experiment == "A" {
		s.Seconds *= math.Pow(float64(x.Size), 1.5)
	}
	switch {
	case label == modified && x.Experiment == "B":
		s.Seconds *= 0.4
		s.Notes["sharedUpdates"] = 9 + key.At(2).Fraction()
	case label == modified:
		s.Seconds *= 0.8 - 0.01*float64(x.Size)
	case label == fifo && x.Jobs == 15:
		s.Seconds *= 0.35
	case label == fifo:
		s.Seconds *= 0.5
	}
	switch {
	case label == modified && x.Experiment == "A":
		local, spread = 34+0.3*float64(x.Size-6), 2
	case label == modified:
		local, spread = 32, 2
	case label == "m5 alone":
		local = 34
	}
	const maps = 1000
	s.Locality.Node = int(math.Round(10 * (local + spread*key.At(1).Normal())))
	s.Locality.Off = maps - s.Locality.Node
	return s, nil
}

// TestBestOfWorlds has each claim hold in the best of worlds.
func TestBestOfWorlds(t *testing.T) {
	r := errtest.Must(Paper().Run(t.Context(), paper.Options{Seed: 1, Seeds: 12, Simulate: best}))
	for _, c := range r.Criteria {
		if c.Kind == paper.Judged && c.Verdict != paper.Holds {
			t.Errorf("%s: %s in the best of worlds: %s", c.ID, c.Verdict, c.Note)
		}
	}
}
