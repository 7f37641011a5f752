package paper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"heddle/harness/doc"
	"heddle/harness/results"
)

// Doc returns the comparison with the paper for people to read: what came out, the
// verdicts on the claims, each figure or table with the published numbers, and how the
// paper was read.
func (r *Report) Doc() doc.Doc {
	d := doc.Doc{
		doc.Heading(r.Title), r.opening(), doc.Text(r.Source),
		doc.Text(fmt.Sprintf("%sReading: %s. %d seeds from %d; means with their 95 %% interval over seeds.",
			preview(r.Preview, r.Seeds), r.Reading+besides(r.Changed), r.Seeds, r.Seed)),
	}
	d = append(d, claims(r.Criteria)...)
	if r.Summary != "" {
		lines := strings.Split(r.Summary, "\n")
		d = append(d, doc.Heading("What explains the results"), doc.Text(lines[0]), doc.List(lines[1:]))
	}
	for _, f := range r.Figures {
		d = append(d, f.parts()...)
	}
	var axes, facts doc.List
	if r.Changed != "" {
		facts = append(facts, "changed for this run: "+r.Changed+". The lines below do not have these changes")
	}
	for _, a := range r.Axes {
		axes = append(axes, a.Name+"="+a.Taken+": "+a.text())
	}
	for _, f := range r.Facts {
		text := f.Item + ": " + f.Is
		if f.Why != "" {
			text += " (" + f.Why + ")"
		}
		facts = append(facts, text)
	}
	if len(r.NotJudged) > 0 {
		var list doc.List
		for _, x := range r.NotJudged {
			list = append(list, x.Says+": "+x.Why)
		}
		d = append(d, doc.Heading("What the paper says and is not judged here"), list)
	}
	return append(
		d,
		doc.Heading("What to distrust"),
		r.doubts(),
		doc.Heading("What was simulated"),
		&doc.Fold{
			Title: "How the paper is read here; --set NAME=VALUE changes it",
			Parts: doc.Doc{axes},
		},
		&doc.Fold{Title: "The set-up", Parts: doc.Doc{facts}},
	)
}

// preview says of results with few seeds that they are a preview.
func preview(is bool, seeds int) string {
	if is {
		return fmt.Sprintf("Preview with %d seeds: verdicts may change with more. ", seeds)
	}
	return ""
}

// besides says what a user changed in a reading, after its name.
func besides(changed string) string {
	if changed == "" {
		return ""
	}
	return ", but changed: " + changed
}

// text says what an axis is, where its value is from and which others there are.
func (a *AxisTaken) text() string {
	text := a.About
	if a.Mark != "" {
		text += "; " + string(a.Mark)
	}
	if a.Why != "" {
		text += ": " + a.Why
	}
	var others []string
	for _, v := range a.Values {
		if v.Value != a.Taken {
			others = append(others, fmt.Sprintf("%s (%s)", v.Value, v.Mark))
		}
	}
	if len(others) > 0 {
		text += "; or " + strings.Join(others, ", ")
	}
	if a.Sets != "" {
		text += "; sets " + a.Sets
	}
	if a.Of == Cost {
		text += "; a cost of the simulated cluster, which we chose"
	}
	return text
}

// parts returns the figure as a chart, a table, and a table of the numbers that the
// paper states. A figure whose columns have different units has no chart.
func (f *Figure) parts() doc.Doc {
	title := f.Title
	if f.Unit != "" && !strings.HasSuffix(title, " "+f.Unit) {
		title += ", " + f.Unit
	}
	d := doc.Doc{doc.Heading(title + " (" + f.ID + ")")}
	if c := f.Chart(); c != nil {
		d = append(d, c)
	}
	t := doc.NewTable(f.ID, "")
	step := 1
	if len(f.At) > 0 { // the chart has all points
		step = max(1, (len(f.Columns)-1)/5)
		t.Columns[0] = f.X
	}
	for k := 0; k < len(f.Columns); k += step {
		t.Columns = append(t.Columns, f.Columns[k])
	}
	for _, row := range f.Rows {
		cells := []any{row.Name}
		for k := 0; k < len(row.Cells); k += step {
			cells = append(cells, row.Cells[k].in(""))
		}
		t.Add(cells...)
		if len(row.Published) > 0 {
			cells := []any{"– published"}
			for _, x := range row.Published {
				cells = append(cells, doc.Number(x, "").Short())
			}
			t.Add(cells...)
		}
	}
	beside := doc.NewTable(f.ID+" stated", "stated by the paper", "scheduler", "published", "ours")
	for _, q := range f.Beside {
		beside.Add(q.What, q.Label, q.Published, q.in(q.Unit))
	}
	return append(d, t, beside, doc.Notes(f.Notes))
}

var chartKinds = map[Kind]doc.ChartKind{Line: doc.Lines, Bars: doc.Bars, Series: doc.Curves, CDF: doc.Steps}

// Chart returns the figure as a chart, nil if its columns have different units.
func (f *Figure) Chart() *doc.Chart {
	if f.Unit == "" || len(f.Columns) < 2 {
		return nil
	}
	c := &doc.Chart{Name: f.ID, Title: f.Title, Unit: f.Unit, X: f.X, Kind: chartKinds[f.Kind], Columns: f.Columns, At: f.At, Tabled: true}
	for _, row := range f.Rows {
		x := doc.ChartRow{Name: row.Name}
		for _, v := range row.Cells {
			x.Points = append(x.Points, doc.Point{Value: float64(v.Value), Lo: v.CI95[0], Hi: v.CI95[1]})
		}
		for _, v := range row.Published {
			x.Published = append(x.Published, float64(v))
		}
		c.Rows = append(c.Rows, x)
	}
	return c
}

// in returns a cell of a document with the value in a unit. A value that cannot
// vary has no interval.
func (v Cell) in(unit string) doc.Cell {
	if v.CI95[0] == v.CI95[1] {
		return doc.Number(v.Value, unit).Short()
	}
	return doc.Estimate(v.Value, v.CI95[0], v.CI95[1], unit).Short()
}

// tones are the colours of verdicts.
var tones = map[Verdict]doc.Tone{
	Holds:       doc.Good,
	Direction:   doc.Fair,
	Fails:       doc.Bad,
	Reversed:    doc.Opposite,
	Ceiling:     doc.Notable,
	NotTestable: doc.Faint,
}

// short are the verdicts as the cells of a matrix have them.
var short = map[Verdict]string{Holds: "holds", Direction: "dir", Fails: "fails", Reversed: "rev", Ceiling: "ceil", NotTestable: "n/t"}

// Doc returns the matrix for people to read: a table with a row for each reading
// and a column for each claim, below what they come to.
func (m *Matrix) Doc() doc.Doc {
	counts := &doc.Table{Name: "claims", Says: true}
	counts.Columns = []string{"claim", "unit", "verdicts", "as well in its place", "changed by", "what it says"}
	list := func(list []string) doc.Cell { return doc.Words(cmp.Or(strings.Join(list, ", "), "-")) }
	for i, c := range m.Claims {
		others, axes := []string{}, slices.Clone(c.ByText)
		for _, axis := range c.ByCost {
			axes = append(axes, "our "+axis)
		}
		for _, control := range m.Controls {
			if n := c.AsWell[control]; n > 0 {
				others = append(others, fmt.Sprintf("%s %d", control, n))
			}
		}
		unit := m.Readings[0].Criteria[i].Unit
		counts.Add(c.ID, unit, m.counts(&c), list(others), list(axes), c.Text)
	}
	var differ, varied doc.List
	for i := range m.Readings[1:] {
		differ = append(differ, m.Readings[i+1].Reading+": "+m.Readings[i+1].Differs)
	}
	for _, a := range m.Axes {
		t := AxisTaken{Axis: a, Taken: a.Values[0].Value, Mark: a.Values[0].Mark, Why: a.Values[0].Why}
		varied = append(varied, a.Name+"="+t.Taken+": "+t.text())
	}
	heat, table := m.tables()
	return doc.Doc{
		doc.Heading(m.Title), doc.Lead(m.Summary), doc.Text(m.Source),
		doc.Text(fmt.Sprintf("%sThe text can be read in more ways than one. These are %d readings%s, with the same %d seeds from %d: they "+
			"differ by what is read and not by chance, and what these seeds have by chance is in all of them.",
			preview(m.Preview, m.Seeds), len(m.Readings), besides(m.Changed), m.Seeds, m.Seed)),
		doc.Heading("Verdicts"), counts,
		doc.Text("Changed by: axes that change a verdict if they alone are changed, as printed or from “" + m.centre() + "”; our costs are " +
			"named so. Without the method: a control does as well, or the bar is not beaten, so that the claim does not need it. dir: " +
			"direction alone; rev: reversed; ceil: ceiling; n/t: not testable; *: the figure is that of another effect than the claim's first, " +
			"on which its verdict rests; =: without the method."),
		heat, &doc.Fold{Title: "Verdicts with our figures and their 95 % intervals", Parts: doc.Doc{table}}, m.leftOut(),
		doc.Heading("What moves the figures"), m.movers(),
		doc.Heading("How the readings differ from the first"), differ, doc.Heading("What was varied"), varied,
	}
}

// counts says how often a claim got each verdict, like "holds 3, fails 22".
func (m *Matrix) counts(c *ClaimCount) string {
	var list []string
	for _, v := range Verdicts {
		if n := c.Verdicts[v]; n > 0 {
			list = append(list, fmt.Sprintf("%s %d", v, n))
		}
	}
	if c.NoMethod > 0 {
		list = append(list, fmt.Sprintf("without the method %d", c.NoMethod))
	}
	return strings.Join(list, ", ")
}

// leftOut says which readings have verdicts here, and no rows in the run folder.
func (m *Matrix) leftOut() doc.Notes {
	if n := len(m.Kept.LeftOut); n > 0 {
		return doc.Notes{
			fmt.Sprintf(
				"the run folder has no rows of the last %d of %d readings, from %q on: it holds %d rows; fewer --seeds or axes leave room for all",
				n,
				len(m.Readings),
				m.Kept.LeftOut[0],
				results.MostRows,
			),
		}
	}
	return nil
}

// mark says in signs what a verdict in a matrix rests on.
func (c *Criterion) mark() (mark string) {
	if c.Rests > 0 {
		mark += "*"
	}
	if c.NeedsNoMethod() {
		mark += "="
	}
	return mark
}

// tables has a row for each reading, and below each reading with a name its controls:
// once the verdicts by colour, where what each stands for is shown when a reader points
// at it, and once with our figures.
func (m *Matrix) tables() (heat, table *doc.Table) {
	heat = &doc.Table{Heat: true, Name: "verdicts", Columns: []string{"reading"}}
	table = doc.NewTable("matrix", "reading")
	for _, c := range m.Claims {
		heat.Columns, table.Columns = append(heat.Columns, c.ID), append(table.Columns, c.ID)
	}
	for _, x := range m.Measures {
		table.Columns = append(table.Columns, strings.TrimSpace(x.Name+" "+x.Unit))
	}
	for i := range m.Readings {
		r := &m.Readings[i]
		add := func(name, of string, control int) {
			shades, cells := []any{name}, []any{name}
			for k := range r.Criteria {
				c := &r.Criteria[k]
				v, x, mark := c.Verdict, Cell{c.Ours, c.CI95}, ""
				switch {
				case control < 0:
					mark = c.mark()
				case len(c.Controls) == 0:
					shades, cells = append(shades, ""), append(cells, doc.Words("(not about it)").In(doc.Faint))
					continue
				default:
					v, x = c.Controls[control].Verdict, Cell{c.Controls[control].Ours, c.Controls[control].CI95}
				}
				shade := doc.Words(short[v] + mark).In(tones[v])
				shades = append(shades, shade.Detail(fmt.Sprintf("%s, %s: %s, %s", c.ID, of, v, x.in(c.Unit))))
				cells = append(cells, doc.Words(short[v]+mark+" "+x.String()).In(tones[v]))
			}
			for _, x := range r.Measures {
				if control < 0 {
					cells = append(cells, x.String())
				}
			}
			heat.Add(shades...)
			table.Add(cells...)
		}
		add(r.Reading, r.Reading, -1)
		for k, control := range m.Controls {
			if slices.Contains(m.paper.readingNames(), r.Reading) {
				add("– "+control+" in its place", control+" in "+r.Reading, k)
			}
		}
	}
	return heat, table
}
