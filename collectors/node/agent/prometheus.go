package agent

import (
	"math"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	text "heddle/traces/printable"
)

// handler returns what answers GET /metrics in Prometheus' text format. It calls collect
// for each answer, and also sends the metrics of the other collectors.
func handler(collect func(exposition), others ...prometheus.Collector) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(append(others, collector(collect))...)
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4,
		// Two series with the same labels cost one of them, and not the answer.
		ErrorHandling: promhttp.ContinueOnError,
	})
}

type collector func(exposition)

// Describe sends no descriptions, which tells the Prometheus library that the set of
// metrics may differ from one answer to the next.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of one answer.
func (c collector) Collect(out chan<- prometheus.Metric) { c(exposition{out}) }

// exposition takes the metrics of one answer to Prometheus. Their names begin with heddle_. Labels are names, each with its value behind
// it. A value that is not a number was not measured, and is not sent.
type exposition struct{ out chan<- prometheus.Metric }

// gauge sends a number that goes up and down.
func (m exposition) gauge(name, help string, v float64, labels ...string) {
	m.value(prometheus.GaugeValue, name, help, v, labels)
}

// counter sends a number that only goes up, or begins again at 0.
func (m exposition) counter(name, help string, v float64, labels ...string) {
	m.value(prometheus.CounterValue, name, help, v, labels)
}

func (m exposition) value(kind prometheus.ValueType, name, help string, v float64, labels []string) {
	if math.IsNaN(v) {
		return
	}
	desc, values := describe(name, help, labels)
	m.out <- prometheus.MustNewConstMetric(desc, kind, v, values...)
}

// describe returns the description of a metric, and the values of its labels. They may
// come from a server. Control characters and bytes that are not UTF-8, which the
// library refuses, are escaped.
func describe(name, help string, labels []string) (*prometheus.Desc, []string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, cut(text.Line(labels[i+1])))
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
