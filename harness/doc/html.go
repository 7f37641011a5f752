package doc

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
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
	// Connects says that the script asks the server that the page is from.
	Connects bool
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
	Facts                                        Facts
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
}

type htmlColumn struct {
	Name  string
	Right bool
}

type htmlCell struct{ Text, Class, Value, Link string }

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
			x.Lead = printable.Line(string(p))
		case Text:
			x.Text = printable.Line(string(p))
		case Command:
			x.Command = printable.Line(p.line())
		case List:
			for _, text := range p {
				x.List = append(x.List, printable.Line(text))
			}
		case Notes, Warnings:
			word, texts, _ := remarks(p)
			for _, text := range texts {
				x.List = append(x.List, printable.Line(text))
			}
			x.Class = word
		case Facts:
			for _, f := range p {
				x.Facts = append(x.Facts, Fact{printable.Line(f.Name), printable.Line(f.Value)})
			}
		case Cards:
			for _, c := range p {
				x.Cards = append(x.Cards, Card{printable.Line(c.Title), printable.Line(c.Value), printable.Line(c.Detail), c.Tone})
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

// longWords is from how many bytes on a text in a table needs a wide column.
const longWords = 50

func (t *Table) html() *htmlTable {
	x := &htmlTable{Name: printable.Line(cmp.Or(t.Name, "table")), Headless: t.headless(), Sorted: t.Sorted}
	numbers, _ := t.split()
	for k, name := range t.Columns {
		x.Columns = append(x.Columns, htmlColumn{printable.Line(name), numbers[k]})
	}
	for _, row := range t.Rows {
		var cells []htmlCell
		for k, c := range row {
			class := string(c.tone)
			switch {
			case numbers[k]:
				class = strings.TrimSpace("number " + class)
			case len(c.words) > longWords:
				class = strings.TrimSpace("long " + class)
			}
			cell := htmlCell{Text: printable.Line(c.String()), Class: class, Link: c.link}
			if t.Sorted && c.isNumber() {
				cell.Value = short64(c.value)
			}
			cells = append(cells, cell)
		}
		x.Rows = append(x.Rows, cells)
	}
	return x
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
var fragment = template.Must(template.New("fragment").Parse(`{{define "cell"}}{{if .Link}}<a href="{{.Link}}">{{.Text}}</a>{{else}}{{.Text}}{{end}}{{end}}{{define "table"}}<div class="scroll" tabindex="0" role="group" aria-label="{{.Name}}"><table{{if .Sorted}} class="sorted"{{end}}><caption>{{.Name}}</caption>
{{if not .Headless}}<thead><tr>{{range .Columns}}{{if .Name}}<th scope="col"{{if .Right}} class="number"{{end}}>{{.Name}}</th>{{else}}<td></td>{{end}}{{end}}</tr></thead>{{end}}
<tbody>{{range .Rows}}<tr>{{range $k, $c := .}}{{if $k}}<td{{with $c.Class}} class="{{.}}"{{end}}{{with $c.Value}} data-value="{{.}}"{{end}}>{{template "cell" $c}}</td>{{else}}<th scope="row"{{with $c.Class}} class="{{.}}"{{end}}{{with $c.Value}} data-value="{{.}}"{{end}}>{{template "cell" $c}}</th>{{end}}{{end}}</tr>
{{end}}</tbody></table></div>
{{end}}{{define "part"}}{{if .Heading}}<h2{{with .ID}} id="{{.}}"{{end}}>{{.Heading}}</h2>
{{else if .Sub}}<h3>{{.Sub}}</h3>
{{else if .Lead}}<p class="lead">{{.Lead}}</p>
{{else if .Text}}<p>{{.Text}}</p>
{{else if .Command}}<pre class="scroll" tabindex="0" aria-label="command"><code>{{.Command}}</code></pre>
{{else if .List}}<ul{{with .Class}} class="{{.}}" aria-label="{{.}}s"{{end}}>{{range .List}}<li>{{.}}</li>
{{end}}</ul>
{{else if .Facts}}<dl class="facts">{{range .Facts}}<div><dt>{{.Name}}</dt><dd>{{.Value}}</dd></div>{{end}}</dl>
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
