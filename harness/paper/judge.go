package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/compare"
	"heddle/harness/stats"
)

// Verdict says what became of a claim.
type Verdict string

// Verdicts on a claim.
const (
	Holds       Verdict = "holds"        // an effect as claimed is shown, of the size asked for
	Direction   Verdict = "direction"    // the sign is as claimed; the size, or all of an order, is not
	Fails       Verdict = "fails"        // no effect is shown
	Reversed    Verdict = "reversed"     // the opposite is shown
	Ceiling     Verdict = "ceiling"      // there is no room for an effect of the size asked for
	NotTestable Verdict = "not testable" // the seeds do not tell no effect from one of the size asked for
)

// Verdicts are all verdicts, in the order in which tables count them.
var Verdicts = []Verdict{Holds, Direction, Fails, Reversed, Ceiling, NotTestable}

// Effect is a difference that a claim asks for. It is such that a larger value
// is more of what is claimed.
type Effect struct {
	What string // such as "time that A saves against B"
	Unit string
	stats.Estimate
	// None is the value if there is no effect: 0, or 1 for a ratio. Least is the
	// smallest value asked for; it is not below None. Most, if above 0, is the
	// largest.
	None, Least, Most float64
	// Room is the largest value that there can be, if RoomWhy says why.
	Room    float64
	RoomWhy string
}

// rules are tried in this order; the first that applies gives the verdict on an
// effect. If none does, the effect fails. An effect holds by its value and by an interval that excludes "no
// effect"; how wide the interval is does not matter otherwise.
var rules = []struct {
	verdict Verdict
	applies func(*Effect) bool
}{
	{NotTestable, func(e *Effect) bool { return !e.Bounded() }},
	{Reversed, func(e *Effect) bool { return e.Hi < e.None }},
	{Holds, func(e *Effect) bool {
		return e.Lo > e.None && e.Value >= e.Least && (e.Most == 0 || e.Value <= e.Most)
	}},
	{Ceiling, func(e *Effect) bool { return e.RoomWhy != "" && e.Room <= e.Least }},
	{Direction, func(e *Effect) bool { return e.Lo > e.None }},
	{NotTestable, func(e *Effect) bool { return e.Least > e.None && e.Hi >= e.Least }},
}

// Verdict judges one effect.
func (e *Effect) Verdict() Verdict {
	for _, r := range rules {
		if r.applies(e) {
			return r.verdict
		}
	}
	return Fails
}

// Judge judges a claim by its effects. The claim is reversed if any effect is,
// and holds if all do. Otherwise it has at most the direction, and only if the
// first effect has its sign: if the others fall short for want of room alone,
// the verdict is Ceiling. If the first effect does not have its sign, its
// verdict is the claim's.
func Judge(effects []Effect) Verdict {
	if len(effects) == 0 {
		return NotTestable
	}
	verdicts := together(effects)
	full := count(verdicts, func(v Verdict) bool { return v == Holds })
	short := count(verdicts, func(v Verdict) bool { return v == Ceiling })
	switch first := verdicts[0]; {
	case slices.Contains(verdicts, Reversed):
		return Reversed
	case full == len(effects):
		return Holds
	case full+short == len(effects):
		return Ceiling
	case first == Holds || first == Direction:
		return Direction
	default:
		return first
	}
}

// together returns the verdicts on the effects of one claim. Of several effects,
// one may seem reversed by chance. So an effect is reversed only if that is
// shown with an interval widened for their number (Bonferroni's rule).
func together(effects []Effect) []Verdict {
	widen := math.Erfinv(1-(1-stats.Level)/float64(len(effects))) / math.Erfinv(stats.Level)
	list := make([]Verdict, len(effects))
	for i := range effects {
		e := effects[i]
		if list[i] = e.Verdict(); list[i] == Reversed {
			e.Hi = e.Value + (e.Hi-e.Value)*widen
			list[i] = e.Verdict()
		}
	}
	return list
}

// Criterion is a claim with its verdict in one reading.
type Criterion struct {
	ID        string           `json:"id"`
	Parts     []string         `json:"parts"`
	Text      string           `json:"text"`
	Published string           `json:"published"`
	Ours      compare.Number   `json:"ours"`
	CI95      compare.Interval `json:"ci95"`
	Unit      string           `json:"unit"`
	Verdict   Verdict          `json:"verdict"`
	// NeededMethod says that the claim holds, or has the direction, that no control
	// in the claimant's place does as well, and that the claimant beats the bar.
	// AboutMethod says whether the claim is about the claimant at all.
	NeededMethod bool            `json:"neededMethod"`
	AboutMethod  bool            `json:"aboutMethod"`
	Note         string          `json:"note"`
	Effects      []EffectJSON    `json:"effects"`
	Controls     []ControlResult `json:"controls"`
	Bar          *Bar            `json:"bar,omitempty"` // nil if the claim asks for no gain over other schedulers
}

// Bar is what the claimant gains over the best of the schedulers that anybody
// could use instead. It beats the bar if the verdict is Holds.
type Bar struct {
	Best string `json:"best"`
	EffectJSON
}

// EffectJSON is an effect with its verdict, as reports have it.
type EffectJSON struct {
	What    string           `json:"what"`
	Unit    string           `json:"unit"`
	Ours    compare.Number   `json:"ours"`
	CI95    compare.Interval `json:"ci95"`
	Least   float64          `json:"least"`
	Room    compare.Number   `json:"room"` // null if it is not known
	RoomWhy string           `json:"roomWhy,omitempty"`
	Verdict Verdict          `json:"verdict"`
}

// ControlResult is a claim judged with a control in the claimant's place.
type ControlResult struct {
	Control string           `json:"control"`
	Ours    compare.Number   `json:"ours"`
	CI95    compare.Interval `json:"ci95"`
	Verdict Verdict          `json:"verdict"`
}

// met says how much of a claim a verdict confirms.
func (v Verdict) met() int {
	switch v {
	case Holds:
		return 2
	case Direction:
		return 1
	}
	return 0
}

// NeedsNoMethod reports whether a claim comes out, but says nothing of the
// claimant's method: a control meets it as well, or the claimant does not beat
// the bar.
func (c *Criterion) NeedsNoMethod() bool {
	return c.AboutMethod && c.Verdict.met() > 0 && !c.NeededMethod
}

// judge judges a claim in one reading: first as it is, then with each control
// in the claimant's place, by the same function.
func (d *Data) judge(claim *Claim) (*Criterion, error) {
	d.asked = false
	effects := claim.Effects(d)
	if d.err == nil && len(effects) == 0 {
		d.err = errNoCases
	}
	if d.err != nil {
		return nil, fmt.Errorf("%s: %w", claim.ID, d.err)
	}
	first := &effects[0]
	c := &Criterion{
		ID: claim.ID, Parts: claim.Parts, Text: claim.Text, Published: claim.Published, Unit: first.Unit,
		Ours: compare.Number(first.Value), CI95: compare.Interval{first.Lo, first.Hi}, Verdict: Judge(effects), AboutMethod: d.asked,
		Controls: []ControlResult{},
	}
	var notes []string
	for i, v := range together(effects) {
		e := &effects[i]
		c.Effects = append(c.Effects, e.json(v))
		notes = append(notes, e.text(v))
	}
	c.Note = strings.Join(notes, "; ")
	c.NeededMethod = c.AboutMethod && c.Verdict.met() > 0
	for i := range d.paper.Controls {
		if !c.AboutMethod {
			break
		}
		in := d.with(&d.paper.Controls[i])
		effects := claim.Effects(in)
		if in.err != nil {
			return nil, fmt.Errorf("%s with %s: %w", claim.ID, d.paper.Controls[i].Label, in.err)
		}
		x := ControlResult{d.paper.Controls[i].Label, compare.Number(effects[0].Value), compare.Interval{effects[0].Lo, effects[0].Hi}, Judge(effects)}
		c.Controls = append(c.Controls, x)
		if x.Verdict.met() >= c.Verdict.met() && !d.paper.Controls[i].Ablated {
			c.NeededMethod = false
		}
	}
	if claim.Beats != nil && c.AboutMethod {
		best, e := d.Best(claim.Beats)
		if d.err != nil {
			return nil, fmt.Errorf("%s: %w", claim.ID, d.err)
		}
		c.Bar = &Bar{best, e.json(e.Verdict())}
		c.NeededMethod = c.NeededMethod && c.Bar.Verdict == Holds
	}
	return c, nil
}

// Best returns the best of the paper's bars, which is the one over which the
// claimant gains least, and what it gains there. A gain that is not known is the
// least.
func (d *Data) Best(gain func(d *Data, bar string) Effect) (bar string, least Effect) {
	for i, label := range d.paper.Bars {
		if e := gain(d, label); i == 0 || math.IsNaN(e.Value) || e.Value < least.Value {
			bar, least = label, e
		}
	}
	return bar, least
}

// json returns the effect with its verdict v, as reports have it.
func (e *Effect) json(v Verdict) EffectJSON {
	x := EffectJSON{What: e.What, Unit: e.Unit, Ours: compare.Number(e.Value), CI95: compare.Interval{e.Lo, e.Hi}, Least: e.Least, Room: compare.Number(math.NaN()), RoomWhy: e.RoomWhy, Verdict: v}
	if e.RoomWhy != "" {
		x.Room = compare.Number(e.Room)
	}
	return x
}

// text says in words what was found of an effect, what was asked for, and its
// verdict v.
func (e *Effect) text(v Verdict) string {
	s := e.What + " " + Text(e.Estimate, e.Unit)
	if v == Holds {
		return s
	}
	if e.Least > e.None {
		s += ", asked at least " + number(e.Least)
	}
	if v == Direction && e.Most > 0 && e.Value > e.Most {
		s += ", asked at most " + number(e.Most)
	}
	if v == Ceiling {
		s += fmt.Sprintf(", and %s is the most there can be: %s", number(e.Room), e.RoomWhy)
	}
	if n := e.seedsToTell(); v == NotTestable && n > 0 {
		s += fmt.Sprintf(", which takes about %d seeds to tell from no effect", n)
	}
	return s + fmt.Sprintf(" (%s)", v)
}

// seedsToTell returns about how many seeds would tell the effect asked for from
// none, 0 if that is not known.
func (e *Effect) seedsToTell() int {
	if !e.Bounded() || e.N < 2 {
		return 0
	}
	deviation := (e.Hi - e.Lo) / 4 * math.Sqrt(float64(e.N)) // an interval reaches about two standard errors to each side
	n := stats.PairsToTell(deviation, e.Least-e.None)
	if n >= math.MaxInt32 {
		return 0
	}
	return n
}
