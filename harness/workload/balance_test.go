package workload

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/harness/measure"
	"heddle/traces"
)

// drawDone is a few submissions, some of which failed, came late or did other than asked.
func drawDone(t *rapid.T) []Done {
	var list []Done
	at := int64(0)
	bytes := rapid.Int64Range(0, 1<<40)
	for i := range rapid.IntRange(1, 6).Draw(t, "submissions") {
		at += rapid.Int64Range(0, 100_000).Draw(t, "gap")
		d := Done{
			Asked: &Asked{
				Job: fmt.Sprint("job", i), SubmitMs: at, Maps: rapid.IntRange(1, 9).Draw(t, "maps"), Reduces: rapid.IntRange(0, 9).Draw(t, "reduces"),
				InputBytes: bytes.Draw(t, "in"), ShuffleBytes: bytes.Draw(t, "shuffled"), OutputBytes: bytes.Draw(t, "out"),
			},
			LabelWait: time.Duration(rapid.IntRange(0, 5).Draw(t, "labels")) * time.Second,
		}
		d.Answer = d.LabelWait + time.Duration(rapid.IntRange(0, 5).Draw(t, "answer"))*time.Second
		late := 1000 + float64(at)
		for range rapid.IntRange(0, 2).Draw(t, "jobs") {
			late += rapid.Float64Range(0, 9000).Draw(t, "late")
			d.Jobs = append(d.Jobs, &measure.Job{
				SubmitMs: late, CompletionMs: 5000, Maps: d.Asked.Maps, Reduces: d.Asked.Reduces,
				Outcome:   rapid.SampledFrom([]traces.Outcome{traces.Succeeded, traces.Succeeded, traces.Failed}).Draw(t, "outcome"),
				Bytes:     measure.Bytes{Input: bytes.Draw(t, "got in"), Shuffle: bytes.Draw(t, "got shuffled"), Output: bytes.Draw(t, "got out")},
				MapWaitMs: 100,
			})
		}
		list = append(list, d)
	}
	return list
}

// TestSumOfSubmissions has the comparison of all submissions be the sum of those of each,
// whatever the cluster's clock shows, and no submission come before the first one.
func TestSumOfSubmissions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawDone(t)
		a := Achieve(list)
		var want Comparison
		jobs, late, earliest := 0, 0.0, math.Inf(1)
		for i, c := range a.Jobs {
			want.Input.Asked, want.Input.Got = want.Input.Asked+c.Input.Asked, want.Input.Got+c.Input.Got
			want.Output.Asked, want.Output.Got = want.Output.Asked+c.Output.Asked, want.Output.Got+c.Output.Got
			want.Maps.Got, want.FailedJobs = want.Maps.Got+c.Maps.Got, want.FailedJobs+c.FailedJobs
			if late += c.Arrival.LateMs / float64(len(list)); len(list[i].Jobs) > 0 {
				earliest = min(earliest, c.Arrival.LateMs)
			}
			jobs += len(list[i].Jobs)
			failed := slices.ContainsFunc(list[i].Jobs, func(j *measure.Job) bool { return j.Outcome != traces.Succeeded })
			if ended := len(list[i].Jobs) > 0 && !failed; ended != (c.CompletionMs >= 0) || ended != (c.FailedJobs == 0) {
				t.Fatalf("%+v: %d jobs, one of which failed: %t", c, len(list[i].Jobs), failed)
			}
			if c.Input.Asked > 0 && math.Abs(c.Input.ErrorPct-100*(float64(c.Input.Got)/float64(c.Input.Asked)-1)) > 1e-6*(1+
				math.Abs(c.Input.ErrorPct)) || c.Input.Asked == 0 && c.Input.Got > 0 && c.Input.ErrorPct != 100 {
				t.Fatalf("%+v: want the error in percent of what was asked", c.Input)
			}
		}
		s := a.Sum
		if s.Input.Asked != want.Input.Asked || s.Input.Got != want.Input.Got || s.Output.Asked != want.Output.Asked ||
			s.Output.Got != want.Output.Got || s.Maps.Got != want.Maps.Got || s.FailedJobs != want.FailedJobs {
			t.Fatalf("sum %+v, want %+v", s, want)
		}
		if math.Abs(s.Arrival.LateMs-late) > 1e-6 || jobs > 0 && math.Abs(earliest) > 1e-6 {
			t.Fatalf("late by %v ms in the mean, want %v; the earliest by %v, want 0", s.Arrival.LateMs, late, earliest)
		}
		if s.Maps.Got > 0 && math.Abs(s.MapWaitMs*float64(s.Maps.Got)-float64(100*jobs)) > 1e-6 {
			t.Fatalf("maps waited %v ms in the mean of %d, want 100 ms for each of %d jobs", s.MapWaitMs, s.Maps.Got, jobs)
		}
		// An hour's difference between the clocks of the trace and the cluster changes nothing.
		for i := range list {
			for k := range list[i].Jobs {
				j := *list[i].Jobs[k]
				j.SubmitMs += 3_600_000
				list[i].Jobs[k] = &j
			}
		}
		near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-6*(1+math.Abs(x)) })
		if diff := cmp.Diff(a, Achieve(list), near); diff != "" {
			t.Fatalf("an hour later (-before +after):\n%s", diff)
		}
	})
}

// TestWorstFirst has those that failed first, then the farthest from what was asked, and
// none that is within 5 %.
func TestWorstFirst(t *testing.T) {
	job := func(name string, failed int, percent float64) Comparison {
		return Comparison{Job: name, FailedJobs: failed, Output: Amount{ErrorPct: percent}}
	}
	a := Achieved{Jobs: []Comparison{
		job("exact", 0, 0), job("near", 0, 5), job("off", 0, -6), job("far", 0, 80), job("failed", 1, 0),
		job("lost", 2, -100),
		{Job: "late", Arrival: Arrival{LateMs: 900, ErrorPct: 90}},
	}}
	for n, want := range map[int]string{0: "[]", 2: "[lost failed]", 9: "[lost failed far off]"} {
		names := []string{}
		for _, c := range a.worst(n) {
			names = append(names, c.Job)
		}
		if fmt.Sprint(names) != want {
			t.Errorf("the worst %d: %v, want %s", n, names, want)
		}
	}
}

// TestMainBlock has a split be where most of it is, and splits of whole files end with
// the block or a tenth more.
func TestMainBlock(t *testing.T) {
	file := []split{{path: "f", block: 1}, {path: "f", block: 2}, {path: "f", block: 3}}
	for _, x := range []struct {
		offset, length int64
		want           traces.Block
	}{{0, 100, 1}, {0, 250, 1}, {60, 100, 2}, {50, 100, 1}, {199, 2, 2}, {199, 100, 3}, {200, 1, 3}, {50, 0, 1}, {900, 10, 1}} {
		if got := mainBlock(file, Split{OffsetBytes: x.offset, LengthBytes: x.length}, 100); got.block != x.want || got.offset != x.offset ||
			got.bytes != x.length {
			t.Errorf("%d bytes from %d on, in blocks of 100: %+v, want block %d", x.length, x.offset, got, x.want)
		}
	}
	for bytes, want := range map[int64]string{
		100: "[100]", 109: "[109]", 110: "[100 10]", 300: "[100 100 100]", 305: "[100 100 105]",
		5: "[5]",
	} {
		var blocks []split
		for at := int64(0); at < bytes; at += 100 {
			blocks = append(blocks, split{offset: at, bytes: min(100, bytes-at)})
		}
		var got []int64
		for _, s := range wholeBlocks([][]split{blocks}) {
			got = append(got, s.bytes)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("a file of %d bytes: splits of %v, want %s", bytes, got, want)
		}
	}
}
