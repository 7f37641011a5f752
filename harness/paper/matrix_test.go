package paper

import (
	"slices"
	"strings"
	"testing"
)

// TestHangs has a matrix say which verdicts an axis of the text changes alone, which a cost
// of ours, and which neither; and what is alone, screened and mixed.
func TestHangs(t *testing.T) {
	axis := func(name string, of AxisOf, alone bool) Axis {
		return Axis{Name: name, Of: of, Chosen: true, Alone: alone, Values: []Value{{Value: "1"}, {Value: "2"}}}
	}
	axes := []Axis{axis("reward", OfText, false), axis("episodes", OfText, true), axis("disk", Cost, false)}
	row := func(name string, reward, episodes, disk string, verdicts ...Verdict) MatrixRow {
		r := MatrixRow{Reading: name, Set: map[string]string{"reward": reward, "episodes": episodes, "disk": disk}}
		for _, v := range verdicts {
			r.Criteria = append(r.Criteria, Criterion{Verdict: v})
		}
		return r
	}
	m := &Matrix{
		Seeds: 6, paper: &Paper{Axes: axes, Readings: []Reading{{Name: "centre"}}}, Claims: []ClaimCount{{ID: "C1"}, {ID: "C2"}, {ID: "C3"}},
		Readings: []MatrixRow{
			row(AsPrinted, "1", "1", "1", Fails, Holds, Fails),
			row("centre", "2", "2", "1", Holds, Holds, Fails),
			row("x", "1", "2", "1", Fails, Holds, Fails),         // the centre but for the reward
			row("y", "1", "1", "2", Fails, Reversed, Fails),      // as printed but for the disk
			row("mixed", "1", "2", "2", Holds, Direction, Holds), // differs in two from both
		},
	}
	for i, want := range [][2]string{{"reward", ""}, {"", "disk"}, {"", ""}} {
		text, costs := m.hangsOn(i)
		if got := [2]string{strings.Join(text, ", "), strings.Join(costs, ", ")}; got != want {
			t.Errorf("%s hangs on %q, want %q", m.Claims[i].ID, got, want)
		}
	}

	p := &Paper{Axes: axes, Readings: []Reading{{Name: "centre", Set: map[string]string{"reward": "2", "episodes": "2"}}}}
	p.Axes[0].Chosen = false
	chosen, err := p.chosen(nil, false, nil)
	check(t, err)
	all, err := p.chosen(nil, true, nil)
	check(t, err)
	if len(chosen) != 2 || len(all) != 3 {
		t.Errorf("%d axes chosen, %d to screen", len(chosen), len(all))
	}
	names := func(v Vary) (list []string) {
		for _, r := range p.readings(all, v) {
			list = append(list, r.Name)
		}
		return list
	}
	// The centre and as printed differ in two axes, so that each value of an axis is another reading from each.
	want := []string{
		AsPrinted, "centre", "centre, reward=1", "centre, episodes=1", "centre, disk=2", "as printed, reward=2",
		"as printed, episodes=2", "as printed, disk=2",
	}
	if got := names(Vary{Screen: true}); !slices.Equal(got, slices.DeleteFunc(want, func(s string) bool {
		return s == "as printed, reward=2" || s == "as printed, episodes=2" // are the centre without its other change
	})) && !slices.Equal(got, want) {
		t.Errorf("screened: %v, want %v", got, want)
	}
	for _, r := range p.readings(all, Vary{}) {
		if v := p.values(r, nil); strings.HasPrefix(r.Name, "mixed") && v["episodes"] != "2" {
			t.Errorf("%s has episodes %s, which is not mixed", r.Name, v["episodes"])
		}
	}
}
