package compare

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"heddle/harness/doc"
	"heddle/harness/runs"
)

// TestHeadline has the first sentence of a page name the best model, by how much, whether
// that is shown, and where the trials ran.
func TestHeadline(t *testing.T) {
	for name, c := range map[string]struct {
		made
		want []string
	}{
		"shown": {of("wordcount", 6, "fifo 0.8 yarn 1"), []string{
			"fifo is faster than yarn by 20.0 % (95 % interval -2", " %), shown with 6 repeats: ", " s against ",
			". Measured on a cluster (12 trials).",
		}},
		"the cluster's own scheduler is best": {
			of("wordcount", 6, "delay 1.3 yarn 1"),
			[]string{"delay is slower than yarn by 30.4 % (95 % interval +"},
		},
		"of three": {of("wordcount", 6, "acl 0.9 delay 0.799 fifo 0.8 yarn 1"), []string{
			"fifo is faster than yarn", " s under delay, ", " s under acl). It differs from acl too. The trials cannot tell it from delay.",
		}},
		"none shown": {
			of("wordcount", 6, "delay 0.999 yarn 1"),
			[]string{"Cannot tell with 6 repeats which model has the lower mean job completion time: "},
		},
		"one model": {of("wordcount", 6, "yarn 1"), []string{"Under yarn the mean job completion time is ", "; there is no other model"}},
		"one repeat": {
			of("wordcount", 1, "fifo 0.8 yarn 1"),
			[]string{"Cannot tell with 1 repeat which model has the lower mean job completion time: ", " s under yarn. Measured"},
		},
		"simulated": {
			of("wordcount", 6, "fifo 0.8 yarn 1").with(func(m *made) { m.world = runs.WorldSimulated }),
			[]string{"Simulated (12 trials): no cluster was measured."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := must(Runs([]string{c.in(t, filepath.Join(t.TempDir(), "run"))}, Options{Metrics: []string{"jobCompletion", "cacheLocal"}}))
			for _, want := range c.want {
				if got := r.Headline(); !strings.Contains(got, want) {
					t.Errorf("%s\nlacks %q", got, want)
				}
			}
		})
	}
}

// TestForests has a dot for each pair of repeats, the bar of the interval that the table
// has, and a row's tone and words say whether a model is better.
func TestForests(t *testing.T) {
	m := of("wordcount", 6, "fifo 0.8 slow 1.3 yarn 1")
	r := must(Runs([]string{m.in(t, filepath.Join(t.TempDir(), "run"))}, Options{Metrics: []string{"makespan", "cacheLocal"}}))
	d := r.Forests("wordcount")
	if len(d) != 1 {
		t.Fatalf("%d pictures, want one: nothing was cached, so that there is none in points", len(d))
	}
	f := d[0].(*doc.Forest)
	tones := map[string]doc.Tone{"fifo against yarn": doc.Good, "slow against yarn": doc.Bad, "slow against fifo": doc.Bad}
	for _, row := range f.Rows {
		p := r.pair(strings.Split(row.Name, " against ")[1], strings.Split(row.Name, " against ")[0])
		if len(row.Dots) != 6 || row.Tone != tones[row.Name] || row.Ours.Lo != p.CI95Pct[0] || row.Ours.Value != float64(p.DiffPct) {
			t.Errorf("%+v of %+v", row, p)
		}
		sum := 0.0
		for _, x := range row.Dots { // the difference is the mean of the ratios' logarithms
			sum += math.Log(1+x/100) / 6
		}
		if got := 100 * (math.Exp(sum) - 1); math.Abs(got-row.Ours.Value) > 1e-9 {
			t.Errorf("%s: the dots have the mean %g %%, the difference is %g %%", row.Name, got, row.Ours.Value)
		}
		if better := strings.HasSuffix(row.Text, ", better"); better != (row.Tone == doc.Good) {
			t.Errorf("%s is %s in colour and says %q", row.Name, row.Tone, row.Text)
		}
	}
}

// TestMedianTrial has the trial of a model be the one in the middle.
func TestMedianTrial(t *testing.T) {
	m := of("wordcount", 5, "yarn 0").with(func(m *made) {
		m.seconds = func(repeat int, _, _ string) float64 { return []float64{50, 20, 40, 10, 30}[repeat-1] }
	})
	r := must(Runs([]string{m.in(t, filepath.Join(t.TempDir(), "run"))}, makespan))
	if c, ok := r.Median("wordcount", "yarn"); !ok || c.Repeat != 5 {
		t.Errorf("repeat %d, want 5, of 30 s", c.Repeat)
	}
	if _, ok := r.Median("wordcount", "nosuch"); ok {
		t.Error("a model without trials has a median one")
	}
}

// TestCurves has a curve be the quantiles of all values.
func TestCurves(t *testing.T) {
	c := NewCurve("w", "m", "x", "s", []float64{3, 1, 2, 4})
	if c.Count != 4 || fmt.Sprint(c.Values[0], c.Values[50], c.Values[51], c.Values[100]) != "1 2 3 4" {
		t.Errorf("%+v", c)
	}
	if none := NewCurve("w", "m", "x", "s", nil); len(none.Values) > 0 {
		t.Errorf("a curve of nothing: %+v", none)
	}
}
