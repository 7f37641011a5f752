package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/stats"
)

// Criterion is a claim with its verdict in one reading. Ours is the effect that
// the verdict rests on: Effects[Rests].
type Criterion struct {
	ID        string           `json:"id"`
	Kind      ClaimKind        `json:"kind,omitempty"`
	Parts     []string         `json:"parts"`
	Text      string           `json:"text"`
	Published string           `json:"published"`
	Ours      compare.Number   `json:"ours"`
	CI95      compare.Interval `json:"ci95"`
	Unit      string           `json:"unit"`
	Verdict   Verdict          `json:"verdict"` // empty for a claim that is reported only
	Rests     int              `json:"rests"`
	// NeededMethod says that the claim holds, or has the direction, and that the claimant is
	// shown to be better than each control in its place and than the bar. MethodUntold says
	// that none of these does as well, and that the seeds do not tell one of them from the
	// claimant. AboutMethod says whether the claim is about the claimant at all.
	NeededMethod bool            `json:"neededMethod"`
	MethodUntold bool            `json:"methodUntold,omitempty"`
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
	What     string           `json:"what"`
	Unit     string           `json:"unit"`
	Ours     compare.Number   `json:"ours"`
	CI95     compare.Interval `json:"ci95"`
	None     float64          `json:"none"`
	Least    float64          `json:"least"`
	Most     float64          `json:"most,omitempty"`
	Band     *[2]float64      `json:"band,omitempty"` // nil unless the claim asks for equivalence
	Sign     Sign             `json:"sign"`
	HasRoom  Has              `json:"hasRoom"`
	Room     compare.Number   `json:"room"` // null if it is not known
	RoomCI95 compare.Interval `json:"roomCI95"`
	RoomWhy  string           `json:"roomWhy,omitempty"`
	Verdict  Verdict          `json:"verdict"`
	// Seeds is about how many seeds tell whether the effect is as asked, if these do not;
	// 0 if that is not known. Published is the effect that the paper states, in the same unit.
	Seeds     int      `json:"seedsToTell,omitempty"`
	Published *float64 `json:"published,omitempty"`
	// Among is the interval for all effects of the claim together, where the effect is not
	// reversed by it and would be by its own.
	Among *compare.Interval `json:"ci95Together,omitempty"`
}

// ControlResult is a claim judged with a control in the claimant's place. Its
// value is that of the effect that the verdict rests on.
type ControlResult struct {
	Control string           `json:"control"`
	Effect  string           `json:"effect"`
	Unit    string           `json:"unit"`
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
	return c.AboutMethod && c.Verdict.met() > 0 && !c.NeededMethod && !c.MethodUntold
}

// judge judges a claim in one reading: first as it is, then with each control
// in the claimant's place, by the same function. A claim that is no matter of a
// method (Check, ReportOnly) has no controls.
func (d *Data) judge(claim *Claim) (*Criterion, error) {
	d.asked = false
	effects := claim.effects(d)
	if d.err == nil && len(effects) == 0 {
		d.err = errNoCases
	}
	if d.err != nil {
		return nil, fmt.Errorf("%s: %w", claim.ID, d.err)
	}
	if x, ok := statedNumber(claim.Published); ok && effects[0].Published == 0 {
		effects[0].Published = x
	}
	v, rests := claim.verdict(effects)
	on := &effects[rests]
	c := &Criterion{
		ID:          claim.ID,
		Kind:        claim.Kind,
		Parts:       claim.Parts,
		Text:        claim.Text,
		Published:   claim.Published,
		Unit:        on.Unit,
		Ours:        compare.Number(on.Value),
		CI95:        compare.Interval{on.Lo, on.Hi},
		Verdict:     v,
		Rests:       rests,
		AboutMethod: d.asked && claim.Kind == Judged,
		Controls:    []ControlResult{},
	}
	c.add(claim, effects)
	if !c.AboutMethod {
		return c, nil
	}
	return c, d.method(claim, c, effects)
}

// method judges a claim with each control in the claimant's place, and says whether the
// claim needs the method. The effects are the claimant's own.
func (d *Data) method(claim *Claim, c *Criterion, effects []Effect) error {
	needed, untold := c.Verdict.met() > 0, false
	for i := range d.paper.Controls {
		x, worse, err := d.judgeControl(claim, &d.paper.Controls[i], effects)
		if err != nil {
			return err
		}
		c.Controls = append(c.Controls, *x)
		if !d.paper.Controls[i].Ablated {
			needed = needed && x.Verdict.met() < c.Verdict.met()
			untold = untold || !worse
		}
	}
	if claim.Beats != nil {
		best, e := d.Best(claim.Beats)
		if d.err != nil {
			return fmt.Errorf("%s: %w", claim.ID, d.err)
		}
		c.Bar = &Bar{best, e.json(e.Verdict())}
		mayBe := c.Bar.Verdict == NotTestable || c.Bar.Verdict == Fails && e.Hi > e.Least
		needed = needed && (c.Bar.Verdict == Holds || mayBe)
		untold = untold || mayBe
	}
	c.NeededMethod, c.MethodUntold = needed && !untold, needed && untold
	return nil
}

// add adds the effects of a claim, each with its own verdict.
func (c *Criterion) add(claim *Claim, effects []Effect) {
	var notes []string
	for i, v := range together(effects) {
		if claim.Kind != Judged {
			v, _ = claim.verdict(effects[i : i+1])
		}
		x := effects[i].json(v)
		if claim.Kind == Judged && x.Sign == Opposite && v != Reversed {
			wide := effects[i].among(len(effects))
			x.Among = &compare.Interval{wide.Lo, wide.Hi}
		}
		c.Effects = append(c.Effects, x)
		notes = append(notes, effects[i].text(v))
	}
	c.Note = strings.Join(notes, "; ")
}

// statedNumber returns the number of a text that is one number, such as "26.54" or "2.7
// (derived)": what the paper states for the first effect of a claim.
func statedNumber(published string) (float64, bool) {
	x, err := strconv.ParseFloat(strings.TrimSuffix(published, " (derived)"), 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// effects returns what the claim asks for. An effect for which a few seeds have one and
// the same value has no interval, since only their number speaks for it. A check may be
// exact.
func (c *Claim) effects(d *Data) []Effect {
	list := c.Effects(d)
	for i := range list {
		if e := &list[i]; c.Kind != Check && e.Lo == e.Hi && e.Value != e.None && e.N > 0 && e.N < stats.MinRanks {
			e.Lo, e.Hi = math.Inf(-1), math.Inf(1)
		}
	}
	return list
}

// judgeControl judges a claim with a control in the claimant's place. The control is shown
// to be worse if it was told and its interval lies apart from the claimant's own.
func (d *Data) judgeControl(claim *Claim, control *Scheduler, own []Effect) (x *ControlResult, worse bool, err error) {
	in := d.with(control)
	effects := claim.effects(in)
	if in.err != nil {
		return nil, false, fmt.Errorf("%s with %s: %w", claim.ID, control.Label, in.err)
	}
	v, rests := Judge(effects)
	on := &effects[rests]
	same := slices.IndexFunc(own, func(e Effect) bool { return e.What == on.What }) // effects may be in another order
	if same < 0 {
		same = min(rests, len(own)-1) // it names what was picked by value
	}
	worse = v != NotTestable && v != Ceiling && (own[same].Lo > on.Hi || on.equivalence() && own[same].Hi < on.Lo)
	return &ControlResult{control.Label, on.What, on.Unit, compare.Number(on.Value), compare.Interval{on.Lo, on.Hi}, v}, worse, nil
}

// verdict judges a claim of any kind, and returns which effect the verdict rests
// on. A check is right or wrong: it holds if all its effects hold, and fails if one is
// wrong. If none is wrong and the seeds do not tell all of them, it is not testable.
func (c *Claim) verdict(effects []Effect) (v Verdict, rests int) {
	switch c.Kind {
	case ReportOnly:
		return "", 0
	case Check:
		verdicts := together(effects)
		if i := slices.IndexFunc(verdicts, func(v Verdict) bool { return v != Holds && v != NotTestable }); i >= 0 {
			return Fails, i
		}
		if i := slices.Index(verdicts, NotTestable); i >= 0 {
			return NotTestable, i
		}
		return Holds, 0
	}
	return Judge(effects)
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
	x := EffectJSON{
		What:     e.What,
		Unit:     e.Unit,
		Ours:     compare.Number(e.Value),
		CI95:     compare.Interval{e.Lo, e.Hi},
		None:     e.None,
		Least:    e.Least,
		Most:     e.Most,
		Sign:     e.Sign(),
		HasRoom:  e.HasRoom(),
		Room:     compare.Number(math.NaN()),
		RoomCI95: compare.Interval{math.Inf(-1), math.Inf(1)},
		RoomWhy:  e.RoomWhy,
		Verdict:  v,
	}
	if e.equivalence() {
		x.Band = &e.Band
	}
	if v == NotTestable {
		x.Seeds = e.seedsToTell()
	}
	if e.Published != 0 {
		x.Published = &e.Published
	}
	if e.RoomWhy != "" {
		x.Room, x.RoomCI95 = compare.Number(e.Room.Value), compare.Interval{e.Room.Lo, e.Room.Hi}
	}
	return x
}

// text says in words what was found of an effect, what was asked for, and its
// verdict v.
func (e *Effect) text(v Verdict) string {
	x := e.json(v)
	found := doc.Estimate(e.Value, e.Lo, e.Hi, "")
	if e.Lo == e.Hi {
		found = doc.Number(e.Value, "")
	}
	s := strings.TrimSpace(e.What + " " + x.precise(found).String() + " " + e.Unit)
	if v == Holds || v == "" {
		return s
	}
	switch {
	case e.equivalence():
		s += ", asked within " + x.asked()
	case e.Least > e.None:
		s += ", asked at least " + x.number(e.Least)
	}
	if v == Direction && e.Most > 0 && e.Value > e.Most {
		s += ", asked at most " + x.number(e.Most)
	}
	if v == Ceiling {
		s += fmt.Sprintf(", and %s is the most there can be: %s", Text(e.Room, ""), e.RoomWhy)
	}
	if n := e.seedsToTell(); v == NotTestable && n > 0 {
		return s + " (" + notTestable(n) + ")"
	}
	return s + fmt.Sprintf(" (%s)", v)
}

// notTestable is the verdict in words, with about how many seeds it takes to tell.
func notTestable(seeds int) string {
	return fmt.Sprintf("%s, needs about %d seeds", NotTestable, seeds)
}

// seedsToTell returns about how many seeds would tell whether the effect is as asked, 0
// if that is not known. An effect of the size asked for is told from none, and
// for non-inferiority one of the size found. Equivalence is
// told if the interval is so narrow that it fits between the band's middle and an end of
// it; an interval that does so already needs to keep clear of the end that it is at.
func (e *Effect) seedsToTell() int {
	if !e.Bounded() || e.N < 2 || !(e.Hi > e.Lo) {
		return 0
	}
	deviation := (e.Hi - e.Lo) / 4 * math.Sqrt(float64(e.N)) // an interval reaches about two standard errors to each side
	apart := e.Least - e.None
	if e.nonInferiority() {
		apart = e.Value - e.None
	}
	if e.equivalence() {
		apart = (e.Band[1] - e.Band[0]) / 2
		if n := stats.PairsToTell(deviation, apart); n <= e.N {
			apart = min(math.Abs(e.Value-e.Band[0]), math.Abs(e.Value-e.Band[1]))
		}
	}
	n := stats.PairsToTell(deviation, apart)
	if n <= e.N || n >= math.MaxInt32 {
		return 0
	}
	return n
}
