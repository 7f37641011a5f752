package paper

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"heddle/harness/stats"
)

func estimate(value, lo, hi float64) stats.Estimate {
	return stats.Estimate{Value: value, Lo: lo, Hi: hi, N: 20}
}

type effectCase struct {
	name string
	e    Effect
	want Verdict
}

// effectCases force every verdict on an effect, each by the values just on both
// sides of its rule.
var effectCases = readEffects("testdata/effects.txt")

func readEffects(file string) (list []effectCase) {
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		x := strings.Split(strings.TrimSpace(line), ": ")
		if len(x) != 3 {
			continue
		}
		c := effectCase{name: x[1], want: Verdict(x[0])}
		for i, field := range strings.Split(x[2], ", ") {
			if i == 0 {
				field = "is " + field
			}
			words := strings.Fields(field)
			var n [3]float64
			k, _ := fmt.Sscan(strings.Join(words[1:], " "), &n[0], &n[1], &n[2])
			is := estimate(n[0], n[1], n[2])
			if k == 1 {
				is = Exactly(n[0])
			}
			switch words[0] {
			case "is":
				c.e.Estimate = is
			case "none":
				c.e.None = n[0]
			case "least":
				c.e.Least = n[0]
			case "most":
				c.e.Most = n[0]
			case "band":
				c.e.Band = [2]float64(n[:2])
			case "unknown":
				c.e.Room = is
			case "room":
				c.e.Room, c.e.RoomWhy = is, "x"
			default:
				panic(line)
			}
		}
		list = append(list, c)
	}
	return list
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
		if !slices.ContainsFunc(effectCases, func(c effectCase) bool { return c.want == v }) {
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
		{"room", func(e *Effect) { e.Room.Hi += 0.2 }},
		{"band", func(e *Effect) { e.Band[1] -= 0.1 }},
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

// TestSigns has what is said of an effect besides its verdict: whether it is there,
// and whether there is room for it.
func TestSigns(t *testing.T) {
	for _, c := range []struct {
		e    Effect
		sign Sign
		room Has
	}{
		{Effect{Estimate: estimate(5, 3, 7), Least: 9}, Shown, RoomNotKnown},
		{Effect{Estimate: estimate(5, 3, 7), Least: 9, Room: estimate(10, 9.1, 11), RoomWhy: "x"}, Shown, HasRoom},
		{Effect{Estimate: estimate(5, 3, 7), Least: 9, Room: estimate(10, 9, 11), RoomWhy: "x"}, Shown, RoomNotKnown},
		{Effect{Estimate: estimate(0, -1, 1), Least: 9, Room: estimate(8, 7, 9), RoomWhy: "x"}, NotShown, HasNoRoom},
		{Effect{Estimate: estimate(0, -1, 1), Room: estimate(8, 7, 9)}, NotShown, RoomNotKnown},
		{Effect{Estimate: estimate(-2, -3, -1)}, Opposite, RoomNotKnown},
		{Effect{Estimate: estimate(1, 0.5, 0.9), None: 1}, Opposite, RoomNotKnown},
		{Effect{Estimate: estimate(0, math.Inf(-1), 1), Room: Exactly(-1), RoomWhy: "x"}, NoSign, HasNoRoom},
		{Effect{Estimate: estimate(0, -1, 1), Band: [2]float64{-2, 2}, Room: Exactly(-1), RoomWhy: "x"}, Shown, RoomNotKnown},
		{Effect{Estimate: estimate(0, -1, 3), Band: [2]float64{-2, 2}}, NotShown, RoomNotKnown},
		{Effect{Estimate: estimate(4, 3, 5), Band: [2]float64{-2, 2}}, Opposite, RoomNotKnown},
	} {
		if sign, room := c.e.Sign(), c.e.HasRoom(); sign != c.sign || room != c.room {
			t.Errorf("%+v: %s, room %s; want %s, %s", c.e, sign, room, c.sign, c.room)
		}
	}
}

// judgeTable has the verdict on a claim of two effects, and on which of them it
// rests: the row is the first effect's verdict, the column the second's.
var judgeTable = map[Verdict]map[Verdict]string{
	Holds: {
		Holds: "holds 0", Direction: "direction 0", Fails: "direction 0", Reversed: "reversed 1", Ceiling: "direction 0",
		NotTestable: "not testable 1",
	},
	Direction: {
		Holds: "direction 0", Direction: "direction 0", Fails: "direction 0", Reversed: "reversed 1", Ceiling: "direction 0",
		NotTestable: "direction 0",
	},
	Fails: {
		Holds: "fails 0", Direction: "fails 0", Fails: "fails 0", Reversed: "reversed 1", Ceiling: "fails 0",
		NotTestable: "fails 0",
	},
	Reversed: {
		Holds: "reversed 0", Direction: "reversed 0", Fails: "reversed 0", Reversed: "reversed 0", Ceiling: "reversed 0",
		NotTestable: "reversed 0",
	},
	Ceiling: {
		Holds: "direction 1", Direction: "direction 1", Fails: "fails 1", Reversed: "reversed 1", Ceiling: "ceiling 0",
		NotTestable: "not testable 1",
	},
	NotTestable: {
		Holds: "not testable 0", Direction: "not testable 0", Fails: "not testable 0", Reversed: "reversed 1",
		Ceiling: "not testable 0", NotTestable: "not testable 0",
	},
}

// TestJudge has the verdict on a claim of one, two and three effects, for all
// combinations of their verdicts.
func TestJudge(t *testing.T) {
	of := map[Verdict]Effect{Reversed: {Estimate: estimate(-2, -2.1, -1.9), Least: 9}} // by far, so that it is reversed among others too
	for _, c := range effectCases {
		if _, ok := of[c.want]; !ok {
			of[c.want] = c.e
		}
	}
	judge := func(list ...Verdict) string {
		var effects []Effect
		for _, v := range list {
			effects = append(effects, of[v])
		}
		v, rests := Judge(effects)
		return fmt.Sprintf("%s %d", v, rests)
	}
	if got := judge(); got != "not testable 0" {
		t.Errorf("a claim without effects: %s", got)
	}
	for _, a := range Verdicts {
		if got, want := judge(a), fmt.Sprintf("%s 0", a); got != want {
			t.Errorf("%s alone: %s", a, got)
		}
		for _, b := range Verdicts {
			if got, want := judge(a, b), judgeTable[a][b]; got != want {
				t.Errorf("%s, %s: %s, want %s", a, b, got, want)
			}
			for _, c := range Verdicts {
				got := judge(a, b, c)
				verdict, _, _ := strings.Cut(got, " ")
				swapped, _, _ := strings.Cut(judge(a, c, b), " ")
				switch {
				case a != Ceiling && verdict != swapped:
					t.Errorf("%s, %s, %s: %s, and %s if the second and third change places", a, b, c, got, swapped)
				case a == b && got[:3] != judge(a, c)[:3]:
					t.Errorf("%s twice and %s: %s, and %s with one of them", a, c, got, judge(a, c))
				case b == c && got[:3] != judge(a, b)[:3]:
					t.Errorf("%s and %s twice: %s, and %s with one of them", a, b, got, judge(a, b))
				case a == Ceiling && b != Ceiling && c != Ceiling && got[:3] != judge(b, c)[:3] && verdict != "direction":
					t.Errorf("%s, %s, %s: %s, and %s of those that have room", a, b, c, got, judge(b, c))
				}
			}
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
		if got, _ := Judge(c.effects); got != c.want {
			t.Errorf("%d effects: %s, want %s", len(c.effects), got, c.want)
		}
	}
}

// TestChanceIsSaid has an effect whose own interval shows the opposite, and that is not reversed
// among several, show the interval by which it is not.
func TestChanceIsSaid(t *testing.T) {
	p := barPaper()
	p.Claims[0].Effects = func(d *Data) []Effect {
		d.Grid("one", "Mine")
		return []Effect{
			{What: "hardly", Estimate: estimate(-1, -1.9, -0.1)},
			{What: "clearly", Estimate: estimate(-1, -1.5, -0.5)},
			{What: "not", Estimate: estimate(-1, -3, 1)},
		}
	}
	c := judged(t, p, 0)
	for i, want := range []string{"fails, not reversed: with all effects -2.13 to 0.13", "reversed", "fails"} {
		if got := c.Effects[i].verdict().String(); got != want {
			t.Errorf("%s: %q, want %q", c.Effects[i].What, got, want)
		}
	}
	if got := c.verdict().String(); got != "reversed" {
		t.Errorf("the claim is %q", got)
	}
}

// TestClaimKinds has a check be right or wrong, and a claim that is reported have no verdict;
// neither has controls.
func TestClaimKinds(t *testing.T) {
	of := map[Verdict]Effect{}
	for _, c := range effectCases {
		of[c.want] = c.e
	}
	for _, v := range Verdicts {
		for kind, want := range map[ClaimKind]Verdict{Judged: v, Check: map[Verdict]Verdict{
			Holds: Holds, NotTestable: NotTestable,
			"": Fails,
		}[checked(v)], ReportOnly: ""} {
			p := barPaper()
			p.Claims = []Claim{{ID: "K", Kind: kind, Beats: p.Claims[0].Beats, Effects: func(d *Data) []Effect {
				d.Grid("one", "Mine")
				return []Effect{of[v]}
			}}}
			c := judged(t, p, 0)
			if c.Verdict != want || c.Kind != kind || (len(c.Controls) > 0) != (kind == Judged) || (c.Bar != nil) != (kind == Judged) ||
				c.NeedsNoMethod() && kind != Judged {
				t.Errorf("%q of an effect that is %q: %+v", kind, v, c)
			}
		}
	}
}

// TestRests has a claim and a control show the effect that the verdict rests on.
func TestRests(t *testing.T) {
	p := barPaper()
	p.Claims[0].Effects = func(d *Data) []Effect {
		g := d.Grid("one", "FIFO", "Mine")
		mine := stats.Mean(g.Seconds("Mine")).Value
		return []Effect{
			{What: "first", Unit: "a", Estimate: estimate(1, 0.9, 1.1)},
			{What: "second", Unit: "b", Estimate: estimate(90-mine, 89-mine, 91-mine)},
		}
	}
	c := judged(t, p, 1) // Mine takes 80 s, the control 100 s
	if x := c.Controls[0]; c.Verdict != Holds || c.Rests != 0 || c.Unit != "a" || x.Verdict != Reversed || x.Effect != "second" ||
		x.Unit != "b" || x.Ours > -9 || x.Ours < -11 {
		t.Errorf("%+v", c)
	}
	c.Text = "mine is faster"
	if got := c.says(); got != "mine is faster. Ours: first" {
		t.Errorf("%q does not say of which effect our figure is", got)
	}
	c.Rests = 1
	if got := c.says(); got != "mine is faster. Ours: second" {
		t.Errorf("%q does not say of which effect our figure is", got)
	}
	if c.Effects = c.Effects[:1]; c.says() != c.Text {
		t.Errorf("%q: its only effect is what it says", c.says())
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

// TestStatedNumber has a claim's published text taken for the size of its first effect
// only if it is one number.
func TestStatedNumber(t *testing.T) {
	for text, want := range map[string]float64{"26.54": 26.54, "2.7 (derived)": 2.7, "-7.2": -7.2} {
		if got, ok := statedNumber(text); !ok || got != want {
			t.Errorf("%q: %g, %t, want %g", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "rises", "2.2 (25, 35, 46, 55 %)", "20, 18.45; 10.8, 4.4", "NaN", "Inf", "1e999"} {
		if got, ok := statedNumber(text); ok {
			t.Errorf("%q is taken for the number %g", text, got)
		}
	}
}

// checked returns the verdict if a check can have it, "" otherwise.
func checked(v Verdict) Verdict {
	if v == Holds || v == NotTestable {
		return v
	}
	return ""
}

// TestChecks has a check fail only if an effect is wrong. What the seeds do not tell is
// not testable, with how many would tell it, in tables as in JSON.
func TestChecks(t *testing.T) {
	within := func(x, half float64) Effect {
		return Effect{What: "met", Estimate: stats.Estimate{Value: x, Lo: x - half, Hi: x + half, N: 6}, Band: [2]float64{1.425, 1.575}}
	}
	for _, c := range []struct {
		effects []Effect
		want    Verdict
		rests   int
	}{
		{[]Effect{within(1.5, .05), within(1.5, .06)}, Holds, 0},
		{[]Effect{within(1.5, .05), within(1.45, .1)}, NotTestable, 1},
		{[]Effect{within(1.45, .1), within(1.7, .05)}, Fails, 1},
		{[]Effect{within(1.45, .1), {Estimate: estimate(0, -1, 1)}}, Fails, 1},
	} {
		if v, rests := (&Claim{Kind: Check}).verdict(c.effects); v != c.want || rests != c.rests {
			t.Errorf("%+v: %s by effect %d, want %s by %d", c.effects, v, rests, c.want, c.rests)
		}
	}
	wide, hardly := within(1.45, .1), within(1.55, .03)
	for _, e := range []Effect{wide, hardly} {
		x := e.json(e.Verdict())
		if x.Verdict != NotTestable || x.Seeds <= 6 || x.verdict().String() != fmt.Sprintf("not testable, needs about %d seeds", x.Seeds) ||
			!strings.Contains(e.text(NotTestable), x.verdict().String()) {
			t.Errorf("%s: %d seeds, in a table %q", e.text(x.Verdict), x.Seeds, x.verdict())
		}
	}
	if few, many := wide.seedsToTell(), within(1.45, .2); many.seedsToTell() < 3*few {
		t.Errorf("twice the interval needs %d seeds, once %d: want about four times as many", many.seedsToTell(), few)
	}
}

// TestDigits has an effect have so many digits that no reader takes it for what is asked.
func TestDigits(t *testing.T) {
	for _, c := range []struct {
		e    Effect
		want string
	}{
		{
			Effect{Estimate: estimate(1.0052, .9981, 1.0123), Band: [2]float64{.99, 1.01}},
			"x 1.005 [0.998, 1.012], asked within 0.990 to 1.010 (fails)",
		},
		{Effect{Estimate: estimate(8.999, 8, 10), Least: 9}, "x 8.999 [8.000, 10.000], asked at least 9.000 (fails)"},
		{Effect{Estimate: estimate(5, 3, 7), Least: 9}, "x 5.00 [3.00, 7.00], asked at least 9.00 (fails)"},
		{Effect{Estimate: estimate(1e-12, -1, 1)}, "x 0 [-1.00, 1.00] (fails)"},
	} {
		c.e.What = "x"
		if got := c.e.text(Fails); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
