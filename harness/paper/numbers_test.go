package paper_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/harness/paper"
	"heddle/harness/paper/clqlmrs"
	"heddle/harness/paper/learning"
	"heddle/harness/paper/modfair"
	"heddle/harness/paper/reverse"
	"heddle/harness/paper/rhc"
)

func all() []*paper.Paper {
	return []*paper.Paper{clqlmrs.Paper(), learning.Paper(), modfair.Paper(), reverse.Paper(), rhc.Paper()}
}

// TestAsPrinted has each axis that has a printed value begin with one: its first value is
// that of the reading "as printed".
func TestAsPrinted(t *testing.T) {
	for _, p := range all() {
		for _, a := range p.Axes {
			if is := func(v paper.Value) bool { return v.Mark == paper.Printed }; slices.ContainsFunc(a.Values, is) && !is(a.Values[0]) {
				t.Errorf("%s: axis %s begins with %s, which is marked %s, though it has a printed value", p.Name, a.Name, a.Values[0].Value,
					a.Values[0].Mark)
			}
		}
	}
}

// TestNumbersUsed has each published number and sentence stand in a figure, a claim or among
// what is not judged, each figure and claim find the numbers that it asks for, and each number
// that a claim names be published.
func TestNumbersUsed(t *testing.T) {
	for _, p := range all() {
		for _, x := range unused(p) {
			t.Errorf("%s: %s", p.Name, x)
		}
		for _, c := range p.Claims {
			if strings.Contains(c.Published, "?") {
				t.Errorf("%s: %s: published %s", p.Name, c.ID, c.Published)
			}
			stated, _, _ := strings.Cut(c.Published, " at ")
			for _, number := range regexp.MustCompile(`\b\d+(\.\d+)?`).FindAllString(stated, -1) {
				if !slices.ContainsFunc(p.Numbers, func(n paper.Number) bool {
					return (strings.TrimPrefix(n.Text, "-") == number || n.Unit == paper.InWords && strings.Contains(n.Text, number)) &&
						(n.Origin != paper.IsDerived || slices.Contains(c.Parts, n.Figure) || strings.Contains(c.Published, "recomputed"))
				}) {
					t.Errorf("%s: %s: published %s: no published number is %s", p.Name, c.ID, c.Published, number)
				}
			}
		}
	}
}

// unused says which of a paper's numbers stand in no figure and no claim, and which figures ask
// for numbers that are not there or have another unit.
func unused(p *paper.Paper) (faults []string) {
	used := map[[3]string]bool{}
	for _, part := range p.Parts {
		rows := map[string]bool{}
		for _, row := range part.Rows {
			for _, label := range part.Schedulers {
				rows[label+row.Suffix] = true
			}
		}
		for _, q := range part.Published {
			if p.Numbers.Text(part.ID, q.Label, q.What) == "?" {
				faults = append(faults, fmt.Sprintf("%s asks for %q of %s, which is no published number", part.ID, q.What, q.Label))
			}
			for _, x := range p.Numbers {
				if x.Figure == part.ID && x.Row == q.Label && x.Column == q.What && x.Unit != q.Unit && x.Unit != paper.InWords {
					faults = append(faults, fmt.Sprintf("%s: %q of %s is in %s, and published in %s", part.ID, q.What, q.Label, q.Unit, x.Unit))
				}
			}
			used[[3]string{part.ID, q.Label, q.What}] = true
		}
		for _, x := range p.Numbers {
			if part.Compute != nil && x.Figure == part.ID { // whose columns are known only then
				used[[3]string{x.Figure, x.Row, x.Column}] = true
			}
			for _, d := range p.Designs {
				if d.ID != part.Design || x.Figure != part.ID || !rows[x.Row] ||
					!slices.ContainsFunc(d.Columns, func(c paper.Column) bool { return c.Name == x.Column }) {
					continue
				}
				used[[3]string{x.Figure, x.Row, x.Column}] = true
				if x.Unit != part.Unit {
					faults = append(faults, fmt.Sprintf("%s is in %s, and its point %s, %s in %s", part.ID, part.Unit, x.Row, x.Column, x.Unit))
				}
			}
		}
	}
	isPart := func(id string) bool {
		return slices.ContainsFunc(p.Parts, func(x paper.Part) bool { return x.ID == id })
	}
	for _, x := range p.Numbers {
		whole := regexp.MustCompile(`(^|[^\d.])` + regexp.QuoteMeta(x.Text) + `($|[^\d.]|\.$)`) // 5 does not stand in 5.3
		stands := whole.MatchString
		computed := func(part paper.Part) bool { // a note names a column that the part is computed from
			return part.ID == x.Figure && slices.ContainsFunc(part.Notes, func(n string) bool { return strings.Contains(n, "published "+x.Column) })
		}
		if !used[[3]string{x.Figure, x.Row, x.Column}] && !slices.ContainsFunc(p.Claims, func(c paper.Claim) bool {
			return (stands(c.Published) || stands(c.Text)) && (slices.Contains(c.Parts, x.Figure) || !isPart(x.Figure))
		}) &&
			!slices.ContainsFunc(p.NotJudged, func(n paper.NotJudged) bool { return stands(n.Says) }) &&
			!slices.ContainsFunc(p.Parts, func(part paper.Part) bool {
				return stands(part.Title) || slices.ContainsFunc(part.Notes, stands) || computed(part)
			}) {
			faults = append(faults, fmt.Sprintf("%s, %s, %s: %s is used by no figure and no claim, and is not among what is not judged", x.Figure,
				x.Row, x.Column, x.Text))
		}
	}
	return faults
}
