package fidelity

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// TestWinners has two models of which the second is clearly slower, by both, by neither, or
// by one of the two kinds of run.
func TestWinners(t *testing.T) {
	low, high := []float64{98, 100, 102, 101}, []float64{118, 120, 122, 119}
	wide := []float64{60, 150, 90, 120}
	for _, c := range []struct {
		name                string
		was, is             [2][]float64
		measured, predicted string
	}{
		{"both tell", [2][]float64{low, high}, [2][]float64{low, high}, "a", "a"},
		{"told the other way round", [2][]float64{low, high}, [2][]float64{high, low}, "a", "b"},
		{"alike", [2][]float64{low, low}, [2][]float64{low, low}, "", ""},
		{"measured repeats differ too much", [2][]float64{wide, high}, [2][]float64{low, high}, "", "a"},
		{"simulated repeats differ too much", [2][]float64{low, high}, [2][]float64{wide, high}, "a", ""},
		{"one repeat tells nothing", [2][]float64{low[:1], high[:1]}, [2][]float64{low, high}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Setting{Run: "r", Workload: "w", Model: "a", Runs: len(c.was[0]), was: c.was[0], is: c.is[0]}
			b := Setting{Run: "r", Workload: "w", Model: "b", Runs: len(c.was[1]), was: c.was[1], is: c.is[1]}
			got := winners([]Setting{a, {Run: "r", Workload: "other", Model: "a"}, b, {Run: "s", Workload: "w", Model: "a"}})
			if len(got) != 1 || got[0].Models != [2]string{"a", "b"} || got[0].Measured != c.measured || got[0].Predicted != c.predicted {
				t.Fatalf("got %+v, want %q measured and %q predicted", got, c.measured, c.predicted)
			}
			if c.name == "both tell" && !(math.Abs(float64(got[0].MeasuredDiffPct)-19.45) < 0.1) {
				t.Errorf("differs by %v %%", got[0].MeasuredDiffPct)
			}
		})
	}
}

// Simulated repeats are as many as one likes: a difference that only very many of them show
// is not one that as many measured repeats as there are would show.
func TestWinnersManySimulated(t *testing.T) {
	var a, b Setting
	for i := range 1000 {
		x := 100 + 10*math.Sin(float64(i))
		a.is, b.is = append(a.is, x), append(b.is, x*1.02)
	}
	a.Runs, b.Runs, a.was, b.was = 3, 3, a.is[:3], b.is[:3]
	a.Model, b.Model = "a", "b"
	if got := winners([]Setting{a, b}); got[0].Predicted != "" {
		t.Errorf("%+v: 2 %% is told among repeats that differ by 7 %%", got[0])
	}
}

// TestParts divides names of runs, workloads and models.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, want string }{
		{"none", "none||"},
		{"none:w", "none|w|"},
		{"none:w:m", "none|w|m"},
		{"a:none:w:m", "a:none|w|m"},
		{":w", ":w||"},
		{dir, dir + "||"},
		{dir + ":w", dir + "|w|"},
		{dir + ":w:m", dir + "|w|m"},
		{filepath.Join(dir, "none") + ":", filepath.Join(dir, "none") + "||"},
	} {
		d, w, m := parts(c.name)
		if got := strings.Join([]string{d, w, m}, "|"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
