package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"heddle/traces"
	"heddle/traces/tracefile"
)

// shared is the path of a public trace beside the project.
func shared(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("the public trace %s is not beside the project: %v", name, err)
	}
	return path
}

func mustImport(t *testing.T, o ImportOptions, inputs ...string) (string, *Imported) {
	t.Helper()
	o.Inputs, o.Output = inputs, filepath.Join(t.TempDir(), "out.trace")
	r := must(Import(context.Background(), o))
	return o.Output, r
}

func readTrace(t *testing.T, path string) (traces.Header, []traces.Event) {
	t.Helper()
	h, events, err := tracefile.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return h, events
}

func mustExport(t *testing.T, name, input string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out."+name)
	must(Export(ExportOptions{Input: input, Format: Find(name), Output: path}, nil))
	return path
}

// TestSharedFiles imports every public trace, and holds the numbers of jobs and
// tasks against what a generic decoder, or its documentation, says.
func TestSharedFiles(t *testing.T) {
	for _, c := range []struct {
		files               []string
		format              string
		jobs, maps, reduces int
		nodes               int
		mended              int // kinds
	}{
		{[]string{"rumen/input-trace.json", "rumen/input-topology.json"}, "rumen", 4, 154, 49, 585, 3},
		{[]string{"rumen/trace_3m.json.gz"}, "rumen", 12, 148, 18, 8, 0},
		{[]string{"sls/2jobs2min-rumen-jh.json"}, "rumen", 2, 192, 0, 0, 0},
		{[]string{"jhist/job_0.23.9-FAILED.jhist"}, "jhist", 1, 0, 0, 0, 0},
		{[]string{"jhist/job_2.4.0-FAILED.jhist"}, "jhist", 1, 0, 0, 0, 0},
	} {
		t.Run(filepath.Base(c.files[0]), func(t *testing.T) {
			var paths []string
			for _, f := range c.files {
				paths = append(paths, shared(t, f))
			}
			o := DefaultImport
			o.Strict = c.mended == 0
			path, r := mustImport(t, o, paths...)
			h, events := readTrace(t, path)
			maps, reduces := 0, 0
			for _, e := range events {
				if s, ok := e.(*traces.TaskScheduled); ok {
					if s.Task.Kind == traces.Map {
						maps++
					} else {
						reduces++
					}
				}
			}
			if r.Format != c.format || r.Jobs != c.jobs || c.maps+c.reduces > 0 && (maps != c.maps || reduces != c.reduces) {
				t.Errorf("%s, %d jobs, %d maps, %d reduces; want %+v", r.Format, r.Jobs, maps, reduces, c)
			}
			if c.nodes > 0 && r.Nodes != c.nodes {
				t.Errorf("%d nodes, want %d", r.Nodes, c.nodes)
			}
			if len(h.Inputs) != len(c.files) || h.StartUnixNs == 0 || len(h.Synthetic) > 0 {
				t.Errorf("header has inputs %v, start %d, synthetic %v", h.Inputs, h.StartUnixNs, h.Synthetic)
			}
			if len(r.Mended) != c.mended || len(h.Mended) != c.mended {
				t.Errorf("mended %v, in the header %v; want %d kinds", r.Mended, h.Mended, c.mended)
			}
			report, err := tracefile.Check(path)
			if err != nil || len(report.Damage) > 0 {
				t.Errorf("check: %v, damage %v", err, report.Damage)
			}
			t.Logf("%d events, %d nodes, %d warnings, first %v", r.Events, r.Nodes, len(report.Warnings),
				report.Warnings[:min(2, len(report.Warnings))])
		})
	}
}

// kept are the members of Rumen's objects that events of a trace hold.
var kept = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq(`jobID jobName user queue priority submitTime launchTime finishTime outcome jobtype totalMaps totalReduces
		taskID taskType taskStatus startTime preferredLocations layers attemptID result hostName location shuffleFinished sortFinished
		hdfsBytesRead hdfsBytesWritten fileBytesRead fileBytesWritten mapOutputBytes spilledRecords cumulativeCpuUsage physicalMemoryUsage`) {
		kept[name] = true
	}
}

// TestRumenRoundTrip: what a trace holds of what Rumen wrote comes back member
// by member. The normal form: null, -1 and empty lists are the same as no
// member; an attempt's location is that of its host name; tasks and attempts are
// in the order of their ids. Times that an import had to mend are not compared.
func TestRumenRoundTrip(t *testing.T) {
	for _, c := range []struct {
		name   string
		mended int // members that an import mends or adds a rack to
		told   int // maps whose input only their attempts tell
	}{{"rumen/input-trace.json", 95, 154}, {"rumen/trace_3m.json.gz", 0, 0}, {"sls/2jobs2min-rumen-jh.json", 0, 0}} {
		t.Run(filepath.Base(c.name), func(t *testing.T) {
			original := shared(t, c.name)
			trace, _ := mustImport(t, DefaultImport, original)
			again := mustExport(t, "rumen", trace)
			want, got := keptLines(rumenLines(t, original)), keptLines(rumenLines(t, again))
			if len(want) < 1000 {
				t.Errorf("only %d members to compare", len(want))
			}
			if n := different(want, got); n != c.mended {
				diffLines(t, "exported", want, got)
				t.Errorf("%d members differ, want %d", n, c.mended)
			}
			second, _ := mustImport(t, DefaultImport, again)
			_, first := readTrace(t, trace)
			_, next := readTrace(t, second)
			if n := different(eventLines(first), eventLines(next)); n != 2*c.told {
				diffLines(t, "imported again", eventLines(first), eventLines(next))
				t.Errorf("%d events differ, want %d", n, 2*c.told)
			}
			third, _ := mustImport(t, DefaultImport, mustExport(t, "rumen", second))
			sameTrace(t, second, third)
		})
	}
}

// keptLines are the lines of members that a trace holds.
func keptLines(lines []string) (some []string) {
	for _, l := range lines {
		place, _, _ := strings.Cut(l, " = ")
		place = strings.TrimRight(place, "[]0123456789")
		aside := strings.Contains(place, ".otherTasks") || strings.Contains(place, ".jobProperties")
		if !aside && kept[place[strings.LastIndexByte(place, '.')+1:]] {
			some = append(some, l)
		}
	}
	return some
}

// different counts the lines that only one side has.
func different(want, got []string) (n int) {
	count := map[string]int{}
	for _, l := range want {
		count[l]++
	}
	for _, l := range got {
		count[l]--
	}
	for _, c := range count {
		n += max(c, -c)
	}
	return n
}

// sameTrace compares events and cluster.
func sameTrace(t *testing.T, a, b string) {
	t.Helper()
	ha, ea := readTrace(t, a)
	hb, eb := readTrace(t, b)
	if d := cmp.Diff(ha.Cluster, hb.Cluster); d != "" {
		t.Errorf("cluster:\n%.2000s", d)
	}
	diffLines(t, "imported again", eventLines(ea), eventLines(eb))
}

// diffLines shows the first lines that only one side has. cmp.Diff takes
// minutes for so many.
func diffLines(t *testing.T, what string, want, got []string) {
	t.Helper()
	count, shown := map[string]int{}, 0
	for _, l := range want {
		count[l]++
	}
	for _, l := range got {
		count[l]--
	}
	for _, l := range slices.Sorted(maps.Keys(count)) {
		if count[l] != 0 && shown < 10 {
			t.Errorf("%s: %d fewer of %s", what, count[l], l)
			shown++
		}
	}
}

func eventLines(events []traces.Event) []string {
	var lines []string
	for _, e := range events {
		text, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		lines = append(lines, e.Kind().String()+string(text))
	}
	slices.Sort(lines) // at the same T, the order is that of the file
	return lines
}

// rumenLines decodes a trace with encoding/json into the normal form, a line a
// member.
func rumenLines(t *testing.T, path string) (lines []string) {
	t.Helper()
	data := must(os.ReadFile(path))
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		var j map[string]any
		if err := d.Decode(&j); errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"mapTasks", "reduceTasks"} {
			byID(j[kind], "taskID")
			tasks, _ := j[kind].([]any)
			for _, task := range tasks {
				byID(task.(map[string]any)["attempts"], "attemptID")
			}
		}
		lines = flatten(lines, j["jobID"].(string), j)
	}
}

func byID(list any, id string) {
	items, _ := list.([]any)
	slices.SortStableFunc(items, func(a, b any) int {
		return strings.Compare(fmt.Sprint(a.(map[string]any)[id]), fmt.Sprint(b.(map[string]any)[id]))
	})
}

// flatten appends a line a value; null, -1 and what is empty make none.
func flatten(to []string, path string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		for key, m := range v {
			if key == "location" && v["hostName"] != nil {
				continue
			}
			to = flatten(to, path+"."+key, m)
		}
		return to
	case []any:
		for i, m := range v {
			to = flatten(to, fmt.Sprintf("%s[%d]", path, i), m)
		}
		return to
	case json.Number:
		if v == "-1" || v == "-1.0" {
			return to
		}
	case nil:
		return to
	case string:
		if v == "" {
			return to
		}
	}
	return append(to, fmt.Sprintf("%s = %v", path, v))
}

// TestSLSRoundTrip: all forms that versions of SLS write, and Rumen's jobs that
// became SLS's, survive. The normal form: each task on its own, with duration,
// start and end.
func TestSLSRoundTrip(t *testing.T) {
	files, err := filepath.Glob("testdata/sls/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces in testdata/sls: %v", err)
	}
	rumenTrace, _ := mustImport(t, DefaultImport, shared(t, "sls/2jobs2min-rumen-jh.json"))
	files = append(files, mustExport(t, "sls", rumenTrace))
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			first, r := mustImport(t, DefaultImport, path)
			if r.Format != "sls" || r.Jobs == 0 {
				t.Fatalf("imported %+v", r)
			}
			again := mustExport(t, "sls", first)
			second, r := mustImport(t, DefaultImport, again)
			if len(r.Mended) > 0 {
				t.Errorf("our own export is mended: %v", r.Mended)
			}
			sameTrace(t, first, second)
		})
	}
}

// TestSWIMRoundTrip: lists come back byte by byte, whatever the blocks' size.
func TestSWIMRoundTrip(t *testing.T) {
	path := shared(t, "swim/FB-2009_samples_24_times_1hr_0.tsv")
	data := must(os.ReadFile(path))
	lines := bytes.SplitAfter(data, []byte("\n"))
	if testing.Short() {
		lines = lines[:300]
	}
	piece := filepath.Join(t.TempDir(), "jobs.tsv")
	want := bytes.Join(lines, nil)
	mustDo(t, os.WriteFile(piece, want, 0o644))
	o := DefaultImport
	o.Nodes, o.Racks, o.Strict = 60, 3, true
	o.Rules.BlockBytes = 1 << 30
	trace, r := mustImport(t, o, piece)
	got := must(os.ReadFile(mustExport(t, "swim", trace)))
	if !bytes.Equal(got, want) {
		t.Errorf("the list of %d jobs comes back otherwise:\n%s", r.Jobs,
			cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
	}
	h, events := readTrace(t, trace)
	if d := cmp.Diff([]string{"nodes", "tasks", "durations", "schedule", "replicas"}, h.Synthetic); d != "" {
		t.Errorf("synthetic:\n%s", d)
	}
	if o.Rules.Replication = o.Replication; h.Format != traces.ListFormatVersion || h.List == nil || *h.List != o.Rules ||
		len(events) != r.Jobs {
		t.Errorf("format %d, rules %+v, %d events of %d jobs; want %d, %+v, an event a job", h.Format, h.List, len(events), r.Jobs,
			traces.ListFormatVersion, o.Rules)
	}
	for _, form := range []string{"rumen", "sls", "perfetto", "parquet"} {
		to := filepath.Join(t.TempDir(), "refused")
		if _, err := Export(ExportOptions{Input: trace, Format: Find(form), Table: "jobs", Output: to}, nil); !errors.Is(err, ErrList) {
			t.Errorf("export to %s: error %v, want one that says that the trace is a list", form, err)
		}
	}
}

// TestLeftOut: where a file of many jobs is damaged, the jobs behind that place count as
// left out, by the length of those before.
func TestLeftOut(t *testing.T) {
	var lines strings.Builder
	for i := range 300 {
		lines.WriteString(oneMap(i, "/r1/n1", "/r1/n1"))
	}
	list := "[" + strings.ReplaceAll(strings.TrimSpace(lines.String()), "\n", ",") + "]"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(lines.String())) // a bytes.Buffer takes all
	_ = z.Close()
	half := len(list) / 2
	for name, c := range map[string]struct {
		data string
		lost bool
	}{
		"whole": {list, false}, "gzip cut off": {packed.String()[:packed.Len()*2/3], true},
		"list damaged": {list[:half] + "\x00" + list[half:], true}, "last damaged": {list[:len(list)-9], false},
	} {
		path := filepath.Join(t.TempDir(), "jobs")
		mustDo(t, os.WriteFile(path, []byte(c.data), 0o600))
		o := DefaultImport
		o.Inputs, o.Output = []string{path}, path+".trace"
		if _, err := Import(t.Context(), o); (err != nil) != c.lost || err != nil && !strings.Contains(err.Error(), "--partial") {
			t.Errorf("%s: %v, want lost jobs: %t", name, err, c.lost)
		}
		o.Partial = true
		if r, err := Import(t.Context(), o); err != nil || c.lost && len(r.LeftOut) == 0 {
			t.Errorf("%s, --partial: %+v, %v", name, r, err)
		}
	}
}
