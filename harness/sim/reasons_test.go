package sim

import (
	"slices"
	"testing"

	"heddle/traces"
)

// Recording what models see changes nothing else.
func TestReasonsChangeNothing(t *testing.T) {
	for _, model := range quickModels() {
		for a := Native; a <= Ideal; a++ {
			seen := 0
			run := func(reasons bool) string {
				c := scenario(t, model, a, 0)
				c.Reasons = reasons
				trace := traces.NewTraceDigest()
				c.Record = func(e traces.Event) {
					if d, ok := e.(*traces.Decision); ok && d.Seen != nil {
						seen++
						if slices.ContainsFunc(d.Seen.Candidates, func(c traces.Candidate) bool { return c.Node == d.Node }) {
							t.Errorf("%s: the decision's own node is nearer than itself: %+v", model, d.Seen)
						}
						d.Seen = nil
					}
					trace.Add(e)
				}
				if _, err := Run(c); err != nil {
					t.Fatal(err)
				}
				return trace.String()
			}
			without := run(false)
			if seen > 0 {
				t.Errorf("%s: what %d decisions saw is recorded though nobody asked", model, seen)
			}
			if with := run(true); with != without {
				t.Errorf("%s, actuator %d: other events if reasons are recorded", model, a)
			}
			if seen == 0 {
				t.Errorf("%s, actuator %d: nothing was seen", model, a)
			}
		}
	}
}
