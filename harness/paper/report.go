package paper

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/stats"
)

// Report contains a paper's figures beside ours and the verdicts on its claims,
// in one reading. Other programs may rely on its JSON keys.
type Report struct {
	Paper   string            `json:"paper"`
	Title   string            `json:"title"`
	Source  string            `json:"source"`
	Reading string            `json:"reading"`
	Set     map[string]string `json:"set"` // values that differ from those as printed
	// Changed has what the user changed in the reading, like "jobs=5000, cache=16GB".
	Changed  string      `json:"changed,omitempty"`
	Seed     uint64      `json:"seed"`
	Seeds    int         `json:"seeds"`
	Preview  bool        `json:"preview,omitempty"` // there are few seeds, for a first look
	Summary  string      `json:"summary,omitempty"` // what explains the results: a paragraph, or a line for each thing
	Criteria []Criterion `json:"criteria"`
	Figures  []*Figure   `json:"figures"`
	Axes     []AxisTaken `json:"axes"`
	Facts    []Fact      `json:"facts"`
	// NotJudged are statements of the paper that are no claims.
	NotJudged []NotJudged `json:"notJudged,omitempty"`
	// NotNoted are figures of formulas that no simulation has: their names may be misspelt.
	NotNoted []string `json:"notNoted,omitempty"`
	// Kept is what was simulated, for a run folder.
	Kept Kept `json:"-"`
}

// Figure contains the data of a figure or table, with one column for each
// setting.
type Figure struct {
	ID      string      `json:"id"`
	Title   string      `json:"title"`
	Unit    string      `json:"unit"`
	Kind    Kind        `json:"kind"`
	X       string      `json:"x"` // what differs between the columns, such as "block size"
	Columns []string    `json:"columns"`
	At      []float64   `json:"at,omitempty"` // where the columns are, in a figure of kind Series or CDF
	Rows    []FigureRow `json:"rows"`
	Beside  []Quantity  `json:"published,omitempty"`
	Notes   []string    `json:"notes,omitempty"`
}

// FigureRow is one row of a figure, with one cell for each column.
type FigureRow struct {
	Name  string `json:"name"`
	Cells []Cell `json:"cells"`
	// Published has what the paper states of each cell, null where it states
	// nothing. It is empty if the paper states none of the row's numbers.
	Published []compare.Number `json:"published,omitempty"`
}

// Cell is a value with its 95 % confidence interval.
type Cell struct {
	Value compare.Number   `json:"value"`
	CI95  compare.Interval `json:"ci95"`
}

// CellOf converts an estimate to the form that reports use.
func CellOf(e stats.Estimate) Cell {
	return Cell{compare.Number(e.Value), compare.Interval{e.Lo, e.Hi}}
}

// Quantity is one number that the paper states, with our value for the same.
type Quantity struct {
	What      string `json:"what"`
	Label     string `json:"scheduler"`
	Unit      string `json:"unit"`
	Published string `json:"published"`
	Cell
}

// figure computes a figure in the reading of d.
func (p *Part) figure(d *Data) *Figure {
	f := &Figure{ID: p.ID, Title: p.Title, Unit: p.Unit, Kind: cmp.Or(p.Kind, Line), Notes: p.Notes}
	if p.Compute != nil {
		f.X = p.X
		f.Columns, f.Rows = p.Compute(d)
		for i := range f.Rows {
			f.Rows[i].Published = d.paper.Numbers.points(p.ID, f.Rows[i].Name, f.Columns)
		}
		return f
	}
	g := d.Grid(p.Design, p.Schedulers...)
	f.X, f.Columns = g.X, g.Columns
	if d.err != nil {
		return f
	}
	switch f.Kind {
	case Series, CDF:
		f.follow(p, g)
	case Points:
		f.points(p, g)
		return f
	}
	for _, row := range p.Rows {
		is, err := row.formula()
		if err != nil {
			d.fail(err)
			return nil
		}
		for i, label := range p.Schedulers {
			r := FigureRow{Name: label + row.Suffix}
			if row.Once {
				if i > 0 {
					break
				}
				r.Name = row.Suffix
			}
			for _, column := range g.Columns {
				at := &scope{d, p.Design, strings.NewReplacer("$s", label, "$c", column)}
				r.Cells = append(r.Cells, CellOf(at.estimate(is)))
			}
			r.Published = d.paper.Numbers.points(p.ID, r.Name, g.Columns)
			f.Rows = append(f.Rows, r)
		}
	}
	for _, q := range p.Published {
		f.Beside = append(f.Beside, Quantity{q.What, q.Label, q.Unit, d.paper.Numbers.Text(p.ID, q.Label, q.What), CellOf(q.Ours(d))})
	}
	return f
}

func (r *Row) formula() (*formula, error) {
	if !strings.Contains(r.Is, "[") {
		return parseFormula(r.Is + "[$s; $c]")
	}
	return parseFormula(r.Is)
}

// points fills a figure of kind Points: a row for each series that a row of the part names, with the mean
// over seeds at each point of the first scheduler in the first column.
func (f *Figure) points(p *Part, g *Grid) {
	f.Kind, f.X, f.Columns = Line, p.X, []string{}
	if len(p.Schedulers) == 0 || len(g.Columns) == 0 {
		return
	}
	trials := g.at(p.Schedulers[0], nil)[0]
	for i, row := range p.Rows {
		r := FigureRow{Name: row.Suffix}
		for k, at := range trials[0].Series[row.Is] {
			if i == 0 {
				f.Columns = append(f.Columns, fmt.Sprint(at.X))
			}
			of := []float64{}
			for _, s := range trials {
				if list := s.Series[row.Is]; k < len(list) {
					of = append(of, list[k].Y)
				}
			}
			r.Cells = append(r.Cells, CellOf(stats.Mean(of)))
		}
		f.Rows = append(f.Rows, r)
	}
}

// all gives everything that was simulated for figures, claims and controls, once: each
// scheduler in each column of a design, with its simulation with each seed.
func (d *Data) all() iter.Seq2[seen, int] {
	return func(yield func(seen, int) bool) {
		known := map[[3]string]bool{}
		for _, x := range *d.seen {
			name := [3]string{x.design, x.column, x.scheduler.Label}
			for i := range x.trials {
				if !known[name] && !yield(x, i) {
					return
				}
			}
			known[name] = true
		}
	}
}

// Text formats an estimate with its confidence interval and unit, like "12.3
// [11.9, 12.7] s".
func Text(e stats.Estimate, unit string) string {
	text := CellOf(e).String()
	if unit != "" {
		text += " " + unit
	}
	return text
}

// String formats a cell, like "12.3 [11.9, 12.7]".
func (v Cell) String() string { return v.in("").String() }

// number formats x as a cell without interval does.
func number(x float64) string { return doc.Number(x, "").Short().String() }

// count returns how many elements of a list a function is true for.
func count[T any](list []T, is func(T) bool) int {
	return len(slices.DeleteFunc(slices.Clone(list), func(x T) bool { return !is(x) }))
}
