package fidelity

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/traces/errtest"
)

func TestOfLabRun(t *testing.T) {
	r := must(Of("testdata/run", Options{}))
	if len(r.Own) != 2 || len(r.Counterfactual) != 2 || len(r.Warnings) > 0 {
		t.Fatalf("%d workloads and models, %d predictions of others, warnings %q", len(r.Own), len(r.Counterfactual), r.Warnings)
	}
	for _, x := range r.Own {
		if x.Workload != "wordcount" || x.Runs != 3 || len(x.Trials) != 3 {
			t.Errorf("%s under %s: %d runs", x.Workload, x.Model, x.Runs)
		}
		for _, trial := range x.Trials {
			repeat := strings.SplitAfter(trial.Trial, "-")[0]
			if len(trial.CalibratedOn) != 4 || slices.ContainsFunc(trial.CalibratedOn,
				func(name string) bool { return strings.HasPrefix(name, repeat) }) {
				t.Errorf("%s is calibrated on %q", trial.Trial, trial.CalibratedOn)
			}
		}
		// Repeats of this run differ by a quarter. The means do not depend on that.
		if bias := math.Abs(float64(x.BiasPct)); !(bias < 8) {
			t.Errorf("%s: the predicted mean is %.1f %% off", x.Model, x.BiasPct)
		}
		if e := float64(x.MeanAbsErrorPct); !(e > 0 && e < 1.5*float64(x.NoisePct)) {
			t.Errorf("%s: trials are %.1f %% off, the noise floor is %.1f %%", x.Model, e, x.NoisePct)
		}
		if !(x.LocalityPoints < 10) || !(x.MapKS < 0.6) || !(x.ReduceKS <= 1) {
			t.Errorf("%s: locality off by %v points, KS %v and %v", x.Model, x.LocalityPoints, x.MapKS, x.ReduceKS)
		}
	}
	for _, x := range r.Counterfactual {
		if !x.Undecided || float64(x.MeasuredP) < 0.05 {
			t.Errorf("%+v: three noisy repeats decide nothing", x)
		}
		if !(x.ErrorPct < 15) {
			t.Errorf("%s from %s: %.1f %% off", x.To, x.From, x.ErrorPct)
		}
	}
	again := must(Of("testdata/run", Options{}))
	a, _ := json.Marshal(r)
	b, _ := json.Marshal(again)
	if !bytes.Equal(a, b) {
		t.Error("the same run and seeds give another report")
	}
	for _, key := range []string{
		`"own":[{"workload":"wordcount","model":"yarn","runs":3,"meanAbsErrorPct":`, `"ci95Pct":[`,
		`"counterfactual":[{"workload":"wordcount","from":"yarn","to":"fifo","errorPct":`, `"winnerRight":`,
	} {
		if !strings.Contains(string(a), key) {
			t.Errorf("no %s in %s", key, a)
		}
	}
}

func TestOneRepeat(t *testing.T) {
	dir := t.TempDir()
	mustDo(t, os.CopyFS(dir, os.DirFS("testdata/run")))
	path := filepath.Join(dir, "manifest.json")
	var m map[string]any
	data, err := os.ReadFile(path)
	mustDo(t, err)
	mustDo(t, json.Unmarshal(data, &m))
	m["trials"] = m["trials"].([]any)[:2]
	if data, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	mustDo(t, os.WriteFile(path, data, 0o644))
	errtest.Is(t, errtest.Of(Of(dir, Options{})), ErrNothing)
	if _, err := Of(t.TempDir(), Options{}); err == nil {
		t.Error("an empty folder is taken for a run")
	}
}
