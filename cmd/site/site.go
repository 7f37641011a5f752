package main

import (
	"bytes"
	_ "embed" // for what every page has
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"heddle/harness/doc"
)

var (
	//go:embed site.css
	siteStyle string
	//go:embed site.js
	siteScript string
	//go:embed page.html
	pageText string
)

// contents is the page whose headings are the groups of the list that every page has, and
// whose links are the pages in it.
const contents = "cmd/site/pages/contents.md"

// commandsPage has the help of every command, each below a heading.
const commandsPage = "reference/commands.md"

// source is a page before it is rendered.
type source struct {
	path string // in the tree; where a page made from code would be
	text string // Markdown
	file bool   // it is a file that is shown as it is
	made bool   // it is made from code
}

// page is a page of the site.
type page struct {
	source
	title    string
	body     *html.Node
	sections []section
	ids      map[string]bool
	links    []link
}

// section is a heading, and what the index of words has of the text below it.
type section struct {
	ID, Title string
	level     int
	text      strings.Builder
}

// link is one whose anchor has to be looked for when all pages are there.
type link struct{ text, to, anchor string }

// site is what build makes its files of.
type site struct {
	tree  fs.FS
	md    goldmark.Markdown
	pages map[string]*page // by path in the tree
	queue []source         // pages that are still to be rendered
	asked map[string]bool  // pages that are or were in the queue
	files map[string][]byte
}

// build returns the files of the site: a page for each Markdown file of the tree outside
// of testdata, for each of made, and for each text file that a page links to.
func build(tree fs.FS, made []source) (map[string][]byte, error) {
	s := &site{tree: tree, pages: map[string]*page{}, asked: map[string]bool{}, files: map[string][]byte{}}
	s.md = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough), goldmark.WithRendererOptions(gmhtml.WithUnsafe())) // the tree's pages are ours
	for _, p := range made {
		p.made = true
		s.queue, s.asked[p.path] = append(s.queue, p), true
	}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && (base == ".git" || base == "testdata" || name == "runs"):
			return fs.SkipDir
		case path.Ext(name) == ".md":
			return s.add(name, false)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var wrong []error
	for len(s.queue) > 0 { // rendering a page adds the files that it links to
		next := s.queue[0]
		s.queue = s.queue[1:]
		p, err := s.render(next)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", next.path, err))
			continue
		}
		s.pages[next.path] = p
	}
	for _, p := range s.sorted() {
		for _, l := range p.links {
			if to := s.pages[l.to]; to != nil && !to.ids[l.anchor] {
				wrong = append(wrong, fmt.Errorf("%s: link %s: %s has no heading #%s", p.path, l.text, l.to, l.anchor))
			}
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return s.files, s.finish()
}

// add puts a file of the tree among the pages to be rendered.
func (s *site) add(name string, asFile bool) error {
	data, err := fs.ReadFile(s.tree, name)
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s is no text", name)
	}
	if err == nil {
		s.queue, s.asked[name] = append(s.queue, source{path: name, text: string(data), file: asFile}), true
	}
	return err
}

// sorted returns the pages in the order of their paths.
func (s *site) sorted() (list []*page) {
	for _, p := range s.pages {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *page) int { return strings.Compare(a.path, b.path) })
	return list
}

// address is where the site has a file of the tree. Servers leave out names with a dot in
// front.
func address(name string) string {
	folder, base := path.Split(strings.ReplaceAll("/"+name, "/.", "/")[1:])
	stem, isPage := strings.CutSuffix(base, ".md")
	switch {
	case stem == "README":
		return folder + "index.html"
	case isPage:
		return folder + stem + ".html"
	case isPicture(name):
		return folder + base
	}
	return folder + base + ".html"
}

func isPicture(name string) bool {
	return path.Ext(name) == ".svg" || path.Ext(name) == ".png"
}

// relative is a link from one address to another.
func relative(from, to string) string {
	a, b := strings.Split(from, "/"), strings.Split(to, "/")
	same := 0
	for same < len(a)-1 && same < len(b)-1 && a[same] == b[same] {
		same++
	}
	return strings.Repeat("../", len(a)-1-same) + strings.Join(b[same:], "/")
}

// render makes a page of its source, with links as the site has them.
func (s *site) render(from source) (*page, error) {
	p := &page{source: from, title: path.Base(from.path), ids: map[string]bool{}, body: &html.Node{Type: html.ElementNode, DataAtom: atom.Div, Data: "div"}}
	var out bytes.Buffer
	if from.file {
		fmt.Fprintf(&out, "<h1>%s</h1><pre><code>%s</code></pre>", html.EscapeString(from.path), html.EscapeString(from.text))
	} else if err := s.md.Convert([]byte(from.text), &out); err != nil {
		return nil, err
	}
	nodes, err := html.ParseFragment(&out, p.body)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		p.body.AppendChild(n)
	}
	var wrong []error
	for _, n := range elements(p.body) {
		if err := s.element(p, n); err != nil {
			wrong = append(wrong, err)
		}
	}
	p.collect()
	return p, errors.Join(wrong...)
}

// elements lists what is below a node, so that it can be changed meanwhile.
func elements(n *html.Node) (list []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode {
			list = append(list, d)
		}
	}
	return list
}

// element makes one element of a page what the site needs.
func (s *site) element(p *page, n *html.Node) error {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4:
		id := p.unused(slug(text(n)))
		set(n, "id", id)
		if n.DataAtom == atom.H1 {
			p.title = text(n)
		}
	case atom.A:
		return s.follow(p, n, "href")
	case atom.Img:
		return s.follow(p, n, "src")
	case atom.Source:
		return s.follow(p, n, "srcset")
	case atom.Table:
		wrap(n, &html.Node{Type: html.ElementNode, DataAtom: atom.Div, Data: "div"})
		scrolls(n.Parent, "table")
	case atom.Pre:
		scrolls(n, "code")
	case atom.Th:
		if text(n) == "" {
			n.DataAtom, n.Data = atom.Td, "td"
		} else {
			set(n, "scope", "col")
		}
	case atom.Code:
		if words := strings.Fields(text(n)); n.Parent.DataAtom != atom.Pre && n.Parent.DataAtom != atom.A && len(words) > 1 && words[0] == "heddle" {
			s.toCommand(p, n, words)
		}
	}
	return nil
}

// toCommand has a command in a text lead to its help: that of the longest command that
// the words begin with.
func (s *site) toCommand(p *page, n *html.Node, words []string) {
	help := s.pages[commandsPage]
	for k := min(len(words), 3); k > 1 && help != nil; k-- {
		if id := strings.Join(words[:k], "-"); help.ids[id] {
			a := &html.Node{Type: html.ElementNode, DataAtom: atom.A, Data: "a"}
			set(a, "href", relative(address(p.path), address(commandsPage))+"#"+id)
			wrap(n, a)
			return
		}
	}
}

// follow changes a link of a page, in one of its attributes, to the site's own address.
func (s *site) follow(p *page, n *html.Node, attribute string) error {
	link := get(n, attribute)
	if attribute == "href" && link == "" {
		return nil // an anchor
	}
	u, err := url.Parse(link)
	if err != nil {
		return fmt.Errorf("link %s: %w", link, err)
	}
	if u.Scheme != "" || u.Host != "" {
		if attribute != "href" || u.Scheme != "https" && u.Scheme != "http" {
			return fmt.Errorf("link %s: a page loads nothing from elsewhere", link)
		}
		return nil
	}
	to := p.path
	if u.Path != "" {
		to = path.Join(path.Dir(p.path), u.Path)
	}
	if err := s.have(to); err != nil {
		return fmt.Errorf("link %s: %w", link, err)
	}
	if u.Fragment != "" {
		p.links = append(p.links, struct{ text, to, anchor string }{link, to, u.Fragment})
	}
	u.Path = ""
	if to != p.path {
		u.Path = relative(address(p.path), address(to))
	}
	set(n, attribute, u.String())
	return nil
}

// have sees to it that the site has a file of the tree that a page links to.
func (s *site) have(name string) error {
	switch {
	case s.asked[name]:
		return nil
	case isPicture(name):
		data, err := fs.ReadFile(s.tree, name)
		s.files[address(name)] = data
		return err
	}
	return s.add(name, path.Ext(name) != ".md")
}

// collect gathers the page's headings, and the text below each.
func (p *page) collect() {
	p.sections = []section{{Title: p.title, level: 1}}
	for n := range p.body.Descendants() {
		level := slices.Index([]atom.Atom{0, atom.H1, atom.H2, atom.H3, atom.H4}, n.DataAtom)
		switch {
		case n.Type == html.ElementNode && level > 1:
			p.sections = append(p.sections, section{ID: get(n, "id"), Title: text(n), level: level})
		case n.Type == html.TextNode:
			last := &p.sections[len(p.sections)-1]
			last.text.WriteString(n.Data + " ")
		}
	}
}

// unused returns an id that no heading of the page has yet.
func (p *page) unused(id string) string {
	for k, free := 1, id; ; k++ {
		if !p.ids[free] {
			p.ids[free] = true
			return free
		}
		free = fmt.Sprintf("%s-%d", id, k)
	}
}

// group is a part of the list of contents.
type group struct {
	Title string
	Items []item
}

// item is a page of the list of contents, or a part of one.
type item struct {
	Title, Address string
	Here           bool      // it is the page that is shown
	Sections       []section // of that page
}

// groups reads the list of contents, for a page that has it.
func (s *site) groups(on *page) (list []group) {
	for _, n := range elements(s.pages[contents].body) {
		switch n.DataAtom {
		case atom.H2:
			list = append(list, group{Title: text(n)})
		case atom.A:
			if len(list) == 0 {
				continue
			}
			to := path.Join(path.Dir(address(contents)), get(n, "href"))
			last := &list[len(list)-1]
			last.Items = append(last.Items, s.item(on, text(n), to))
		}
	}
	reference := group{Title: "Reference, made from code"}
	for _, p := range s.sorted() {
		if p.made {
			reference.Items = append(reference.Items, s.item(on, p.title, address(p.path)))
		}
	}
	return append(list, reference)
}

// item is a link of the list of contents, as a page has it.
func (s *site) item(on *page, title, to string) item {
	here := address(on.path)
	x := item{Title: title, Address: relative(here, to), Here: to == here}
	if x.Here {
		x.Sections = on.below(2)
	}
	return x
}

// below returns the page's headings of a level.
func (p *page) below(level int) (list []section) {
	for i := range p.sections {
		if p.sections[i].level == level {
			list = append(list, section{ID: p.sections[i].ID, Title: p.sections[i].Title})
		}
	}
	return list
}

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// finish writes all pages, and what they share.
func (s *site) finish() error {
	if s.pages[contents] == nil {
		return fmt.Errorf("%s is missing", contents)
	}
	style, script := doc.Shell()
	s.files["site.css"] = []byte(style + siteStyle)
	s.files["site.js"] = []byte(script + siteScript)
	var index [][3]string
	for _, p := range s.sorted() {
		here := address(p.path)
		if other := s.files[here]; other != nil {
			return fmt.Errorf("%s: the site has another page at %s", p.path, here)
		}
		var body, out strings.Builder
		for n := range p.body.ChildNodes() {
			if err := html.Render(&body, n); err != nil {
				return err
			}
		}
		err := pageTemplate.Execute(&out, struct {
			Title, Top, From string
			Groups           []group
			Body             template.HTML
		}{p.title, relative(here, "x")[:len(relative(here, "x"))-1], p.path, s.groups(p), template.HTML(body.String())})
		if err != nil {
			return err
		}
		s.files[here] = []byte(out.String())
		if p.file || p.path == contents {
			continue
		}
		for i := range p.sections {
			x, to := &p.sections[i], here
			if x.ID != "" {
				to += "#" + x.ID
			}
			name := p.title
			if x.Title != name {
				name += " – " + x.Title
			}
			index = append(index, [3]string{to, name, strings.Join(strings.Fields(x.text.String()), " ")})
		}
	}
	words, err := json.Marshal(index)
	s.files["index.js"] = append(append([]byte("window.siteIndex="), words...), ";\n"...)
	return err
}

var noSlug = regexp.MustCompile(`[^a-z0-9 _-]`)

// slug is a heading's anchor, as forges make it.
func slug(heading string) string {
	return strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
}

// text is all text in a node.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

func get(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func set(n *html.Node, name, value string) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

// wrap puts a node into another one, in its place.
func wrap(n, in *html.Node) {
	n.Parent.InsertBefore(in, n)
	n.Parent.RemoveChild(n)
	in.AppendChild(n)
}

// scrolls lets readers move a wide part by keyboard.
func scrolls(n *html.Node, label string) {
	set(n, "class", "scroll")
	set(n, "tabindex", "0")
	set(n, "role", "group")
	set(n, "aria-label", label)
}
