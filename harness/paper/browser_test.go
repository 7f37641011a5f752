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
		b.Do(chromedp.EmulateViewport(1200, 900))
		const says = "[...document.querySelectorAll('th[scope=col]')].find((e) => e.innerText == 'what it says')"
		if left := b.Number(says + ".getBoundingClientRect().right - " + says + ".closest('.scroll').getBoundingClientRect().right"); left > 0 ||
			b.Number(says+".cellIndex") != 1 {
			t.Errorf("%s, 1200 px: %g px of \"what it says\" are cut off", name, left)
		}
		b.Do(chromedp.EmulateViewport(390, 800))
		const top = ".getBoundingClientRect().top"
		if title, contents, text := b.Number("document.querySelector('h1')"+top), b.Number("document.querySelector('nav')"+top),
			b.Number("document.querySelector('#main')"+top); title >= contents || contents >= text {
			t.Errorf("%s on a phone: the title is at %g, the contents at %g, the text at %g", name, title, contents, text)
		}
		b.Do(chromedp.EmulateViewport(1400, 900))
		b.Script("for (const e of document.querySelectorAll('details')) e.open = true")
		b.Readable(name)
	}
}
