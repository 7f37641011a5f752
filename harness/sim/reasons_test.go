package sim

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/traces"
)

// Recording what models see changes nothing else.
func TestReasonsChangeNothing(t *testing.T) {
	for _, model := range quickModels() {
		for a := Native; a <= Ideal; a++ {
			var seen, then []*traces.Seen
			run := func(reasons bool) string {
				c := scenario(t, model, a, 0)
				c.Reasons = reasons
				trace := traces.NewTraceDigest() // it leaves out what was seen
				c.Record = func(e traces.Event) {
					if d, ok := e.(*traces.Decision); ok && d.Seen != nil {
						seen, then = append(seen, d.Seen), append(then, cloneSeen(d.Seen))
						if slices.ContainsFunc(d.Seen.Candidates, func(c traces.Candidate) bool { return c.Node == d.Node }) {
							t.Errorf("%s: the decision's own node is nearer than itself: %+v", model, d.Seen)
						}
					}
					trace.Add(e)
				}
				must(Run(c))
				return trace.String()
			}
			without := run(false)
			if len(seen) > 0 {
				t.Errorf("%s: what %d decisions saw is recorded though nobody asked", model, len(seen))
			}
			if with := run(true); with != without {
				t.Errorf("%s, actuator %d: other events if reasons are recorded", model, a)
			}
			if len(seen) == 0 {
				t.Errorf("%s, actuator %d: nothing was seen", model, a)
			}
			if d := cmp.Diff(then, seen); d != "" {
				t.Errorf("%s, actuator %d: later decisions change what earlier ones saw (-then +at the end):\n%s", model, a, d)
			}
		}
	}
}

func cloneSeen(s *traces.Seen) *traces.Seen {
	c := *s
	c.Candidates, c.Passed = slices.Clone(c.Candidates), slices.Clone(c.Passed)
	return &c
}
