package lanes

import (
	"strings"
	"testing"

	"heddle/harness/doc"
)

// page returns a page that has a timeline and nothing else.
func page(t testing.TB, l *Timeline) string {
	t.Helper()
	var b strings.Builder
	mustDo(t, doc.WritePage(&b, doc.Doc{
		doc.Heading("A page"), doc.Heading("Timeline"),
		&doc.Embed{HTML: l.WriteHTML, Script: Script(), Style: Style()},
	}))
	return b.String()
}
