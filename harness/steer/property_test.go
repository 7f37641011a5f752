package steer_test

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// TestSchedules has a Core live through random schedules of what may go wrong.
// Each job ends, each decision has one outcome, and the nodes end parked.
func TestSchedules(t *testing.T) {
	if os.Getenv("HEDDLE_LONG") != "" {
		if err := flag.Set("rapid.checks", "1000"); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, err := newShell(drawSchedule(t))
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
	})
}
