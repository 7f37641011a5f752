package config

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSweepProblems(t *testing.T) {
	const good = "traces: [a/run.heddle, {label: other, path: b.heddle}]\nmodels: [yarn, {model: delay, params: {nodeSkips: 3}}]\n"
	s := must(ParseSweep("night.yaml", []byte(good+"vary:\n  nodes: [4, 8]\n  load: {from: 0.5, to: 2.0, steps: 3, scale: log}\n")))
	load := s.Vary["load"]
	if got := strings.Join(load.Levels(), " "); s.Name != "night" || s.Traces[0].Label != "run" || got != "0.5 1 2" {
		t.Errorf("name %s, trace %s, load %s; want night, run, 0.5 1 2", s.Name, s.Traces[0].Label, got)
	}
	for _, c := range []struct{ text, says string }{
		{"models: [yarn]", "traces: want at least one"},
		{"traces: [x]", "models: want at least one"},
		{"traces: [x, y/x]\nmodels: [yarn]", `traces[1]: "x" is listed twice`},
		{good + "sample: random", "want the number of points"},
		{good + "points: 5", "have no effect with sample grid"},
		{good + "sample: saltelli\npoints: 4", "nothing varies"},
		{good + "sample: gird", `did you mean "grid"?`},
		{good + "vary: {load: {from: 1, to: 2}}", "steps: 5"},
		{good + "vary: {load: {from: 2, to: 1, steps: 2}}", "want a larger number"},
		{good + "vary: {load: {from: 0, to: 1, steps: 2, scale: log}}", "more than 0 with scale log"},
		{good + "vary: {uplink: {from: 1Mbit, to: 1Gbit, steps: 2}}", "want one unit"},
		{good + "vary: {load: {values: [1], from: 1, to: 2}}", "want one of them"},
		{good + "vary: {nodes: []}", "want a list of values"},
		{good + "cluster: {nodes: 4}\nvary: {nodes: [4]}", "in cluster and in vary"},
		{good + "metrics: [makespam]", `did you mean "makespan"?`},
		{good + "seeds: 0", "want 1 to 10000"},
		{good + "thresholds: missed < 3s", "want percent (%) for missed"},
		{good + "thresholds: [makespan < yarn]", "settings are not compared"},
		{good + "thresholds: [makespan of etl < 3]", "want one of jobs"},
		{good + "thresholds: ['waiting of pool x < 3']", "of a queue, user NAME"},
		{good + "thresholds: [end of etl < 26:00]", "want a time of day"},
		{"traces: [x]\nmodels: [{model: capacity, params: {queues: none.xml}}]", "params.queues: open none.xml"},
		{"traces: [x]\nmodels: [{model: delay, params: {nodeSkipz: 1}}]", "nodeSkipz"},
		{"traces: [x]\nmodels: [{model: delay, state: keep}]", "independent"},
	} {
		wantError(t, errOf(ParseSweep("sweep.yaml", []byte(c.text))), c.says)
	}
}

// Limits are written as they were read, since a plan keeps them.
func TestLimits(t *testing.T) {
	const good = "traces: [x]\nmodels: [yarn]\n"
	s := must(ParseSweep("s.yaml", []byte(good+
		"thresholds: [waiting.p95 of adhoc < 2m, missed of user ann > 5%, end of job n-* < 06:00+02:00]")))
	for i, want := range []string{"waiting.p95 of adhoc < 2m 120", "missed of user ann > 5% 5", "end of job n-* < 06:00+02:00 0"} {
		var again Limit
		mustDo(t, again.UnmarshalText(must(s.Thresholds[i].MarshalText())))
		if got := fmt.Sprint(again, " ", again.Limit); got != want || again.Metric.Name != s.Thresholds[i].Metric.Name {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if end := s.Thresholds[2].End.UTC(); end.Hour() != 4 {
		t.Errorf("06:00 two hours east of UTC is %v", end)
	}
}

// Values of an axis stay in its range, reach both ends, and are whole if both bounds are.
func TestAxisAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Axis{From: "3Mbit", To: "9Mbit", Scale: rapid.SampledFrom([]string{scaleLinear, scaleLog}).Draw(t, "scale")}
		x := rapid.Float64Range(0, 0.9999999).Draw(t, "x")
		if got := a.At(x); len(got) != 5 || got[0] < '3' || got[0] > '9' || got[1:] != "Mbit" {
			t.Fatalf("at %v: %s, want 3Mbit to 9Mbit", x, got)
		}
		b := Axis{From: "0.5", To: "2.0", Scale: a.Scale}
		if y, ok := Number(b.At(x)); !ok || y < 0.5 || y > 2 {
			t.Fatalf("at %v: %v, want 0.5 to 2", x, y)
		}
		list := Axis{Values: []string{"a", "b", "c"}}
		if got := list.At(x); got != list.Values[int(x*3)] {
			t.Fatalf("at %v: %s of %v", x, got, list.Values)
		}
	})
	seen := map[string]int{}
	a := Axis{From: "1", To: "4", Scale: scaleLinear}
	for i := range 4000 {
		seen[a.At((float64(i)+0.5)/4000)]++
	}
	for _, n := range []string{"1", "2", "3", "4"} {
		if seen[n] != 1000 {
			t.Errorf("%s has %d of 4000 equal parts, want 1000", n, seen[n])
		}
	}
}

func FuzzSweep(f *testing.F) {
	f.Add("traces: [x]\nmodels: [yarn]\nvary: {load: {from: 1, to: 2.0, steps: 3}}")
	f.Add("traces: {}\nvary: [1]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSweep("f.yaml", []byte(text))
		if err != nil {
			return
		}
		for name, a := range s.Vary {
			if s.hasLevels() && len(a.Levels()) == 0 || !s.hasLevels() && a.At(0.5) == "" && len(a.Values) == 0 {
				t.Errorf("axis %s of a sweep that is accepted has no value", name)
			}
		}
	})
}
