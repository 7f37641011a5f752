package experiment

import (
	"strings"
	"testing"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/traces"
)

// TestGivenTimes has a replay warn that locality cannot change its tasks' times exactly
// where these do not depend on the place.
func TestGivenTimes(t *testing.T) {
	disks := traces.ClusterFacts{Disks: []traces.DiskFacts{{Node: "a", BytesPerSec: 1}}}
	for name, c := range map[string]struct {
		o    replay.Outcome
		want string
	}{
		"recorded":         {replay.Outcome{Durations: "recorded"}, "its recorded time wherever it runs"},
		"rules":            {replay.Outcome{Durations: "rules"}, "the job list's rules give wherever it runs"},
		"rules and disks":  {replay.Outcome{Durations: "rules", Header: traces.Header{Cluster: disks}}, ""},
		"modelled":         {replay.Outcome{Durations: "modelled"}, ""},
		"the recorded run": {replay.Outcome{Durations: "recorded", Figures: &measure.Figures{Model: config.ModelRecorded}}, ""},
	} {
		if c.o.Figures == nil {
			c.o.Figures = &measure.Figures{}
		}
		if got := strings.Join(givenTimes(&c.o), " "); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
