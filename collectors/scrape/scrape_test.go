package scrape

import (
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func answer(t *testing.T, collect func(Metrics), others ...prometheus.Collector) string {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(collect, others...).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// TestText has the text that Prometheus gets, with names that a server could send.
func TestText(t *testing.T) {
	got := answer(t, func(m Metrics) {
		m.Gauge("a", "What it is.", 1.5, "node", "a\"b\\c\nheddle_a 7", "rack", "\xff")
		m.Gauge("a", "What it is.", 2, "node", strings.Repeat("n", 500), "rack", "\u202e")
		m.Counter("b_total", "Another.", 3)
		m.Counter("c_total", "Not measured.", math.NaN())
		m.Histogram("d_seconds", "Times.", []float64{0.5, 1}, []int{2, 0, 3}, 12.5)
	})
	want := `# HELP heddle_a What it is.
# TYPE heddle_a gauge
heddle_a{node="a\"b\\c\\u000aheddle_a 7",rack="\\xff"} 1.5
heddle_a{node="` + strings.Repeat("n", 200) + `",rack="\\u202e"} 2
# HELP heddle_b_total Another.
# TYPE heddle_b_total counter
heddle_b_total 3
# HELP heddle_d_seconds Times.
# TYPE heddle_d_seconds histogram
heddle_d_seconds_bucket{le="0.5"} 2
heddle_d_seconds_bucket{le="1"} 2
heddle_d_seconds_bucket{le="+Inf"} 5
heddle_d_seconds_sum 12.5
heddle_d_seconds_count 5
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTwice has two series with the same labels not take the others away.
func TestTwice(t *testing.T) {
	got := answer(t, func(m Metrics) {
		m.Gauge("a", "What it is.", 1, "node", "n")
		m.Gauge("a", "What it is.", 2, "node", "n")
		m.Gauge("b", "Another.", 3)
	})
	if strings.Count(got, "heddle_a{") != 1 || !strings.Contains(got, "heddle_b 3\n") {
		t.Errorf("got\n%s", got)
	}
}
