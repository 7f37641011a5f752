package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/results"
)

// made returns a plan with the given settings of one axis x, and trials whose makespan a
// function says.
func made(traces int, values []string, seeds int, makespanMs func(trace, setting, repeat int) float64) (*Plan, []results.Trial) {
	p := &Plan{Axes: []string{"x"}, Points: map[string][]int{}, Sample: config.SampleGrid}
	for t := range traces {
		p.Traces = append(p.Traces, Input{Label: fmt.Sprint("trace", t)})
	}
	for i, v := range values {
		p.Settings = append(p.Settings, Setting{Model: config.Model{Label: "m"}, Label: "m", Change: "x=" + v, Values: map[string]string{"x": v}})
		p.Points["m"] = append(p.Points["m"], i)
	}
	var trials []results.Trial
	for r := range seeds {
		for t := range traces {
			for i := range values {
				p.add(t, i, r+1)
				ms := makespanMs(t, i, r)
				trials = append(trials, results.Trial{
					Name:    p.trialName(&p.Replays[len(p.Replays)-1]),
					Figures: &measure.Figures{MakespanMs: ms, ScheduleDigest: fmt.Sprint(t, i, r)},
				})
			}
		}
	}
	return p, trials
}

func answersOf(t *testing.T, p *Plan, trials []results.Trial) *Answers {
	t.Helper()
	metrics := must(measure.Find([]string{"makespan"}))
	return newGrid(p, trials, metrics[0], compare.Met).answer(metrics)
}

// The third setting is best on traces 0 and 1, the first on trace 2. Chosen on the others,
// what is best costs nothing on traces 0 and 1, and 50 % on trace 2.
func TestHeldOut(t *testing.T) {
	times := [][]float64{{200, 180, 100}, {400, 390, 200}, {100, 120, 150}}
	p, trials := made(3, []string{"1", "2", "3"}, 4, func(trace, setting, repeat int) float64 {
		return times[trace][setting] * 1000 * (1 + 0.001*float64(repeat) + 1e-6*float64(repeat*setting))
	})
	b := answersOf(t, p, trials).Best
	if b == nil || b.Setting != "m, x=3" || b.Untold != 0 {
		t.Fatalf("best %+v, want x=3, told from all others", b)
	}
	var got []string
	for _, h := range b.HeldOut {
		got = append(got, fmt.Sprintf("%s %s %.1f", h.Trace, h.Setting, float64(h.Loss.Value)))
	}
	want := []string{"trace0 m, x=3 0.0", "trace1 m, x=3 0.0", "trace2 m, x=3 50.0"}
	if !slices.Equal(got, want) {
		t.Errorf("held out %q, want %q", got, want)
	}
}

// Settings that differ by less than seeds do are not told from the best, and one that is
// far off is.
func TestUntold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	p, trials := made(1, []string{"1", "2", "3"}, 6, func(_, setting, _ int) float64 {
		return []float64{100e3, 100.01e3, 200e3}[setting] + r.Float64()*5e3
	})
	if b := answersOf(t, p, trials).Best; b == nil || b.Untold != 1 {
		t.Errorf("best %+v, want one other setting that is not told from it", b)
	}
}

// One seed tells nothing apart.
func TestUntoldOfOneSeed(t *testing.T) {
	p, trials := made(1, []string{"1", "2"}, 1, func(_, setting, _ int) float64 { return 100e3 + float64(setting) })
	if b := answersOf(t, p, trials).Best; b == nil || b.Untold != 1 {
		t.Errorf("best %+v, want that one seed does not tell it", b)
	}
}

// An axis with many values is divided into classes, and explains nearly all of a result
// that follows from it.
func TestEffectsOfManyValues(t *testing.T) {
	var values []string
	for i := range 100 {
		values = append(values, strconv.Itoa(i*7%100))
	}
	p, trials := made(1, values, 1, func(_, setting, _ int) float64 {
		x, _ := strconv.Atoi(values[setting])
		return 1000 * float64(100+x)
	})
	e := answersOf(t, p, trials).Effects
	if len(e) != 1 || len(e[0].Levels) != classes {
		t.Fatalf("effects %+v, want one with %d levels", e, classes)
	}
	// Five classes of a uniform variable explain 1-1/25 of its variance.
	if math.Abs(float64(e[0].Share)-0.96) > 0.001 {
		t.Errorf("it explains %v of the variance, want 0.96", e[0].Share)
	}
	if !slices.ContainsFunc(e[0].Levels, func(l Level) bool {
		return l.Value == "0 to 19" && math.Abs(float64(l.Mean)-109.5) < 1e-9 &&
			l.N == 20
	}) {
		t.Errorf("levels %+v, want 0 to 19 with the mean 109.5", e[0].Levels)
	}
}

// The best setting is one that keeps the thresholds. If none does, the answer names the nearest, and more
// seeds go to those that may. A threshold of whose jobs YARN refused some is missed.
func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		limit   string
		refused int // by the third setting
		best    string
		says    string
	}{
		{"makespan < 250", 0, "m, x=3", "Of 3 settings 2 keep all thresholds, 1 miss one, of 0 it cannot be told. Best by makespan"},
		{"makespan > 150", 0, "m, x=2", "makespan > 150: 200 s [200, 200] met, 3 seeds alone. Seeds alone: days or blocks of time give no interval."},
		{"makespan < 100.1", 0, "", "2 miss one, of 1 it cannot be told. Nearest: m x=3; makespan < 100.1: 100 s"},
		{"makespan < 90", 0, "", "0 keep all thresholds, 3 miss one, of 0 it cannot be told. Nearest: m x=3; makespan < 90: 100 s"},
		{"makespan < 250", 2, "m, x=2", "1 keep all"},
	} {
		p, trials := made(1, []string{"1", "2", "3"}, 3, func(_, setting, repeat int) float64 {
			return []float64{300e3, 200e3, 100e3}[setting] + 99*float64(repeat)
		})
		var l config.Limit
		if err := l.UnmarshalText([]byte(c.limit)); err != nil {
			t.Fatal(err)
		}
		p.Thresholds = []config.Limit{l}
		for i := range trials {
			trials[i].Held = []results.Held{{Value: []float64{trials[i].Figures.MakespanMs / 1000}}}
			if i%3 == 2 {
				trials[i].Held[0].Refused = c.refused
			}
		}
		a := answersOf(t, p, trials)
		if best := a.Best; best == nil && c.best != "" || best != nil && best.Setting != c.best || !strings.Contains(a.Thresholds, c.says) {
			t.Errorf("%s: best %+v, says %q; want %q and %q", c.limit, best, a.Thresholds, c.best, c.says)
		}
	}
}
