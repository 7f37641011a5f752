package lanes

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/harness/why"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// page returns a page that has a timeline and nothing else, and allows only the style sheet
// and the script.
func page(t testing.TB, l *Timeline) string {
	t.Helper()
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	const frame = "body{margin:0;padding:16px}h1,h2{font:600 20px system-ui,sans-serif}:root{color-scheme:light dark}:root[data-theme=dark]{color-scheme:dark}:root[data-theme=light]{color-scheme:light}"
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	fmt.Fprintf(&b, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src %s %s; script-src %s; img-src data:\">\n", hash(Style()), hash(frame), hash(Script()))
	fmt.Fprintf(&b, "<title>Timeline</title><style>%s</style><style>%s</style></head><body><main><h1>A page</h1><h2>Timeline</h2>\n", frame, Style())
	if err := l.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "</main><script>%s</script></body></html>\n", Script())
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
