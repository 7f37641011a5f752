package doc

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"

	"heddle/traces/printable"
)

// Cards are results that a page shows side by side. The document has their numbers in
// tables too.
type Cards []Card

// Card is one of the Cards: a verdict or a value, what it is about, and details.
type Card struct {
	Title, Value, Detail string
	Tone                 Tone
}

// Files are files that a reader of a page can save.
type Files []File

// File is one of the Files. Type is its media type, such as "text/csv".
type File struct {
	Name, Type, Text string
	Data             []byte
}

// Embed is a part of a page that another package draws. What it writes is taken as it
// is, so it has to escape all names itself. The page allows exactly its script and its
// style sheet.
type Embed struct {
	HTML          func(io.Writer) error
	Script, Style string
}

func (Cards) part()  {}
func (Files) part()  {}
func (*Embed) part() {}

// WriteHTML writes a document as a fragment of an HTML page.
func WriteHTML(out io.Writer, d Doc) error {
	parts, err := d.html()
	if err != nil {
		return err
	}
	return fragment.Execute(out, parts)
}

// htmlPart is a part of a document as the template of a page takes it. One of its
// fields is set.
type htmlPart struct {
	Heading, ID, Sub, Lead, Text, Command, Class string
	List                                         []string
	Facts                                        []htmlFact
	Glossary                                     []htmlTerm
	Cards                                        Cards
	Files                                        []htmlFile
	Table                                        *htmlTable
	Fold                                         *htmlFold
	Drawn                                        template.HTML // a picture, with all names in it escaped
	Chart                                        *htmlChart
	Charts, EndCharts                            bool // charts stand side by side from here, to here
}

type htmlFile struct {
	Name, Bytes string
	Address     template.URL
}

type htmlFold struct {
	Title string
	Parts []htmlPart
}

type htmlChart struct {
	SVG     template.HTML
	Text    string
	Numbers *htmlTable
	Headed  bool // a heading above it has its title
	Wide    bool
}

type htmlTable struct {
	Name     string
	Columns  []htmlColumn
	Rows     [][]htmlCell
	Headless bool
	Sorted   bool
	Wide     bool   // it has many columns
	Note     string // stands below it
}

type htmlColumn struct {
	Name, Term string
	Right      bool
}

type htmlCell struct{ Text, Term, Class, Value string }

type htmlFact struct{ Name, Term, Value string }

type htmlTerm struct{ ID, Name, Text string }

func (d Doc) html() (parts []htmlPart, err error) {
	list := d.filled()
	charts := func(i int) bool {
		_, is := list[i].(*Chart)
		return is
	}
	heading := ""
	for i, p := range list {
		var x htmlPart
		switch p := p.(type) {
		case Heading:
			heading = string(p)
			x.Heading = printable.Line(heading)
		case Subheading:
			x.Sub = printable.Line(string(p))
		case Lead:
			x.Lead = joined(string(p))
		case Text:
			x.Text = joined(string(p))
		case Command:
			x.Command = printable.Line(p.line())
		case List:
			for _, text := range p {
				x.List = append(x.List, joined(text))
			}
		case Notes, Warnings:
			word, texts, _ := remarks(p)
			for _, text := range texts {
				x.List = append(x.List, joined(text))
			}
			x.Class = word
		case Facts:
			for _, f := range p {
				x.Facts = append(x.Facts, htmlFact{Name: printable.Line(f.Name), Value: joined(f.Value)})
			}
		case Cards:
			for _, c := range p {
				x.Cards = append(x.Cards, Card{joined(c.Title), joined(c.Value), joined(c.Detail), c.Tone})
			}
		case Glossary:
			for i, t := range p {
				x.Glossary = append(x.Glossary, htmlTerm{fmt.Sprintf("w%d", i+1), printable.Line(t.Name), joined(t.Text)})
			}
		case Files:
			for i := range p {
				x.Files = append(x.Files, p[i].html())
			}
		case *Fold:
			x.Fold = &htmlFold{Title: printable.Line(p.Title)}
			x.Fold.Parts, err = p.Parts.html()
		case *Embed:
			var out strings.Builder
			err = p.HTML(&out)
			x.Drawn = template.HTML(out.String())
		case *Chart:
			x.Chart = p.html()
			x.Chart.Headed = p.Title != "" && strings.Contains(heading, p.Title)
			x.Charts, x.EndCharts = i == 0 || !charts(i-1), i == len(list)-1 || !charts(i+1)
		case *Forest:
			x.Drawn = p.html()
		case *Heat:
			x.Drawn = p.html()
		case *Table:
			x.Table = p.html()
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, x)
	}
	return parts, nil
}

func (c *Chart) html() *htmlChart {
	x := &htmlChart{SVG: template.HTML(c.svg()), Text: printable.Line(c.Text), Wide: len(c.Columns) > mostNarrow && !c.curves()}
	if t := c.numbers(); t != nil {
		x.Numbers = t.html()
	}
	return x
}

// mostNarrow is how many columns a chart has at most that takes half of a page's width.
const mostNarrow = 8

// between is a space within a number and its unit, or within an interval.
var between = regexp.MustCompile(`(\d) (%|[mµn]?s|x|[KMGTP]i?B|B|points)\b|(\d) (%)|(\[[^][ ]{1,20},) `)

// joined returns a text whose numbers stay in one line with their units, and intervals as a
// whole.
func joined(text string) string {
	return between.ReplaceAllString(printable.Line(text), "$1$3$5\u00a0$2$4")
}

// mostWhole and mostToken are how many bytes a single word in a table has that is never
// broken, and one that is broken on paper only.
const mostWhole, mostToken = 40, 100

// manyColumns is from how many columns on a table is printed in smaller letters.
const manyColumns = 10

// longWords is from how many bytes on a text in a table needs a wide column.
const longWords = 50

func (t *Table) html() *htmlTable {
	t = t.known()
	x := &htmlTable{Name: printable.Line(cmp.Or(t.Name, "table")), Headless: t.headless(), Sorted: t.Sorted, Wide: len(t.Columns) >= manyColumns}
	numbers, _ := t.split()
	for k, name := range t.Columns {
		x.Columns = append(x.Columns, htmlColumn{Name: printable.Line(name), Right: numbers[k]})
	}
	with, without := 0, 0
	for _, row := range t.Rows {
		var cells []htmlCell
		for k, c := range row {
			text := c.String()
			if c.interval && c.bounded {
				with++
			} else if c.interval {
				without++
				text = strings.TrimSpace(c.main() + " " + c.after)
			}
			cell := htmlCell{Text: joined(text), Class: strings.TrimSpace(c.width(numbers[k]) + " " + string(c.tone))}
			if t.Sorted && c.isNumber() {
				cell.Value = short64(c.value)
			}
			cells = append(cells, cell)
		}
		x.Rows = append(x.Rows, cells)
	}
	switch {
	case without > 0 && with > 0:
		x.Note = "Where no interval stands behind a value, there are too few repeats for one."
	case without > 0:
		x.Note = "No value has an interval: there are too few repeats for one."
	}
	return x
}

// known returns the table without the columns that have nothing but "-".
func (t *Table) known() *Table {
	var kept []int
	for k := range t.Columns {
		if k == 0 || len(t.Rows) == 0 || slices.ContainsFunc(t.Rows, func(row []Cell) bool { return k < len(row) && row[k].String() != "-" }) {
			kept = append(kept, k)
		}
	}
	if len(kept) == len(t.Columns) {
		return t
	}
	x := &Table{Name: t.Name, Sorted: t.Sorted}
	for _, k := range kept {
		x.Columns = append(x.Columns, t.Columns[k])
	}
	for _, row := range t.Rows {
		var cells []Cell
		for _, k := range kept {
			if k < len(row) {
				cells = append(cells, row[k])
			}
		}
		x.Rows = append(x.Rows, cells)
	}
	return x
}

// width returns the class by which a page knows how a cell may be broken into lines.
func (c Cell) width(number bool) string {
	switch n := len(c.words); {
	case number:
		return "number"
	case n > longWords && strings.Contains(c.words, " "):
		return "long"
	case n > 0 && n <= mostWhole && !strings.Contains(c.words, " "):
		return "whole"
	case n > mostWhole && n <= mostToken && !strings.Contains(c.words, " "):
		return "whole token"
	}
	return ""
}

// Class has what the style sheet says of some tables.
func (t *htmlTable) Class() string {
	var list []string
	for class, is := range map[string]bool{"sorted": t.Sorted, "many": t.Wide} {
		if is {
			list = append(list, class)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// short64 formats a number by which rows are sorted.
func short64(x float64) string {
	if !drawn(x) {
		return ""
	}
	return fmt.Sprintf("%.7g", x)
}

// fragment escapes what a document contains, so that a name in it is never taken
// for HTML.
var fragment = template.Must(template.New("fragment").Parse(`{{define "cell"}}{{if .Term}}<a class="term" href="#{{.Term}}">{{.Text}}</a>{{else}}{{.Text}}{{end}}{{end}}{{define "table"}}<div class="scroll" tabindex="0" role="group" aria-label="{{.Name}}"><table{{with .Class}} class="{{.}}"{{end}}><caption>{{.Name}}</caption>
{{if not .Headless}}<thead><tr>{{range .Columns}}{{if .Name}}<th scope="col"{{if .Right}} class="number"{{end}}>{{template "term" .}}</th>{{else}}<td></td>{{end}}{{end}}</tr></thead>{{end}}
<tbody>{{range .Rows}}<tr>{{range $k, $c := .}}{{if $k}}<td{{with $c.Class}} class="{{.}}"{{end}}{{with $c.Value}} data-value="{{.}}"{{end}}>{{template "cell" $c}}</td>{{else}}<th scope="row"{{with $c.Class}} class="{{.}}"{{end}}{{with $c.Value}} data-value="{{.}}"{{end}}>{{template "cell" $c}}</th>{{end}}{{end}}</tr>
{{end}}</tbody></table></div>
{{with .Note}}<p class="about">{{.}}</p>
{{end}}{{end}}{{define "term"}}{{if .Term}}<a class="term" href="#{{.Term}}">{{.Name}}</a>{{else}}{{.Name}}{{end}}{{end}}{{define "part"}}{{if .Heading}}<h2{{with .ID}} id="{{.}}"{{end}}>{{.Heading}}</h2>
{{else if .Sub}}<h3>{{.Sub}}</h3>
{{else if .Lead}}<p class="lead">{{.Lead}}</p>
{{else if .Text}}<p>{{.Text}}</p>
{{else if .Command}}<pre class="scroll" tabindex="0" aria-label="command"><code>{{.Command}}</code></pre>
{{else if .List}}<ul{{with .Class}} class="{{.}}" aria-label="{{.}}s"{{end}}>{{range .List}}<li>{{.}}</li>
{{end}}</ul>
{{else if .Facts}}<dl class="facts">{{range .Facts}}<div><dt>{{template "term" .}}</dt><dd>{{.Value}}</dd></div>{{end}}</dl>
{{else if .Glossary}}<dl class="glossary">{{range .Glossary}}<div id="{{.ID}}"><dt>{{.Name}}</dt><dd>{{.Text}}</dd></div>
{{end}}</dl>
{{else if .Cards}}<ul class="cards">{{range .Cards}}<li class="card {{.Tone}}"><span class="title">{{.Title}}</span> <strong>{{.Value}}</strong> <span class="detail">{{.Detail}}</span></li>
{{end}}</ul>
{{else if .Files}}<ul class="files">{{range .Files}}<li><a href="{{.Address}}" download="{{.Name}}">{{.Name}}</a> <span>{{.Bytes}}</span></li>
{{end}}</ul>
{{else if .Fold}}<details><summary>{{.Fold.Title}}</summary>
{{range .Fold.Parts}}{{template "part" .}}{{end}}</details>
{{else if .Drawn}}{{.Drawn}}
{{else if .Chart}}{{if .Charts}}<div class="charts">{{end}}<figure class="chart{{if .Chart.Headed}} headed{{end}}{{if .Chart.Wide}} wide{{end}}"><div class="scroll" tabindex="0" role="group" aria-label="chart">{{.Chart.SVG}}</div>{{with .Chart.Text}}<figcaption>{{.}}</figcaption>{{end}}{{with .Chart.Numbers}}<details><summary>Numbers</summary>{{template "table" .}}</details>{{end}}</figure>{{if .EndCharts}}</div>
{{end}}
{{else if .Table}}{{template "table" .Table}}{{end}}{{end}}{{range .}}{{template "part" .}}{{end}}`))

// heat is the table of a [Heat].
var heat = template.Must(template.New("heat").Funcs(template.FuncMap{"line": printable.Line}).Parse(`<div class="scroll" tabindex="0" role="group" aria-label="{{line .Label}}"><table class="heat"><caption>{{line .Label}}</caption><thead><tr>{{range .Columns}}<th scope="col">{{line .}}</th>{{end}}</tr></thead>
<tbody>{{range .Rows}}<tr{{if .Inner}} class="inner"{{end}}><th scope="row">{{line .Name}}</th>{{range .Cells}}<td class="{{.Tone}}"{{with .Detail}} title="{{line .}}"{{end}}>{{line .Words}}</td>{{end}}</tr>
{{end}}</tbody></table></div>
`))
