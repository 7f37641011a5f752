package sim

import (
	"slices"
	"testing"

	"heddle/traces"
)

// What models see is recorded directly after each decision, and recording it changes
// nothing else.
func TestReasonsChangeNothing(t *testing.T) {
	for _, model := range quickModels() {
		for a := Native; a <= Ideal; a++ {
			run := func(reasons bool) (events []traces.Event, all int64, digest string) {
				c := scenario(t, model, a, 0)
				c.Reasons = reasons
				trace := traces.NewTraceDigest()
				c.Record = func(e traces.Event) {
					if events = append(events, e); e.Kind() != traces.KindDecisionSeen {
						trace.Add(e)
						all++
					}
				}
				if _, err := Run(c); err != nil {
					t.Fatal(err)
				}
				return events, all, trace.String()
			}
			_, without, before := run(false)
			events, all, with := run(true)
			if all != without || with != before {
				t.Errorf("%s, actuator %d: %d events with digest %s; without reasons %d, %s", model, a, all, with, without, before)
			}
			seen, told := 0, 0
			for i, e := range events {
				d, ok := e.(*traces.Decision)
				if !ok {
					continue
				}
				s, ok := events[i+1].(*traces.DecisionSeen)
				if !ok || s.Decision != d.ID || s.T != d.T {
					t.Fatalf("%s, actuator %d: after decision %+v comes %+v", model, a, d, events[i+1])
				}
				if seen++; len(s.Candidates)+len(s.Passed) > 0 {
					told++
				}
				if slices.ContainsFunc(s.Candidates, func(c traces.Candidate) bool { return c.Node == d.Node }) {
					t.Errorf("%s: the decision's own node is nearer than itself: %+v", model, s)
				}
			}
			if seen == 0 || told == 0 {
				t.Errorf("%s, actuator %d: of %d decisions it is recorded what was seen, something of %d", model, a, seen, told)
			}
		}
	}
}
