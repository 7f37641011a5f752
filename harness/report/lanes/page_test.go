package lanes

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/harness/doc"
	"heddle/harness/why"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// page returns a page that has a timeline and nothing else.
func page(t testing.TB, l *Timeline) string {
	t.Helper()
	var b strings.Builder
	if err := doc.WritePage(&b, doc.Doc{doc.Heading("A page"), doc.Heading("Timeline"), &doc.Embed{HTML: l.WriteHTML, Script: Script(), Style: Style()}}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func firstSubmission(events []traces.Event) traces.Time {
	for _, e := range events {
		if s, ok := e.(*traces.JobSubmitted); ok {
			return s.T
		}
	}
	return 0
}

// TestPageOfFiles writes a page of the traces that LANES_TRACES names, to LANES_PAGE. It is a
// tool for looking at one.
func TestPageOfFiles(t *testing.T) {
	files := strings.Fields(os.Getenv("LANES_TRACES"))
	if len(files) == 0 {
		t.Skip("LANES_TRACES names no traces")
	}
	l := New(Options{})
	for _, path := range files {
		r, err := tracefile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(path))
		trial := Trial{Name: name, Header: r.Header(), Model: r.Header().Model, Repeat: 1, Recorded: strings.HasSuffix(name, "recorded")}
		parts := strings.Split(name, "-")
		if n, err := strconv.Atoi(strings.TrimLeft(parts[0], "rw0")); err == nil && len(parts) > 2 {
			trial.Repeat, trial.Workload, trial.Model = n, parts[1], strings.Join(parts[2:], "-")
		}
		if h, events, err := tracefile.ReadFile(path); err == nil && len(events) < 1_000_000 {
			all, begin := why.Read(&h, slices.Values(events)), firstSubmission(events)
			trial.Why = func(a traces.Attempt) []string {
				if reasons := all[a]; reasons != nil {
					return reasons.Since(begin).Sentences()
				}
				return nil
			}
		}
		l.Add(trial, r.All())
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		r.Close()
	}
	if err := os.WriteFile(os.Getenv("LANES_PAGE"), []byte(page(t, l)), 0o600); err != nil {
		t.Fatal(err)
	}
}
