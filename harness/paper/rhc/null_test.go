package rhc

import (
	"context"
	"slices"
	"testing"

	"heddle/harness/paper"
	"heddle/traces/errtest"
)

// TestForced has made-up costs bring each verdict: what RHC, the bound and Greedy cost, if
// Random costs 1000.
func TestForced(t *testing.T) {
	for _, c := range []struct {
		claim              string
		rhc, greedy, bound float64
		grows              float64 // saving that comes with each load
		want               paper.Verdict
		needs              bool
	}{
		{"H1", 50, 52, 40, 0, paper.Holds, false}, // Greedy does as well
		{"H1", 60, 300, 50, 0, paper.Holds, true},
		{"H1", 60, 300, 40, -1, paper.Holds, true},      // shown is the largest load, at which it saves least
		{"H1", 120, 300, 90, 0, paper.Direction, false}, // Greedy has the direction, too
		{"H1", 120, 300, 110, 0, paper.Ceiling, false},
		{"H1", 1200, 300, 50, 0, paper.Reversed, false},
		{"H2", 70, 100, 60, 0, paper.Holds, true},
		{"H2", 90, 100, 60, 0, paper.Direction, true},
		{"H2", 98, 100, 85, 0, paper.Direction, true}, // the size has no room, the sign is shown
		{"H2", 100, 100, 85, 0, paper.Fails, false},
		{"H2", 105, 100, 60, 0, paper.Reversed, false},
		{"H2b", 99, 100, 60, 1, paper.Holds, true},
		{"H2b", 120, 100, 60, 1, paper.Reversed, false}, // grows, and is always a loss
		{"H2b", 99, 100, 60, 0, paper.Fails, false},
		{"H2b", 90, 100, 60, -1, paper.Reversed, false},
		{"H4", 98, 100, 60, 0, paper.Holds, true},
		{"H4", 102, 100, 60, 0, paper.Reversed, false},
	} {
		p := Paper()
		r := errtest.Must(p.Run(context.Background(),
			paper.Options{Parts: []string{c.claim}, Seeds: 6, Simulate: func(x paper.Case, seed uint64) (paper.Simulation, error) {
				cost := c.greedy // of all controls but Random
				switch x.Scheduler.Label {
				case claimant:
					cost = c.rhc - c.grows*10*(x.Setting.(monteCarlo).Load-0.2)
				case lowest:
					cost = c.bound
				case random:
					cost = 1000
				}
				return paper.Simulation{Notes: map[string]float64{"cost": cost * (1 + float64(seed%97*uint64(len(x.Scheduler.Label)))/1e7)}}, nil
			}}))
		for _, got := range r.Criteria {
			if got.ID == "H1" && slices.ContainsFunc(got.Effects, func(e paper.EffectJSON) bool { return e.Ours < got.Ours }) {
				t.Errorf("%+v: shown is %v, and another load saves less: %s", c, got.Ours, got.Note)
			}
			if got.ID == c.claim && (got.Verdict != c.want || got.NeededMethod != c.needs) {
				t.Errorf("%+v: %s, needs the method: %v: %s", c, got.Verdict, got.NeededMethod, got.Note)
			}
		}
	}
}

// TestRoomHolds has no rule save more than the bound leaves room for, in any reading.
func TestRoomHolds(t *testing.T) {
	p := Paper()
	readings := []map[string]string{nil}
	for _, a := range p.Axes {
		for _, v := range a.Values[1:] {
			if a.Sets == "" {
				readings = append(readings, map[string]string{a.Name: v.Value})
			}
		}
	}
	for _, set := range readings {
		var x paper.Setting = standard
		for _, pair := range [][2]string{{"jobs", "2000"}, {"load", "0.6"}} {
			x, _ = x.With(pair[0], pair[1])
		}
		for name, value := range set {
			var err error
			if x, err = x.With(name, value); err != nil {
				t.Fatal(err)
			}
		}
		for seed := range uint64(2) {
			least := notes(t, x.(monteCarlo), lowest, seed)["cost"]
			for _, s := range append(p.Controls, p.Schedulers[:2]...) {
				if cost := notes(t, x.(monteCarlo), s.Label, seed)["cost"]; cost < least {
					t.Errorf("%v, seed %d: %s costs %g, below the bound of %g", set, seed, s.Label, cost, least)
				}
			}
		}
	}
}
