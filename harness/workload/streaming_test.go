package workload

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/workload/synthetic"
	"heddle/traces/errtest"
)

// TestStreamingSpec has tasks that are asked for what the experiment says, in
// sum, whatever the number of files and reduces.
func TestStreamingSpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out, written := rapid.Float64Range(0.01, 3).Draw(t, "mapOutput"), rapid.Float64Range(0, 3).Draw(t, "output")
		w := streaming{config.Workload{
			Name: config.Streaming, Label: "s", Size: units.Size(rapid.Int64Range(1<<20, 1<<40).Draw(t, "size")),
			Maps: rapid.IntRange(0, 50).Draw(t, "maps"), Reduces: rapid.IntRange(1, 50).Draw(t, "reduces"),
			CPU: units.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "cpu")), MapOutput: &out, Output: &written,
		}}
		_, files := w.files("/heddle/streaming", 1)
		lengths, sum := make([]int64, len(files)), int64(0)
		for i, f := range files {
			lengths[i] = f.Bytes
			sum += f.Bytes
		}
		if sum != int64(w.Size) {
			t.Errorf("files have %d bytes, want %d", sum, w.Size)
		}
		s := w.spec(lengths, 1)
		errtest.Must(s.Encode())
		got, size := s.Totals(), float64(w.Size)
		shuffled := size * out
		about(t, "shuffled", got.ShuffleBytes, shuffled, 30*50*50) // the floors of each map and reduce
		about(t, "written", got.OutputBytes, shuffled*written, 3*30*50*50)
		about(t, "CPU ms", got.CPUMs, time.Duration(w.CPU).Seconds()*1000*(size+shuffled)/(1<<20), 60_000*0.1)
	})
}

func about(t *rapid.T, what string, got int64, want, slack float64) {
	if diff := float64(got) - want; diff > slack || diff < -slack {
		t.Errorf("%s: %d, want about %.0f", what, got, want)
	}
}

// TestStreamingTwin has a simulated job of the same shape, and the same names of
// input for the same input only.
func TestStreamingTwin(t *testing.T) {
	out := 0.5
	w := streaming{config.Workload{
		Name: config.Streaming, Label: "mixed", Size: 10 * units.MiB, Maps: 3, Reduces: 2,
		CPU: units.Duration(50 * time.Millisecond), MapOutput: &out, Jobs: 2,
	}}
	x, err := w.Twin(t.Context(), config.Cache{Fraction: 0.34, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	sum, cached := int64(0), 0
	for _, f := range x.Files {
		sum += f.Bytes
		if f.Cached {
			cached++
		}
	}
	if len(x.Jobs) != 2 || x.Jobs[0].Reduces != 2 || len(x.Files) != 3 || sum != 10<<20 || cached != 1 {
		t.Errorf("twin has %d jobs, %d files of %d bytes, %d cached", len(x.Jobs), len(x.Files), sum, cached)
	}
	if c := x.Costs; c.MapOutputPerByte != 0.5 || c.ReduceOutputPerByte != 1 || c.Map.MsPerMiB != 50 || c.Reduce.MsPerMiB != 50 {
		t.Errorf("twin costs %+v", c)
	}
	a, _ := w.files("/f", 1)
	b, _ := w.files("/f", 2)
	if a == b {
		t.Errorf("input of two seeds is in one folder, %s", a)
	}
	w.Sleep = units.Duration(9 * time.Second)
	if x, err = w.Twin(t.Context(), config.Cache{}); err != nil {
		t.Fatal(err)
	}
	// A map of 20 MiB computes for 1 s and sleeps for 9.
	if c := x.Costs.Map; c.WholeMs(20<<20) != 10_000 || c.CoresPercent(20<<20) != 10 || c.CoresPercent(0) != 1 ||
		x.Costs.Reduce.CoresPercent(20<<20) != 0 {
		t.Errorf("maps that sleep take %d ms and %d %% of a core, want 10000 and 10, without input 1; reduces %d, want 0", c.WholeMs(20<<20),
			c.CoresPercent(20<<20), x.Costs.Reduce.CoresPercent(20<<20))
	}
	if s := w.spec([]int64{5, 6}, 1); fmt.Sprint(s.Maps.SleepMs) != fmt.Sprint(synthetic.Same(9000)) {
		t.Errorf("a map is to sleep for %v", s.Maps.SleepMs)
	}
	w.Settings = map[string]string{"mapreduce.odd": "1"}
	if _, err := w.Twin(t.Context(), config.Cache{}); err == nil {
		t.Error("a setting without effect in simulations is no error")
	}
}
