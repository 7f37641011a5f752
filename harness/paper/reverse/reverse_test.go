package reverse

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/harness/measure"
	"heddle/harness/paper"
	"heddle/harness/paper/reverse/model"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/harness/stats"
	"heddle/traces/errtest"
)

func with(t *testing.T, x paper.Setting, set string) cluster {
	t.Helper()
	for _, s := range strings.Fields(set) {
		name, value, _ := strings.Cut(s, "=")
		var err error
		if x, err = x.With(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return x.(cluster)
}

// TestOtherLoad has the slots that are left: 120 alone, 12 to 108 and 60 in the mean
// on a sine, and 52.5 with bursts, which halve one interval of four.
func TestOtherLoad(t *testing.T) {
	for _, c := range []struct {
		experiment        string
		least, most, mean float64
	}{{"1", 120, 120, 120}, {"2", 12, 108, 60}, {"3", 6, 108, 52.5}} {
		x := with(t, standard, "experiment="+c.experiment)
		slots := x.slots()
		if least, most := slices.Min(slots), slices.Max(slots); math.Abs(float64(least)-c.least) > 1 || math.Abs(float64(most)-c.most) > 1 {
			t.Errorf("experiment %s leaves %d to %d slots, want %v to %v", c.experiment, least, most, c.least, c.most)
		}
		if math.Abs(x.mean()-c.mean) > 0.8 {
			t.Errorf("experiment %s leaves %v slots in the mean, want %v", c.experiment, x.mean(), c.mean)
		}
	}
	x := with(t, standard, "experiment=2")
	table := x.timetable()
	if err := table.Check(); err != nil || table.EveryMs != 7_200_000 {
		t.Errorf("timetable of %d ms: %v", table.EveryMs, err)
	}
	left := map[string]state.Resource{}
	for i, c := range table.Changes {
		if left[c.Node] = c.Left; i%nodes == nodes-1 {
			sum := int32(0)
			for k := range nodes {
				sum += left[nodeName(k)].VCores
			}
			if want := x.slots()[i/nodes]; int(sum) != want {
				t.Fatalf("step %d: the nodes have %d slots, want %d", i/nodes, sum, want)
			}
		}
	}
}

// digestOf simulates Reverse, and returns a text that is the same for equal schedules alone.
func digestOf(t *testing.T, x cluster, params sched.Params) string {
	t.Helper()
	stages, err := x.Stages(1)
	if err != nil {
		t.Fatal(err)
	}
	c := stages[0].Config
	if c.Model, err = model.ReverseInfo.New(params); err != nil {
		t.Fatal(err)
	}
	c.Source, c.Seed = &sim.Jobs{List: stages[0].Jobs}, 1
	r, err := sim.Run(&c)
	if err != nil {
		t.Fatal(err)
	}
	return r.Digest.String()
}

// TestTold simulates Reverse with what it is told of the other load: nothing is the same
// as to take the present for ever, and all else changes what it does.
func TestTold(t *testing.T) {
	digest := func(set string, params sched.Params) string {
		return digestOf(t, with(t, standard, "jobs=40 swing=30m "+set), params)
	}
	present := sched.Params{"forecast": "now"}
	if got, want := digest("told=none", nil), digest("", present); got != want {
		t.Errorf("told nothing, Reverse gives the schedule %s; %s if it takes the present for ever", got, want)
	}
	seen := map[string]string{}
	for _, set := range []string{"", "told=none", "lag=10m", "noise=0.5"} {
		got := digest(set, nil)
		if again := digest(set, nil); again != got {
			t.Errorf("%q: %s, then %s from the same seed", set, got, again)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q give the same schedule", set, other)
		}
		seen[got] = set
	}
}

// TestAxesVary has each value of each axis of plans, and each way to take slots back, give a
// schedule of its own.
func TestAxesVary(t *testing.T) {
	seen := map[string]string{}
	for _, a := range Paper().Axes {
		for i, x := range a.Values {
			_, param, ok := strings.Cut(a.Sets, "reverse.")
			if !ok && a.Name != "back" || i == 0 && len(seen) > 0 {
				continue
			}
			set := with(t, standard, "jobs=60 swing=30m")
			p := sched.Params{}
			if p[param] = x.Value; !ok {
				p, set = nil, with(t, set, "back="+x.Value)
			}
			got := digestOf(t, set, p)
			if other, ok := seen[got]; ok {
				t.Errorf("%s=%s and %s give the same schedule", a.Name, x.Value, other)
			}
			seen[got] = a.Name + "=" + x.Value
		}
	}
}

// TestJobs has the jobs' arrival, size and goals, and the values that are refused.
func TestJobs(t *testing.T) {
	x := with(t, standard, "goals=relaxed jobs=20000")
	var maps, apart, least, most float64
	last := int64(0)
	least = math.Inf(1)
	for _, j := range x.jobs(3) {
		maps += float64(j.Maps) / 20_000
		alone := 60_000 * math.Ceil(float64(j.Maps)/15)
		least, most = min(least, float64(j.DeadlineMs)/alone), max(most, float64(j.DeadlineMs)/alone)
		last = j.SubmitMs
	}
	apart = float64(last) / 1000 / 20_000
	// 60 maps of 60 s on 0.7 of 60 slots are a job every 85.7 s.
	if math.Abs(maps-60) > 2 || math.Abs(apart-3600/42.0) > 2 {
		t.Errorf("%.1f maps a job, one every %.1f s, want 60 and 85.7", maps, apart)
	}
	if least < 1.499 || least > 1.51 || most < 9.9 || most > 10 {
		t.Errorf("goals at %.2f to %.2f times the time alone on 15 slots, want 1.5 to 10", least, most)
	}
	for _, wrong := range []string{
		"experiment=4", "goals=none", "load=0", "jobs=0", "swing=1s", "map=0s", "maps=0", "told=late", "lag=-1s",
		"noise=2", "nothing=1",
	} {
		name, value, _ := strings.Cut(wrong, "=")
		if _, err := standard.With(name, value); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// TestHopeless has jobs that no scheduler can finish in time: on 120 slots a wave
// takes 60 s.
func TestHopeless(t *testing.T) {
	job := func(maps int32, seconds int64) sim.Job {
		return sim.Job{SubmitMs: 5000, JobSpec: state.JobSpec{Maps: maps, DeadlineMs: 1000 * seconds}}
	}
	x := with(t, standard, "experiment=1")
	if got := x.hopeless([]sim.Job{job(1, 59), job(120, 60), job(121, 119), job(121, 120)}); got != 50 {
		t.Errorf("%v %% of the jobs are hopeless, want 2 of 4", got)
	}
}

// made makes up simulations: what each scheduler notes, with a little noise.
func made(notes map[string]map[string]float64) func(paper.Case, uint64) (paper.Simulation, error) {
	return func(c paper.Case, seed uint64) (paper.Simulation, error) {
		noise := 1 + float64(seed%17)/10_000
		s := paper.Simulation{
			Seconds: 100 * noise, Notes: map[string]float64{},
			Samples: map[string][]float64{"late": {0, 1, 2}, "distance": {-50, 0, 50}}, Stages: []*measure.Figures{{}},
		}
		for name, x := range map[string]float64{
			"missed": 40, "lateness": 200, "p50": -10, "p90": 200, "jain": 0.4, "used": 70, "hopeless": 1,
			"error": 20, "plans": 10, "infeasiblePlans": 4,
		} {
			if y, ok := notes[c.Scheduler.Label][name]; ok {
				x = y
			}
			s.Notes[name] = x * noise
		}
		return s, nil
	}
}

// TestClaims forces each verdict: Reverse as the paper says, equal, and worse.
func TestClaims(t *testing.T) {
	better := map[string]float64{"missed": 20, "lateness": 50, "p90": 80, "jain": 0.5, "error": 5}
	worse := map[string]float64{"missed": 60, "lateness": 400, "p90": 400, "jain": 0.2, "error": 60}
	all := []string{"R2-missed", "R2-lateness", "R2-p90", "R3-missed", "R3-lateness", "R3-p90", "R6"}
	for _, c := range []struct {
		name   string
		notes  map[string]map[string]float64
		r1, r5 paper.Verdict
		want   paper.Verdict // of all others that are judged
		needs  bool
	}{
		{"as published", map[string]map[string]float64{reverse: better}, paper.Reversed, paper.Holds, paper.Holds, true},
		{"equal", nil, paper.Holds, paper.Holds, paper.Fails, false},
		{"worse", map[string]map[string]float64{reverse: worse}, paper.Reversed, paper.Reversed, paper.Reversed, false},
		{"EDF as good", map[string]map[string]float64{reverse: better, edf: better}, paper.Reversed, paper.Holds, paper.Holds, false},
		{"the mean as good", map[string]map[string]float64{reverse: better, ofMean: better}, paper.Reversed, paper.Holds, paper.Holds, false},
	} {
		r := errtest.Must(Paper().Run(t.Context(), paper.Options{Seed: 1, Seeds: 6, Simulate: made(c.notes)}))
		if want := "With relaxed goals Reverse misses"; !strings.Contains(r.Summary, want) || strings.Contains(r.Summary, "NaN") {
			t.Errorf("%s: %q, want %q and no NaN", c.name, r.Summary, want)
		}
		for _, x := range r.Criteria {
			want := c.want
			switch {
			case x.ID == "R1":
				want = c.r1
			case x.ID == "R5":
				want = c.r5
			case !slices.Contains(all, x.ID):
				want = ""
			}
			if x.Verdict != want {
				t.Errorf("%s: %s %q, want %q: %s", c.name, x.ID, x.Verdict, want, x.Note)
			}
			if slices.Contains(all, x.ID) && x.NeededMethod != c.needs {
				t.Errorf("%s: %s needs the method: %v, want %v", c.name, x.ID, x.NeededMethod, c.needs)
			}
		}
	}
}

// TestWhoIsLate counts, job by job, who is late with one scheduler alone: of three
// jobs one is late by 9 s with Reverse alone, and one by 5 s with Adaptive alone.
func TestWhoIsLate(t *testing.T) {
	late := map[string][]float64{reverse: {9, 0, 3}, adaptive: {0, 5, 1}}
	r := errtest.Must(Paper().Run(t.Context(),
		paper.Options{Parts: []string{"R4"}, Seed: 1, Seeds: 3, Simulate: func(c paper.Case, _ uint64) (paper.Simulation, error) {
			return paper.Simulation{Samples: map[string][]float64{"late": late[c.Scheduler.Label]}, Stages: []*measure.Figures{{}}}, nil
		}}))
	var got []string
	for _, e := range r.Criteria[0].Effects {
		got = append(got, fmt.Sprintf("%.1f", float64(e.Ours)))
	}
	if want := "33.3 9.0 33.3 5.0"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestAgainstOracle holds simulations against a model that was written apart, in
// another language and with other random numbers: the mean of its 20 seeds must be in
// the interval of ours, which is widened by a third of its own value, since load
// differs between seeds.
func TestAgainstOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates 6 million maps")
	}
	for _, c := range []struct {
		experiment, goals, label           string
		missed, lateness, p90, turn, jainx float64
	}{
		{"1", "mid", adaptive, 13.6, 7.5, 7, 164, 0.628},
		{"1", "mid", reverse, 19.5, 15.1, 27, 172, 0.585},
		{"1", "mid", edf, 0.6, 0.1, -41, 110, 0.779},
		{"1", "mid", fair, 20.5, 43.0, 77, 199, 0.412},
		{"2", "relaxed", adaptive, 22.3, 121.1, 79, 743, 0.375},
		{"2", "relaxed", reverse, 34.1, 89.6, 51, 730, 0.471},
		{"2", "relaxed", edf, 1.5, 2.4, -33, 403, 0.560},
		{"2", "relaxed", fifo, 30.5, 205.7, 193, 717, 0.285},
		{"2", "relaxed", ofMean, 34.0, 93.3, 55, 732, 0.471},
	} {
		p := Paper()
		p.Setup = with(t, standard, "experiment="+c.experiment+" goals="+c.goals)
		p.Designs = []paper.Design{{ID: "one", Columns: []paper.Column{{Name: "one"}}}}
		p.Parts, p.Claims = nil, nil
		want := map[string]float64{"missed": c.missed, "lateness": c.lateness, "p90": c.p90, "time": c.turn, "jain": c.jainx}
		found := map[string]stats.Estimate{}
		p.Explain = func(d *paper.Data) string {
			for figure := range want {
				found[figure] = d.Estimate(figure + "[one: " + c.label + "]")
			}
			return ""
		}
		errtest.Must(p.Run(t.Context(), paper.Options{Seed: 1, Seeds: 20, Workers: 2}))
		for name, want := range want {
			slack := max(math.Abs(want)/3, map[string]float64{"missed": 6, "p90": 6, "lateness": 0.2}[name])
			if got := found[name]; want < got.Lo-slack || want > got.Hi+slack {
				t.Errorf("experiment %s, %s goals, %s: %s is %.2f [%.2f, %.2f], want %.2f", c.experiment, c.goals, c.label, name, got.Value, got.Lo,
					got.Hi, want)
			}
		}
	}
}
