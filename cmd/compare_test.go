package cmd

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// oneRepeat is a finished run of wordcount under two models, made by the tests
// of package compare.
const oneRepeat = "../harness/compare/testdata/run"

// TestCompareJSON reads the answer as another program does.
func TestCompareJSON(t *testing.T) {
	var out bytes.Buffer
	app := newApp()
	app.Writer = &out
	mustDo(t, app.Run([]string{"heddle", "compare", oneRepeat, "--metric=makespan", "--json"}))
	var got struct {
		Metric string
		Models []struct {
			Model  string
			Runs   int
			Median float64
			CI95   *[2]float64
		}
		Pairs []struct {
			A, B    string
			DiffPct float64
			CI95Pct *[2]float64
			P       *float64
		}
		Warnings []string
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	if got.Metric != "makespan" || len(got.Models) != 2 || got.Models[0].Model != "yarn" || got.Models[0].Runs != 1 ||
		got.Models[0].Median <= 0 {
		t.Errorf("%+v: want the makespan of yarn and another model", got)
	}
	if len(got.Pairs) != 1 || got.Pairs[0].CI95Pct != nil || got.Pairs[0].P != nil || got.Models[0].CI95 != nil {
		t.Errorf("%+v: one repeat has neither interval nor p", got)
	}
	if !strings.Contains(strings.Join(got.Warnings, "\n"), "need at least 2") {
		t.Errorf("%q do not say what is lacking", got.Warnings)
	}
}
