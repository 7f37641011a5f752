package paper

import (
	"strings"
	"testing"

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
		b.Script("for (const e of document.querySelectorAll('details')) e.open = true")
		b.Readable(name)
	}
}
