package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/results"
	"heddle/harness/stats"
	"heddle/traces/printable"
)

// Held says whether a setting keeps a threshold on a trace.
type Held struct {
	Threshold string          `json:"threshold"`
	Verdict   compare.Verdict `json:"verdict"`
	// Value is in the metric's unit; that of an end is of the latest day, in s after its time of day. The
	// upper end of its CI95 is then that of one more such day.
	Value   compare.Number   `json:"value"`
	CI95    compare.Interval `json:"ci95"`
	Over    string           `json:"over"`              // what the interval is from: 7 days, 8 blocks, 3 seeds alone
	Refused int              `json:"refused,omitempty"` // jobs that YARN refused, for which it is missed

	limit *config.Limit
	alone bool // the interval is over seeds, since days or blocks of time give none: other days may differ more
}

// keep has the figures of a replay keep what its sweep asks for, and says how it stands to the thresholds.
func (p *Plan) keep(o *replay.Outcome) (list []results.Held, err error) {
	metrics, err := measure.Find(p.Metrics)
	o.Figures.Keep(metrics)
	for i := range p.Thresholds {
		l := &p.Thresholds[i]
		_, refused := l.Metric.Jobs(o.Figures)
		h := results.Held{Refused: refused}
		e, what := l.Metric.Over(o.Figures), "block"
		if !l.End.IsZero() {
			e, what = l.Metric.Ends(o.Figures, float64(o.Header.StartUnixNs/1e6-l.End.UnixMilli())), "day"
		}
		if e.Bounded() {
			h.Value, h.Over = []float64{e.Value, e.Lo, e.Hi}, printable.Count(e.N, what)
		} else if !math.IsNaN(e.Value) {
			h.Value = []float64{e.Value}
		}
		list = append(list, h)
	}
	return list, err
}

// newHeld judges threshold k by the trials of a setting on a trace: by the means of their values and
// intervals, or by the interval over seeds.
func newHeld(l *config.Limit, k int, list []*results.Trial) Held {
	h := Held{Threshold: l.String(), Over: list[0].Held[k].Over, limit: l}
	var at [3][]float64
	for _, t := range list {
		of := t.Held[k]
		if h.Refused = max(h.Refused, of.Refused); of.Over != h.Over {
			h.Over = ""
		}
		for i, x := range of.Value[:min(len(at), len(of.Value))] {
			at[i] = append(at[i], x)
		}
	}
	e := stats.Mean(at[0])
	if h.Over != "" {
		e.Lo, e.Hi = stats.Mean(at[1]).Value, stats.Mean(at[2]).Value
	} else {
		h.alone, h.Over = true, printable.Count(e.N, "seed")+" alone"
	}
	h.Value, h.CI95 = compare.Number(e.Value), compare.Interval{e.Lo, e.Hi}
	if h.Verdict = compare.Judge(l.Below, l.Limit, h.Value, h.CI95); h.Refused > 0 {
		h.Verdict = compare.Missed
	}
	return h
}

// verdict says whether a setting keeps all thresholds on all traces, and by how much it is beyond the one
// that it is farthest beyond: in parts of it, or of a day.
func (g *grid) verdict(i int) (v compare.Verdict, beyond float64) {
	v, beyond = compare.Met, math.Inf(-1)
	for t := range g.p.Traces {
		for _, h := range g.held[[2]int{t, i}] {
			x := (float64(h.Value) - h.limit.Limit) / cmp.Or(h.limit.Limit, 24*3600)
			if !h.limit.Below {
				x = -x
			}
			if h.Refused > 0 || math.IsNaN(x) {
				x = math.Inf(1)
			}
			if beyond = max(beyond, x); v == compare.Met || h.Verdict == compare.Missed {
				v = h.Verdict
			}
		}
	}
	return v, beyond
}

// limits says in words how many settings keep the thresholds, and how the best of them, or else the
// nearest one, stands to each.
func (g *grid) limits(best *Best) string {
	count := map[compare.Verdict]int{}
	at, least := 0, math.Inf(1)
	for i := range g.p.Settings {
		v, beyond := g.verdict(i)
		if count[v]++; beyond < least {
			at, least = i, beyond
		}
	}
	which := "Nearest"
	if best != nil {
		at, which = best.at, "Best by "+best.Metric+" of those that keep them"
	}
	s := &g.p.Settings[at]
	text := fmt.Sprintf("Of %s %d keep all thresholds, %d miss one, of %d it cannot be told. %s: %s",
		printable.Count(len(g.p.Settings), "setting"), count[compare.Met], count[compare.Missed], count[compare.Unclear], which, s.Model.Label)
	for _, axis := range slices.Sorted(maps.Keys(s.Values)) {
		text += " " + strings.TrimPrefix(axis, s.Model.Label+".queues.") + "=" + s.Values[axis]
	}
	without := ""
	for t := range g.p.Traces {
		for _, h := range g.held[[2]int{t, at}] {
			if h.alone {
				without = " Seeds alone: days or blocks of time give no interval."
			}
			text += fmt.Sprintf("; %s: %s", h.Threshold, h.cell())
		}
	}
	return text + "." + without
}

// cell returns the value with its interval and the verdict. An end is a time of day.
func (h *Held) cell() doc.Cell {
	c := doc.Estimate(h.Value, h.CI95[0], h.CI95[1], h.limit.Metric.Unit).Short()
	if !h.limit.End.IsZero() {
		at := func(s float64) string { return h.limit.End.Add(time.Duration(s * 1e9)).Format("15:04") }
		if c = doc.Words(at(float64(h.Value))); h.CI95.Bounded() {
			c = doc.Words(at(float64(h.Value)) + " [to " + at(h.CI95[1]) + "]")
		}
	}
	text := h.Over
	if h.Refused > 0 {
		text = printable.Count(h.Refused, "job") + " refused"
	}
	return c.After(string(h.Verdict) + ", " + text).In(h.Verdict.Tone())
}
