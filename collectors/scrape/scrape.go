// Package scrape answers Prometheus: it turns figures into metrics in Prometheus' text
// format. All metrics of heddle begin with heddle_. What the figures are, and who may
// read them, is up to the caller.
package scrape

import (
	"math"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"heddle/traces/printable"
)

// Handler returns what answers GET /metrics. It calls collect for each answer, and also
// sends the metrics of the other collectors.
func Handler(collect func(Metrics), others ...prometheus.Collector) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(append(others, collector(collect))...)
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4,
		// Two series with the same labels cost one of them, and not the answer.
		ErrorHandling: promhttp.ContinueOnError,
	})
}

type collector func(Metrics)

// Describe sends no descriptions, which tells the Prometheus library that the set of
// metrics may differ from one answer to the next.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of one answer.
func (c collector) Collect(out chan<- prometheus.Metric) { c(Metrics{out}) }

// Metrics takes the metrics of one answer. Labels are names, each with its value behind
// it. A value that is not a number was not measured, and is not sent.
type Metrics struct{ out chan<- prometheus.Metric }

// Gauge sends a number that goes up and down.
func (m Metrics) Gauge(name, help string, v float64, labels ...string) {
	m.value(prometheus.GaugeValue, name, help, v, labels)
}

// Counter sends a number that only goes up, or begins again at 0.
func (m Metrics) Counter(name, help string, v float64, labels ...string) {
	m.value(prometheus.CounterValue, name, help, v, labels)
}

func (m Metrics) value(kind prometheus.ValueType, name, help string, v float64, labels []string) {
	if math.IsNaN(v) {
		return
	}
	desc, values := describe(name, help, labels)
	m.out <- prometheus.MustNewConstMetric(desc, kind, v, values...)
}

// Histogram sends how many values were in each class. The class i has the values of
// bounds[i] at most that are above the bound before. The last one, which has no bound,
// has the others.
func (m Metrics) Histogram(name, help string, bounds []float64, counts []int, sum float64, labels ...string) {
	desc, values := describe(name, help, labels)
	upTo, all := make(map[float64]uint64, len(bounds)), uint64(0)
	for i, n := range counts {
		all += uint64(n)
		if i < len(bounds) {
			upTo[bounds[i]] = all
		}
	}
	m.out <- prometheus.MustNewConstHistogram(desc, all, sum, upTo, values...)
}

// describe returns the description of a metric, and the values of its labels. They may
// come from a server. Control characters and bytes that are not UTF-8, which the
// library refuses, are escaped.
func describe(name, help string, labels []string) (*prometheus.Desc, []string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, cut(printable.Line(labels[i+1])))
	}
	return prometheus.NewDesc("heddle_"+name, help, names, nil), values
}

// mostRunes is the length of the longest value of a label.
const mostRunes = 200

func cut(text string) string {
	if len(text) <= mostRunes {
		return text
	}
	return string([]rune(text)[:min(mostRunes, len([]rune(text)))])
}
