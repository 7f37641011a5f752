package measure_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/harness/measure"
	"heddle/traces"
	"heddle/traces/errtest"
)

// dueJobs returns the events of jobs whose figures can be worked out by hand. The
// first is 15 s early of 50, the second 25 s late of 75, the third ends just in
// time, the fourth fails before its deadline, and the fifth has none.
func dueJobs(t *testing.T) []traces.Event {
	events := jobsOf(t, `
early   0   0  35 1 small ok
late   10  10 110 1 large ok
just   20  20 100 1 large ok
broken  0   1   2 1 small failed
free    0   0 200 1 small ok`)
	due := map[traces.JobID]int64{"early": 50_000, "late": 75_000, "just": 80_000, "broken": 90_000}
	for _, e := range events {
		if e, ok := e.(*traces.JobSubmitted); ok {
			e.DeadlineMs = due[e.Job]
		}
	}
	return events
}

func TestDeadlinesByHand(t *testing.T) {
	f := measure.Of(twoNodes, slices.Values(dueJobs(t)))
	none := measure.Of(twoNodes, slices.Values(jobsOf(t, fourJobs)))
	large := &f.Classes[slices.IndexFunc(f.Classes, func(c measure.JobClass) bool { return c.Name == "large" })]
	for _, x := range []struct {
		metric           string
		all, large, both float64
	}{
		{"missed", 50, 50, 50},
		{"missedJobs", 2, 1, 2},
		{"lateness", 25.0 / 3, 12.5, 25.0 / 3},
		{"lateness.p50", 0, 0, math.NaN()},
		{"lateness.p90", 25, 25, math.NaN()},
		{"lateness.max", 25, 25, 25},
		{"distance", (-30 + 100.0/3 + 0) / 3, 100.0 / 6, (-30 + 100.0/3 + 0) / 3},
		{"distance.p50", 0, 0, math.NaN()},
		{"distance.p90", 100.0 / 3, 100.0 / 3, math.NaN()},
	} {
		m := errtest.Must(measure.Find([]string{x.metric}))
		for _, v := range []struct {
			of        string
			got, want float64
		}{
			{"all jobs", m[0].Of(f), x.all},
			{"large jobs", m[0].OfClass(large), x.large},
			{"two trials, one without deadlines", m[0].Of(f, none), x.both},
			{"jobs without deadlines", m[0].Of(none), math.NaN()},
		} {
			if math.IsNaN(v.got) != math.IsNaN(v.want) || math.Abs(v.got-v.want) > 1e-9 {
				t.Errorf("%s of %s: %v, want %v", x.metric, v.of, v.got, v.want)
			}
		}
	}
	m, _ := measure.Find([]string{"missed"})
	if s := m[0].Share(f); s.Part != 2 || s.Of != 4 {
		t.Errorf("%d of %d jobs missed their deadline, want 2 of 4", s.Part, s.Of)
	}
	if text, err := json.Marshal(none); err != nil || strings.Contains(strings.ToLower(string(text)), "deadline") {
		t.Errorf("figures of jobs without deadlines have some: %s, %v", text, err)
	}
}

// A job that had not ended when the trace did neither met nor missed its deadline.
func TestDeadlineOfUnfinishedJob(t *testing.T) {
	events := slices.DeleteFunc(dueJobs(t), func(e traces.Event) bool {
		f, ok := e.(*traces.JobFinished)
		return ok && f.Job == "late"
	})
	if d := measure.Of(twoNodes, slices.Values(events)).AllJobs.Deadlines; d.Jobs != 3 || d.Missed != 1 {
		t.Errorf("%+v, want one of three, which failed", d)
	}
}
