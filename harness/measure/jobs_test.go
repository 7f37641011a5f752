package measure_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/measure"
	"heddle/traces"
	"heddle/traces/errtest"
)

// jobsOf makes the events of jobs from a text: a line a job, with its name, when
// it was submitted, when its first task started, when it ended, all in seconds,
// its number of maps, its queue and, where it is not "ok", its outcome.
func jobsOf(t rapid.TB, text string) []traces.Event {
	t.Helper()
	var events []traces.Event
	for line := range strings.Lines(text) {
		var name, queue, outcome string
		var submitted, started, ended float64
		var maps int32
		if strings.TrimSpace(line) == "" {
			continue
		}
		if _, err := fmt.Sscan(line, &name, &submitted, &started, &ended, &maps, &queue, &outcome); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		at := func(s float64) traces.Time { return traces.Time(s * 1e9) }
		job := traces.JobID(name)
		events = append(events, &traces.JobSubmitted{T: at(submitted), Job: job, Name: name, Queue: queue, Maps: maps, MapMemoryBytes: 1 << 30})
		for i := range maps {
			x := traces.Attempt{Task: traces.Task{Job: job, Kind: traces.Map, Index: i}}
			events = append(events,
				&traces.TaskScheduled{T: at(submitted), Task: x.Task},
				&traces.AttemptStarted{T: at(started), Attempt: x, Node: "a"},
				&traces.AttemptFinished{T: at(ended), Attempt: x, Outcome: traces.Succeeded, Counters: traces.NoCounters})
		}
		o := traces.Succeeded
		if outcome != "ok" {
			o = traces.Failed
		}
		events = append(events, &traces.JobFinished{T: at(ended), Job: job, Outcome: o, Counters: traces.NoCounters})
	}
	traces.Sort(events)
	return events
}

// fourJobs are jobs whose figures can be worked out by hand: a short one that
// waits 30 s for 5 s of work, one that starts at once, one that waits as long as
// it runs, and one that fails.
const fourJobs = `
short   0  30  35    1  small  ok
prompt 10  10 110   20  large  ok
even   20  60 100  200  large  ok
broken  0   1   2    1  small  failed`

func TestMetricsByHand(t *testing.T) {
	f := measure.Of(twoNodes, slices.Values(jobsOf(t, fourJobs)))
	class := func(by, name string) *measure.JobClass {
		i := slices.IndexFunc(f.Classes, func(c measure.JobClass) bool { return c.By == by && c.Name == name })
		if i < 0 {
			t.Fatalf("no class %s %q among %+v", by, name, f.Classes)
		}
		return &f.Classes[i]
	}
	// Slowdowns: 35 s over 10 s (5 s count as 10), 100 over 100, 80 over 40.
	jain := (3.5 + 1 + 2) * (3.5 + 1 + 2) / (3 * (3.5*3.5 + 1 + 4))
	for _, x := range []struct {
		metric    string
		in        *measure.JobClass // nil for all jobs
		got, want float64
	}{
		{metric: "makespan", want: 110},
		{metric: "jobCompletion", want: (35.0 + 100 + 80) / 3},
		{metric: "completion.p50", want: 80},
		{metric: "completion.p90", want: 100},
		{metric: "completion.max", want: 100},
		{metric: "waiting", want: (30.0 + 0 + 40) / 3},
		{metric: "waiting.p50", want: 30},
		{metric: "waiting.p99", want: 40},
		{metric: "slowdown", want: (3.5 + 1 + 2) / 3},
		{metric: "slowdown.p50", want: 2},
		{metric: "slowdown.max", want: 3.5},
		{metric: "fairness", want: jain},
		{metric: "failedJobs", want: 1},
		// The two nodes have 8 GiB: 1 GiB for 5 s, 20 GiB for 100 s, 200 GiB for
		// 40 s, and 1 GiB for the 1 s of the job that failed, in 110 s.
		{metric: "slotUse", want: 100 * (5 + 2000 + 8000 + 1) / (8 * 110.0)},
		// The attempts that succeeded, the failed job's too, take 10,006 GiB x s,
		// which 8 GiB do in 1,250.75 s.
		{metric: "overBound", want: 110 / 1250.75},
		{metric: "mapDuration", want: (5 + 20*100 + 200*40 + 1) / 222.0},
		{metric: "jobCompletion", in: class("queue", "large"), want: 90},
		{metric: "failedJobs", in: class("queue", "small"), want: 1},
		{metric: "jobCompletion of root.large", want: 90},
		{metric: "waiting.max of job [pe]*", want: 40},
		{metric: "failedJobs of user nobody", want: math.NaN()},
		{metric: "completion.max", in: class("size", "0-10 maps"), want: 35},
		{metric: "slowdown", in: class("size", "151-500 maps"), want: 2},
		{metric: "waiting", in: class("size", "11-50 maps"), want: 0},
	} {
		m := errtest.Must(measure.Find([]string{x.metric}))
		got := m[0].Of(f)
		if x.in != nil {
			got = m[0].OfClass(x.in)
		}
		if math.Abs(got-x.want) > 1e-9*math.Abs(x.want) {
			t.Errorf("%s of %v: %v, want %v", x.metric, x.in, got, x.want)
		}
	}
}

// TestClasses has classes of sizes of one's own, and none where one class would
// have all jobs.
func TestClasses(t *testing.T) {
	f := measure.Of(twoNodes, slices.Values(jobsOf(t, fourJobs)))
	names := func() string {
		var list []string
		for _, c := range f.Classes {
			list = append(list, fmt.Sprintf("%s=%s:%d", c.By, c.Name, c.Jobs))
		}
		return strings.Join(list, " ")
	}
	if got, want := names(), "queue=large:2 queue=small:2 size=0-10 maps:2 size=11-50 maps:1 size=151-500 maps:1"; got != want {
		t.Errorf("classes %q, want %q", got, want)
	}
	f.Classify([]measure.SizeClass{{"all", math.MaxInt}})
	if got, want := names(), "queue=large:2 queue=small:2"; got != want {
		t.Errorf("with one class of sizes: classes %q, want %q", got, want)
	}
	f.Classify([]measure.SizeClass{{"one", 1}, {"few", 20}, {"many", math.MaxInt}})
	if got, want := names(), "queue=large:2 queue=small:2 size=one:2 size=few:1 size=many:1"; got != want {
		t.Errorf("with sizes of one's own: classes %q, want %q", got, want)
	}
	s := f.Summary()
	s.Classify([]measure.SizeClass{{"few", 5}, {"many", math.MaxInt}})
	if len(s.Classes) != len(f.Classes) {
		t.Errorf("a summary has no list of jobs, and lost its classes: %+v", s.Classes)
	}
}

// A day ends at 6:00. The last job of the first one ends an hour after that, of the second at 3:00, of the
// fourth at 4:00.
func TestEnds(t *testing.T) {
	f := measure.Of(twoNodes, slices.Values(jobsOf(t, `
early    18000  18000  19000 1 nightly ok
late     21000  21000  25200 1 nightly ok
evening  79200  79200  97200 1 nightly ok
other    80000  80000 107000 1 adhoc   ok
morning 273600 273600 273610 1 nightly ok`)))
	m := errtest.Must(measure.Find([]string{"completion.p95 of nightly"}))[0]
	e := m.Ends(f, -6*3_600_000)
	if list, refused := m.Jobs(f); e.Value != 3600 || e.Lo != 3600 || e.N != 3 || int(e.Hi) != 32_427 || len(list) != 4 || refused != 0 {
		t.Errorf("%d jobs end %+v, want 4 jobs, an hour late, of 3 days, and one more day by 32427 s", len(list), e)
	}
	if e := m.Over(f); e.Bounded() {
		t.Errorf("four jobs have the interval %+v", e)
	}
	var week strings.Builder
	for i := range 700 {
		fmt.Fprintf(&week, "j%d %d %d %d 1 nightly ok\n", i, i*864, i*864+i%100, i*864+200)
	}
	f = measure.Of(twoNodes, slices.Values(jobsOf(t, week.String())))
	f.Keep([]measure.Metric{m})
	for part, bounded := range map[string]bool{"waiting.p95": true, "waiting.p99": true, "waiting.max": false, "makespan": false} {
		m := errtest.Must(measure.Find([]string{part}))[0]
		if e := m.Over(f); e.Bounded() != bounded || e.Value != m.Of(f) {
			t.Errorf("%s: %+v, want %v", part, e, m.Of(f))
		}
	}
	// On one day of seven a third of the jobs waits long.
	week.Reset()
	for i := range 700 {
		wait := 10
		if i < 35 {
			wait = 900
		}
		fmt.Fprintf(&week, "j%d %d %d %d 1 nightly ok\n", i, i*864, i*864+wait, i*864+1000)
	}
	rare := measure.Of(twoNodes, slices.Values(jobsOf(t, week.String())))
	for part, want := range map[string][3]int{"waiting.p95": {10, 10, 900}, "waiting": {54, 2, 1023}, "completion.p50": {1000, 1000, 1000}} {
		e := errtest.Must(measure.Find([]string{part}))[0].Over(rare)
		if got := [3]int{int(e.Value), int(e.Lo), int(e.Hi)}; got != want {
			t.Errorf("%s is %v, want %v: its interval has what other weeks may have", part, got, want)
		}
	}
	if x := m.Of(f.Summary()); x != 200 {
		t.Errorf("a summary says %v, want 200", x)
	}
}

// TestMetricsOfSeveral has the jobs of two trials: taken together they have the
// mean over all their jobs, and no percentile.
func TestMetricsOfSeveral(t *testing.T) {
	a := measure.Of(twoNodes, slices.Values(jobsOf(t, "one 0 0 10 1 q ok")))
	b := measure.Of(twoNodes, slices.Values(jobsOf(t, "two 0 0 20 1 q ok\nthree 0 0 60 1 q ok")))
	for _, x := range []struct {
		metric string
		want   float64
	}{
		{"makespan", 10 + 60},
		{"jobCompletion", 30},
		{"completion.p50", math.NaN()},
		{"completion.max", 60},
		{"mapDuration", 30},
		{"slotUse", 100 * (10 + 20 + 60) / (8 * 70.0)},
		{"coreUse", math.NaN()},
		{"cacheBytes", math.NaN()},
		{"nodeLocal", math.NaN()},
	} {
		m := errtest.Must(measure.Find([]string{x.metric}))
		if got := m[0].Of(a, b); !(math.Abs(got-x.want) < 1e-9) && !(math.IsNaN(got) && math.IsNaN(x.want)) {
			t.Errorf("%s: %v, want %v", x.metric, got, x.want)
		}
	}
}

// TestMetricList holds what all who derive something from the list rely on.
func TestMetricList(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range measure.Metrics() {
		switch {
		case seen[m.Name]:
			t.Errorf("two metrics are named %s", m.Name)
		case m.Text == "" || strings.HasSuffix(m.Text, "."):
			t.Errorf("%s: text %q: want one without a full stop", m.Name, m.Text)
		case m.Better != measure.Lower && m.Better != measure.Higher && m.Name != "slotUse":
			t.Errorf("%s: better %q", m.Name, m.Better)
		case !slices.Contains([]string{"s", "%", "x", ""}, m.Unit):
			t.Errorf("%s: unit %q", m.Name, m.Unit)
		case m.IsShare() && m.Unit != "%":
			t.Errorf("%s: a share in %q", m.Name, m.Unit)
		}
		seen[m.Name] = true
		if empty := measure.Of(traces.Header{}, slices.Values[[]traces.Event](nil)); m.Name != "makespan" && m.Name != "failedJobs" &&
			!math.IsNaN(m.Of(empty)) {
			t.Errorf("%s of a trace without events: %v, want NaN", m.Name, m.Of(empty))
		}
	}
	if usual, err := measure.Find(nil); err != nil || len(usual) == 0 || len(usual) > 8 {
		t.Errorf("%d usual metrics, error %v", len(usual), err)
	}
	errtest.Has(t, errtest.Of(measure.Find([]string{"makespan", "makspan"})), `did you mean "makespan"?`)
}

// TestDistributions holds, for random jobs, what is true of any sample: order of
// percentiles, Jain's index between 1/n and 1, classes that add up to the whole.
func TestDistributions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		n := rapid.IntRange(1, 30).Draw(t, "jobs")
		ok := 0
		for i := range n {
			submitted := rapid.IntRange(0, 1000).Draw(t, "submitted")
			wait := rapid.IntRange(0, 100).Draw(t, "wait")
			run := rapid.IntRange(1, 500).Draw(t, "run")
			outcome := rapid.SampledFrom([]string{"ok", "ok", "failed"}).Draw(t, "outcome")
			if outcome == "ok" {
				ok++
			}
			fmt.Fprintf(&text, "j%d %d %d %d %d %s %s\n", i, submitted, submitted+wait, submitted+wait+run,
				rapid.IntRange(1, 60).Draw(t, "maps"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "queue"), outcome)
		}
		f := measure.Of(twoNodes, slices.Values(jobsOf(t, text.String())))
		all := f.AllJobs
		if all.Jobs != n || all.Succeeded != ok {
			t.Fatalf("%d jobs, %d succeeded; want %d, %d", all.Jobs, all.Succeeded, n, ok)
		}
		for name, d := range map[string]measure.Distribution{"completion": all.CompletionMs, "waiting": all.WaitingMs, "slowdown": all.Slowdown} {
			if d.Count != ok || !slices.IsSorted([]float64{d.P50, d.P90, d.P95, d.P99, d.Max}) || d.Mean > d.Max {
				t.Fatalf("%s: %+v", name, d)
			}
		}
		if ok > 0 && (all.Slowdown.P50 < 1 || all.Fairness < 1/float64(ok)-1e-9 || all.Fairness > 1+1e-9) {
			t.Fatalf("slowdown %+v, Jain's index %v of %d jobs", all.Slowdown, all.Fairness, ok)
		}
		jobs, sum := map[string]int{}, map[string]float64{}
		for _, c := range f.Classes {
			jobs[c.By] += c.Jobs
			sum[c.By] += c.CompletionMs.Mean * float64(c.CompletionMs.Count)
		}
		for by := range jobs {
			if jobs[by] != n || math.Abs(sum[by]-all.CompletionMs.Mean*float64(ok)) > 1e-6*sum[by] {
				t.Fatalf("by %s: %d jobs that took %v ms in all; want %d, %v", by, jobs[by], sum[by], n, all.CompletionMs.Mean*float64(ok))
			}
		}
	})
}
