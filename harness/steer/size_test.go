package steer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// TestCapacityAlone has only the capacity of nodes change, while YARN schedules: sizes are set at
// the times of the timetable, counted from when the first job is seen, and set again where YARN shows another one.
// Cores count where YARN counts them.
func TestCapacityAlone(t *testing.T) {
	for cores, want := range map[bool][]string{
		false: {"1s n:1 1000 MB 8", "3s n:1 0 MB 8", "3.5s n:1 0 MB 8", "6s n:1 2000 MB 8"},
		true:  {"1s n:1 1000 MB 4", "3s n:1 0 MB 0", "3.5s n:1 0 MB 0", "6s n:1 2000 MB 8"},
	} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		start, at := now, func(s int) units.Duration { return units.Duration(time.Duration(s) * time.Second) }
		own := yarnclient.Resource{MemoryMB: 2000, VCores: 8}
		c, parked, err := New(Options{
			Actuator: config.ActuatorNone, Origin: now,
			Setup: Setup{Beat: time.Second, AMLabel: "am", CountCores: cores, Smallest: state.Resource{MemoryMB: 1, VCores: 1}},
			Nodes: []yarnclient.Node{
				{ID: "n:1", Host: "n", State: "RUNNING", Total: own},
				{ID: "m:1", Host: "m", State: "RUNNING", Labels: []string{"am"}, Total: own},
			},
			Capacity: config.Capacity{Steps: []config.CapacityStep{{Left: 0.5}, {At: at(2), Left: 0}, {At: at(5), Left: 1}}},
		})
		if err != nil || len(parked) > 0 {
			t.Fatal(parked, err)
		}
		sizes, events, total := []string{}, 0, own
		sub := &Submission{Number: "00", Tag: "x"}
		batch := []Observation{}
		for step := range 800 {
			now = start.Add(time.Duration(step) * 10 * time.Millisecond)
			if step == 100 {
				batch = append(batch, Observation{Submitted: sub, Received: now})
			}
			if step == 320 { // a call that was thought lost takes effect
				total = own
			}
			actions, _ := c.Step(now, batch)
			batch = nil
			for _, a := range actions {
				switch a := a.(type) {
				case *SetSize:
					sizes = append(sizes, fmt.Sprintf("%v %s %d MB %d", now.Sub(start).Round(500*time.Millisecond), a.Node, a.Total.MemoryMB,
						a.Total.VCores))
					total = a.Total
					batch = append(batch, Observation{Answers: a.Number, Sent: now, Received: now})
				case *SetLabels:
					t.Errorf("labels are set: %v", a)
				case *Record:
					if _, ok := a.Event.(*traces.NodeCapacity); ok {
						events++
					}
				case *Look:
					x := Observation{Answers: a.Number, What: a.What, Sent: now, Received: now}
					switch a.What {
					case AskApps:
						x.Answer = []yarnclient.App{{ID: "application_1_0001", Tags: "x", State: "RUNNING"}}
					case AskNodes:
						x.Answer = []yarnclient.Node{{ID: "n:1", Host: "n", State: "RUNNING", Total: total}}
					case AskRM:
						x.Answer = yarnclient.ClusterInfo{HAState: yarnclient.HAActive}
					default:
						t.Fatalf("asked for %v", a)
					}
					batch = append(batch, x)
				}
			}
		}
		if !slices.Equal(sizes, want) || events != 3 {
			t.Errorf("cores count %t: sizes %q and %d events, want %q and 3", cores, sizes, events, want)
		}
		if set := c.Settings(sub); len(set) > 0 {
			t.Errorf("jobs get settings %v", set)
		}
	}
}
