package doc

import (
	"html/template"
	"io"
	"strings"

	"heddle/traces/printable"
)

// WriteHTML writes a document as a fragment of an HTML page.
func WriteHTML(out io.Writer, d Doc) error { return fragment.Execute(out, d.html()) }

// WritePage writes a document as one HTML page that needs no other files. The
// document begins with a heading, which becomes the page's title.
func WritePage(out io.Writer, d Doc) error {
	title, _ := d[0].(Heading)
	return page.Execute(out, map[string]any{"Title": printable.Line(string(title)), "Parts": d[1:].html()})
}

// htmlPart is a part of a document as the template of a page takes it. One of its
// fields is set.
type htmlPart struct {
	Heading, Text, Class string
	List                 []string
	Columns              []htmlColumn
	Rows                 [][]htmlCell
	Headless             bool
	Chart                template.HTML
}

type htmlColumn struct {
	Name  string
	Right bool
}

type htmlCell struct{ Text, Class string }

func (d Doc) html() (parts []htmlPart) {
	for _, p := range d.filled() {
		var x htmlPart
		switch p := p.(type) {
		case Heading:
			x.Heading = printable.Line(string(p))
		case Text:
			x.Text = printable.Line(string(p))
		case List:
			for _, text := range p {
				x.List = append(x.List, printable.Line(text))
			}
		case Notes, Warnings:
			word, texts, _ := remarks(p)
			for _, text := range texts {
				x.List = append(x.List, word+": "+printable.Line(text))
			}
			x.Class = word
		case *Chart:
			x.Chart = template.HTML(p.svg()) // the chart escapes what it is given
		case *Table:
			numbers, _ := p.split()
			for k, name := range p.Columns {
				x.Columns = append(x.Columns, htmlColumn{printable.Line(name), numbers[k]})
			}
			x.Headless = p.headless()
			for _, row := range p.Rows {
				var cells []htmlCell
				for k, c := range row {
					class := string(c.tone)
					if numbers[k] {
						class = strings.TrimSpace("number " + class)
					}
					cells = append(cells, htmlCell{printable.Line(c.String()), class})
				}
				x.Rows = append(x.Rows, cells)
			}
		}
		parts = append(parts, x)
	}
	return parts
}

// fragment escapes what a document contains, so that a name in it is never taken
// for HTML.
var fragment = template.Must(template.New("fragment").Parse(`{{range .}}{{if .Heading}}<h2>{{.Heading}}</h2>
{{else if .Text}}<p>{{.Text}}</p>
{{else if .List}}<ul{{with .Class}} class="{{.}}"{{end}}>{{range .List}}<li>{{.}}</li>
{{end}}</ul>
{{else if .Chart}}{{.Chart}}
{{else if .Columns}}<table>{{if not .Headless}}<thead><tr>{{range .Columns}}<th{{if .Right}} class="number"{{end}}>{{.Name}}</th>{{end}}</tr></thead>{{end}}
<tbody>{{range .Rows}}<tr>{{range .}}<td{{with .Class}} class="{{.}}"{{end}}>{{.Text}}</td>{{end}}</tr>
{{end}}</tbody></table>
{{end}}{{end}}`))

var page = template.Must(template.Must(fragment.Clone()).New("page").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0;display:block;overflow-x:auto}td,th{padding:.2em .7em;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}
.number{font-variant-numeric:tabular-nums;white-space:nowrap;text-align:right}ul.note{color:#555;max-width:60em}ul.warning{color:#8a5a00;max-width:60em}
.good{color:#0a6b2d}.fair{color:#0b5f77}.bad{color:#a11}.opposite{color:#7a1fa2}.notable{color:#8a5a00}.faint{color:#666}
svg{max-width:100%;height:auto}
</style>
<h1>{{.Title}}</h1>
{{template "fragment" .Parts}}</html>
`))
