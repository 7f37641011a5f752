package paper

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
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

	claimant string
	ablated  []string // controls that are the claimant without a part of its method
	named    []string // names of the readings that have one
	axes     []Axis   // all axes of the paper
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
		Kept:     Kept{paper: p.Name, seed: o.Seed},
		Paper:    p.Name,
		Title:    p.Title,
		Source:   p.Source,
		Seed:     o.Seed,
		Seeds:    o.Seeds,
		Preview:  o.Preview,
		Changed:  p.changed(Reading{}, o.Set),
		claimant: p.Claimant,
		named:    p.readingNames(),
		axes:     p.Axes,
	}
	for _, x := range p.Measures {
		m.Measures = append(m.Measures, MeasureName{x.Name, x.Unit, x.OfSetup})
	}
	for _, c := range p.Controls {
		m.Controls = append(m.Controls, c.Label)
		if c.Ablated {
			m.ablated = append(m.ablated, c.Label)
		}
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
	m.count(claims)
	m.Summary = m.summary()
	return m, nil
}

func (m *Matrix) count(claims []Claim) {
	for i, c := range claims {
		x := ClaimCount{ID: c.ID, Text: c.Text, Verdicts: map[Verdict]int{}}
		for _, r := range m.Readings {
			x.Verdicts[r.Criteria[i].Verdict]++
			if r.Criteria[i].NeedsNoMethod() {
				x.NoMethod++
			}
		}
		m.Claims = append(m.Claims, x)
	}
}

// summary says what the matrix shows, in a paragraph for readers who know
// neither the paper nor this program. All of it is computed.
func (m *Matrix) summary() string {
	printed := m.Readings[0].Criteria
	s := []string{m.printedSentence(printed)}
	if all := len(m.Readings); all > 1 {
		var holds, never []string
		for _, c := range m.Claims {
			switch n := c.Verdicts[Holds]; {
			case n > 0 && len(holds) == 0:
				holds = append(holds, fmt.Sprintf("%s holds in %d", c.ID, n))
			case n > 0:
				holds = append(holds, fmt.Sprintf("%s in %d", c.ID, n))
			default:
				never = append(never, c.ID)
			}
		}
		s = append(s, fmt.Sprintf("The text can be read in more ways than one. Of %d readings, each with %d seeds: %s.", all, m.Seeds,
			joined(strings.Join(holds, ", "), some(strings.Join(never, ", ")+" in none", len(never)))))
	}
	s = append(s, m.roomSentence(), m.methodSentence())
	s = append(s, m.hangSentences()...)
	s = append(s, m.moversSentences()...)
	return strings.Join(slices.DeleteFunc(s, func(x string) bool { return x == "" }), " ")
}

// some returns a text if n is above 0.
func some(text string, n int) string {
	if n == 0 {
		return ""
	}
	return text
}

func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(x string) bool { return x == "" }), "; ")
}

// meaning are the verdicts in words for readers of a summary.
var meaning = map[Verdict]string{
	Direction:   "right in direction alone",
	Fails:       "without any effect",
	Reversed:    "the opposite of what is claimed",
	Ceiling:     "without room for the effect",
	NotTestable: "not decided by these seeds",
}

func (m *Matrix) printedSentence(list []Criterion) string {
	var others []string
	for _, v := range Verdicts[1:] {
		var ids []string
		for _, c := range list {
			if c.Verdict == v {
				ids = append(ids, c.ID)
			}
		}
		others = append(others, some(meaning[v]+": "+strings.Join(ids, ", "), len(ids)))
	}
	holds := fmt.Sprint(count(list, func(c Criterion) bool { return c.Verdict == Holds }))
	if holds == "0" {
		holds = "none"
	}
	text := fmt.Sprintf("Read as printed, %s of the paper's %s in the simulator", holds, several(len(list), "claim holds", "claims hold"))
	if rest := joined(others...); rest != "" {
		text += "; " + rest
	}
	return text + "."
}

// roomSentence names the claims that have no room for the effect in most
// readings.
func (m *Matrix) roomSentence() string {
	var ids []string
	for _, c := range m.Claims {
		if n := c.Verdicts[Ceiling]; 2*n > len(m.Readings) {
			ids = append(ids, fmt.Sprintf("%s (%d readings)", c.ID, n))
		}
	}
	return some(
		"No scheduler could show the effect asked for, as even the largest possible one is smaller, for "+strings.Join(ids, " and ")+".",
		len(ids),
	)
}

// methodSentence says how often the claims that come out need the method, and
// which controls do as well.
func (m *Matrix) methodSentence() string {
	met, untold, without, bars, by := 0, 0, 0, 0, make([]int, len(m.Controls))
	for _, r := range m.Readings {
		for _, c := range r.Criteria {
			if !c.AboutMethod || c.Verdict.met() == 0 {
				continue
			}
			met++
			without += count([]Criterion{c}, func(c Criterion) bool { return c.NeedsNoMethod() })
			if c.MethodUntold {
				untold++
			}
			if c.Bar != nil && c.Bar.Verdict != Holds && c.NeedsNoMethod() {
				bars++
			}
			for i, x := range c.Controls {
				if x.Verdict.met() >= c.Verdict.met() {
					by[i]++
				}
			}
		}
	}
	if met == 0 {
		return fmt.Sprintf("No claim about %s comes out even in direction, so there is nothing that its method could be needed for.", m.claimant)
	}
	var list []string
	for i, name := range m.Controls {
		if !slices.Contains(m.ablated, name) { // a part of the method is no other scheduler
			list = append(list, fmt.Sprintf("%s in %d", name, by[i]))
		}
	}
	text := fmt.Sprintf("Claims about %s come out in %s, in size or in direction", m.claimant, several(met, "case", "cases"))
	switch {
	case without == 0 && untold > 0:
		return fmt.Sprintf("%s; in %d of these the seeds do not tell it from another in its place.", text, untold)
	case without == 0:
		return text + ", and need its method: no other scheduler in its place does as well."
	}
	reason := fmt.Sprintf("another scheduler in its place does as well (%s)", strings.Join(list, ", "))
	if bars > 0 {
		reason += fmt.Sprintf(", or it gains too little over the best of those that anybody could use (in %d)", bars)
	}
	return fmt.Sprintf("%s; in %d of these, %s, so that the claim does not need its method.", text, without, reason)
}

// moversSentences says between which values each measure lies, and which axis
// moves it most, when each axis alone is changed from the last named reading.
func (m *Matrix) moversSentences() []string {
	centre := slices.IndexFunc(m.Readings, func(r MatrixRow) bool { return r.Reading == m.centre() })
	if centre < 0 || len(m.Readings) < 2 {
		return nil
	}
	var list []string
	for k, name := range m.Measures {
		value := func(r *MatrixRow) float64 { return float64(r.Measures[k].Value) }
		low, high := math.Inf(1), math.Inf(-1)
		most, by := 0.0, ""
		for i := range m.Readings {
			r := &m.Readings[i]
			if x := value(r); !math.IsNaN(x) {
				low, high = min(low, x), max(high, x)
			}
			axis, ok := m.changed(&m.Readings[centre], r)
			if change := value(r) - value(&m.Readings[centre]); ok && math.Abs(change) > math.Abs(most) {
				most, by = change, axis
			}
		}
		of := " of " + m.claimant
		if name.OfSetup {
			of = ""
		}
		text := fmt.Sprintf(
			"%s%s: %s %s as printed, %s to %s over all readings",
			upperFirst(name.Name),
			of,
			number(value(&m.Readings[0])),
			name.Unit,
			number(low),
			number(high),
		)
		if by != "" {
			text += fmt.Sprintf(
				"; the choice that matters most is %s, which takes it from %s (reading “%s”) to %s",
				by,
				number(value(&m.Readings[centre])),
				m.centre(),
				number(value(&m.Readings[centre])+most),
			)
		}
		list = append(list, text+".")
	}
	return list
}

// centre returns the name of the reading from which axes are changed alone.
func (m *Matrix) centre() string { return m.named[len(m.named)-1] }

// changed returns the value in which two readings differ, if it is only one, as
// a text like "reward=cumulative".
func (m *Matrix) changed(a, b *MatrixRow) (string, bool) {
	var by []string
	all := maps.Clone(a.Set)
	maps.Copy(all, b.Set)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if a.Set[key] == b.Set[key] {
			continue
		}
		name, value := key, b.Set[key]
		for i := range m.axes {
			if x := &m.axes[i]; x.key() == key {
				name = x.Name
				if value == "" {
					value = x.Values[0].Value
				}
			}
		}
		by = append(by, name+"="+value)
	}
	return strings.Join(by, ""), len(by) == 1
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// isNamed reports whether a reading is one of the paper's that have a name.
func (m *Matrix) isNamed(reading string) bool { return slices.Contains(m.named, reading) }
