package doc_test

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"heddle/harness/doc"
)

// written returns a document as a page.
func written(t *testing.T, d doc.Doc) string {
	t.Helper()
	var out strings.Builder
	mustDo(t, doc.WritePage(&out, d))
	return out.String()
}

// TestPageIsAlone has a page name no other place: whatever it links to or takes is within
// it, and its policy allows its own scripts and style sheets alone.
func TestPageIsAlone(t *testing.T) {
	embed := &doc.Embed{Script: "let a = 1;", Style: ".a{}", HTML: func(w io.Writer) error {
		_, err := w.Write([]byte("<p>drawn</p>"))
		return err
	}}
	d := append(everywhere("http://evil/"), doc.Files{{Name: "http://evil/x.csv", Type: "text/csv", Text: "a,b\n"}}, embed)
	page := written(t, d)
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if policy == nil || !strings.Contains(policy[1], "default-src &#39;none&#39;") || strings.Contains(policy[1], "unsafe") {
		t.Fatalf("policy %q", policy)
	}
	inside := ""
	for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			break
		}
		token := tokens.Token()
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			inside = token.Data
			for _, a := range token.Attr {
				address := a.Key == "src" || a.Key == "href" || a.Key == "srcset" || a.Key == "action" || a.Key == "data"
				if address && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "data:text/csv;base64,") || a.Key == "style" ||
					strings.HasPrefix(a.Key, "on") {
					t.Errorf("<%s %s=%q>", token.Data, a.Key, a.Val)
				}
			}
		case html.TextToken:
			if inside == "script" || inside == "style" {
				sum := sha256.Sum256([]byte(token.Data))
				hash := html.EscapeString("'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'")
				if !strings.Contains(html.UnescapeString(policy[1]), html.UnescapeString(hash)) {
					t.Errorf("the policy does not allow the page's own %s %.40q", inside, token.Data)
				}
			}
		case html.EndTagToken:
			inside = ""
		}
	}
	if !strings.Contains(page, "<p>drawn</p>") || !strings.Contains(page, ">let a = 1;</script>") {
		t.Error("the page lacks what another package draws")
	}
}

// TestContents has the contents of a page link each heading once.
func TestContents(t *testing.T) {
	page := written(t, doc.Doc{
		doc.Heading("title"), doc.Lead("It is so."), doc.Heading("one"), doc.Text("x"), doc.Heading("one"),
		doc.Text("y"),
	})
	for _, want := range []string{
		`<h1>title</h1>`, `<a href="#s1">one</a>`, `<a href="#s2">one</a>`, `<h2 id="s1">one</h2>`,
		`<h2 id="s2">one</h2>`, `<p class="lead">It is so.</p>`,
	} {
		if strings.Count(page, want) != 1 {
			t.Errorf("%q is there %d times, want once", want, strings.Count(page, want))
		}
	}
}

// TestLogAxis has a chart with a logarithmic axis keep all its points within its plot,
// also those that have no logarithm.
func TestLogAxis(t *testing.T) {
	c := &doc.Chart{
		Kind: doc.Steps, Log: true, X: "s",
		Rows: []doc.ChartRow{{
			Name: "a", At: []float64{0, 0.5, 3, 700, 86_400},
			Points: []doc.Point{{Value: 0}, {Value: 20}, {Value: 50}, {Value: 90}, {Value: 100}},
		}},
	}
	svg := drawn(t, c)
	line := regexp.MustCompile(`<polyline [^>]*points="([^"]*)"`).FindStringSubmatch(svg)
	if line == nil || strings.Count(line[1], ",") < 8 {
		t.Fatalf("no steps are drawn:\n%s", svg)
	}
	for _, want := range []string{">1</text>", ">100</text>", ">10000</text>"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the axis lacks %s", want)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "-Inf") {
		t.Errorf("a place that is none:\n%s", svg)
	}
	c.Rows[0].At = []float64{1e-5, 1, 3, 700, 1e9} // 15 powers of ten are too many to stand side by side
	svg = drawn(t, c)
	if n := strings.Count(svg, `text-anchor="middle"`); n > 10 || !strings.Contains(svg, ">10⁻⁵</text>") {
		t.Errorf("%d numbers below the plot, want at most 9 and the axis' name:\n%s", n, svg)
	}
}
