package demo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

// TestShipped: what goes with every binary is small, whole, measured on real Hadoop,
// and names no folder of the machine that it was measured on.
func TestShipped(t *testing.T) {
	const mostBytes = 100_000
	files, err := shipped.ReadDir("traces")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d traces, want 3: %v", len(files), err)
	}
	folder := regexp.MustCompile(`/(home|root|tmp|work|var)/`)
	bytes := 0
	for _, f := range files {
		path := filepath.Join("traces", f.Name())
		report, err := tracefile.Check(path)
		if err != nil {
			t.Fatal(err)
		}
		if !report.Complete || len(report.Damage)+len(report.Impossible)+len(report.Warnings) > 0 {
			t.Errorf("%s: %+v", path, report)
		}
		h, events, err := tracefile.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if h.Origin != traces.Measured || h.Model != "yarn" || h.Software["hadoop"] == "" {
			t.Errorf("%s: origin %v, model %s, on Hadoop %q: want one measured under yarn on a Hadoop of known version", path, h.Origin, h.Model,
				h.Software["hadoop"])
		}
		for _, part := range append([]any{h}, toAny(events)...) {
			text := errtest.Must(json.Marshal(part))
			if found := folder.Find(text); found != nil {
				t.Errorf("%s names a folder, %s: %s", path, found, text)
			}
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(data)
	}
	if bytes > mostBytes {
		t.Errorf("the traces have %d bytes, want at most %d", bytes, mostBytes)
	}
}

func toAny(events []traces.Event) (list []any) {
	for _, e := range events {
		list = append(list, e)
	}
	return list
}

// TestCalibratedNearMeasured: under YARN's scheduler, replays take what was measured,
// within what the page of replay says of calibrations; a replay on twice the nodes
// would not.
func TestCalibratedNearMeasured(t *testing.T) {
	s := errtest.Must(Simulate(t.Context(), t.TempDir(), nil))
	const mostPct = 15
	seen := 0
	for _, table := range s.Compare.Tables {
		if table.Metric != "makespan" || table.Workload == slow {
			continue
		}
		medians := map[string]float64{}
		for _, m := range table.Models {
			medians[m.Model] = float64(m.Median)
		}
		if off := 100 * (medians["yarn"]/medians["recorded"] - 1); off < -mostPct || off > mostPct {
			t.Errorf("%s: replays under yarn are off by %+.1f %%, want at most %d", table.Workload, off, mostPct)
		}
		seen++
	}
	if seen != 3 {
		t.Errorf("%d workloads, want 3", seen)
	}
}
