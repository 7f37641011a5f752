package doc

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // for the style sheet and the script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"heddle/harness/internal/units"
	"heddle/traces/printable"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// WritePage writes a document as one HTML page that needs no other files and no
// network. The document begins with a heading, which becomes the page's title. A list of
// contents has the other headings. The page allows only its own scripts and style sheets,
// by their hashes: nothing that a document says can run.
func WritePage(out io.Writer, d Doc) error { return WriteReloading(out, d, 0) }

// WriteReloading writes a page that browsers load anew after so many seconds; 0 is never.
func WriteReloading(out io.Writer, d Doc, seconds int) error {
	title, _ := d[0].(Heading)
	var embeds []*Embed
	for _, p := range d {
		if e, ok := p.(*Embed); ok {
			embeds = append(embeds, e)
		}
	}
	styles, scripts := []string{pageStyle + pageColours()}, []string{pageScript}
	for _, e := range embeds {
		if !slices.Contains(scripts, e.Script) {
			styles, scripts = append(styles, e.Style), append(scripts, e.Script)
		}
	}
	parts, err := d[1:].html()
	if err != nil {
		return err
	}
	link(parts)
	p := struct {
		Title, Policy   string
		Seconds         int
		Styles, Scripts []template.HTML
		Top             []htmlPart // what stands before the first heading
		Sections        []section
	}{
		Title: printable.Line(string(title)), Seconds: seconds,
		Policy: fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data: blob:; base-uri 'none'; form-action 'none'", hashes(styles), hashes(scripts)),
	}
	for _, s := range styles {
		p.Styles = append(p.Styles, template.HTML("<style>"+s+"</style>"))
	}
	for _, s := range scripts {
		p.Scripts = append(p.Scripts, template.HTML("<script>"+s+"</script>"))
	}
	for _, x := range parts {
		if x.Heading != "" {
			x.ID = fmt.Sprintf("s%d", len(p.Sections)+1)
			p.Sections = append(p.Sections, section{x.ID, x.Heading, nil})
		}
		if n := len(p.Sections); n > 0 {
			p.Sections[n-1].Parts = append(p.Sections[n-1].Parts, x)
		} else {
			p.Top = append(p.Top, x)
		}
	}
	return page.Execute(out, p)
}

// section is a heading of a page and what stands below it.
type section struct {
	ID, Title string
	Parts     []htmlPart
}

// link has the names of columns, rows and facts lead to the glossary, and leaves the terms
// that the page does not use out of it.
func link(parts []htmlPart) {
	at := slices.IndexFunc(parts, func(x htmlPart) bool { return x.Glossary != nil })
	if at < 0 {
		return
	}
	ids := map[string]string{}
	for _, t := range parts[at].Glossary {
		ids[strings.ToLower(t.Name)] = t.ID
	}
	used := map[string]bool{}
	id := func(name string) string {
		found := ids[strings.ToLower(name)]
		used[found] = true
		return found
	}
	var words strings.Builder
	var walk func(parts []htmlPart)
	table := func(t *htmlTable) {
		for k := range t.Columns {
			t.Columns[k].Term = id(t.Columns[k].Name)
		}
		for _, row := range t.Rows {
			if len(row) > 0 {
				row[0].Term = id(row[0].Text)
			}
			for _, c := range row {
				words.WriteString(c.Text + "\n")
			}
		}
	}
	walk = func(parts []htmlPart) {
		for i := range parts {
			x := &parts[i]
			words.WriteString(strings.Join(append([]string{x.Heading, x.Sub, x.Lead, x.Text, string(x.Drawn)}, x.List...), "\n"))
			for k := range x.Facts {
				x.Facts[k].Term = id(x.Facts[k].Name)
			}
			for _, c := range x.Cards {
				words.WriteString(c.Value + "\n" + c.Detail + "\n")
			}
			switch {
			case x.Table != nil:
				table(x.Table)
			case x.Fold != nil:
				walk(x.Fold.Parts)
			case x.Chart != nil && x.Chart.Numbers != nil:
				table(x.Chart.Numbers)
			}
		}
	}
	walk(parts)
	text := strings.ToLower(words.String())
	parts[at].Glossary = slices.DeleteFunc(parts[at].Glossary, func(t htmlTerm) bool {
		return !used[t.ID] && !strings.Contains(text, strings.ToLower(t.Name))
	})
}

// hashes returns the sources that a policy allows.
func hashes(texts []string) string {
	var list []string
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		list = append(list, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return strings.Join(list, " ")
}

// mostPlainBytes is how long a file may be that a page has as it is. A longer one is
// compressed.
const mostPlainBytes = 100_000

// html returns the file as a link that has its data.
func (f *File) html() htmlFile {
	data, name, kind := f.Data, f.Name, f.Type
	if data == nil {
		data = []byte(f.Text)
	}
	size := units.Size(len(data)).Rounded()
	if len(data) > mostPlainBytes {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is one that there is
		_, _ = z.Write(data)                                  // a bytes.Buffer takes all that is written
		_ = z.Close()
		data, name, kind = b.Bytes(), name+".gz", "application/gzip"
		size += ", compressed " + units.Size(len(data)).Rounded()
	}
	return htmlFile{printable.Line(name), size, template.URL("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data))}
}

var page = template.Must(template.Must(fragment.Clone()).New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{.Policy}}">
{{with .Seconds}}<meta http-equiv="refresh" content="{{.}}">
{{end}}<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
{{range .Styles}}{{.}}
{{end}}</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
<header class="bar"><span class="brand"><svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true"><path d="M3 1v18M8 1v18M12 1v18M17 1v18" stroke-width="1.4" class="warp" stroke="currentColor"/><path d="M1 6c4 0 5 8 9 8s5-8 9-8" fill="none" stroke-width="2.2" class="ks2"/></svg>heddle</span><span class="what">{{.Title}}</span></header>
<div class="sheet">
{{if .Sections}}<nav aria-label="Contents"><h2>Contents</h2><ol>{{range .Sections}}<li><a href="#{{.ID}}">{{.Title}}</a></li>
{{end}}</ol></nav>
{{end}}<main id="main" tabindex="-1">
<h1>{{.Title}}</h1>
{{range .Top}}{{template "part" .}}{{end}}
{{range .Sections}}<section aria-labelledby="{{.ID}}">
{{range .Parts}}{{template "part" .}}{{end}}</section>
{{end}}</main>
</div>
{{range .Scripts}}{{.}}
{{end}}</body>
</html>
`))
