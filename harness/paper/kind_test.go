package paper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"heddle/harness/option"
	"heddle/harness/results"
	"heddle/traces/errtest"
)

// ramp is a Setting with a simulator of its own. A run of model "steep" rises from 0 by
// Slope a step, up to step 10; one of "flat" stays at 1, up to step 20. The calls of
// Simulate are counted.
type ramp struct {
	Slope float64 `flag:"slope"`
	Paint string  `flag:"paint"` // makes no difference
	calls *int
}

func (ramp) Leaves(property string) bool { return property == "paint" }

func (x ramp) With(name, value string) (Setting, error) {
	err := option.Set(option.Of(&x), name, value)
	return x, err
}

func (ramp) Check(s Scheduler) error {
	for name := range s.Params {
		if name != "bend" {
			return fmt.Errorf("no parameter %q", name)
		}
	}
	if s.Model != "steep" && s.Model != "flat" {
		return fmt.Errorf("no model %q", s.Model)
	}
	return nil
}

func (x ramp) Simulate(ctx context.Context, s Scheduler, _ uint64) (Simulation, error) {
	*x.calls++
	points := []Point{{X: 0, Y: 0}, {X: 10, Y: 10 * x.Slope}}
	if s.Model == "flat" {
		points = []Point{{X: -5, Y: 1}, {X: 20, Y: 1}}
	}
	return Simulation{
		Series: map[string][]Point{"height": points}, Samples: map[string][]float64{"ages": {4, 1, 3, 1}},
		Notes: map[string]float64{"slope": x.Slope},
	}, ctx.Err()
}

func ramps() *Paper {
	calls := 0
	return &Paper{
		Name: "ramps", Setup: ramp{Slope: 2, calls: &calls}, Claimant: "Steep",
		Schedulers: []Scheduler{{Label: "Steep", Model: "steep"}, {Label: "Flat", Model: "flat"}},
		Axes:       []Axis{{Name: "slope", Values: []Value{{Value: "2", Mark: Code}, {Value: "3", Mark: Ours}}}},
		Designs:    []Design{{ID: "one", Columns: []Column{{Name: "all"}}}},
		Parts: []Part{
			{ID: "height", Design: "one", Schedulers: []string{"Steep", "Flat"}, Unit: "m", Kind: Series, Of: "height", X: "step"},
			{ID: "ages", Design: "one", Schedulers: []string{"Steep"}, Unit: "%", Kind: CDF, Of: "ages", X: "age"},
			{ID: "slopes", Design: "one", Schedulers: []string{"Flat"}, Kind: Bars, Rows: []Row{{Suffix: "", Is: "slope"}}},
			{ID: "missing", Design: "one", Schedulers: []string{"Flat"}, Kind: Series, Of: "breadth"},
		},
	}
}

// TestOwnSimulator has a paper whose set-up simulates itself: each case once a seed,
// rows of a run folder, and properties that are not for it refused.
func TestOwnSimulator(t *testing.T) {
	p := ramps()
	r, err := p.Run(context.Background(), Options{Seeds: 3, Workers: 1, Set: map[string]string{"slope": "3"}})
	check(t, err)
	if calls := *p.Setup.(ramp).calls; calls != 2*3 || len(r.Kept.Trials) != calls {
		t.Errorf("%d calls and %d rows, want one for each of two schedulers and three seeds", calls, len(r.Kept.Trials))
	}
	if got := r.Figures[2].Rows[0].Cells[0].Value; got != 3 {
		t.Errorf("slope %v, want the 3 that was set", got)
	}
	run, err := r.Kept.Write(t.TempDir(), "own", nil, time.Time{})
	check(t, err)
	kept, err := results.Open(run.Dir, false)
	check(t, err)
	if list := kept.Trials; len(list) != 6 || list[0].Notes["slope"] != 3 {
		t.Errorf("read back: %d rows", len(list))
	}
	for _, set := range []map[string]string{
		{Offering: OfferAll},
		{Training: "free"},
		{"steep.splits": "plan"},
		{"steep.width": "1"},
		{"round.bend": "1"},
	} {
		if _, err := ramps().Run(context.Background(), Options{Seeds: 2, Set: set}); !errors.Is(err, ErrUnknown) {
			t.Errorf("set %v: error %v, want one that says it is not known", set, err)
		}
	}
	errtest.Has(t, errtest.Of(ramps().Run(context.Background(), Options{Seeds: 2, Also: []Scheduler{{Label: "fifo", Model: "fifo"}}})),
		`no model "fifo"`)
	if _, err := ramps().Run(context.Background(), Options{Seeds: 2, Set: map[string]string{"steep.bend": "1"}}); err != nil {
		t.Errorf("a parameter that Check allows: %v", err)
	}
	p.Setup = settingAlone{}
	p.Axes = nil
	errtest.Has(t, errtest.Of(p.Run(context.Background(), Options{Seeds: 2})), "neither Staged nor a Simulator")
}

// TestSchedulerSets has schedulers with properties of the set-up of their own: they are
// simulated with these, and a run folder has them. What makes no difference is simulated
// once, and an unknown property is an error.
func TestSchedulerSets(t *testing.T) {
	p := ramps()
	p.Schedulers[1].Set = map[string]string{"slope": "7", "paint": "red"}
	p.Schedulers = append(p.Schedulers, Scheduler{Label: "Blue", Model: "flat", Set: map[string]string{"slope": "7", "paint": "blue"}})
	p.Parts[2].Schedulers = []string{"Flat", "Blue", "Steep"}
	r, err := p.Run(context.Background(), Options{Seeds: 3, Parts: []string{"slopes"}})
	check(t, err)
	if calls := *p.Setup.(ramp).calls; calls != 2*3 {
		t.Errorf("%d calls, want one for each of three seeds, of Steep and of both others together", calls)
	}
	for i, want := range []float64{7, 7, 2} {
		if row := r.Figures[0].Rows[i]; float64(row.Cells[0].Value) != want {
			t.Errorf("row %d: slope %v, want %v", i, row.Cells[0].Value, want)
		}
	}
	if params := r.Kept.Trials[0].Params; len(params) != 1 || params["slope"] != "7" {
		t.Errorf("the run folder has %v, want slope=7 alone", params)
	}
	p.Schedulers[0].Set = map[string]string{"width": "1"}
	errtest.Has(t, errtest.Of(p.Run(context.Background(), Options{Seeds: 3, Parts: []string{"slopes"}})),
		`scheduler "Steep": width=1: unknown name "width"`)
}

type settingAlone struct{}

func (x settingAlone) With(string, string) (Setting, error) { return x, nil }

// TestKinds has figures of all kinds: where a series is known for all seeds, and what
// it is at points between those that were simulated.
func TestKinds(t *testing.T) {
	r, err := ramps().Run(context.Background(), Options{Seeds: 3})
	check(t, err)
	height, ages, slopes, missing := r.Figures[0], r.Figures[1], r.Figures[2], r.Figures[3]
	if height.Kind != Series || ages.Kind != CDF || slopes.Kind != Bars || slopes.At != nil {
		t.Errorf("kinds %s, %s, %s", height.Kind, ages.Kind, slopes.Kind)
	}
	// Steep is known from 0 to 10 and Flat from -5 to 20.
	if n := len(height.At); height.At[0] != 0 || height.At[n-1] != 10 || len(height.Columns) != n || len(height.Rows) != 2 {
		t.Fatalf("%d points from %g to %g, want some from 0 to 10", n, height.At[0], height.At[n-1])
	}
	for i, x := range height.At {
		steep, flat := height.Rows[0].Cells[i], height.Rows[1].Cells[i]
		if math.Abs(float64(steep.Value)-2*x) > 1e-9 || flat.Value != 1 || flat.CI95[1] != 1 {
			t.Errorf("at %g: %v and %v, want %g and 1", x, steep, flat, 2*x)
		}
	}
	// Of 1, 1, 3, 4 half are not above anything from 1 to below 3.
	for i, x := range ages.At {
		want := 50.0
		if x >= 3 {
			want = 75
		}
		if x == 4 {
			want = 100
		}
		if got := float64(ages.Rows[0].Cells[i].Value); got != want {
			t.Errorf("age %g: %g %%, want %g", x, got, want)
		}
	}
	if ages.At[0] != 1 || ages.At[len(ages.At)-1] != 4 {
		t.Errorf("ages from %g to %g, want 1 to 4", ages.At[0], ages.At[len(ages.At)-1])
	}
	if len(missing.Rows) != 0 || len(missing.Notes) != 1 {
		t.Errorf("a series that nothing has: %+v", missing)
	}
}
