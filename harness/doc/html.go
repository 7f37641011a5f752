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

func (Files) part()  {}
func (*Embed) part() {}

// WriteHTML writes a document as a fragment of an HTML page.
func WriteHTML(out io.Writer, d Doc) error {
	h := &hypertext{}
	if err := h.parts(d); err != nil {
		return err
	}
	_, err := io.WriteString(out, h.String())
	return err
}

// hypertext is HTML that is being written. What a document says is written by escaped or
// joined, so that a name in it is never taken for HTML.
type hypertext struct {
	canvas
	heading string               // the last one
	terms   map[string]explained // the glossary's terms, by their names in lower case
	used    map[string]bool      // ids that something leads to
	isPage  bool
	section int // how many sections of a page have begun
}

// escaped returns a text as it may stand in an image, in HTML, and in a quoted attribute.
func escaped(text string) string { return template.HTMLEscapeString(printable.Line(text)) }

// between is a space within a number and its unit, or within an interval.
var between = regexp.MustCompile(`(\d) (%|[mµn]?s|x|[KMGTP]i?B|B|points)\b|(\d) (%)|(\[[^][ ]{1,20},) `)

// joined returns an escaped text whose numbers stay in one line with their units, and
// intervals as a whole.
func joined(text string) string {
	return template.HTMLEscapeString(between.ReplaceAllString(printable.Line(text), "$1$3$5\u00a0$2$4"))
}

// explained is a term of a page's glossary.
type explained struct{ id, text string }

// named returns a name that says what it is when a reader points at it, and leads to the
// glossary, if that explains the name.
func (h *hypertext) named(name, shown string) string {
	t := h.terms[strings.ToLower(printable.Line(name))]
	if t.id == "" {
		return shown
	}
	h.used[t.id] = true
	return `<a class="term" href="#` + t.id + `" title="` + escaped(t.text) + `">` + shown + `</a>`
}

// items writes a list.
func (h *hypertext) items(open string, texts []string) {
	h.WriteString(open)
	for _, text := range texts {
		h.add("<li>%s</li>\n", joined(text))
	}
	h.WriteString("</ul>\n")
}

// parts writes the parts of a document.
func (h *hypertext) parts(d Doc) error {
	list := d.filled()
	for i, p := range list {
		switch p := p.(type) {
		case Heading:
			h.head(p)
		case Subheading:
			h.add("<h3>%s</h3>\n", escaped(string(p)))
		case Lead:
			h.add("<p class=\"lead\">%s</p>\n", joined(string(p)))
		case Text:
			h.add("<p>%s</p>\n", joined(string(p)))
		case Command:
			h.add("<pre class=\"scroll\" tabindex=\"0\" aria-label=\"command\"><code>%s</code></pre>\n", escaped(p.line()))
		case List:
			h.items("<ul>", p)
		case Notes, Warnings:
			word, texts, _ := remarks(p)
			h.items(fmt.Sprintf(`<ul class="%s" aria-label="%[1]ss">`, word), texts)
		case Facts:
			h.facts(p)
		case Glossary:
			h.glossary(p)
		case Files:
			h.files(p)
		case *Fold:
			h.add("<details><summary>%s</summary>\n", escaped(p.Title))
			if err := h.parts(p.Parts); err != nil {
				return err
			}
			h.WriteString("</details>\n")
		case *Embed:
			if err := p.HTML(h); err != nil {
				return err
			}
		case *Chart:
			h.WriteString(when(!isChart(list, i-1), `<div class="charts">`))
			h.chart(p)
			h.WriteString(when(!isChart(list, i+1), "</div>\n"))
		case *Forest:
			h.forest(p)
		case *Table:
			h.table(p)
		}
	}
	return nil
}

// isChart reports whether part i of a document is a chart. Charts stand side by side.
func isChart(d Doc, i int) bool {
	if i < 0 || i >= len(d) {
		return false
	}
	_, is := d[i].(*Chart)
	return is
}

func (h *hypertext) facts(p Facts) {
	h.WriteString(`<dl class="facts">`)
	for _, f := range p {
		h.add("<div><dt>%s</dt><dd>%s</dd></div>", h.named(f.Name, escaped(f.Name)), joined(f.Value))
	}
	h.WriteString("</dl>\n")
}

func (h *hypertext) files(p Files) {
	h.WriteString(`<ul class="files">`)
	for k := range p {
		address, name, size := p[k].address()
		h.add("<li><a href=\"%s\" download=\"%s\">%[2]s</a> <span>%s</span></li>\n", escaped(address), escaped(name), size)
	}
	h.WriteString("</ul>\n")
}

// head begins a section.
func (h *hypertext) head(p Heading) {
	h.heading = string(p)
	if !h.isPage {
		h.add("<h2>%s</h2>\n", escaped(h.heading))
		return
	}
	if h.section++; h.section > 1 {
		h.WriteString("</section>\n")
	}
	h.add("<section aria-labelledby=\"s%d\">\n<h2 id=\"s%[1]d\">%s</h2>\n", h.section, escaped(h.heading))
}

var tag = regexp.MustCompile(`(?s)<script.*?</script>|<[^>]*>`)

// glossary writes those terms that the page uses.
func (h *hypertext) glossary(p Glossary) {
	text := strings.ToLower(tag.ReplaceAllString(h.String(), " "))
	h.WriteString(`<details><summary>What the words of this page mean</summary><dl class="glossary">`)
	for i, t := range p {
		if id := glossaryID(i); h.used[id] || strings.Contains(text, strings.ToLower(escaped(t.Name))) {
			h.add("<div id=\"%s\"><dt>%s</dt><dd>%s</dd></div>\n", id, escaped(t.Name), joined(t.Text))
		}
	}
	h.WriteString("</dl></details>\n")
}

func glossaryID(i int) string { return fmt.Sprintf("w%d", i+1) }

// mostNarrow is how many columns a chart has at most that takes half of a page's width.
const mostNarrow = 8

// chart writes a chart, its text and its numbers. A heading above it may have its title.
func (h *hypertext) chart(c *Chart) {
	h.WriteString(`<figure class="chart`)
	if c.Title != "" && strings.Contains(h.heading, c.Title) {
		h.WriteString(" headed")
	}
	if len(c.Columns) > mostNarrow && !c.curves() {
		h.WriteString(" wide")
	}
	h.add(`"><div class="scroll" tabindex="0" role="group" aria-label="chart">%s</div>`, c.svg())
	if c.Text != "" {
		h.add("<figcaption>%s</figcaption>", escaped(c.Text))
	}
	if t := c.numbers(); t != nil {
		h.WriteString("<details><summary>Numbers</summary>")
		h.table(t)
		h.WriteString("</details>")
	}
	h.WriteString("</figure>")
}

// mostWhole and mostToken are how many bytes a single word in a table has that is never
// broken, and one that is broken on paper only.
const mostWhole, mostToken = 40, 100

// manyColumns is from how many columns on a table is printed in smaller letters.
const manyColumns = 10

// longWords is from how many bytes on a text in a table needs a wide column.
const longWords = 50

// class returns the attribute for classes, "" for none.
func class(names ...string) string {
	if list := strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), " "); list != "" {
		return ` class="` + escaped(list) + `"`
	}
	return ""
}

// when returns a name, or "".
func when(is bool, name string) string {
	if is {
		return name
	}
	return ""
}

// table writes a table without the columns of which nothing is known.
func (h *hypertext) table(t *Table) {
	says := t.Says
	t = t.known()
	if says {
		t.Columns = second(t.Columns)
		for i := range t.Rows {
			t.Rows[i] = second(t.Rows[i])
		}
	}
	numbers, _ := t.split()
	name := escaped(cmp.Or(t.Name, "table"))
	h.add("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\"><table%s><caption>%[1]s</caption>\n", name,
		class(when(t.Heat, "heat"), when(len(t.Columns) >= manyColumns && !t.Heat, "many"), when(t.Sorted, "sorted")))
	if !t.headless() {
		h.WriteString("<thead><tr>")
		for k, name := range t.Columns {
			if name == "" {
				h.WriteString("<td></td>")
			} else {
				h.add(`<th scope="col"%s>%s</th>`, class(when(numbers[k], "number")), h.named(name, escaped(name)))
			}
		}
		h.WriteString("</tr></thead>")
	}
	h.WriteString("\n<tbody>")
	with, without := 0, 0
	for _, row := range t.Rows {
		h.WriteString("<tr>")
		for k, c := range row {
			text := c.String()
			if c.interval && c.bounded {
				with++
			} else if c.interval {
				without++
				text = strings.TrimSpace(c.main() + " " + c.after)
			}
			shown, attributes := joined(text), class(c.width(numbers[k]), string(c.tone))
			if t.Sorted && c.isNumber() && drawn(c.value) {
				attributes += fmt.Sprintf(` data-value="%.7g"`, c.value)
			}
			if c.detail != "" {
				attributes += ` title="` + escaped(c.detail) + `"`
			}
			if k == 0 {
				h.add(`<th scope="row"%s>%s</th>`, attributes, h.named(text, shown))
			} else {
				h.add(`<td%s>%s</td>`, attributes, shown)
			}
		}
		h.WriteString("</tr>\n")
	}
	h.WriteString("</tbody></table></div>\n")
	switch {
	case without > 0 && with > 0:
		h.WriteString("<p class=\"about\">Where no interval stands behind a value, there are too few repeats for one.</p>\n")
	case without > 0:
		h.WriteString("<p class=\"about\">No value has an interval: there are too few repeats for one.</p>\n")
	}
}

// second moves the last of a list, which is not the first, to the second place.
func second[T any](list []T) []T {
	last := len(list) - 1
	return slices.Insert(list[:last], 1, list[last])
}

// known returns the table without the columns that have nothing but "-".
func (t *Table) known() *Table {
	x := &Table{Name: t.Name, Sorted: t.Sorted, Heat: t.Heat, Rows: make([][]Cell, len(t.Rows))}
	for k, name := range t.Columns {
		if k > 0 && len(t.Rows) > 0 && !slices.ContainsFunc(t.Rows, func(row []Cell) bool { return k < len(row) && row[k].String() != "-" }) {
			continue
		}
		x.Columns = append(x.Columns, name)
		for i, row := range t.Rows {
			if k < len(row) {
				x.Rows[i] = append(x.Rows[i], row[k])
			}
		}
	}
	return x
}

// width returns the class by which a page knows how a cell may be broken into lines.
func (c Cell) width(number bool) string {
	switch n, single := len(c.words), !strings.Contains(c.words, " "); {
	case number:
		return "number"
	case n > longWords && !single:
		return "long"
	case n > 0 && n <= mostWhole && single:
		return "whole"
	case n > mostWhole && n <= mostToken && single:
		return "whole token"
	}
	return ""
}
