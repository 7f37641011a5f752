package paper

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"heddle/traces/outfile"
)

// WritePage writes the comparison with the paper as one HTML page that needs no
// other files. The page has tables, verdicts and, for each figure whose columns
// have the same unit, a chart.
func (r *Report) WritePage(out io.Writer) error {
	return page.Execute(out, r)
}

// pageStyle is the style of all pages.
const pageStyle = `
body{font:15px/1.45 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0}td,th{padding:.2em .7em;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}
td.n{font-variant-numeric:tabular-nums;white-space:nowrap}p.note{color:#555;max-width:60em}
.holds{color:#0a6b2d}.direction{color:#8a5a00}.fails{color:#a11}.not-testable{color:#666}.reversed{color:#7a1fa2}.ceiling{color:#8a5a00}
`

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"chart": func(f *Figure) template.HTML { return template.HTML(f.chart()) },
	"needs": func(c Criterion) string { return c.needs() },
	"value": func(c Criterion) string { return Cell{c.Ours, c.CI95}.String() },
	"class": class,
}).Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>` + pageStyle + `</style>
<h1>{{.Title}}</h1><p>{{.Source}}</p>
{{if .Live}}{{with .Live}}<h2>Live: {{.Run}}</h2>
<table>{{range .Table}}<tr>{{range .}}<td class=n>{{.}}{{end}}</tr>
{{end}}</table>{{range .Remarks}}<p class=note>{{.}}</p>{{end}}{{range .Warnings}}<p class=note>{{.}}</p>{{end}}{{end}}
{{else}}<p>Reading: {{.Reading}}. {{.Seeds}} seeds from {{.Seed}}; means with their 95 % interval over seeds.</p>{{end}}
{{with .Summary}}<p>{{.}}</p>{{end}}{{define "criteria"}}<table><tr><th><th>verdict<th>claim<th>published<th>ours<th>needs the method<th>found</tr>
{{range .}}<tr><td>{{.ID}}<td class="{{class .Verdict}}"><b>{{.Verdict}}</b><td>{{.Text}}<td>{{.Published}}<td class=n>{{value .}} {{.Unit}}<td>{{needs .}}<td>{{.Note}}</tr>
{{end}}</table>{{end}}
{{if .Criteria}}<h2>What the paper claims</h2>{{template "criteria" .Criteria}}{{end}}
{{range .Figures}}<h2 id="{{.ID}}">{{.ID}}: {{.Title}}{{if .Unit}}, {{.Unit}}{{end}}</h2>
{{chart .}}
<table><tr><th>{{range .Columns}}<th>{{.}}{{end}}</tr>
{{range .Rows}}<tr><td>{{.Name}}{{range .Cells}}<td class=n>{{.}}{{end}}</tr>
{{end}}</table>
{{if .Beside}}<table><tr><th>stated by the paper<th><th>published<th>ours</tr>
{{range .Beside}}<tr><td>{{.What}}<td>{{.Label}}<td>{{.Published}}<td class=n>{{.Cell}} {{.Unit}}</tr>
{{end}}</table>{{end}}
{{range .Notes}}<p class=note>{{.}}</p>{{end}}{{end}}
{{if not .Live}}<h2>How the paper is read</h2><table><tr><th>axis<th>value<th>mark<th>what it is</tr>
{{range .Axes}}<tr><td>{{.Name}}<td>{{.Taken}}<td>{{.Mark}}<td>{{.About}}{{if .Why}}: {{.Why}}{{end}}</tr>{{end}}</table>
<h2>The set-up</h2><table>{{range .Facts}}<tr><td>{{.Item}}<td>{{.Is}}<td>{{.Why}}</tr>{{end}}</table>{{end}}
</html>
`))

// WritePage writes the matrix as one HTML page that needs no other files.
func (m *Matrix) WritePage(out io.Writer) error {
	rows, verdicts := m.table()
	type cell struct {
		Text  string
		Class string
	}
	table := make([][]cell, len(rows))
	for i, row := range rows {
		for k, text := range row {
			table[i] = append(table[i], cell{text, class(verdicts[i][k])})
		}
	}
	return matrixPage.Execute(out, map[string]any{"M": m, "Table": table})
}

func class(v Verdict) string { return strings.ReplaceAll(string(v), " ", "-") }

var matrixPage = template.Must(template.New("matrix").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.M.Title}}</title>
<style>` + pageStyle + `</style>
<h1>{{.M.Title}}</h1><p>{{.M.Source}}</p><p>{{.M.Summary}}</p>
<p>{{len .M.Readings}} readings, {{.M.Seeds}} seeds from {{.M.Seed}}. =: a control does as well, so the claim does not need the method.</p>
<table>{{range .Table}}<tr>{{range .}}<td class="{{.Class}}">{{.Text}}{{end}}</tr>
{{end}}</table>
<h2>The claims</h2><table>{{range .M.Claims}}<tr><td>{{.ID}}<td>{{.Text}}</tr>{{end}}</table>
<h2>What was varied</h2><table><tr><th>axis<th>value<th>mark<th>why</tr>
{{range .M.Axes}}{{$a := .}}{{range .Values}}<tr><td>{{$a.Name}}<td>{{.Value}}<td>{{.Mark}}<td>{{.Why}}</tr>{{end}}{{end}}</table>
</html>
`))

// WritePictures draws figures as SVG files in a folder, which is made if it does
// not exist. Figures whose columns have different units are left out.
func WritePictures(dir string, figures []*Figure) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder for pictures: %w", err)
	}
	for _, f := range figures {
		svg := f.chart()
		if svg == "" {
			continue
		}
		svg = strings.Replace(svg, "<svg ", `<svg xmlns="http://www.w3.org/2000/svg" `, 1)
		err := outfile.Replace(filepath.Join(dir, f.ID+".svg"), func(to *os.File) error {
			_, err := to.WriteString(svg + "\n")
			return err
		})
		if err != nil {
			return fmt.Errorf("draw %s: %w", f.ID, err)
		}
	}
	return nil
}

// Sizes of a chart in the units of the SVG image.
const (
	chartWidth, chartHeight = 720.0, 300.0
	leftMargin, baseline    = 50.0, 260.0
	plotWidth, plotHeight   = 500.0, 240.0
)

// The colours of the lines in a chart, one for each scheduler model. Most
// colour-blind readers can distinguish them too.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222", "#999999", "#7a5195", "#b5cf6b", "#8c564b", "#2f4b7c"}

// chart returns a figure as an SVG image. Each row of the figure is one line in
// the image, with its confidence intervals. If the columns have different
// units, chart returns "".
func (f *Figure) chart() string {
	if f.Unit == "" || len(f.Columns) < 2 {
		return ""
	}
	low, high := 0.0, 0.0
	for _, row := range f.Rows {
		for _, c := range row.Cells {
			if x := float64(c.Value); !math.IsNaN(x) {
				low, high = min(low, x), max(high, x)
			}
			if c.CI95.Bounded() {
				low, high = min(low, c.CI95[0]), max(high, c.CI95[1])
			}
		}
	}
	step := niceStep(high - low)
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	y := func(v float64) float64 { return baseline - plotHeight*(v-low)/(high-low) }
	x := func(column, row int) float64 {
		each := plotWidth / float64(len(f.Columns))
		aside := (float64(row) - float64(len(f.Rows)-1)/2) * min(6, each/float64(2*len(f.Rows)))
		return leftMargin + each*(float64(column)+0.5) + aside
	}
	var s strings.Builder
	esc := template.HTMLEscapeString
	fmt.Fprintf(&s, `<svg viewBox="0 0 %g %g" width="%g" role="img" font-size="11" font-family="sans-serif"><title>%s</title>`, chartWidth, chartHeight, chartWidth, esc(f.Title))
	for v := low; v <= high+step/2; v += step {
		fmt.Fprintf(&s, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%g</text>`,
			leftMargin, leftMargin+plotWidth, y(v), y(v), leftMargin-5, y(v)+4, math.Round(v/step)*step)
	}
	for k, column := range f.Columns {
		fmt.Fprintf(&s, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`, leftMargin+plotWidth/float64(len(f.Columns))*(float64(k)+0.5), baseline+16, esc(column))
	}
	fmt.Fprintf(&s, `<text x="%g" y="%g" text-anchor="middle">%s</text>`, leftMargin+plotWidth/2, baseline+34, esc(f.X))
	for i, row := range f.Rows {
		colour := colours[i%len(colours)]
		var points []string
		for k, c := range row.Cells {
			v := float64(c.Value)
			if math.IsNaN(v) {
				continue
			}
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(k, i), y(v)))
			if c.CI95.Bounded() {
				fmt.Fprintf(&s, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s"/>`, x(k, i), x(k, i), y(c.CI95[0]), y(c.CI95[1]), colour)
			}
			fmt.Fprintf(&s, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x(k, i), y(v), colour)
		}
		fmt.Fprintf(&s, `<polyline points="%s" fill="none" stroke="%s" stroke-opacity=".6"/>`, strings.Join(points, " "), colour)
		fmt.Fprintf(&s, `<rect x="%g" y="%d" width="10" height="10" fill="%s"/><text x="%g" y="%d">%s</text>`, leftMargin+plotWidth+12, 20+16*i, colour, leftMargin+plotWidth+27, 29+16*i, esc(row.Name))
	}
	s.WriteString("</svg>")
	return s.String()
}

// niceStep returns the distance between a chart's grid lines: 1, 2 or 5 times a
// power of ten.
func niceStep(span float64) float64 {
	if !(span > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, m := range []float64{1, 2, 5} {
		if span/(m*power) <= 6 {
			return m * power
		}
	}
	return 10 * power
}
