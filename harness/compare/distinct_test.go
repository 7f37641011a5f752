package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/doc"
	"heddle/harness/runs"
)

// Six repeats with one schedule are one: a comparison that counted six of them would
// find a difference with any certainty that one asks for.
func TestEqualSchedules(t *testing.T) {
	speed := map[string]float64{"yarn": 62.5, "fifo": 60.6, "delay": 61}
	same := made{
		workloads: []string{"wordcount", "sort"}, models: []string{"yarn", "fifo", "delay"}, repeats: 6, steered: true,
		world: runs.WorldSimulated,
		seconds: func(repeat int, workload, model string) float64 {
			if model == "delay" {
				return speed[model] + float64(repeat)/10
			}
			return speed[model]
		},
	}
	dir := same.in(t, filepath.Join(t.TempDir(), "same"))
	r := must(Runs([]string{dir}, makespan))
	for _, table := range append(r.Tables, r.Table) {
		for model, want := range map[string]int{"yarn": 1, "fifo": 1, "delay": 6} {
			i := slices.IndexFunc(table.Models, func(m Model) bool { return m.Model == model })
			if got := table.Models[i]; got.Runs != want || got.CI95.Bounded() != (want == 6) {
				t.Errorf("%s: %s: %d repeats with interval %v, want %d", table.Workload, model, got.Runs, got.CI95, want)
			}
		}
		for _, p := range table.Pairs { // each pair has a model of one schedule
			if p.Runs != 1 || p.Significant() || p.CI95Pct.Bounded() {
				t.Errorf("%s: %s vs %s: %d pairs, p %v, interval %v; want 1 pair, and nothing told", table.Workload, p.B, p.A, p.Runs, p.P, p.CI95Pct)
			}
		}
		for _, w := range table.Warnings {
			if strings.Contains(w, "without a partner") {
				t.Errorf("%s: equal schedules count as lost partners: %s", table.Workload, w)
			}
		}
	}
	i := slices.IndexFunc(r.Steering, func(s Steering) bool { return s.Model == "fifo" })
	if s := r.Steering[i]; s.Trials != 2 || s.Decisions != 20 {
		t.Errorf("steering by fifo: %d decisions in %d trials, want the 20 of 2", s.Decisions, s.Trials)
	}

	const want = "wordcount under yarn: 6 trials have one and the same schedule, by its digest, and count as 1 repeat"
	var text bytes.Buffer
	mustDo(t, doc.WriteText(&text, r.Doc(), false))
	data := must(json.Marshal(r))
	if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), "note: "+want) {
		t.Errorf("the text lacks the warning %q:\n%s", want, &text)
	}
	var report struct{ Warnings []string }
	mustDo(t, json.Unmarshal(data, &report))
	if !slices.Contains(report.Warnings, want) {
		t.Errorf("the JSON's warnings lack %q: %q", want, report.Warnings)
	}
	if slices.ContainsFunc(report.Warnings, func(w string) bool { return strings.Contains(w, "delay: 6 trials have") }) {
		t.Errorf("a warning about schedules that differ: %q", report.Warnings)
	}
}

// The same run again under another name adds no repeat, but its models can still be
// paired with each other.
func TestCopiedRun(t *testing.T) {
	of := func(base int) made {
		return of("wordcount", 4, "yarn 0 fifo 0").with(func(m *made) {
			m.seconds = func(repeat int, _, model string) float64 {
				return 50 + float64(len(model)) + math.Sqrt(float64(base+repeat))
			}
		})
	}
	root := t.TempDir()
	first, again, other := of(0).in(t, filepath.Join(root, "a", "run")), of(0).in(t, filepath.Join(root, "b", "run")),
		of(10).in(t, filepath.Join(root, "c", "run"))
	for _, c := range []struct {
		dirs []string
		want int
	}{{[]string{first, again}, 4}, {[]string{first, other}, 8}} {
		r := must(Runs(c.dirs, makespan))
		if m, p := r.Models[0], r.Pairs[0]; m.Runs != c.want || p.Runs != c.want {
			t.Errorf("%d repeats of yarn and %d pairs, want %d", m.Runs, p.Runs, c.want)
		}
	}
}

// A text lists the first of many decisions that came out otherwise, and says how many
// more there are.
func TestManyMisses(t *testing.T) {
	for n, want := range map[int]string{mostMissesAsText: "", mostMissesAsText + 30: "- and 30 more; --json has all\n"} {
		r := Report{Tables: []Table{{}}, Steering: []Steering{{Model: "fifo", Misses: make([]Miss, n)}}}
		var out strings.Builder
		mustDo(t, doc.WriteText(&out, r.Doc(), false))
		if lines := strings.Count(out.String(), "\n- : decision 0"); lines != mostMissesAsText || !strings.Contains(out.String(), want) ||
			strings.Contains(out.String(), "more; --json") != (want != "") {
			t.Errorf("%d decisions: %d lines\n%s", n, lines, out.String())
		}
	}
}
