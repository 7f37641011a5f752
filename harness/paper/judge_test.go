package paper

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"heddle/harness/stats"
)

func estimate(value, lo, hi float64) stats.Estimate {
	return stats.Estimate{Value: value, Lo: lo, Hi: hi, N: 20}
}

// effectCases force every verdict on an effect, each by the values just on both
// sides of its rule.
var effectCases = []struct {
	name string
	e    Effect
	want Verdict
}{
	{"the size asked for", Effect{Estimate: estimate(12, 8, 16), Least: 9}, Holds},
	{"exactly the size", Effect{Estimate: estimate(9, 8, 10), Least: 9}, Holds},
	{"narrow above", Effect{Estimate: estimate(9.2, 9.1, 9.3), Least: 9}, Holds},
	{"sign alone", Effect{Estimate: estimate(1, 0.5, 1.5)}, Holds},
	{"a ratio in its band", Effect{Estimate: estimate(2.2, 1.8, 2.6), None: 1, Least: 1.5, Most: 3.5}, Holds},
	{"at the end of the band", Effect{Estimate: estimate(3.5, 1.8, 4.6), None: 1, Least: 1.5, Most: 3.5}, Holds},
	{"beyond the band", Effect{Estimate: estimate(3.6, 3.4, 3.8), None: 1, Least: 1.5, Most: 3.5}, Direction},
	{"too small", Effect{Estimate: estimate(5, 3, 7), Least: 9}, Direction},
	{"too small or just the size", Effect{Estimate: estimate(5, 1, 10), Least: 9}, Direction},
	{"too small, with room", Effect{Estimate: estimate(5, 3, 7), Least: 9, Room: 9.5, RoomWhy: "x"}, Direction},
	{"too small, without room", Effect{Estimate: estimate(5, 3, 7), Least: 9, Room: 9, RoomWhy: "x"}, Ceiling},
	{"none, without room", Effect{Estimate: estimate(0, -0.1, 0.1), Room: 0, RoomWhy: "x"}, Ceiling},
	{"a room that is not known", Effect{Estimate: estimate(0, -0.1, 0.1), Room: -5}, Fails},
	{"holds in spite of the room", Effect{Estimate: estimate(12, 8, 16), Least: 9, Room: 8, RoomWhy: "x"}, Holds},
	{"nothing, however narrow", Effect{Estimate: estimate(0, -0.01, 0.01)}, Fails},
	{"nothing, no width", Effect{Estimate: estimate(0, 0, 0)}, Fails},
	{"nothing, and not the size", Effect{Estimate: estimate(1, -1, 3), Least: 9}, Fails},
	{"nothing or the size", Effect{Estimate: estimate(5, -1, 11), Least: 9}, NotTestable},
	{"nothing or just the size", Effect{Estimate: estimate(4, -1, 9), Least: 9}, NotTestable},
	{"the opposite", Effect{Estimate: estimate(-2, -3, -1), Least: 9}, Reversed},
	{"the opposite without room", Effect{Estimate: estimate(-2, -3, -1), Least: 9, Room: 1, RoomWhy: "x"}, Reversed},
	{"a ratio below one", Effect{Estimate: estimate(0.5, 0.2, 0.8), None: 1, Least: 1.5}, Reversed},
	{"a ratio about one", Effect{Estimate: estimate(1, 0.9, 1.1), None: 1, Least: 1.5}, Fails},
	{"no bounds", Effect{Estimate: estimate(1, math.Inf(-1), math.Inf(1))}, NotTestable},
	{"no value", Effect{Estimate: estimate(math.NaN(), math.Inf(-1), math.Inf(1))}, NotTestable},
}

// wrong returns the first case that the rules get wrong, "" if none.
func wrong() string {
	for _, c := range effectCases {
		if got := c.e.Verdict(); got != c.want {
			return fmt.Sprintf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	return ""
}

func TestVerdicts(t *testing.T) {
	if text := wrong(); text != "" {
		t.Error(text)
	}
	for _, v := range Verdicts {
		if !slices.ContainsFunc(effectCases, func(c struct {
			name string
			e    Effect
			want Verdict
		},
		) bool {
			return c.want == v
		}) {
			t.Errorf("no case forces %s", v)
		}
	}
}

// TestRulesMatter flips, drops and swaps the rules of judging. The cases of
// TestVerdicts must notice each.
func TestRulesMatter(t *testing.T) {
	kept := slices.Clone(rules)
	defer func() { rules = kept }()
	for i := range kept {
		rules = slices.Clone(kept)
		of := kept[i].applies
		rules[i].applies = func(e *Effect) bool { return !of(e) }
		if wrong() == "" {
			t.Errorf("rule %d, %s: no case notices that it is turned round", i+1, kept[i].verdict)
		}
		if rules = slices.Delete(slices.Clone(kept), i, i+1); wrong() == "" {
			t.Errorf("rule %d, %s: no case notices that it is gone", i+1, kept[i].verdict)
		}
	}
	for i := 3; i < len(kept); i++ { // of the first three, no two apply to one effect
		rules = slices.Clone(kept)
		rules[i-1], rules[i] = rules[i], rules[i-1]
		if wrong() == "" {
			t.Errorf("rules %d and %d: no case notices that they are swapped", i, i+1)
		}
	}
	// Bounds: an effect that is a little off is judged otherwise.
	rules = kept
	for _, c := range []struct {
		name   string
		change func(*Effect)
	}{
		{"least", func(e *Effect) { e.Least += 0.5 }},
		{"most", func(e *Effect) { e.Most -= 0.5 }},
		{"none", func(e *Effect) { e.None -= 3 }},
		{"room", func(e *Effect) { e.Room += 0.2 }},
		{"sign", func(e *Effect) { e.Value, e.Lo, e.Hi = -e.Value, -e.Hi, -e.Lo }},
	} {
		noticed := false
		for _, x := range effectCases {
			e := x.e
			c.change(&e)
			noticed = noticed || e.Verdict() != x.want
		}
		if !noticed {
			t.Errorf("%s: no case notices that it is changed", c.name)
		}
	}
}

// TestJudge has the verdict on a claim of several effects.
func TestJudge(t *testing.T) {
	of := map[Verdict]Effect{}
	for _, c := range effectCases {
		of[c.want] = c.e
	}
	for _, c := range []struct {
		effects []Verdict
		want    Verdict
	}{
		{[]Verdict{Holds}, Holds},
		{[]Verdict{Holds, Holds}, Holds},
		{[]Verdict{Holds, Fails}, Direction},
		{[]Verdict{Direction, Holds}, Direction},
		{[]Verdict{Direction, Fails}, Direction},
		{[]Verdict{Direction, Ceiling}, Direction},
		{[]Verdict{Holds, NotTestable}, Direction},
		{[]Verdict{Fails, Holds}, Fails},
		{[]Verdict{NotTestable, Holds}, NotTestable},
		{[]Verdict{Holds, Ceiling}, Ceiling},
		{[]Verdict{Ceiling, Holds}, Ceiling},
		{[]Verdict{Ceiling, Fails}, Ceiling},
		{[]Verdict{Fails, Ceiling}, Fails},
		{[]Verdict{Holds, Holds, Reversed}, Reversed},
		{[]Verdict{Fails, Reversed}, Reversed},
		{[]Verdict{Ceiling, Reversed}, Reversed},
		{nil, NotTestable},
	} {
		var effects []Effect
		for _, v := range c.effects {
			effects = append(effects, of[v])
		}
		if got := Judge(effects); got != c.want {
			t.Errorf("%v: %s, want %s", c.effects, got, c.want)
		}
	}
}

// TestChance has one effect of many count as reversed only if that is clear.
func TestChance(t *testing.T) {
	hardly := Effect{Estimate: estimate(-1, -1.9, -0.1)}
	clearly := Effect{Estimate: estimate(-1, -1.5, -0.5)}
	holds := Effect{Estimate: estimate(1, 0.5, 1.5)}
	for _, c := range []struct {
		effects []Effect
		want    Verdict
	}{
		{[]Effect{hardly}, Reversed},
		{[]Effect{holds, hardly, holds, holds}, Direction},
		{[]Effect{hardly, holds, holds, holds}, Fails},
		{[]Effect{holds, clearly, holds, holds}, Reversed},
	} {
		if got := Judge(c.effects); got != c.want {
			t.Errorf("%d effects: %s, want %s", len(c.effects), got, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	if e := Times([]float64{1, 2, 3}, []float64{2, 4, 6}); e.Value != 2 || e.Lo != 2 || e.Hi != 2 {
		t.Errorf("ratio of proportional samples %+v, want 2 exactly", e)
	}
	if e := Times([]float64{1, 2, 3}, []float64{3, 4, 5}); e.Value != 2 || !(e.Lo < 2) || !(e.Hi > 2) {
		t.Errorf("ratio %+v, want 2 within its interval", e)
	}
	if e := Times(nil, nil); !math.IsNaN(e.Value) || e.Bounded() {
		t.Errorf("ratio of nothing %+v", e)
	}
}
