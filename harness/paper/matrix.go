package paper

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/doc"
)

// Matrix has the verdicts on a paper's claims in many readings. Other programs
// may rely on its JSON keys.
type Matrix struct {
	Paper    string        `json:"paper"`
	Title    string        `json:"title"`
	Source   string        `json:"source"`
	Seed     uint64        `json:"seed"`
	Seeds    int           `json:"seeds"`
	Preview  bool          `json:"preview,omitempty"` // there are few seeds, for a first look
	Changed  string        `json:"changed,omitempty"` // what the user changed in all readings
	Readings []MatrixRow   `json:"readings"`          // as printed first
	Claims   []ClaimCount  `json:"claims"`
	Axes     []Axis        `json:"axes"` // those that were varied
	Controls []string      `json:"controls"`
	Measures []MeasureName `json:"measures"`
	Summary  string        `json:"summary"`
	// Kept is what was simulated, for a run folder.
	Kept Kept `json:"-"`

	paper *Paper
}

// MatrixRow is one reading with the verdicts on all claims.
type MatrixRow struct {
	Reading  string            `json:"reading"`
	Differs  string            `json:"differs"` // how it differs from as printed, in words
	Set      map[string]string `json:"set"`     // the same, by what the axes set
	Criteria []Criterion       `json:"criteria"`
	Measures []Cell            `json:"measures"`
}

// ClaimCount says in how many readings a claim came out how.
type ClaimCount struct {
	ID       string          `json:"id"`
	Text     string          `json:"text"`
	Verdicts map[Verdict]int `json:"verdicts"`
	// NoMethod counts the readings in which the claim holds, or has the
	// direction, and a control meets it as well.
	NoMethod int `json:"doesNotNeedTheMethod"`
	// AsWell says of each control in how many of the readings in which the claim comes out it does as
	// well. A part of the claimant's own method does not count.
	AsWell map[string]int `json:"asWell"`
	// ByText and ByCost are the axes that change the verdict if they are changed alone.
	ByText []string `json:"hangsOnText,omitempty"`
	ByCost []string `json:"hangsOnCosts,omitempty"`
}

// MeasureName is the name and unit of a number that is shown of each reading.
type MeasureName struct {
	Name    string `json:"name"`
	Unit    string `json:"unit"`
	OfSetup bool   `json:"ofSetup,omitempty"`
}

// AllAxes in the place of axes' names screens a paper: see Vary.Screen.
const AllAxes = "all"

// Vary says which readings a matrix has.
type Vary struct {
	Axes []string // names of axes; empty means those that the paper chooses
	Full bool     // all combinations of values, instead of all pairs
	// Screen changes every axis of the paper alone, chosen or not, and mixes nothing:
	// it shows which axes a verdict hangs on.
	Screen bool
}

// Matrix judges the paper's claims in many readings. Checks, and claims that are reported
// only, are left out unless Options.Parts names them.
func (p *Paper) Matrix(ctx context.Context, o Options, vary Vary) (*Matrix, error) {
	_, claims, err := p.choose(o.Parts)
	if err != nil {
		return nil, err
	}
	if len(o.Parts) == 0 { // checks do not depend on the reading
		claims = slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool { return c.Kind != Judged })
	}
	if p, err = p.with(o); err != nil {
		return nil, err
	}
	if slices.Equal(vary.Axes, []string{AllAxes}) {
		vary = Vary{Screen: true}
	}
	axes, err := p.chosen(vary.Axes, vary.Screen, o.Set)
	if err != nil {
		return nil, err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return nil, err
	}
	readings := p.readings(axes, vary)
	m := &Matrix{
		Kept:    Kept{paper: p.Name, seed: o.Seed},
		Paper:   p.Name,
		Title:   p.Title,
		Source:  p.Source,
		Seed:    o.Seed,
		Seeds:   o.Seeds,
		Preview: o.Preview,
		Changed: p.changed(Reading{}, o.Set),
		paper:   p,
	}
	for _, x := range p.Measures {
		m.Measures = append(m.Measures, MeasureName{x.Name, x.Unit, x.OfSetup})
	}
	for _, c := range p.Controls {
		m.Controls = append(m.Controls, c.Label)
	}
	for _, a := range axes {
		m.Axes = append(m.Axes, *a)
	}
	b.all = len(readings)
	for _, r := range readings {
		b.tell(r.Name)
		d, err := p.data(b, r, o.Set, readings)
		if err != nil {
			return nil, err
		}
		row := MatrixRow{Reading: r.Name, Set: d.differs()}
		row.Differs = p.differing(row.Set)
		for i := range claims {
			c, err := d.judge(&claims[i])
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", r.Name, err)
			}
			row.Criteria = append(row.Criteria, *c)
			b.report()
		}
		for _, x := range p.Measures {
			row.Measures = append(row.Measures, CellOf(x.Of(d)))
		}
		if d.err != nil {
			return nil, fmt.Errorf("reading %s: %w", r.Name, d.err)
		}
		m.Readings = append(m.Readings, row)
		m.Kept.keep(d, true)
	}
	b.tell("done")
	m.count(claims, p.Controls)
	m.Summary = fmt.Sprintf("Read as printed, of %s %s.", several(len(claims), "claim", "claims"), counted(m.Readings[0].Criteria))
	return m, nil
}

func (m *Matrix) count(claims []Claim, controls []Scheduler) {
	for i, c := range claims {
		x := ClaimCount{ID: c.ID, Text: c.Text, Verdicts: map[Verdict]int{}, AsWell: map[string]int{}}
		for _, r := range m.Readings {
			found := &r.Criteria[i]
			x.Verdicts[found.Verdict]++
			if found.NeedsNoMethod() {
				x.NoMethod++
			}
			for k, y := range found.Controls {
				if met := found.Verdict.met(); met > 0 && y.Verdict.met() >= met && !controls[k].Ablated {
					x.AsWell[y.Control]++
				}
			}
		}
		x.ByText, x.ByCost = m.hangsOn(i)
		m.Claims = append(m.Claims, x)
	}
}

// hangsOn returns the names of the axes that change the verdict on a claim if they
// are changed alone, as printed or from the reading that is the centre: first those of
// the text, then our costs.
func (m *Matrix) hangsOn(claim int) (text, costs []string) {
	for i := range m.Readings {
		base := &m.Readings[i]
		if base.Reading != AsPrinted && base.Reading != m.centre() {
			continue
		}
		for k := range m.Readings {
			r := &m.Readings[k]
			change, ok := m.changed(base, r)
			if !ok || r.Criteria[claim].Verdict == base.Criteria[claim].Verdict {
				continue
			}
			name, _, _ := strings.Cut(change, "=")
			list := &text
			if slices.ContainsFunc(m.paper.Axes, func(a Axis) bool { return a.Name == name && a.Of == Cost }) {
				list = &costs
			}
			if !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
	}
	return text, costs
}

// movers says of each measure between which values it lies, and which axis moves it most,
// when each axis alone is changed from the last named reading.
func (m *Matrix) movers() *doc.Table {
	t := doc.NewTable("measures", "measure", AsPrinted, "least", "most", m.centre(), "moved most by", "to")
	centre := slices.IndexFunc(m.Readings, func(r MatrixRow) bool { return r.Reading == m.centre() })
	for k, name := range m.Measures {
		value := func(r *MatrixRow) float64 { return float64(r.Measures[k].Value) }
		from := value(&m.Readings[centre])
		low, high, most, by := math.Inf(1), math.Inf(-1), from, "-"
		for i := range m.Readings {
			r := &m.Readings[i]
			x := value(r)
			if !math.IsNaN(x) {
				low, high = min(low, x), max(high, x)
			}
			if axis, ok := m.changed(&m.Readings[centre], r); ok && math.Abs(x-from) > math.Abs(most-from) {
				most, by = x, axis
			}
		}
		cell := func(x float64) doc.Cell { return doc.Number(x, name.Unit).Short() }
		t.Add(name.Name, cell(value(&m.Readings[0])), cell(low), cell(high), cell(from), by, cell(most))
	}
	return t
}

// centre returns the name of the reading from which axes are changed alone.
func (m *Matrix) centre() string { return m.paper.readingNames()[len(m.paper.Readings)] }

// changed returns the value in which two readings differ, if it is only one, as
// a text like "reward=cumulative".
func (m *Matrix) changed(a, b *MatrixRow) (string, bool) {
	other, printed := map[string]string{}, m.paper.printed()
	for key := range merged(printed, merged(a.Set, b.Set)) {
		if x := cmp.Or(b.Set[key], printed[key]); x != cmp.Or(a.Set[key], printed[key]) {
			other[key] = x
		}
	}
	return m.paper.differing(other), len(other) == 1
}
