package measure

import (
	"testing"

	"heddle/traces"
)

// TestDoubtsKnown has what was made up not said twice: not again if all of it is known.
// A list of jobs has no schedule, so that nobody has to know that it was made up.
func TestDoubtsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		f     Figures
		known []string
		want  int
	}{
		"nothing known": {Figures{Synthetic: []string{"tasks"}}, nil, 1},
		"all known":     {Figures{Synthetic: []string{"tasks"}}, []string{"durations", "tasks"}, 0},
		"one unknown":   {Figures{Synthetic: []string{"tasks", "schedule"}}, []string{"tasks"}, 1},
		// what the list is
		"a list's schedule":  {Figures{Synthetic: []string{"tasks", "schedule"}, List: &traces.ListRules{}}, []string{"tasks"}, 1},
		"a list by itself":   {Figures{Synthetic: []string{"tasks", "schedule"}, List: &traces.ListRules{}}, nil, 2},
		"nothing is made up": {Figures{}, nil, 0},
	} {
		if got := c.f.Doubts(c.known...); len(got) != c.want {
			t.Errorf("%s: %q, want %d", name, got, c.want)
		}
	}
}
