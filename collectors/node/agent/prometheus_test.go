package agent

import (
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func scraped(t *testing.T, collect func(exposition), others ...prometheus.Collector) string {
	t.Helper()
	w := httptest.NewRecorder()
	handler(collect, others...).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// TestText has the text that Prometheus gets, with names that a server could send.
func TestText(t *testing.T) {
	got := scraped(t, func(m exposition) {
		m.gauge("a", "What it is.", 1.5, "node", "a\"b\\c\nheddle_a 7", "rack", "\xff")
		m.gauge("a", "What it is.", 2, "node", strings.Repeat("n", 500), "rack", "\u202e")
		m.counter("b_total", "Another.", 3)
		m.counter("c_total", "Not measured.", math.NaN())
	})
	want := `# HELP heddle_a What it is.
# TYPE heddle_a gauge
heddle_a{node="a\"b\\c\\u000aheddle_a 7",rack="\\xff"} 1.5
heddle_a{node="` + strings.Repeat("n", 200) + `",rack="\\u202e"} 2
# HELP heddle_b_total Another.
# TYPE heddle_b_total counter
heddle_b_total 3
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTwice has two series with the same labels not take the others away.
func TestTwice(t *testing.T) {
	got := scraped(t, func(m exposition) {
		m.gauge("a", "What it is.", 1, "node", "n")
		m.gauge("a", "What it is.", 2, "node", "n")
		m.gauge("b", "Another.", 3)
	})
	if strings.Count(got, "heddle_a{") != 1 || !strings.Contains(got, "heddle_b 3\n") {
		t.Errorf("got\n%s", got)
	}
}
