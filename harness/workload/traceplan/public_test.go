package traceplan_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/harness/workload/traceplan"
	"heddle/traces/errtest"
	"heddle/traces/exchange"
)

// shared has traces that other projects published.
const shared = "../../../../shared/data"

// planOf plans the trace in a file of any format.
func planOf(t *testing.T, path string, o traceplan.Options) *traceplan.Plan {
	t.Helper()
	r, _, err := exchange.Any(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h := r.Header()
	p := errtest.Must(traceplan.New(&h, r.All(), o))
	errtest.None(t, r.Err())
	return p
}

// sums are the totals of a plan, without what was added to reach floors.
type sums struct {
	Jobs, Maps, Reduces, Files, Shared int // Shared: files that several jobs read
	Input, Shuffle, Output             int64
	CPUMs                              int64
	Last                               time.Duration // submission of the last job
}

func sumsOf(p *traceplan.Plan) sums {
	s := sums{Jobs: len(p.Jobs), Files: len(p.Files)}
	readers := make([]map[int]bool, len(p.Files))
	for i := range p.Jobs {
		j := &p.Jobs[i]
		b := j.Asked()
		s.Maps, s.Reduces, s.Last = s.Maps+len(j.Maps), s.Reduces+len(j.Reduces), j.At
		s.Input, s.Shuffle, s.Output = s.Input+b.Input-j.Floors.InputBytes, s.Shuffle+b.Shuffle, s.Output+b.Output
		for m := range j.Maps {
			f := j.Maps[m].File
			if readers[f] == nil {
				readers[f] = map[int]bool{}
			}
			readers[f][i] = true
			s.CPUMs += j.Maps[m].CPUMs
		}
		for r := range j.Reduces {
			s.CPUMs += j.Reduces[r].CPUMs
		}
	}
	for _, jobs := range readers {
		if len(jobs) > 1 {
			s.Shared++
		}
	}
	return s
}

// TestPublic holds plans of published traces against sums that were computed
// from the files by a program of a few lines in another language: bytes of each
// job times the scale, rounded, and a map for each 128 MiB.
func TestPublic(t *testing.T) {
	const fb2009, fb2010 = "swim/FB-2009_samples_24_times_1hr_0.tsv", "swim/FB-2010_samples_24_times_1hr_0.tsv"
	for _, c := range []struct {
		name, file string
		o          traceplan.Options
		want       sums
	}{
		{"FB-2009", fb2009, traceplan.Options{Scale: 0.001, MaxTasks: 100}, sums{
			Jobs: 5894, Maps: 39913, Reduces: 9434, Files: 5894, Input: 26886497243, Shuffle: 22216712303, Output: 6852686140,
			Last: 86355 * time.Second,
		}},
		{"FB-2009, first 50", fb2009, traceplan.Options{First: 50, Speed: 10, Scale: 0.001}, sums{
			Jobs: 50, Maps: 168, Reduces: 48, Files: 50, Input: 16208584, Shuffle: 19133284, Output: 154932356, Last: 277700 * time.Millisecond,
		}},
		{"FB-2010", fb2010, traceplan.Options{Scale: 1e-6, MaxTasks: 10}, sums{
			Jobs: 24442, Maps: 89932, Reduces: 29164, Files: 24442, Input: 1082621123, Shuffle: 437891028, Output: 339412535,
			Last: 86399 * time.Second,
		}},
		{"Rumen of Gridmix", "rumen/input-trace.json", traceplan.Options{}, sums{ // one of its 4 jobs has no tasks
			Jobs: 3, Maps: 154, Reduces: 49, Files: 3, Input: 4433410849, Shuffle: 124400911, Output: 42129837, Last: 881068 * time.Millisecond,
		}},
		{"Rumen, 3 min", "rumen/trace_3m.json.gz", traceplan.Options{}, sums{
			Jobs: 12, Maps: 148, Reduces: 18, Files: 12, Input: 854658979, Shuffle: 306492148, Output: 124145051, Last: 83862 * time.Millisecond,
		}},
		{"TeraGen of SLS", "sls/2jobs2min-rumen-jh.json", traceplan.Options{}, sums{ // its CPU times are recorded
			Jobs: 2, Maps: 192, Files: 2, Input: 16496, Output: 80000000000, Last: 105204 * time.Millisecond, CPUMs: 2624570,
		}},
		{"history of a failed job", "jhist/job_2.4.0-FAILED.jhist", traceplan.Options{}, sums{Jobs: 1, Maps: 2, Reduces: 1, Files: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(shared, c.file)
			if _, err := os.Stat(path); err != nil {
				t.Skipf("%v: the published traces are not beside the project", err)
			}
			got := sumsOf(planOf(t, path, c.o))
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestOwnTrace plans a trace that heddle measured: two WordCounts at a time read
// the same 16 files, and their CPU times are recorded.
func TestOwnTrace(t *testing.T) {
	p := planOf(t, "../../fidelity/testdata/run/trials/r01-wordcount-yarn/trace.heddle", traceplan.Options{})
	want := sums{
		Jobs: 2, Maps: 32, Reduces: 4, Files: 16, Shared: 16, Input: 136677810, Shuffle: 533344, Output: 45650, CPUMs: 24800,
		Last: 1811 * time.Millisecond,
	}
	if got := sumsOf(p); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for i := range p.Jobs {
		r := &p.Jobs[i].Recorded
		if l := r.Locality; l.Node == 0 || l.Known() != 16 {
			t.Errorf("job %s: recorded locality %+v, want that of 16 maps", p.Jobs[i].ID, l)
		}
		if r.CompletionMs <= 0 {
			t.Errorf("job %s: recorded completion %d ms, want that of the trace", p.Jobs[i].ID, r.CompletionMs)
		}
	}
}
