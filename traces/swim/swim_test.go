package swim

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/traces"
	"heddle/traces/errtest"
)

// sharedList is a public list beside the project.
func sharedList(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "swim", name))
	if os.IsNotExist(err) {
		tb.Skipf("the public list %s is not beside the project", name)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestSharedLists has the numbers that the lists are known by.
func TestSharedLists(t *testing.T) {
	for _, c := range []struct {
		name  string
		block int64
		jobs  int
		maps  int64 // in ten thousands, rounded
	}{
		{"FB-2009_samples_24_times_1hr_0.tsv", 64 << 20, 5894, 41},
		{"FB-2010_samples_24_times_1hr_0.tsv", 128 << 20, 24442, 808},
	} {
		rules := traces.DefaultListRules
		rules.BlockBytes = c.block
		jobs, maps := 0, int64(0)
		for j, err := range Read(bytes.NewReader(sharedList(t, c.name))) {
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			jobs++
			maps += rules.Maps(&j)
		}
		if jobs != c.jobs || (maps+5000)/10000 != c.maps {
			t.Errorf("%s: %d jobs, %d maps; want %d and %d0000", c.name, jobs, maps, c.jobs, c.maps)
		}
	}
}

func TestRead(t *testing.T) {
	var none traces.JobListed
	job0 := func(input int64, path string) traces.JobListed {
		return traces.JobListed{Job: "job0", Name: "job0", T: 1e9, GapSec: 2, InputBytes: input, ShuffleBytes: 4, OutputBytes: 5, Path: path}
	}
	job0at := func(submitSec, gapSec int64) traces.JobListed {
		j := job0(3, "")
		j.T, j.GapSec = traces.Time(submitSec)*1e9, gapSec
		return j
	}
	for _, c := range []struct {
		text string
		want traces.JobListed
		bad  string
	}{
		{"job0\t1\t2\t3\t4\t5\n", job0(3, ""), ""},
		{"job0\t1\t2\t3\t4\t5", job0(3, ""), ""},
		{"job0\t1\t2\t3\t4\t5\tab12\t\t\r\n", job0(3, "ab12"), ""},
		{"\n\njob0\t1.0\t2\t3e2\t4\t5\n", job0(300, ""), ""},
		{"job0\t1\t2\t3\t4\n", none, "5 columns"},
		{"\t1\t2\t3\t4\t5\n", none, "no job id"},
		{"j\t1\t2\t-3\t4\t5\n", none, `column 4 (map input) is "-3"`},
		{"job0 1 2  3 4 5\n", job0(3, ""), ""},
		{"job0, 1, 2, \"1,003\", 4, 5, ab12\n", job0(1003, "ab12"), ""},
		{"job0;1;2;3.2e0;4;5\n", job0(3, ""), ""},
		{"job0\t2\tNA\t3\t4\t5\n", job0at(2, 2), ""},
		{"# made by hand\nid\tsubmit\tgap\tinput\tshuffle\toutput\r\n# x\njob0\t1\t2\t3\t4\t5\r\n", job0(3, ""), ""},
		{"shuffle_bytes,output_bytes,input_kb,inter_job_gap,submit_ms,job_id\n4,5,3,2,1000,job0\n", job0(3000, ""), ""},
		{"id,submit,gap,input,output\njob0,1,2,3,4\n", none, "the header names no column shuffle"},
		{"job0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n", none, "18 columns"},
		{"j\t1\t2\t99999999999999999999\t4\t5\n", none, "column 4 (map input)"},
		{"j\t1\t2\t\t4\t5\n", none, "column 4 (map input)"},
		{"j\t400000000\t2\t3\t4\t5\n", none, "ten years at most"},
		{"j\t1255555555000\t2\t3\t4\t5\n", none, "subtract the first submission"},
		{"Job ID,Submit time (s),Inter-arrival,Map input bytes,Shuffle bytes,Reduce output bytes\njob0,1,2,3,4,5\n", job0(3, ""), ""},
		{"Job ID, Submit time, Gap, Input, Shuffle, Output\njob0,1,2,3,4,5\n", job0(3, ""), ""},
		{"insert into t select a from b,9,9,9,9,9\njob0,1,2,3,4,5\n", job0(3, ""), ""},
		{"id\tsubmit\tinput\tshuffle\toutput\tqueue\njob0\t1\t3\t4\t5\t\n", traces.JobListed{
			T: 1e9, Job: "job0", Name: "job0", GapSec: 1, InputBytes: 3, ShuffleBytes: 4, OutputBytes: 5,
		}, ""},
		{"job ID submit gap input shuffle output path\njob0 1 2 3 4 5 p\n", none, "7 columns, but the header names 8"},
		{strings.Repeat("x", maxLineBytes+1), none, "bytes long"},
	} {
		var got traces.JobListed
		var bad *LineError
		for j, err := range Read(strings.NewReader(c.text)) {
			if errors.As(err, &bad) {
				continue
			}
			got = j
		}
		if got != c.want || c.bad == "" && bad != nil || c.bad != "" && (bad == nil || !strings.Contains(bad.Reason, c.bad)) {
			t.Errorf("%.60q is %+v, %v; want %+v, %q", c.text, got, bad, c.want, c.bad)
		}
	}
}

// TestSeventhColumn: it has queues if many jobs share a few short names, and else paths.
func TestSeventhColumn(t *testing.T) {
	for values, queues := range map[string]bool{
		"0 1 0 1 0 1": true, "prod dev prod prod dev prod": true, "3": false, "a1 b2 a1": false,
		"/a /a /a /a": false, "8267361 8267361 8267361": false, "7 8 9": true,
	} {
		var list strings.Builder
		for _, v := range strings.Fields(values) {
			list.WriteString("job\t1\t1\t1\t1\t1\t" + v + "\n")
		}
		for j, err := range Read(strings.NewReader(list.String())) {
			if err != nil || (j.Path == "") != queues || (j.Queue != "") != queues {
				t.Errorf("of %s: path %q, %v; want queues: %t", values, j.Path, err, queues)
			}
		}
	}
}

// TestWrite: what is written reads the same.
func TestWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64Range(0, maxNumber)
		jobs := rapid.SliceOf(rapid.Custom(func(t *rapid.T) traces.JobListed {
			name := rapid.StringMatching(`[a-z]\w{0,8}`).Draw(t, "id")
			return traces.JobListed{
				Job: traces.JobID(name), Name: name,
				T: traces.Time(rapid.IntRange(0, maxSubmitSec).Draw(t, "submit")) * 1e9, GapSec: rapid.Int64Range(0, maxSubmitSec).Draw(t, "gap"),
				InputBytes: number.Draw(t, "input"), ShuffleBytes: number.Draw(t, "shuffle"), OutputBytes: number.Draw(t, "output"),
				Path: rapid.StringMatching(`(/[0-9a-f]{1,6})?`).Draw(t, "path"),
			}
		})).Draw(t, "jobs")
		var out bytes.Buffer
		if err := Write(&out, slices.Values(jobs)); err != nil {
			t.Fatal(err)
		}
		var got []traces.JobListed
		for j, err := range Read(&out) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, j)
		}
		if !slices.Equal(got, jobs) {
			t.Fatalf("got %v, want %v", got, jobs)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	data := sharedList(b, "FB-2010_samples_24_times_1hr_0.tsv")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range Read(bytes.NewReader(data)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("job0\t1\t2\t3\t4\t5\nx\n\njob1\t1\t2\t3e9\t4\t5\tpath\t\t\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for j, err := range Read(bytes.NewReader(data)) {
			if err == nil && (j.Name == "" || j.T < 0 || j.GapSec < 0 || j.InputBytes < 0 || j.ShuffleBytes < 0 || j.OutputBytes < 0) {
				t.Fatalf("%q is %+v", data, j)
			}
		}
	})
}

// TestHostileNames: a name or a path cannot add columns or lines to a list.
func TestHostileNames(t *testing.T) {
	var out bytes.Buffer
	list := []traces.JobListed{{Name: "a\nb\t1\t2\r", Path: "p\nq"}}
	errtest.None(t, Write(&out, slices.Values(list)))
	if want := `a\u000ab\u00091\u00092\u000d` + "\t0\t0\t0\t0\t0\t" + `p\u000aq` + "\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
