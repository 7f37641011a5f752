package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"heddle/harness/paper/models"
	"heddle/harness/sched"
)

func TestMain(m *testing.M) {
	if err := sched.Register(models.List()...); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// small is a tree with one of each thing that a site treats in a way of its own.
func small() fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"README.md":              "# small\n\nSee [parts](harness/part/README.md#second-part), [a file](harness/first.yaml) and `heddle run --quick`.\n\n![a picture](.github/a.svg)\n\n<picture><source srcset=\".github/a.svg\"><img alt=\"\" src=\".github/a.svg\"></picture>\n",
		"harness/part/README.md": "# Part & parcel\n\n## Second part\n\n| | n |\n| --- | --- |\n| a | 1 |\n\n    code\n\n## Second part\n\nUp: [start](../../README.md), [here](#second-part-1), [elsewhere](https://example.org/).\n",
		"harness/first.yaml":     "a: <b>\n",
		".github/a.svg":          "<svg/>",
		".github/CHANGES.md":     "# Changes\n",
		"testdata/not.md":        "# not a page, with a [dead link](nowhere.md)\n",
		contents:                 "# Contents\n\n## Start\n\n- [small](../../../README.md)\n- [part](../../../harness/part/README.md)\n\n## More\n\n- [changes](../../../.github/CHANGES.md)\n",
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

var smallReference = []source{{path: commandsPage, text: "# Commands\n\n## heddle run\n\n```\nheddle run\n```\n"}}

// TestSmallSite holds a small site's structure: what its pages are, where their links
// lead, and what they have been made of.
func TestSmallSite(t *testing.T) {
	files, err := build(small(), smallReference)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintln(&out, name)
		if path.Ext(name) != ".html" {
			continue
		}
		for _, n := range elements(parsed(t, files[name])) {
			switch n.DataAtom {
			case atom.Title, atom.H1, atom.H2, atom.Th, atom.Td, atom.Pre:
				fmt.Fprintf(&out, "  %s %s%s\n", n.Data, text(n), attributes(n, " ", "id", "scope", "tabindex"))
			case atom.A, atom.Img, atom.Source:
				fmt.Fprintf(&out, "  %s%s\n", attributes(n, "", "href", "src", "srcset", "aria-current"), " "+text(n))
			}
		}
	}
	golden := filepath.Join("testdata", "small.txt")
	if os.Getenv("REWRITE") != "" {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out.String()); d != "" {
		t.Errorf("want - and got + differ; REWRITE=1 go test ./cmd/site writes %s anew:\n%s", golden, d)
	}
}

func attributes(n *html.Node, before string, names ...string) (list string) {
	for _, name := range names {
		if v := get(n, name); v != "" {
			list += before + name + "=" + v
		}
	}
	return list
}

// TestDefects: each thing that would be broken on the site ends with an error that says
// where it is.
func TestDefects(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"no page":         {"[x](gone.md)", "harness/new.md: link gone.md: open harness/gone.md"},
		"no heading":      {"[x](part/README.md#third)", "harness/new.md: link part/README.md#third: harness/part/README.md has no heading #third"},
		"none of its own": {"# a\n[x](#b)", "harness/new.md: link #b: harness/new.md has no heading #b"},
		"no picture":      {"![x](../.github/b.svg)", "harness/new.md: link ../.github/b.svg: open .github/b.svg"},
		"a folder":        {"[x](part)", "harness/new.md: link part: read harness/part"},
		"outside":         {"[x](../../secret.txt)", "harness/new.md: link ../../secret.txt: "},
		"from elsewhere":  {"![x](https://example.org/x.png)", "harness/new.md: link https://example.org/x.png: a page loads nothing from elsewhere"},
		"a script":        {"[x](javascript:1)", "harness/new.md: link javascript:1: a page loads nothing from elsewhere"},
		"no text":         {"[x](../bytes.bin)", "bytes.bin is no text"},
	} {
		tree := small()
		tree["harness/new.md"] = &fstest.MapFile{Data: []byte(c.page)}
		tree["bytes.bin"] = &fstest.MapFile{Data: []byte{0xff, 0xfe}}
		_, err := build(tree, smallReference)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
	tree := small()
	delete(tree, contents)
	if _, err := build(tree, smallReference); err == nil || !strings.Contains(err.Error(), contents) {
		t.Errorf("without contents: error %v", err)
	}
}

// whole is the site of this tree.
func whole(t *testing.T) map[string][]byte {
	t.Helper()
	made, err := reference("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := build(os.DirFS("../.."), made)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestWholeSite looks at the site of this tree as a browser does that knows nothing of how
// it is made: each link leads to a file and an anchor in it, nothing is loaded from elsewhere,
// ids are unique, and whoever begins at the first page can reach every other one. A second
// build gives the same bytes.
func TestWholeSite(t *testing.T) {
	files := whole(t)
	ids, links := map[string]map[string]bool{}, map[string][]string{}
	for name, data := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		ids[name] = map[string]bool{}
		for _, n := range elements(parsed(t, data)) {
			if id := get(n, "id"); id != "" {
				if ids[name][id] {
					t.Errorf("%s has the id %s twice", name, id)
				}
				ids[name][id] = true
			}
			for _, attribute := range []string{"href", "src", "srcset"} {
				if link := get(n, attribute); link != "" {
					if n.DataAtom != atom.A && strings.Contains(link, "//") {
						t.Errorf("%s loads %s", name, link)
					}
					links[name] = append(links[name], link)
				}
			}
		}
	}
	reached := map[string]bool{}
	for queue := []string{"index.html"}; len(queue) > 0; queue = queue[1:] {
		here := queue[0]
		if reached[here] {
			continue
		}
		reached[here] = true
		for _, link := range links[here] {
			u, err := url.Parse(link)
			if err != nil || u.Scheme != "" {
				continue
			}
			to := here
			if u.Path != "" {
				to = path.Join(path.Dir(here), u.Path)
			}
			if files[to] == nil {
				t.Errorf("%s: link %s: the site has no %s", here, link, to)
			} else if u.Fragment != "" && !ids[to][u.Fragment] {
				t.Errorf("%s: link %s: %s has no such anchor", here, link, to)
			}
			queue = append(queue, to)
		}
	}
	for name := range files {
		if !reached[name] && name != "index.js" { // which site.js loads
			t.Errorf("%s: no link leads there; %s is the list of pages", name, contents)
		}
	}
	for name, again := range whole(t) {
		if !bytes.Equal(again, files[name]) {
			t.Errorf("a second build gives another %s", name)
		}
	}
}

// TestReference looks for something of each part of the code in the page that is made from
// it.
func TestReference(t *testing.T) {
	files := whole(t)
	for name, wants := range map[string][]string{
		"reference/commands.html":   {`id="heddle-trace-why"`, "--max-error"},
		"reference/metrics.html":    {"<code>makespan</code>", "waitingP95"},
		"reference/models.html":     {`id="delay"`, "nodeSkips", `id="clqlmrs"`},
		"reference/experiment.html": {"<code>workloads[].hints.map.cpu</code>", "1 to 10", "<code>models[].model</code> (needed)"},
		"reference/cluster.html":    {"<code>agents[].url</code> (needed)"},
		"reference/sweep.html":      {"latinHypercube"},
		"reference/events.html":     {`id="attemptfinished"`, "<code>shuffleDone</code>", "began to merge its spill files"},
	} {
		for _, want := range wants {
			if !bytes.Contains(files[name], []byte(want)) {
				t.Errorf("%s has no %s", name, want)
			}
		}
	}
	for name, data := range files {
		if strings.HasPrefix(name, "reference/") && bytes.Contains(data, []byte(os.Getenv("HOME")+"/")) {
			t.Errorf("%s names the home folder of who made it", name)
		}
	}
}

func parsed(t *testing.T, data []byte) *html.Node {
	t.Helper()
	n, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
