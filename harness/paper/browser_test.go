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
		b := browsertest.New(t)
		var page strings.Builder
		check(t, doc.WritePage(&page, d))
		b.Open(page.String(), "")
		b.Script("document.documentElement.dataset.theme = 'light'; for (const e of document.querySelectorAll('details')) e.open = true")
		if found := b.Axe(); found != "" {
			t.Errorf("%s: %s", name, found)
		}
		b.Script("document.documentElement.dataset.theme = 'dark'")
		if found := b.Axe("color-contrast"); found != "" {
			t.Errorf("%s in the dark: %s", name, found)
		}
		b.Do(chromedp.EmulateViewport(390, 800))
		if w := b.Number("document.documentElement.scrollWidth"); w > 390 {
			t.Errorf("%s is %g wide", name, w)
		}
	}
}
