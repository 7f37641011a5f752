package steer_test

import (
	"strings"
	"testing"

	"heddle/traces"
)

// TestLateGrants has a scheduler that learns of labels 25 s after the ResourceManager, so
// that each of the first decisions is given up before its container comes. It stays open
// until nothing is queued, or where the ResourceManager does not say what is, half a minute.
func TestLateGrants(t *testing.T) {
	for _, unsaid := range []bool{false, true} {
		s, err := newShell(schedule{
			Racks: 1, PerRack: 3, Slots: 1, Triples: 1, Async: true, LabelDelay: 25_000, unsaid: unsaid, Model: "fifo", Seed: 1,
			Jobs: []jobPlan{{Maps: [][]int{{0}, {1}, {2}, {0}, {1}, {2}}, Reduces: 1, Runs: 2000}},
		})
		if err == nil {
			err = s.run()
		}
		if err != nil {
			t.Fatalf("sizes of queues unsaid %v: %v", unsaid, err)
		}
		outcomes, surplus := map[string]int{}, 0
		for _, e := range s.events {
			switch e := e.(type) {
			case *traces.Actuation:
				outcomes[e.Outcome]++
			case *traces.Note:
				if strings.Contains(e.Text, "that no decision asked for") {
					surplus++
				}
			}
		}
		if outcomes["honoured"] != 7 || len(outcomes) != 1 || surplus != 0 {
			t.Errorf("sizes of queues unsaid %v: outcomes %v and %d containers without a decision; want 7 honoured and none", unsaid, outcomes,
				surplus)
		}
	}
}
