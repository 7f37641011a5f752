package paper

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"

	"heddle/harness/measure"
	"heddle/harness/sim/draw"
	"heddle/harness/stats"
)

// normal draws from the normal distribution of mean 0 and deviation 1 (Box, Muller).
func normal(k draw.Key) float64 {
	return math.Sqrt(-2*math.Log(1-k.At(0).Fraction())) * math.Cos(2*math.Pi*k.At(1).Fraction())
}

// truth is what is true of schedulers in a made-up world: mean times in s, and mean
// shares of local maps, which stray by seed, together for all schedulers and alone.
type truth struct {
	seconds, local  map[string]float64
	together, alone float64 // deviations, as a share
}

// simulate draws the results of a case in the world with the given number.
func (w *truth) simulate(world uint64) func(Case, uint64) (Simulation, error) {
	return func(c Case, seed uint64) (Simulation, error) {
		label, key := c.Scheduler.Label, draw.Stream(world, "truth").At(seed)
		own := draw.Stream(uint64(key), label)
		stray := w.together*normal(key.At(0)) + w.alone*normal(own.At(0))
		s := Simulation{Seconds: w.seconds[label] * math.Exp(stray)}
		const maps = 200
		share := w.local[label] * (1 + w.together*normal(key.At(1)) + w.alone*normal(own.At(1)))
		s.Locality.Node = int(math.Round(maps * min(1, max(0, share))))
		s.Locality.Off = maps - s.Locality.Node
		return s, nil
	}
}

// knownPaper claims that Mine takes less time than Base, has a higher share of local
// maps, and takes a smaller ratio of its time, each by at least so much. Other is
// a control.
func knownPaper(percent, points, times float64) *Paper {
	grid := func(d *Data) *Grid { return d.Grid("one", "Base", "Mine") }
	one := func(id string, of func(*Data) Effect) Claim {
		return Claim{ID: id, Effects: func(d *Data) []Effect { return []Effect{of(d)} }}
	}
	return &Paper{
		Name: "known", Setup: small{Maps: 1}, Claimant: "Mine",
		Schedulers: []Scheduler{{Label: "Base", Model: "fifo"}, {Label: "Mine", Model: "delay"}},
		Controls:   []Scheduler{{Label: "Other", Model: "matching"}},
		Designs:    []Design{{ID: "one", Columns: []Column{{"all", nil}}}},
		Claims: []Claim{
			one("time", func(d *Data) Effect {
				return Effect{Unit: "%", Estimate: Saved(grid(d).Seconds("Base"), grid(d).Seconds("Mine")), Least: percent}
			}),
			one("local", func(d *Data) Effect {
				return Effect{Unit: "points", Estimate: More(grid(d).Shares("Base", LocalRate), grid(d).Shares("Mine", LocalRate)), Least: points}
			}),
			one("ratio", func(d *Data) Effect {
				return Effect{Unit: "times", Estimate: Times(grid(d).Seconds("Mine"), grid(d).Seconds("Base")), None: 1, Least: times}
			}),
		},
	}
}

const worlds = 200

// outcomes runs the paper in many worlds, and counts verdicts, intervals that have the
// true effect in them, and claims that need the method.
func outcomes(t *testing.T, p *Paper, w *truth, seeds int, effects map[string]float64) (verdicts map[string]map[Verdict]int, covered,
	needed map[string]int,
) {
	t.Helper()
	verdicts, covered, needed = map[string]map[Verdict]int{}, map[string]int{}, map[string]int{}
	for world := range uint64(worlds) {
		r, err := p.Run(t.Context(), Options{Seed: world, Seeds: seeds, Simulate: w.simulate(world)})
		check(t, err)
		for _, c := range r.Criteria {
			if verdicts[c.ID] == nil {
				verdicts[c.ID] = map[Verdict]int{}
			}
			verdicts[c.ID][c.Verdict]++
			if is := effects[c.ID]; c.CI95[0] <= is && is <= c.CI95[1] {
				covered[c.ID]++
			}
			if c.NeededMethod {
				needed[c.ID]++
			}
		}
	}
	return verdicts, covered, needed
}

func same(x float64) map[string]float64 {
	return map[string]float64{"Base": x, "Mine": x, "Other": x}
}

// TestNothingThere has all schedulers be one and the same. A claim then comes out in one
// of 40 worlds at most, and so does its opposite: no more than intervals of 95 % allow,
// and four deviations of so many worlds. It holds, with the size asked for, in fewer.
func TestNothingThere(t *testing.T) {
	most := int(worlds*0.025 + 4*math.Sqrt(worlds*0.025*0.975))
	for _, w := range []truth{{same(100), same(0.5), 0.05, 0.05}, {same(100), same(0.5), 0.3, 0.02}, {same(100), same(0.97), 0.01, 0.02}} {
		for _, seeds := range []int{3, 12} {
			verdicts, covered, needed := outcomes(t, knownPaper(5, 3, 1.05), &w, seeds, map[string]float64{"ratio": 1})
			for id, of := range verdicts {
				if come := of[Holds] + of[Direction]; come > most || of[Reversed] > most {
					t.Errorf("%+v, %d seeds: %s comes out in %d and is reversed in %d of %d worlds, want %d at most: %v", w, seeds, id, come, of[Reversed],
						worlds, most, of)
				}
				if needed[id] > most {
					t.Errorf("%+v, %d seeds: %s needs the method in %d worlds", w, seeds, id, needed[id])
				}
				if covered[id] < worlds*89/100 {
					t.Errorf("%+v, %d seeds: %d of %d intervals of %s have no effect in them, want 95 %%", w, seeds, covered[id], worlds, id)
				}
			}
		}
	}
}

// TestKnownEffects has Mine save 10 % of the time and have 8 points more: intervals have
// that in them, claims of less hold, claims of more come out in direction alone.
func TestKnownEffects(t *testing.T) {
	w := &truth{
		map[string]float64{"Base": 100, "Mine": 90, "Other": 100},
		map[string]float64{"Base": 0.5, "Mine": 0.58, "Other": 0.5},
		0.1,
		0.02,
	}
	is := map[string]float64{"time": 10, "local": 8, "ratio": 1 / 0.9}
	for _, x := range []struct {
		of   float64 // of the true effect, what is asked for
		want Verdict
	}{{0.5, Holds}, {0.8, Holds}, {1.25, Direction}, {2, Direction}} {
		verdicts, covered, needed := outcomes(t, knownPaper(10*x.of, 8*x.of, 1+(1/0.9-1)*x.of), w, 20, is)
		for id := range is {
			if n := verdicts[id][x.want]; n < worlds*95/100 {
				t.Errorf("%v times the effect asked for: %s is %s in %d of %d worlds: %v", x.of, id, x.want, n, worlds, verdicts[id])
			}
			if covered[id] < worlds*89/100 {
				t.Errorf("%s: %d of %d intervals have the true effect %v in them, want 95 %%", id, covered[id], worlds, is[id])
			}
			if needed[id] < worlds*95/100 {
				t.Errorf("%s needs the method in %d of %d worlds, though the control does as Base", id, needed[id], worlds)
			}
		}
	}
	w.seconds["Other"], w.local["Other"] = 90, 0.58
	if _, _, needed := outcomes(t, knownPaper(5, 4, 1.05), w, 20, is); needed["time"]+needed["local"]+needed["ratio"] > worlds/8 {
		t.Errorf("a control does as Mine, and claims need the method in %v of %d worlds", needed, worlds)
	}
}

// TestSeedsToTell has the number of seeds that a verdict says be enough: with so
// many, an effect as asked for is told from none in four of five worlds.
func TestSeedsToTell(t *testing.T) {
	e := Effect{Estimate: stats.Estimate{Value: 4, Lo: -2, Hi: 10, N: 16}, Least: 6}
	// A standard error of 3 is a deviation of 12 with 16 seeds, which is twice the effect: by tables of the power of the paired
	// t-test, 34 pairs.
	if n := e.seedsToTell(); n < 33 || n > 35 {
		t.Errorf("%d seeds, want 34", n)
	}
	if n := (&Effect{Estimate: stats.Estimate{Value: 4, Lo: -2, Hi: 10, N: 16}, None: -2, Least: -2}).seedsToTell(); n < 33 || n > 35 {
		t.Errorf("%d seeds for non-inferiority by the size found, want 34", n)
	}
	for name, e := range map[string]Effect{
		"one seed": {Estimate: stats.Estimate{Value: 4, Lo: -2, Hi: 10, N: 1}, Least: 6}, "no interval": {Estimate: nan(), Least: 6},
		"nothing asked for": {Estimate: stats.Estimate{Value: 4, Lo: -2, Hi: 10, N: 16}},
	} {
		if n := e.seedsToTell(); n != 0 {
			t.Errorf("%s: %d seeds, want none said", name, n)
		}
	}
	w := &truth{map[string]float64{"Base": 100, "Mine": 94, "Other": 100}, same(0.5), 0, 0.12 / math.Sqrt2}
	verdicts, _, _ := outcomes(t, knownPaper(0, 0, 0), w, 34, map[string]float64{})
	if n := verdicts["time"][Holds]; n < worlds*68/100 || n > worlds*92/100 {
		t.Errorf("with 34 seeds 6 %% is told from none in %d of %d worlds, want four of five", n, worlds)
	}
}

// TestOneAndTheSame has seeds whose results do not differ: a few of them tell nothing,
// however large the effect is.
func TestOneAndTheSame(t *testing.T) {
	w := &truth{map[string]float64{"Base": 100, "Mine": 50, "Other": 100}, map[string]float64{"Base": 0.2, "Mine": 0.9, "Other": 0.2}, 0, 0}
	for _, seeds := range []int{2, 3, 5} {
		r, err := knownPaper(5, 5, 1.5).Run(t.Context(), Options{Seeds: seeds, Simulate: w.simulate(1)})
		check(t, err)
		for _, c := range r.Criteria {
			if (c.ID != "local" && c.Verdict != NotTestable) || c.NeededMethod {
				t.Errorf("%d seeds with one and the same result: %s %s, %s", seeds, c.ID, c.Verdict, c.Note)
			}
		}
	}
}

// TestTimesOfNothing has the ratio to something that is nothing or less be unknown, and
// not the sign of both: 5 points lost are not five times 1 point lost.
func TestTimesOfNothing(t *testing.T) {
	for name, a := range map[string][]float64{"nothing": {0, 0, 0}, "less than nothing": {-1, -1.1, -0.9}, "nothing in the mean": {-1, 0, 1}} {
		for _, b := range [][]float64{{0, 0, 0}, {-5, -5.1, -4.9}, {5, 5.1, 4.9}} {
			e := Effect{Estimate: Times(a, b), None: 1, Least: 3}
			if e.Bounded() || !math.IsNaN(e.Value) || e.Verdict() != NotTestable {
				t.Errorf("%s: %v times is %+v, %s; want it unknown", name, b, e.Estimate, e.Verdict())
			}
		}
	}
}

// TestReportsOfNothing has a report be written as JSON whatever the simulations gave:
// no time, no maps, and numbers that are none.
func TestReportsOfNothing(t *testing.T) {
	for name, s := range map[string]Simulation{
		"nothing": {}, "no number": {Seconds: math.NaN()}, "without end": {Seconds: math.Inf(1), Locality: measure.Locality{Node: 1}},
		"before the start": {Seconds: -1},
	} {
		p := knownPaper(5, 5, 1.5)
		p.Designs[0].X, p.Measures = "x", []Measure{{
			Name: "local", Unit: "%",
			Of: func(d *Data) stats.Estimate { return stats.MeanShare(d.Grid("one", "Mine").Shares("Mine", LocalRate)) },
		}}
		p.Parts = []Part{{
			ID: "fig", Design: "one", Schedulers: []string{"Base", "Mine"},
			Rows: []Row{{Is: "time"}, {Suffix: ", local", Is: "local"}},
		}}
		o := Options{Seeds: 4, Simulate: func(Case, uint64) (Simulation, error) { return s, nil }}
		r, err := p.Run(t.Context(), o)
		check(t, err)
		m, err := p.Matrix(t.Context(), o, Vary{})
		check(t, err)
		for _, x := range []any{r, m} {
			text, err := json.Marshal(x)
			if err != nil || !json.Valid(text) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, c := range r.Criteria {
			if c.Verdict == Holds || c.Verdict == Direction || c.Verdict == Reversed {
				t.Errorf("%s: %s %s", name, c.ID, c.Verdict)
			}
		}
	}
}

// TestProgress has progress only rise, and end with all that there was to do.
func TestProgress(t *testing.T) {
	p, w := knownPaper(5, 5, 1.5), &truth{same(100), same(0.5), 0.1, 0.1}
	var told []Progress
	_, err := p.Run(t.Context(), Options{Seeds: 5, Simulate: w.simulate(1), Progress: func(x Progress) { told = append(told, x) }})
	check(t, err)
	for i, x := range told {
		if x.All != 3 || x.Done > x.All || i > 0 && (x.Done < told[i-1].Done || x.Simulated < told[i-1].Simulated) {
			t.Errorf("progress %+v after %+v", x, told[max(0, i-1)])
		}
	}
	if last := told[len(told)-1]; last.Done != 3 || last.Simulated != 3*5 || told[0].Doing != "time" {
		t.Errorf("progress begins with %+v and ends with %+v, want all 3 claims and 3 schedulers on 5 seeds", told[0], last)
	}
}

// TestAsWell has a matrix count the controls that do as well as the claimant, and not a part of
// the claimant's own method, which does as well.
func TestAsWell(t *testing.T) {
	for _, x := range []struct {
		ablated     bool
		mine, other float64
		want        map[string]int
		noMethod    int
	}{
		{true, 70, 70, map[string]int{"Other": 1}, 1},
		{false, 70, 70, map[string]int{"Other": 1, "part": 1}, 1},
		{true, 70, 100, map[string]int{}, 0},
		{true, 100, 100, map[string]int{}, 0}, // nothing comes out
	} {
		w := &truth{map[string]float64{"Base": 100, "Mine": x.mine, "Other": x.other, "part": 70}, same(0.5), 0.1, 0.02}
		p := knownPaper(5, 5, 1.5)
		p.Controls = append(p.Controls, Scheduler{Label: "part", Model: "random", Ablated: x.ablated})
		m, err := p.Matrix(t.Context(), Options{Seeds: 12, Parts: []string{"time"}, Simulate: w.simulate(1)}, Vary{})
		check(t, err)
		if got := m.Claims[0]; !maps.Equal(got.AsWell, x.want) || got.NoMethod != x.noMethod {
			t.Errorf("%+v: as well do %v, and without the method it comes out in %d", x, got.AsWell, got.NoMethod)
		}
	}
}

// TestOneAndTheSameMean has few seeds whose values differ in the 15th digit alone tell nothing.
func TestOneAndTheSameMean(t *testing.T) {
	values := []float64{0.3, 0.1 + 0.2}
	p := knownPaper(0, 0, 0)
	p.Claims = []Claim{{ID: "mean", Effects: func(*Data) []Effect { return []Effect{{Estimate: stats.Mean(values), Least: 0.2}} }}}
	for _, want := range []Verdict{NotTestable, Holds} {
		r, err := p.Run(t.Context(), Options{Seeds: 2, Simulate: (&truth{}).simulate(1)})
		check(t, err)
		if c := r.Criteria[0]; c.Verdict != want {
			t.Errorf("%d values of %v: %s, want %s", len(values), values[0], c.Verdict, want)
		}
		values = append(values, 0.3, 0.3, 0.3, 0.3)
	}
}

// TestKthSavedOfFew has the picked column of equal seeds have no interval where their number
// does not show so many differences together.
func TestKthSavedOfFew(t *testing.T) {
	g := &Grid{Columns: []string{"x", "y"}, cells: map[string][][]Simulation{}}
	for range g.Columns {
		g.cells["a"] = append(g.cells["a"], slices.Repeat([]Simulation{{Seconds: 100}}, 6))
		g.cells["b"] = append(g.cells["b"], slices.Repeat([]Simulation{{Seconds: 150}}, 6))
	}
	if _, e := g.KthSaved(1, "a", "b"); math.Abs(e.Value+50) > 1e-9 || e.Bounded() {
		t.Errorf("%+v, want -50 without bounds", e)
	}
}

// TestGaining has a claim that a gain is larger here than there rest on the gain where there
// is none, and come out only with it.
func TestGaining(t *testing.T) {
	more := Effect{What: "more", Estimate: estimate(5, 3, 7)}
	for _, c := range []struct {
		gain  Effect
		want  Verdict
		rests int
	}{
		{Effect{Estimate: estimate(2, 1, 3)}, Holds, 0},
		{Effect{Estimate: estimate(0, -1, 1)}, Fails, 0},
		{Effect{Estimate: estimate(-2, -2.5, -1.5)}, Reversed, 0},
	} {
		if v, rests := Judge(Gaining(c.gain, more)); v != c.want || rests != c.rests {
			t.Errorf("a gain of %v: %s by effect %d, want %s by %d", c.gain.Value, v, rests, c.want, c.rests)
		}
	}
	if v, _ := Judge(Gaining(Effect{Estimate: estimate(2, 1, 3)}, Effect{Estimate: estimate(0, -1, 1)})); v != Fails {
		t.Errorf("a gain that is no larger here: %s, want it to fail", v)
	}
}
