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
			x.Chart = template.HTML(p.svg()) // pictures escape what they are given
		case *Forest:
			x.Chart = template.HTML(p.svg())
		case *Heat:
			x.Chart = p.html()
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

// heat is the table of a [Heat].
var heat = template.Must(template.New("heat").Funcs(template.FuncMap{"line": printable.Line}).Parse(`<table class="heat"><thead><tr>{{range .Columns}}<th>{{line .}}</th>{{end}}</tr></thead>
<tbody>{{range .Rows}}<tr{{if .Inner}} class="inner"{{end}}><th>{{line .Name}}</th>{{range .Cells}}<td class="{{.Tone}}"{{with .Detail}} title="{{line .}}"{{end}}>{{line .Words}}</td>{{end}}</tr>
{{end}}</tbody></table>
`))

var page = template.Must(template.Must(fragment.Clone()).New("page").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0;display:block;overflow-x:auto}td,th{padding:.2em .7em;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}
.number{font-variant-numeric:tabular-nums;white-space:nowrap;text-align:right}ul.note{color:#555;max-width:60em}ul.warning{color:#8a5a00;max-width:60em}
.good{color:#0a6b2d}.fair{color:#0b5f77}.bad{color:#a11}.opposite{color:#7a1fa2}.notable{color:#8a5a00}.faint{color:#666}
td:first-child{white-space:nowrap}
svg{max-width:100%;height:auto;display:block}
.heat td{padding:.15em .45em;border:1px solid #fff;text-align:center;white-space:nowrap;font-size:13px}.heat th{padding:.15em .45em;border:0}.heat tbody th{font-weight:normal;white-space:nowrap}
.heat .inner th{padding-left:1.6em;color:#555;font-size:13px}.heat .inner td{opacity:.75}
.heat .good{background:#bfe5c9}.heat .fair{background:#c9e6f0}.heat .bad{background:#f4cccc}.heat .opposite{background:#e2c8f0}.heat .notable{background:#f6e3b5}.heat .faint{background:#eee}
</style>
<h1>{{.Title}}</h1>
{{template "fragment" .Parts}}</html>
`))
