package paper

import (
	"fmt"
	"math"

	"heddle/harness/doc"
)

// claims returns what a page says of the paper's claims: a table of verdicts with what
// their words mean, each effect with what was asked of it as a picture and as a table,
// and each claim with a control in the claimant's place.
func claims(list []Criterion) doc.Doc {
	if len(list) == 0 {
		return nil
	}
	t := &doc.Table{Name: "claims", Says: true, Columns: []string{"claim", "verdict", "ours", "published", "needs the method", "what it says"}}
	effects := doc.NewTable("effects", "claim", "effect", "ours", "asked", "room", "sign", "verdict")
	controls := doc.NewTable("controls", "claim", "in its place", "verdict", "ours")
	forest := &doc.Forest{Title: "Each effect that a claim asks for"}
	var bars doc.List
	var notes doc.Notes
	for i := range list {
		c := &list[i]
		t.Add(c.ID, c.verdict(), Cell{c.Ours, c.CI95}.in(c.Unit), c.published(), c.needs(), c.says())
		for k := range c.Effects {
			e := &c.Effects[k]
			effects.Add(
				c.ID,
				e.What,
				e.precise(Cell{e.Ours, e.CI95}.in(e.Unit)),
				e.asked(),
				e.room(),
				e.Sign,
				e.verdict(),
			)
			forest.Rows = append(forest.Rows, e.forest(c.ID))
			notes = append(notes, e.remarks(c.ID)...)
		}
		for _, x := range c.Controls {
			controls.Add(c.ID, x.Control, x.Verdict.cell(), Cell{x.Ours, x.CI95}.in(x.Unit))
		}
		if c.Bar != nil {
			bars = append(bars, c.ID+". The bar: "+c.Bar.text())
		}
	}
	return doc.Doc{
		doc.Heading("What the paper claims"),
		t,
		doc.Text(chance(list)),
		&doc.Fold{Title: "What these words mean", Parts: doc.Doc{legend(list)}},
		forest,
		&doc.Fold{
			Title: "Each effect as a table",
			Parts: doc.Doc{effects, notes},
		},
		&doc.Fold{Title: "Each claim with another scheduler in the paper's place, and the bars", Parts: doc.Doc{controls, bars}},
	}
}

// cell returns a verdict as a cell of a table.
func (v Verdict) cell() doc.Cell {
	if v == "" {
		return doc.Words(reported).In(doc.Faint)
	}
	return doc.Words(string(v)).In(tones[v])
}

// verdict returns the verdict on an effect as a cell of a table, with what it takes to
// tell an effect that is not testable, and with the interval by which one is not reversed.
func (e *EffectJSON) verdict() doc.Cell {
	text := string(e.Verdict)
	switch {
	case e.Verdict == "":
		return e.Verdict.cell()
	case e.Verdict == NotTestable && e.Seeds > 0:
		text = notTestable(e.Seeds)
	}
	return doc.Words(text + e.among()).In(tones[e.Verdict])
}

// among says why an effect is not reversed whose own interval has the opposite alone.
func (e *EffectJSON) among() string {
	if e.Among == nil {
		return ""
	}
	return fmt.Sprintf(", not reversed: with all effects %s to %s", number(e.Among[0]), number(e.Among[1]))
}

// verdict returns the verdict on a claim as a cell of a table. One that is not testable
// needs as many seeds as the effect that needs most.
func (c *Criterion) verdict() doc.Cell {
	most := EffectJSON{Verdict: c.Verdict}
	if c.Rests < len(c.Effects) && c.Effects[c.Rests].Verdict == c.Verdict {
		most.Among = c.Effects[c.Rests].Among
	}
	for i := range c.Effects {
		most.Seeds = max(most.Seeds, c.Effects[i].Seeds)
	}
	return most.verdict()
}

// says returns what a claim says, and of several effects the one that is shown as ours.
func (c *Criterion) says() string {
	if len(c.Effects) < 2 {
		return c.Text
	}
	return fmt.Sprintf("%s. Ours: %s", c.Text, c.Effects[c.Rests].What)
}

// asked says in words what is asked of an effect.
func (e *EffectJSON) asked() string {
	switch {
	case e.Band != nil:
		return e.number(e.Band[0]) + " to " + e.number(e.Band[1])
	case e.Most > 0:
		return e.number(e.Least) + " to " + e.number(e.Most)
	case e.Least > e.None:
		return "at least " + e.number(e.Least)
	}
	return "above " + e.number(e.None)
}

// mostDigits is how many digits after the point numbers have that would otherwise look
// like what is asked for.
const mostDigits = 6

// digits returns how many digits after the point tell an effect and the bounds of its
// interval from what is asked of it; 0 if three significant digits do, or no number does.
func (e *EffectJSON) digits() int {
	edges := []float64{e.None}
	switch {
	case e.Band != nil:
		edges = e.Band[:]
	case e.Most > 0:
		edges = []float64{e.Least, e.Most}
	case e.Least > e.None:
		edges = []float64{e.None, e.Least}
	}
	alike := func(shown func(float64) string) bool {
		for _, x := range []float64{float64(e.Ours), e.CI95[0], e.CI95[1]} {
			for _, edge := range edges {
				if x != edge && shown(x) == shown(edge) {
					return true
				}
			}
		}
		return false
	}
	if !alike(number) {
		return 0
	}
	for digits := 1; digits <= mostDigits; digits++ {
		if !alike(func(x float64) string { return doc.Fixed(x, digits, "").String() }) {
			return digits
		}
	}
	return 0
}

// precise returns a cell with as many digits as the effect needs.
func (e *EffectJSON) precise(c doc.Cell) doc.Cell {
	if d := e.digits(); d > 0 {
		return c.Rounded(d)
	}
	return c.Short()
}

// number formats what is asked of an effect like the effect.
func (e *EffectJSON) number(x float64) string { return e.precise(doc.Number(x, "")).String() }

// room returns the largest effect that there can be as a cell of a table.
func (e *EffectJSON) room() doc.Cell {
	if e.RoomWhy == "" {
		return doc.Words("not known").In(doc.Faint)
	}
	return Cell{e.Room, e.RoomCI95}.in("")
}

// remarks says why an effect has no room.
func (e *EffectJSON) remarks(claim string) (list []string) {
	if e.Verdict == Ceiling {
		list = append(list, fmt.Sprintf("%s, %s: there is no room for it, as %s", claim, e.What, e.RoomWhy))
	}
	return list
}

// forest returns an effect as a row of a picture.
func (e *EffectJSON) forest(claim string) doc.ForestRow {
	r := doc.ForestRow{
		Name:      claim + ": " + e.What,
		Unit:      e.Unit,
		Ours:      doc.Point{Value: float64(e.Ours), Lo: e.CI95[0], Hi: e.CI95[1]},
		None:      e.None,
		Asked:     math.NaN(),
		Published: math.NaN(),
		Room:      doc.Point{Value: float64(e.Room), Lo: e.RoomCI95[0], Hi: e.RoomCI95[1]},
		Verdict:   e.Verdict.cell().String() + e.among(),
		Tone:      tones[e.Verdict],
	}
	switch {
	case e.Band != nil:
		r.None, r.Asked, r.Most = (e.Band[0]+e.Band[1])/2, e.Band[0], e.Band[1]
	case e.Least > e.None:
		r.Asked = e.Least
	}
	if e.Published != nil {
		r.Published = *e.Published
	}
	return r
}

// text says what the claimant gains over the best of the schedulers that anybody
// could use.
func (b *Bar) text() string {
	text := fmt.Sprintf("%s, the best there, %s, asked at least %s", b.What, Cell{b.Ours, b.CI95}.in(b.Unit), number(b.Least))
	if b.Verdict == Holds {
		return text + " (beaten)"
	}
	return text + " (not beaten)"
}

// needs says in a word whether the claim needs the paper's method.
func (c *Criterion) needs() string {
	switch {
	case c.Kind == Check:
		return "a check"
	case c.Kind == ReportOnly:
		return "not judged"
	case !c.AboutMethod:
		return "not about it"
	case c.NeededMethod:
		return "yes"
	case c.MethodUntold:
		return "not shown"
	case c.NeedsNoMethod():
		return "no"
	}
	return "-"
}
