package paper

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"heddle/harness/stats"
)

// TestFormula computes formulas on two columns of two schedulers by hand: the times of the
// first are 10 and 20 s, those of the second 5 and 20 s, with every seed a little more.
func TestFormula(t *testing.T) {
	p := fake()
	p.Controls, p.Bars = nil, nil
	p.Figures = map[string]func(*Simulation) float64{"double": func(s *Simulation) float64 { return 2 * s.Seconds }}
	p.Numbers = Numbers{{Figure: "fig1", Row: "Mine", Column: "large", Value: 40, Origin: IsPrinted}}
	p.Designs = []Design{{ID: "d, e", Columns: []Column{
		{"1 map", map[string]string{"maps": "1"}},
		{"2 maps", map[string]string{"maps": "2"}},
	}}}
	p.Claims = []Claim{{ID: "K", Effects: func(d *Data) []Effect {
		s := &scope{d, "d, e", strings.NewReplacer("$bar", "FIFO")}
		for text, want := range map[string]float64{
			"time[Mine]": 12.5, "time[Mine; 1 map]": 5, "time[d, e: Mine; 2 maps]": 20, "double[FIFO; 1 map]": 20,
			"time[$bar] - time[Mine]": 2.5, "time[Mine; 1 map] / time[FIFO; 1 map]": .5, "saved(time[FIFO; 1 map], time[Mine; 1 map])": 50,
			"savedEach(time[FIFO], time[Mine])": 100 * (1 - math.Sqrt(.5)), "minus(saved(time[FIFO; 1 map], time[Mine; 1 map]))": -50,
			"less(time[FIFO; 1 map], time[Mine; 1 map])": 50,
			"local[Mine] - local[FIFO]":                  25, "percent(local[Mine])": 50, "given(local[FIFO])": 25, "mean(100 - local[Mine])": 50,
			"{fig1; Mine; large} / 8": 5, "1 + 2 * (3 - 1) / 4": 2, "100 * time[FIFO; 1 map] / {fig1; Mine; large}": 25,
			"abs(time[Mine; 1 map] - 6)": 1, "pairedRatio(time[FIFO; 1 map], time[Mine; 1 map])": 2, "cache[Mine]": 0,
		} {
			f, err := parseFormula(text)
			if err != nil {
				t.Error(err)
				continue
			}
			if got := s.estimate(f).Value; math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
				t.Errorf("%s is %v, want %v", text, got, want)
			}
		}
		for text, want := range map[string]stats.Estimate{
			"ofBoth(1 - 6, 2)": {Value: -5, Lo: -5, Hi: 2, N: 1},
			"ofBoth(6, 1 - 2)": {Value: 6, Lo: -1, Hi: 6, N: 1}, "ofBoth(3, 2)": Exactly(3),
		} {
			f, err := parseFormula(text)
			if err != nil {
				t.Error(err)
			} else if got := s.estimate(f); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s is %+v, want %+v", text, got, want)
			}
		}
		return []Effect{{Estimate: stats.Mean([]float64{1, 2})}}
	}}}
	_, err := p.Run(t.Context(), Options{Parts: []string{"K"}, Seed: 1, Seeds: 4, Simulate: func(c Case, seed uint64) (Simulation, error) {
		s := Simulation{Seconds: map[string]float64{
			"FIFO 1": 10, "FIFO 2": 20, "Mine 1": 5,
			"Mine 2": 20,
		}[c.Scheduler.Label+" "+map[bool]string{true: "1", false: "2"}[c.Setting.(small).Maps == 1]]}
		s.Locality.Node, s.Locality.Off = 1, 3
		if c.Scheduler.Label == "Mine" {
			s.Locality.Node, s.Locality.Off = 2, 2
		}
		return s, nil
	}})
	check(t, err)
}

// TestFormulaFaults: what cannot be read is said.
func TestFormulaFaults(t *testing.T) {
	for text, want := range map[string]string{
		"": "want a figure", "time": "want [scheduler; column]", "time[Mine": "want \"]\"", "saved(time[Mine])": "no function saved of 1",
		"sum(time[Mine])": "no function sum",
		"(1 + 2":          "want )", "1 + 2)": "\")\" is left", "abs(1, 2)": "no function abs of 2",
		"saved(time[Mine] time[FIFO])": "want , or )",
		"percent(time[Mine])":          "one of maps", "logs(1, 2)": "want figure[scheduler]", strings.Repeat("(", 200): "nested more than",
		"{fig1; Mine": "want \"}\"",
	} {
		if _, err := parseFormula(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzFormula: whatever a text is, it is a formula or an error.
func FuzzFormula(f *testing.F) {
	f.Add("saved(time[a: b; c], time[d]) - {x; y; z} * (1 / -2)")
	f.Fuzz(func(t *testing.T, text string) {
		if x, err := parseFormula(text); (x == nil) == (err == nil) {
			t.Errorf("%q: %v and %v", text, x, err)
		}
	})
}
