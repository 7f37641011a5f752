package results

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/measure"
	"heddle/traces/errtest"
)

// rows are twelve trials: two models, two workloads, three repeats.
func rows() (list []*Row) {
	for _, workload := range []string{"sort", "word count"} {
		for repeat := 1; repeat <= 3; repeat++ {
			for i, model := range []string{"fifo", "delay-nodeSkips=9"} {
				f := &measure.Figures{MakespanMs: float64(10_000 * (repeat + 10*i))}
				list = append(list, &Row{"first", "cluster", &Trial{
					Name: workload + model, Workload: workload, Model: model, Repeat: repeat, Seed: uint64(repeat),
				}, []*measure.Figures{f}})
			}
		}
	}
	return list
}

func TestWhere(t *testing.T) {
	for text, want := range map[string]int{
		"model=fifo":                     6,
		"model != fifo":                  6,
		`model="delay-nodeSkips=9"`:      6,
		"model='delay-nodeSkips=9'":      6,
		"workload='word count'":          6,
		"model~^delay":                   6,
		"model!~skips":                   12,
		"repeat<2":                       4,
		"repeat<=2":                      8,
		"repeat>2 && model=fifo":         2,
		"seed>=2":                        8,
		"makespan>30":                    6, // in seconds, as compare prints it
		"makespan=10":                    2,
		"!(makespan=10)":                 10,
		"!makespan=10 && model=fifo":     4,
		"repeat=1 || repeat=2 && seed=2": 8,
		"(repeat=1||repeat=2)&&seed=2":   4,
		"jobCompletion>0":                0, // no trial has jobs: no comparison holds
		"jobCompletion!=0":               0,
		"run=first":                      12,
		"world=simulated":                0,
		"trial~sort":                     6,
	} {
		f, err := Where(text)
		if err != nil {
			t.Error(err)
			continue
		}
		got := 0
		for _, r := range rows() {
			if f.Match(r) {
				got++
			}
		}
		if got != want {
			t.Errorf("%s chooses %d trials, want %d", text, got, want)
		}
	}
	var all *Filter
	if !all.Match(rows()[0]) {
		t.Error("no filter does not choose a trial")
	}
}

func TestWhereErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "column 1: want a condition such as model=fifo",
		"modle=fifo":                 `column 1: unknown key "modle"; did you mean "model"?`,
		"model=fifo && jobCompletio": `column 15: unknown key "jobCompletio"; did you mean "jobCompletion"?`,
		"model":                      "column 6: want one of = != < <= > >= ~ !~ after model",
		"model=":                     "column 7: want a value after model=",
		"model=fifo delay":           `column 12: "delay" follows`,
		"(model=fifo":                "column 12: want )",
		"repeat=two":                 "repeat=two: want a number",
		"repeat~1":                   "a number cannot be compared",
		"model~(":                    "want a value",
		"model~'('":                  "is no regular expression",
		"model='fifo":                "quotes do not end",
		"model=fifo & repeat=1":      `"& repeat=1" follows`,
		"all=1":                      `unknown key "all"`,
		strings.Repeat("!", 500):     "stand in each other",
	} {
		if _, err := Where(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30s: error %v, want one with %q", text, err, want)
		}
	}
}

// TestWhereTruth has random conditions with known truth: what a condition chooses is
// what the logic of its parts says.
func TestWhereTruth(t *testing.T) {
	type condition struct {
		text string
		of   func(*Row) bool
	}
	var draw func(r *rapid.T, depth int) condition
	draw = func(r *rapid.T, depth int) condition {
		kind := rapid.IntRange(0, 3).Draw(r, "kind")
		if depth == 0 {
			kind = 0
		}
		switch kind {
		case 1:
			a := draw(r, depth-1)
			return condition{"!(" + a.text + ")", func(r *Row) bool { return !a.of(r) }}
		case 2:
			a, b := draw(r, depth-1), draw(r, depth-1)
			return condition{"(" + a.text + ")&& (" + b.text + ")", func(r *Row) bool { return a.of(r) && b.of(r) }}
		case 3:
			a, b := draw(r, depth-1), draw(r, depth-1)
			return condition{"(" + a.text + ") ||(" + b.text + " )", func(r *Row) bool { return a.of(r) || b.of(r) }}
		}
		parts := []condition{
			{"model=fifo", func(r *Row) bool { return r.Trial.Model == "fifo" }},
			{"repeat<3", func(r *Row) bool { return r.Trial.Repeat < 3 }},
			{"workload~'^word c'", func(r *Row) bool { return strings.HasPrefix(r.Trial.Workload, "word c") }},
			{"makespan>=20", func(r *Row) bool { return r.Figures[0].MakespanMs >= 20_000 }},
		}
		return rapid.SampledFrom(parts).Draw(r, "part")
	}
	rapid.Check(t, func(r *rapid.T) {
		c := draw(r, 4)
		f := errtest.Must(Where(c.text))
		for _, row := range rows() {
			if f.Match(row) != c.of(row) {
				r.Fatalf("%s: %v for %s, repeat %d", c.text, f.Match(row), row.Trial.Name, row.Trial.Repeat)
			}
		}
	})
}

// TestKeys has every key that is told be one that a condition takes.
func TestKeys(t *testing.T) {
	for _, key := range Keys() {
		value := "1"
		if _, err := Where(key + "=" + value); err != nil {
			t.Error(err)
		}
	}
	if !slices.Contains(Keys(), "completion.p95") {
		t.Errorf("keys %v lack metrics", Keys())
	}
}

func FuzzWhere(f *testing.F) {
	for _, seed := range []string{"model=fifo && (repeat<=4 || workload~sort)", `!run="a\"b"`, "seed>=1e300", "((", "\"", "model='"} {
		f.Add(seed)
	}
	list := rows()
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := Where(text)
		if err != nil {
			return
		}
		not, err := Where("!(" + text + ")")
		if err != nil {
			t.Skip("nested too deep once more")
		}
		for _, r := range list {
			if filter.Match(r) == not.Match(r) {
				t.Fatalf("%q and its opposite choose the same", text)
			}
		}
	})
}
