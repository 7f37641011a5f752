package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTrialNames(t *testing.T) {
	e := Experiment{
		Workloads: []Workload{{Name: "wordcount", Label: "wordcount"}, {Name: "sort", Label: "small-sort"}},
		Models:    ourModels("yarn"), Repeats: 2,
	}
	var names []string
	for _, trial := range e.Trials() {
		names = append(names, trial.Name)
	}
	want := "r01-wordcount-yarn r01-small-sort-yarn r02-wordcount-yarn r02-small-sort-yarn"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("trials %s, want %s", got, want)
	}
}

func TestTrialsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Experiment{Repeats: rapid.IntRange(1, 12).Draw(t, "repeats"), Seed: rapid.Uint64().Draw(t, "seed")}
		for i := range rapid.IntRange(1, 4).Draw(t, "workloads") {
			e.Workloads = append(e.Workloads, Workload{Label: fmt.Sprint("w", i)})
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "models") {
			e.Models = append(e.Models, ourModels(fmt.Sprint("m", i))...)
		}
		trials := e.Trials()
		w, m := len(e.Workloads), len(e.Models)
		if len(trials) != e.Repeats*w*m {
			t.Fatalf("%d trials, want %d x %d x %d", len(trials), e.Repeats, w, m)
		}
		names := map[string]bool{}
		first := map[string]int{} // of "workload model", how often it goes first
		for i, trial := range trials {
			names[trial.Name] = true
			// Repeat by repeat, then workload by workload.
			if trial.Repeat != i/(w*m)+1 || trial.Workload.Label != e.Workloads[i/m%w].Label {
				t.Fatalf("trial %d is %s, out of order", i, trial.Name)
			}
			if i%m == 0 {
				first[trial.Workload.Label+" "+trial.Model.Label]++
			}
		}
		if len(names) != len(trials) {
			t.Fatalf("%d names for %d trials", len(names), len(trials))
		}
		for _, workload := range e.Workloads {
			for _, model := range e.Models {
				n := first[workload.Label+" "+model.Label]
				if low, high := e.Repeats/m, (e.Repeats+m-1)/m; n < low || n > high {
					t.Fatalf("model %s goes first %d times of %d in %s, want %d to %d", model.Label, n, e.Repeats, workload.Label, low, high)
				}
			}
		}
		// A longer experiment begins like a shorter one.
		longer := e
		longer.Repeats++
		if !slices.EqualFunc(trials, longer.Trials()[:len(trials)], func(a, b Trial) bool { return a.Name == b.Name }) {
			t.Fatalf("one repeat more changes the order of the first %d", e.Repeats)
		}
	})
}

// Warm-ups come first, take workloads and models in turn, and change nothing about
// the trials behind them.
func TestWarmups(t *testing.T) {
	e := Experiment{
		Workloads: []Workload{{Label: "sort"}, {Label: "grep"}}, Models: ourModels("yarn", "fifo"), Repeats: 2, Seed: 3,
	}
	measured := e.Trials()
	e.Warmups = 5
	trials := e.Trials()
	var names []string
	for _, trial := range trials[:e.Warmups] {
		if !trial.Warmup {
			t.Errorf("%s comes before the first measured trial and is no warm-up", trial.Name)
		}
		names = append(names, trial.Name)
	}
	want := "w01-sort-yarn w02-grep-fifo w03-sort-fifo w04-grep-yarn w05-sort-yarn"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("warm-ups %s, want %s", got, want)
	}
	if !slices.EqualFunc(measured, trials[e.Warmups:], func(a, b Trial) bool { return a.Name == b.Name && !b.Warmup }) {
		t.Errorf("warm-ups change the trials behind them: %v", trials[e.Warmups:])
	}
}

// Some seed orders models differently: the order is not the file's.
func TestTrialsDependOnTheSeed(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(20) {
		e := Experiment{Workloads: []Workload{{Label: "w"}}, Models: ourModels("a", "b", "c"), Repeats: 1, Seed: seed}
		order := ""
		for _, trial := range e.Trials() {
			order += trial.Model.Label
		}
		orders[order] = true
	}
	if len(orders) < 2 {
		t.Errorf("20 seeds give the one order %v", orders)
	}
}

// asListed takes the file's order in every repeat, whatever the seed.
func TestTrialsAsListed(t *testing.T) {
	for seed := range uint64(5) {
		e := Experiment{
			Workloads: []Workload{{Label: "w"}, {Label: "v"}}, Models: ourModels("b", "a", "c"), Repeats: 4, Seed: seed, Order: OrderAsListed,
		}
		for i, trial := range e.Trials() {
			if want := e.Models[i%3].Label; trial.Model.Label != want || trial.Repeat != i/6+1 {
				t.Fatalf("seed %d: trial %d is %s, want one of model %s", seed, i, trial.Name, want)
			}
		}
	}
}

// ourModels are models with no more than a name.
func ourModels(names ...string) []Model {
	models := make([]Model, len(names))
	for i, name := range names {
		models[i] = Model{Label: name, Model: name}
	}
	return models
}
