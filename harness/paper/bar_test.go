package paper

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"heddle/harness/compare"
	"heddle/harness/doc"
)

// barCases have a claim that the claimant is faster than FIFO by 10 %, for which
// it must also gain 5 % over the better of two bars. Each scheduler takes a time
// in s, give or take noise that differs by seed and scheduler.
var barCases = []struct {
	name                          string
	mine, one, two, control, part float64
	noise                         float64
	met                           Verdict
	best                          string
	bar                           Verdict
	needed                        bool
}{
	{"beats both", 50, 60, 58, 100, 100, 0, Holds, "two", Holds, false}, // but the bars are controls too, and meet the claim
	{"beats the best by 5 %", 80, 95, 92, 100, 100, 0, Holds, "two", Holds, true},
	{"beats the other alone", 80, 95, 82, 100, 100, 0, Holds, "two", Direction, false},
	{"beats one by more than the other", 80, 82, 95, 100, 100, 0, Holds, "one", Direction, false},
	{"is as fast as the best", 80, 80, 95, 100, 100, 0, Holds, "one", Fails, false},
	{"is slower than the best", 88, 80, 95, 100, 100, 0, Holds, "one", Reversed, false},
	{"beats it, hidden by noise", 80, 93, 95, 100, 100, 60, Holds, "one", NotTestable, false},
	{"a control meets the claim", 80, 95, 92, 70, 100, 0, Holds, "two", Holds, false},
	{"a part of the method meets the claim", 80, 95, 92, 100, 70, 0, Holds, "two", Holds, true},
	{"does not meet the claim", 120, 130, 140, 150, 100, 0, Reversed, "one", Holds, false},
}

// barPaper is the paper of the cases: a claimant, FIFO, two bars, a control and
// the claimant without a part of its method.
func barPaper() *Paper {
	gain := func(least float64) func(d *Data, other string) Effect {
		return func(d *Data, other string) Effect {
			g := d.Grid("one", other, "Mine")
			return Effect{What: "time saved against " + other, Unit: "%", Estimate: Saved(g.Seconds(other), g.Seconds("Mine")), Least: least}
		}
	}
	bars := []Scheduler{{Label: "one", Model: "capacity"}, {Label: "two", Model: "random"}}
	return &Paper{
		Name: "bar", Setup: small{Maps: 1}, Claimant: "Mine", Bars: []string{"one", "two"},
		Schedulers: append([]Scheduler{{Label: "FIFO", Model: "fifo"}, {Label: "Mine", Model: "delay"}}, bars...),
		Controls:   append([]Scheduler{{Label: "control", Model: "matching"}, {Label: "part", Model: "acl", Ablated: true}}, bars...),
		Designs:    []Design{{ID: "one", Columns: []Column{{"all", nil}}}},
		Claims:     []Claim{{ID: "C1", Beats: gain(5), Effects: func(d *Data) []Effect { return []Effect{gain(10)(d, "FIFO")} }}},
	}
}

// judged returns the criterion of one case.
func judged(t *testing.T, p *Paper, i int) *Criterion {
	t.Helper()
	c := &barCases[i]
	seconds := map[string]float64{"FIFO": 100, "Mine": c.mine, "one": c.one, "two": c.two, "control": c.control, "part": c.part}
	r, err := p.Run(t.Context(), Options{Seed: 1, Seeds: 8, Simulate: func(x Case, seed uint64) (Simulation, error) {
		wobble := (float64(seed*uint64(len(x.Scheduler.Label))%7) - 3) / 3
		return Simulation{Seconds: seconds[x.Scheduler.Label] + (c.noise+0.01)*wobble}, nil
	}})
	check(t, err)
	return &r.Criteria[0]
}

// wrongBar returns the first case that comes out otherwise than it should.
func wrongBar(t *testing.T, p *Paper) string {
	for i, c := range barCases {
		got := judged(t, p, i)
		if got.Bar == nil {
			return c.name + ": no bar"
		}
		if got.Verdict != c.met || got.Bar.Best != c.best || got.Bar.Verdict != c.bar || got.NeededMethod != c.needed ||
			got.NeedsNoMethod() == (got.NeededMethod || got.MethodUntold || got.Verdict.met() == 0) {
			return fmt.Sprintf("%s: %s, the bar %s %s, needs the method %v; want %s, %s %s, %v", c.name, got.Verdict, got.Bar.Best, got.Bar.Verdict,
				got.NeededMethod, c.met, c.best, c.bar, c.needed)
		}
	}
	return ""
}

// TestBar has a claim need the method only if the claimant gains enough over the
// best of the schedulers that anybody could use.
func TestBar(t *testing.T) {
	if text := wrongBar(t, barPaper()); text != "" {
		t.Error(text)
	}
	for _, c := range []struct {
		name   string
		change func(*Paper)
	}{
		{"without the first bar", func(p *Paper) { p.Bars = p.Bars[1:] }},
		{"without the second bar", func(p *Paper) { p.Bars = p.Bars[:1] }},
		{"without a gain asked for", func(p *Paper) { p.Claims[0].Beats = nil }},
		{"with any gain enough", func(p *Paper) {
			of := p.Claims[0].Beats
			p.Claims[0].Beats = func(d *Data, bar string) Effect { e := of(d, bar); e.Least = 0; return e }
		}},
		{"with more asked for", func(p *Paper) {
			of := p.Claims[0].Beats
			p.Claims[0].Beats = func(d *Data, bar string) Effect { e := of(d, bar); e.Least = 15; return e }
		}},
		{"turned round", func(p *Paper) {
			of := p.Claims[0].Beats
			p.Claims[0].Beats = func(d *Data, bar string) Effect {
				e := of(d, bar)
				e.Value, e.Lo, e.Hi = -e.Value, -e.Hi, -e.Lo
				return e
			}
		}},
		{"with the part as any control", func(p *Paper) { p.Controls[1].Ablated = false }},
		{"with the control as a part", func(p *Paper) { p.Controls[0].Ablated = true }},
	} {
		p := barPaper()
		if c.change(p); wrongBar(t, p) == "" {
			t.Errorf("no case notices the paper %s", c.name)
		}
	}
}

// TestBarText has the bar in words, beaten and not.
func TestBarText(t *testing.T) {
	for i, want := range map[int]string{1: "asked at least 5.00 (beaten)", 4: "asked at least 5.00 (not beaten)"} {
		needs := map[int]string{1: " yes ", 4: " no "}[i] // in the row of the claim
		c := judged(t, barPaper(), i)
		var out bytes.Buffer
		check(t, doc.WriteText(&out, (&Report{Criteria: []Criterion{*c}}).Doc(), false))
		text := strings.Join(strings.Fields(out.String()), " ")
		row := text[strings.Index(text, "needs the method"):strings.Index(text, "What these words mean")]
		if !strings.Contains(text, want) || !strings.Contains(row, needs) {
			t.Errorf("%s: want %q in\n%s", barCases[i].name, want, out.String())
		}
	}
}

// TestUntoldControl has a claim not be shown to need the method while a control cannot be told
// from the claimant: too few seeds, or intervals that overlap.
func TestUntoldControl(t *testing.T) {
	own := []Effect{{Estimate: estimate(12, 10, 14), Least: 9}, {What: "second", Estimate: estimate(20, 7, 33), Least: 9}}
	for _, c := range []struct {
		name    string
		control Effect
		needs   string
	}{
		{"as the claimant", Effect{Estimate: estimate(11, 9, 13), Least: 9}, "no"},
		{"not told", Effect{Estimate: estimate(5, -1, 9.5), Least: 9}, "not shown"},
		{"not told, though apart", Effect{Estimate: estimate(4, -1, 9), Least: 9}, "not shown"},
		{"direction, and it overlaps", Effect{Estimate: estimate(6, 1, 11), Least: 9}, "not shown"},
		{"direction, apart", Effect{Estimate: estimate(6, 3, 9), Least: 9}, "yes"},
		{"no effect", Effect{Estimate: estimate(0, -1, 1), Least: 9}, "yes"},
		{"reversed", Effect{Estimate: estimate(-2, -3, -1), Least: 9}, "yes"},
		{"in another order", Effect{What: "second", Estimate: estimate(5, 1, 8), Least: 40}, "not shown"},
	} {
		p := barPaper()
		p.Controls, p.Claims[0].Beats = p.Controls[:1], nil
		p.Claims[0].Effects = func(d *Data) []Effect {
			d.Grid("one", "Mine")
			if d.inPlace != nil {
				return []Effect{c.control}
			}
			return own
		}
		got := judged(t, p, 0)
		if got.needs() != c.needs {
			t.Errorf("%s: needs the method: %s, want %s", c.name, got.needs(), c.needs)
		}
	}
}

// TestChanceAndPreview has a page say how many of its verdicts would be wrong by chance, and
// that few seeds are a preview.
func TestChanceAndPreview(t *testing.T) {
	interval, none := compare.Interval{1, 2}, compare.Interval{1, 1}
	r := &Report{Preview: true, Seeds: 6, Criteria: []Criterion{
		{ID: "C1", Verdict: Holds, CI95: interval},
		{ID: "C2", Verdict: Fails, CI95: interval},
		{ID: "C3", Kind: Check, Verdict: Holds, CI95: interval},
		{ID: "C6", Verdict: Reversed, CI95: interval},
		{ID: "C4", Kind: Check, Verdict: Holds, CI95: none},
		{ID: "C5", Kind: ReportOnly, CI95: interval},
	}}
	var out bytes.Buffer
	for i := range r.Criteria {
		r.Criteria[i].Effects = []EffectJSON{{}}
	}
	check(t, doc.WriteText(&out, r.Doc(), false))
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"up to about 0.2 of these 4 verdicts would be wrong", "in 5 of 100 cases", "Preview with 6 seeds: "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
