package paper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/doc"
	"heddle/harness/sched"
)

// drawAxes is a few axes of a few values each.
func drawAxes(t *rapid.T) []*Axis {
	var axes []*Axis
	for i := range rapid.IntRange(0, 6).Draw(t, "axes") {
		a := &Axis{Name: fmt.Sprint("axis", i), Sets: rapid.SampledFrom([]string{"", fmt.Sprint("m.p", i)}).Draw(t, "sets")}
		for v := range rapid.IntRange(1, 4).Draw(t, "values") {
			a.Values = append(a.Values, Value{Value: fmt.Sprint("v", v)})
		}
		axes = append(axes, a)
	}
	return axes
}

// TestAllCombinations has a full matrix have each combination of values once, besides
// what is as printed and named already.
func TestAllCombinations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		axes := drawAxes(t)
		p := &Paper{}
		for _, a := range axes {
			p.Axes = append(p.Axes, *a)
		}
		if len(axes) > 0 {
			last := axes[len(axes)-1]
			p.Readings = []Reading{{Name: "named", Set: map[string]string{last.key(): last.Values[len(last.Values)-1].Value}}}
		}
		want := 1
		for _, n := range levels(axes) {
			want *= n
		}
		list := p.readings(axes, Vary{Full: true})
		known, names := map[string]bool{}, map[string]bool{}
		for _, r := range list {
			values := p.values(r, nil)
			if id := fmt.Sprint(values); known[id] || names[r.Name] || len(values) != len(axes) {
				t.Fatalf("reading %q of %v is there twice, or does not say all axes", r.Name, values)
			}
			known[fmt.Sprint(values)], names[r.Name] = true, true
		}
		if len(list) != want || list[0].Name != AsPrinted || len(list[0].Set) > 0 {
			t.Fatalf("%d readings, the first %+v; want %d, as printed first", len(list), list[0], want)
		}
		// What a matrix shows by default is a part of that: each value of each axis is in it.
		some := p.readings(axes, Vary{})
		for _, a := range axes {
			for _, v := range a.Values {
				if !slices.ContainsFunc(some, func(r Reading) bool { return p.values(r, nil)[a.key()] == v.Value }) {
					t.Fatalf("no reading of %d has %s=%s", len(some), a.Name, v.Value)
				}
			}
		}
		for _, r := range some {
			if !known[fmt.Sprint(p.values(r, nil))] {
				t.Fatalf("%v is no combination of the axes' values", r.Set)
			}
		}
	})
}

// TestFixedValues has what a user fixes be so in every reading, whatever the reading
// says, and the axis not be varied.
func TestFixedValues(t *testing.T) {
	p := fake()
	for _, fixed := range []map[string]string{{"task": "3000"}, {"clqlmrs.episodes": "7"}, {"layout": "4", Offering: OfferAll}} {
		axes, err := p.chosen(nil, false, fixed)
		check(t, err)
		for _, a := range axes {
			if _, ok := fixed[a.key()]; ok {
				t.Errorf("%v: axis %s is varied", fixed, a.Name)
			}
		}
		for _, r := range p.readings(axes, Vary{}) {
			d, err := p.data(testBench(t, 2), r, fixed, nil)
			check(t, err)
			for key, value := range fixed {
				if d.values[key] != value {
					t.Errorf("%s: %s=%s, want %s", r.Name, key, d.values[key], value)
				}
			}
			if differs := d.differs(); len(differs) > len(r.Set)+len(fixed) || differs["layout"] != fixed["layout"] {
				t.Errorf("%s differs from as printed in %v, of %v and %v", r.Name, differs, r.Set, fixed)
			}
		}
	}
	text := p.differing(map[string]string{"z": "1", "task": "3000", "clqlmrs.reward": "step", "a.b": "2"})
	if want := "reward=step, task=3000, a.b=2, z=1"; text != want {
		t.Errorf("%q, want %q: axes in the paper's order, then what is no axis", text, want)
	}
	if p.Key("reward") != "clqlmrs.reward" || p.Key("task") != "task" || p.Key("clqlmrs.gamma") != "clqlmrs.gamma" {
		t.Error("an axis's name does not stand for what it sets, or another name not for itself")
	}
	taken := p.axes(map[string]string{"clqlmrs.episodes": "7", "task": "3000"})
	if taken[1].Mark != "" || taken[2].Mark != Ours || taken[2].Taken != "3000" {
		t.Errorf("axes %+v: a value that is none of the axis's has no mark", taken)
	}
}

// TestParameters has a model get the parameters of the scheduler, and those of the reading in their place.
func TestParameters(t *testing.T) {
	p := fake()
	own := sched.Params{"episodes": "3", "splits": "plan"}
	p.Schedulers[1].Params = own
	d, err := p.data(testBench(t, 2), Reading{}, map[string]string{"clqlmrs.gamma": "0.5"}, nil)
	check(t, err)
	want := sched.Params{"episodes": "50", "splits": "plan", "reward": "step", "gamma": "0.5"}
	if got := d.scheduler("Mine"); !maps.Equal(got.Params, want) || !d.asked || len(own) != 2 {
		t.Errorf("%v, want %v, and the scheduler's own left as they are: %v", got.Params, want, own)
	}
	in := d.with(&p.Controls[1])
	if got := in.scheduler("Mine"); got.Label != "random" || len(got.Params) != 0 || d.inPlace != nil {
		t.Errorf("%+v in the claimant's place, want random, without the claimant's parameters", got)
	}
	if got := in.scheduler("FIFO"); got.Label != "FIFO" {
		t.Errorf("%+v in FIFO's place", got)
	}
	if d.scheduler("Nobody"); d.err == nil || !strings.Contains(d.err.Error(), `no scheduler "Nobody"`) {
		t.Errorf("a scheduler that is not there: %v", d.err)
	}
	first := d.err
	if d.Grid("nothing", "FIFO"); d.err != first {
		t.Errorf("the first error, %v, is %v", first, d.err)
	}
}

// TestLabelBeforeModel: what is set by a scheduler's label goes before what is set by its model, also
// where the label is the name of another model.
func TestLabelBeforeModel(t *testing.T) {
	p := fake()
	p.Controls = append(p.Controls, Scheduler{Label: "delay", Model: "acl"}, Scheduler{Label: "other", Model: "acl"})
	for range 30 { // the order of a map is another each time
		d, err := p.data(testBench(t, 2), Reading{}, map[string]string{"acl.c": "7", "delay.c": "9", "delay+acl.c": "8"}, nil)
		check(t, err)
		if one, other := d.scheduler("delay").Params["c"], d.scheduler("other").Params["c"]; one != "9" || other != "8" {
			t.Fatalf("c is %s for the label that sets 9, and %s for another scheduler of the model", one, other)
		}
	}
}

// TestTrainingTimes has the price of training be a time for each map, at most a second.
func TestTrainingTimes(t *testing.T) {
	for value, want := range map[string]float64{"": 0, "free": 0, "20us": 0.02, "1ms": 1, "1s": 1000, "0s": 0} {
		if got, err := assignmentMs(value); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%q: %v ms, error %v, want %v", value, got, err, want)
		}
	}
	for _, value := range []string{"-1us", "1.1s", "20", "dear", "NaN", "free "} {
		if _, err := assignmentMs(value); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: error %v", value, err)
		}
	}
	for text, want := range map[string]int{"1000": 1000, " 20 ": 20, "0": 0, "-5": 0, "until": 0, "": 0, "1e3": 0} {
		n, ok := episodesOf(text)
		if ok != (want > 0) || ok && n != want {
			t.Errorf("%q: %d episodes, %t", text, n, ok)
		}
	}
}

// TestCurve has the points of a learning curve: after 10, 20, 50, 100 episodes and so on, and
// at the end, each the mean of the episodes since the one before.
func TestCurve(t *testing.T) {
	training := &sched.Training{}
	for i := range 230 {
		training.Episodes = append(training.Episodes, sched.Episode{CacheRate: float64(i), LocalRate: 1, Return: -float64(i)})
	}
	var at []float64
	from := 0.0
	curve := curveOf(training)
	for i, p := range curve["trainedReturn"] {
		at = append(at, p.X)
		mean := (from + p.X - 1) / 2
		if cache, local := curve["trainedCache"][i].Y, curve["trainedLocal"][i].Y; cache != 100*mean || p.Y != -mean || local != 100 {
			t.Errorf("%v, %v, %+v: want the mean of episodes %v to %v, %v", cache, local, p, from, p.X-1, mean)
		}
		from = p.X
	}
	if !slices.Equal(at, []float64{10, 20, 50, 100, 200, 230}) {
		t.Errorf("points at %v", at)
	}
	for n, want := range map[int]string{0: "[]", 1: "[1]", 9: "[9]", 10: "[10]", 11: "[10 11]"} {
		points := curveOf(&sched.Training{Episodes: training.Episodes[:n]})["trainedLocal"]
		if got := fmt.Sprint(each(points, func(p *Point) float64 { return p.X })); got != want {
			t.Errorf("%d episodes: points at %s, want %s", n, got, want)
		}
	}
}

// TestChanged has a report say what its user changed, and nothing that the reading has
// itself.
func TestChanged(t *testing.T) {
	o := Options{Reading: "long", Parts: []string{"c2"}, Seed: 1, Seeds: 2, Set: map[string]string{
		"maps": "6", "clqlmrs.episodes": "200",
		"task": "3000",
	}}
	r, err := fake().Run(context.Background(), o)
	check(t, err)
	if want := "task=3000, maps=6"; r.Changed != want {
		t.Errorf("changed %q, want %q", r.Changed, want)
	}
	var out bytes.Buffer
	check(t, doc.WriteText(&out, r.Doc(), false))
	for _, want := range []string{"Reading: long, but changed: task=3000, maps=6.", "- changed for this run: task=3000, maps=6."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
