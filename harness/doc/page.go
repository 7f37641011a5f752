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
	h := &hypertext{isPage: true, terms: map[string]explained{}, used: map[string]bool{}}
	styles, scripts := []string{pageStyle + pageColours()}, []string{pageScript}
	var contents canvas
	for _, p := range d[1:].filled() {
		switch p := p.(type) {
		case *Embed:
			if !slices.Contains(scripts, p.Script) {
				styles, scripts = append(styles, p.Style), append(scripts, p.Script)
			}
		case Glossary:
			for i, t := range p {
				h.terms[strings.ToLower(printable.Line(t.Name))] = explained{glossaryID(i), t.Text}
			}
		case Heading:
			h.section++
			contents.add("<li><a href=\"#s%d\">%s</a></li>\n", h.section, escaped(string(p)))
		}
	}
	nav := ""
	if h.section > 0 {
		nav = "<nav aria-label=\"Contents\"><details open><summary>Contents</summary><ol>" + contents.String() + "</ol></details></nav>\n"
	}
	h.section = 0
	if err := h.parts(d[1:]); err != nil {
		return err
	}
	if h.section > 0 {
		h.WriteString("</section>\n")
	}
	refresh := ""
	if seconds > 0 {
		refresh = fmt.Sprintf("<meta http-equiv=\"refresh\" content=\"%d\">\n", seconds)
	}
	policy := fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data: blob:; base-uri 'none'; form-action 'none'",
		hashes(styles), hashes(scripts))
	_, err := fmt.Fprintf(out, frameOfPage, template.HTMLEscapeString(policy), refresh, escaped(string(title)), inEach("style", styles), nav,
		h.String(), inEach("script", scripts))
	return err
}

// inEach returns an element for each text, which is HTML of the program's own.
func inEach(name string, texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&b, "<%s>%s</%[1]s>\n", name, text)
	}
	return b.String()
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

// address returns the file as a link that has its data, with its name and size.
func (f *File) address() (address, name, size string) {
	data, name, kind := f.Data, f.Name, f.Type
	if data == nil {
		data = []byte(f.Text)
	}
	size = units.Size(len(data)).Rounded()
	if len(data) > mostPlainBytes {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is one that there is
		_, _ = z.Write(data)                                  // a bytes.Buffer takes all that is written
		_ = z.Close()
		data, name, kind = b.Bytes(), name+".gz", "application/gzip"
		size += ", compressed " + units.Size(len(data)).Rounded()
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data), name, size
}

// IsPage reports whether a file that begins so is a page of WritePage's.
func IsPage(head []byte) bool {
	return bytes.Contains(head, []byte(`<meta name="generator" content="heddle">`))
}

// frameOfPage is a page around its policy, title, style sheets, contents, parts and scripts.
const frameOfPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
%s<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="heddle">
<meta name="color-scheme" content="light dark">
<title>%s</title>
%s</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
<header class="bar"><span class="brand"><svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">` +
	`<path d="M3 1v18M8 1v18M12 1v18M17 1v18" stroke-width="1.4" class="warp" stroke="currentColor"/><path d="M1 6c4 0 5 8 9 8s5-8 9-8" ` +
	`fill="none" stroke-width="2.2" class="ks2"/></svg>heddle</span>` +
	`<span class="what">%[3]s</span></header>
<main class="sheet">
<h1>%[3]s</h1>
%[5]s<div id="main" tabindex="-1">
%[6]s</div>
</main>
%[7]s</body>
</html>
`
