package paper

import (
	"fmt"
	"math"

	"heddle/harness/doc"
)

// claims returns what a page says of the paper's claims: a table of verdicts, each
// effect with what was asked of it as a picture and as a table, and each claim with a
// control in the claimant's place.
func claims(list []Criterion) doc.Doc {
	if len(list) == 0 {
		return nil
	}
	t := &doc.Table{Name: "claims", Columns: []string{"claim", "verdict", "ours", "published", "needs the method"}}
	effects := &doc.Table{Name: "effects", Columns: []string{"claim", "effect", "ours", "asked", "room", "sign", "verdict"}}
	controls := &doc.Table{Name: "controls", Columns: []string{"claim", "in its place", "verdict", "ours"}}
	forest := &doc.Forest{Title: "Each effect that a claim asks for"}
	var texts doc.List
	var notes doc.Notes
	for i := range list {
		c := &list[i]
		t.Add(doc.Words(c.ID), c.Verdict.cell(), Cell{c.Ours, c.CI95}.in(c.Unit), doc.Words(c.Published), doc.Words(c.needs()))
		for k := range c.Effects {
			e := &c.Effects[k]
			effects.Add(doc.Words(c.ID), doc.Words(e.What), Cell{e.Ours, e.CI95}.in(e.Unit), doc.Words(e.asked()), e.room(), doc.Words(string(e.Sign)), e.Verdict.cell())
			forest.Rows = append(forest.Rows, e.forest(c.ID))
			notes = append(notes, e.remarks(c.ID)...)
		}
		for _, x := range c.Controls {
			controls.Add(doc.Words(c.ID), doc.Words(x.Control), x.Verdict.cell(), Cell{x.Ours, x.CI95}.in(x.Unit))
		}
		text := c.ID + ": " + c.Text
		if c.Bar != nil {
			text += ". The bar: " + c.Bar.text()
		}
		texts = append(texts, text)
	}
	return doc.Doc{doc.Heading("What the paper claims"), forest, t, texts, &doc.Fold{Title: "Each effect as a table", Parts: doc.Doc{effects, notes}},
		&doc.Fold{Title: "Each claim with another scheduler in the paper's place", Parts: doc.Doc{controls}}}
}

// cell returns a verdict as a cell of a table.
func (v Verdict) cell() doc.Cell { return doc.Words(string(v)).In(tones[v]) }

// asked says in words what is asked of an effect.
func (e *EffectJSON) asked() string {
	switch {
	case e.Band != nil:
		return fmt.Sprintf("%s to %s", number(e.Band[0]), number(e.Band[1]))
	case e.Most > 0:
		return fmt.Sprintf("%s to %s", number(e.Least), number(e.Most))
	case e.Least > e.None:
		return "at least " + number(e.Least)
	}
	return "above " + number(e.None)
}

// room returns the largest effect that there can be as a cell of a table.
func (e *EffectJSON) room() doc.Cell {
	if e.RoomWhy == "" {
		return doc.Words("not known").In(doc.Faint)
	}
	return Cell{e.Room, e.RoomCI95}.in("")
}

// remarks says why an effect has no room, and what it takes to tell one that is not
// testable.
func (e *EffectJSON) remarks(claim string) (list []string) {
	if e.Verdict == Ceiling {
		list = append(list, fmt.Sprintf("%s, %s: there is no room for it, as %s", claim, e.What, e.RoomWhy))
	}
	if e.Verdict == NotTestable && e.Seeds > 0 {
		list = append(list, fmt.Sprintf("%s, %s: about %d seeds tell it from no effect", claim, e.What, e.Seeds))
	}
	return list
}

// forest returns an effect as a row of a picture.
func (e *EffectJSON) forest(claim string) doc.ForestRow {
	r := doc.ForestRow{
		Name: claim + ": " + e.What, Unit: e.Unit, Ours: doc.Point{Value: float64(e.Ours), Lo: e.CI95[0], Hi: e.CI95[1]}, None: e.None,
		Asked: math.NaN(), Published: math.NaN(), Room: doc.Point{Value: float64(e.Room), Lo: e.RoomCI95[0], Hi: e.RoomCI95[1]}, Verdict: string(e.Verdict), Tone: tones[e.Verdict],
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
	case !c.AboutMethod:
		return "not about it"
	case c.NeededMethod:
		return "yes"
	case c.NeedsNoMethod():
		return "no"
	}
	return "-"
}
