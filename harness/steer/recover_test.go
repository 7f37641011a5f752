package steer_test

import (
	"testing"
	"time"

	"heddle/harness/config"
	"heddle/harness/steer"
)

// TestAskedLessOften has a ResourceManager that says that it is active, and for two
// seconds does not list containers: steering does not ask it hundreds of times a second.
func TestAskedLessOften(t *testing.T) {
	s := must(newShell(schedule{
		Racks: 1, PerRack: 2, Slots: 2, Triples: 2, Model: "delay", Splits: config.SplitsAsSubmitted, Seed: 1,
		Jobs:     []jobPlan{{At: 790, Maps: [][]int{{0}, {}, {0}, {}}, Reduces: 1, Runs: 3000}},
		Troubles: []trouble{{From: 2000, For: 2000, Class: "containers", Fate: toldFailed}},
	}))
	defer s.rm.Close()
	asked := 0
	s.spoil = func(a steer.Action) []steer.Action {
		if _, is := a.(*steer.Look); is {
			if at := s.clock.Now().Sub(s.origin); at >= 2*time.Second && at < 4*time.Second {
				asked++
			}
		}
		return []steer.Action{a}
	}
	mustDo(t, s.run())
	if asked > 200 {
		t.Errorf("the ResourceManager was asked %d times in the two seconds, want 200 at most", asked)
	}
	t.Logf("%d calls in 2 s", asked)
}
