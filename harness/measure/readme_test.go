package measure_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/internal/golden"
	"heddle/harness/measure"
	"heddle/traces/errtest"
)

// TestMetricTable: the table of metrics that users read has what the list has.
func TestMetricTable(t *testing.T) {
	const file, head = "../runs/README.md", "| metric | unit | better | what it is |\n| --- | --- | --- | --- |\n"
	page := errtest.Must(os.ReadFile(file))
	before, rest, ok := strings.Cut(string(page), head)
	if !ok {
		t.Fatalf("%s has no table that begins with\n%s", file, head)
	}
	got, after, ok := strings.Cut(rest, "\n\n")
	if got += "\n"; !ok {
		t.Fatalf("%s: no blank line after the table of metrics", file)
	}
	var want strings.Builder
	for _, m := range measure.Metrics() {
		if m.Part {
			continue
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", m.Name, m.Unit, m.Better, m.Text)
	}
	if *golden.Update {
		mustDo(t, os.WriteFile(file, []byte(before+head+want.String()+"\n"+after), 0o644))
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("table of metrics in %s (-list +page, -update writes it):\n%s", file, diff)
	}
}
