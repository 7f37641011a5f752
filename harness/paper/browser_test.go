package paper

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"heddle/harness/doc"
	"heddle/harness/report/browsertest"
)

// TestPages has a checker of accessibility find nothing in the page of a paper and in
// that of its matrix, in the light and in the dark, and neither be wider than a phone.
func TestPages(t *testing.T) {
	for name, d := range map[string]doc.Doc{"report": sample().Doc(), "matrix": sampleMatrix().Doc()} {
		for _, theme := range []string{"light", "dark"} {
			b := browsertest.New(t)
			var page strings.Builder
			check(t, doc.WritePage(&page, d))
			b.Open(page.String(), "")
			b.Script("document.documentElement.dataset.theme = '" + theme + "'; for (const e of document.querySelectorAll('details')) e.open = true")
			if found := b.Axe(); found != "" {
				t.Errorf("%s, %s: %s", name, theme, found)
			}
			b.Do(chromedp.EmulateViewport(390, 800))
			if w := b.Number("document.documentElement.scrollWidth"); w > 390 {
				t.Errorf("%s is %g wide", name, w)
			}
		}
	}
}
