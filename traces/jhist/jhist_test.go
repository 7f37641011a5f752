package jhist

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/format"
	"heddle/traces/internal/racks"
	"heddle/traces/mend"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestRealJobs parses histories that Hadoop 3.4.2 wrote: a job in each form, one
// that failed, one with a killed and a failed attempt.
func TestRealJobs(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.jhist")
	if len(files) < 4 {
		t.Fatalf("testdata has %d histories, want 4 or more", len(files))
	}
	for _, path := range files {
		id, rest, _ := strings.Cut(filepath.Base(path), "-")
		t.Run(id, func(t *testing.T) {
			job, events, _ := parseFile(t, path)
			told := fmt.Sprintf("-%s-", job.Status)
			if job.ID != id || !strings.HasPrefix(rest, fmt.Sprint(job.SubmitMs)) || !strings.Contains(rest, fmt.Sprint(job.FinishMs)) ||
				!strings.Contains(rest, told) {
				t.Errorf("the job does not match its file's name, %s: %+v", filepath.Base(path), job)
			}
			compareWithGolden(t, id, describe(job, events))
			compareWithCounters(t, job)
		})
	}
}

func compareWithGolden(t *testing.T, name, got string) {
	golden := filepath.Join("testdata", name+".golden")
	if *update {
		errtest.None(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want := errtest.Must(os.ReadFile(golden))
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("job (-want +got):\n%s", d)
	}
}

// TestText parses histories in the forms of Hadoop 0.18, 0.20 and 1.2: values that
// are not escaped, counters of both forms, tasks without an ApplicationMaster.
func TestText(t *testing.T) {
	var all []byte
	for _, name := range []string{"mr1_0.18", "mr1_0.20", "mr1_1.2"} {
		path := filepath.Join("testdata", name+".log")
		job, events, log := parseFile(t, path)
		if name == "mr1_0.20" != (log.Counts()[trackerApart.String()] == 1) || len(log.Counts()) > 1 { // the clock of n3 is 500 s behind
			t.Errorf("%s: mended %v", name, log.Counts())
		}
		compareWithGolden(t, name, describe(job, events))
		data := errtest.Must(os.ReadFile(path))
		all = append(all, data...)
		for n := 50; n < len(data); n += 41 {
			if job, _, err := Parse(bytes.NewReader(data[:n])); job == nil {
				t.Fatalf("%s cut at %d: %v", name, n, err)
			}
		}
	}
	if jobs, log := jobsOf(t, all); len(jobs) != 3 || len(log.Counts()) != 1 {
		t.Errorf("of three histories in one file, read %v; mended %v", jobs, log.Counts())
	}
}

// TestOneFile reads histories in each form that stand in one file.
func TestOneFile(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.jhist")
	var all []byte
	for _, path := range files {
		data := errtest.Must(os.ReadFile(path))
		all = append(all, data...)
	}
	if jobs, log := jobsOf(t, all); len(jobs) != len(files) || len(log.Counts()) != 0 {
		t.Errorf("of %d histories in one file, read %v; mended %v", len(files), jobs, log.Counts())
	}
}

func jobsOf(t *testing.T, data []byte) (jobs []traces.JobID, log *mend.Log) {
	t.Helper()
	im := &format.Import{
		Log: &mend.Log{}, Racks: &racks.Table{}, Host: func(_, _ string) error { return nil },
		Add: func(e traces.Event) error {
			if s, ok := e.(*traces.JobSubmitted); ok {
				jobs = append(jobs, s.Job)
			}
			return nil
		},
	}
	if err := Format.NewReader(im).Read(bytes.NewReader(data)); err != nil {
		t.Error(err)
	}
	return jobs, im.Log
}

// compareWithCounters holds sums over a job's events against the totals that
// Hadoop counted by itself.
func compareWithCounters(t *testing.T, job *Job) {
	var end *traces.JobFinished
	var levels [traces.LevelOff + 1]int64
	var read, written, shuffled, inRecords, outRecords, spilled int64
	launched := map[traces.TaskKind]int64{}
	for _, e := range Events(job, job.SubmitMs*1e6) {
		switch e := e.(type) {
		case *traces.AttemptStarted:
			launched[e.Attempt.Kind]++
			if e.Attempt.Kind == traces.Map {
				levels[e.SplitLocality]++
			}
		case *traces.AttemptFinished:
			if e.Unlaunched {
				levels[e.SplitLocality]++
			}
			if e.Outcome == traces.Succeeded {
				read += e.Counters.HDFSReadBytes
				written += e.Counters.HDFSWrittenBytes
				shuffled += max(e.Counters.ShuffleBytes, 0)
				inRecords += e.Counters.InputRecords
				outRecords += e.Counters.OutputRecords
				spilled += e.Counters.SpilledRecords
			}
		case *traces.JobFinished:
			end = e
		}
	}
	if job.Counters == traces.NoCounters {
		return
	}
	type sums struct{ Data, Rack, Other, Maps, Reduces, Read, Written, Shuffled, In, Out, Spilled int64 }
	hadoop := sums{
		end.DataLocalMaps, end.RackLocalMaps, end.OtherLocalMaps, end.LaunchedMaps, end.LaunchedReds, end.Counters.HDFSReadBytes,
		end.Counters.HDFSWrittenBytes, end.Counters.ShuffleBytes, end.Counters.InputRecords, end.Counters.OutputRecords,
		end.Counters.SpilledRecords,
	}
	ours := sums{
		levels[traces.LevelNode], levels[traces.LevelRack], levels[traces.LevelOff], launched[traces.Map], launched[traces.Reduce],
		read, written, shuffled, inRecords, outRecords, spilled,
	}
	if d := cmp.Diff(hadoop, ours); d != "" {
		t.Errorf("sums over attempts against Hadoop's counters (-Hadoop +ours):\n%s", d)
	}
}

// TestHadoopSamples reads the histories that Hadoop's own tests use.
func TestHadoopSamples(t *testing.T) {
	const folder = "../../../shared/data/jhist"
	for file, want := range map[string]string{
		"job_0.23.9-FAILED.jhist": "job_1399356417814_19732 FAILED 2 maps 1 reduces; map attempts 7 failed 1 killed; levels map[off:6 unknown:2]",
		"job_2.4.0-FAILED.jhist":  "job_1400204860297_0001 FAILED 2 maps 1 reduces; map attempts 4 failed 0 killed; levels map[node:1 off:3]",
	} {
		path := filepath.Join(folder, file)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("Hadoop's sample histories are not there: %v", err)
		}
		job, _, log := parseFile(t, path)
		outcomes, levels, racks := map[string]int{}, map[string]int{}, job.Racks()
		for _, task := range job.Tasks {
			for _, a := range task.Attempts {
				if task.Type == "MAP" && a.StartMs > 0 {
					outcomes[a.Status]++
					levels[job.Level(task, a, racks).String()]++
				}
			}
		}
		got := fmt.Sprintf("%s %s %d maps %d reduces; map attempts %d failed %d killed; levels %v",
			job.ID, job.Status, job.Maps, job.Reduces, outcomes["FAILED"], outcomes["KILLED"], levels)
		if got != want || len(log.Counts()) > 0 {
			t.Errorf("%s: %s\nwant %s\nmended %+v", file, got, want, log.Counts())
		}
	}
}

func TestTruncated(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.jhist")
	for _, path := range files {
		data := errtest.Must(os.ReadFile(path))
		start := len(data) - len(bytes.SplitN(data, []byte("\n"), 3)[2])
		events := -1
		for n := start + 1; n < len(data); n += 97 {
			job, read, err := Parse(bytes.NewReader(data[:n]))
			var cut *CutOffError
			switch {
			case job == nil:
				t.Fatalf("%s cut at %d: no job: %v", path, n, err)
			case err != nil && !errors.As(err, &cut):
				t.Fatalf("%s cut at %d: %v", path, n, err)
			case cut != nil && (cut.Events != read || cut.Offset < int64(start) || cut.Offset > int64(n)):
				t.Fatalf("%s cut at %d: %+v after %d events", path, n, cut, read)
			case read < events:
				t.Fatalf("%s cut at %d: %d events, a shorter piece had %d", path, n, read, events)
			}
			events = read
			Events(job, 0)
		}
	}
}

func TestOddFiles(t *testing.T) {
	sample, _ := filepath.Glob("testdata/job_*_0034-*.jhist")
	data := errtest.Must(os.ReadFile(sample[0]))
	lines := strings.SplitAfter(string(data), "\n")
	head := lines[0] + lines[1]

	t.Run("refused", func(t *testing.T) {
		for name, text := range map[string]string{
			"empty": "", "other": "PK\x03\x04", "no schema": "Avro-Json\n", "bad schema": "Avro-Binary\n{\n", "html": "<html>\n<body>\n",
		} {
			if job, _, err := Parse(strings.NewReader(text)); err == nil || job != nil {
				t.Errorf("%s: job %v, error %v", name, job, err)
			}
		}
	})
	t.Run("unreadable event", func(t *testing.T) {
		text := head + `{"type":"FROM_THE_FUTURE","event":{"x.New":{"a":1}}}` + "\n\n" + strings.Join(lines[2:], "")
		log := &mend.Log{}
		job, _, err := parse(strings.NewReader(text), log)
		if err != nil || log.Counts()[badEvents.String()] != 1 || job.Status != "SUCCEEDED" {
			t.Errorf("mended %v, error %v", log.Counts(), err)
		}
	})
	t.Run("numbers that cannot be", func(t *testing.T) {
		text := strings.Replace(strings.Join(lines, ""), `"totalMaps":3`, `"totalMaps":-3`, 1)
		text = strings.Replace(text, `"name":"GC_TIME_MILLIS","displayName":"GC time elapsed (ms)","value":`,
			`"name":"GC_TIME_MILLIS","displayName":"GC time elapsed (ms)","value":-`, 1)
		text = strings.Replace(text, `"launchTime":1`, `"launchTime":-1`, 1)
		log := &mend.Log{}
		job, _, err := parse(strings.NewReader(text), log)
		if err != nil || job.Maps != 3 || len(log.Counts()) != 3 {
			t.Errorf("%d maps, mended %v, error %v", job.Maps, log.Counts(), err)
		}
		if _, _, err := parse(strings.NewReader(text), &mend.Log{Strict: true}); err == nil || !strings.Contains(err.Error(), "byte ") {
			t.Errorf("strict: %v", err)
		}
	})
	t.Run("no HDFS", func(t *testing.T) {
		for mends, rename := range [][]string{
			{"HDFS_BYTES", "NONE", `"name":"org.apache.hadoop.mapreduce.FileSystemCounter"`, `"name":"FileSystemCounters"`},
			{"FILE_BYTES", "NONE", "HDFS_BYTES", "FILE_BYTES", "FileInputFormat", "None"},
		} {
			log := &mend.Log{}
			job, _, err := parse(strings.NewReader(strings.NewReplacer(rename...).Replace(strings.Join(lines, ""))), log)
			if c := job.Tasks[0].Attempts[0].Counters; err != nil || len(log.Counts()) != mends || c.FileWrittenBytes != 302609*int64(1-mends) ||
				c.HDFSReadBytes < 239_999 || c.HDFSReadBytes > 240_999 {
				t.Errorf("%v: counters %+v, mended %v, error %v", rename, c, log.Counts(), err)
			}
		}
	})
	t.Run("unknown event", func(t *testing.T) {
		text := head + `{"type":"NORMALIZED_RESOURCE","event":{"org.apache.hadoop.mapreduce.jobhistory.TaskUpdated":{"taskid":"task_1_1_m_000000","finishTime":1}}}` + "\n" + strings.Join(lines[2:], "")
		log := &mend.Log{}
		job, events, err := parse(strings.NewReader(text), log)
		if err != nil || len(log.Counts()) != 0 || events != 27 || job.Status != "SUCCEEDED" {
			t.Errorf("%d events, mended %v, error %v", events, log.Counts(), err)
		}
	})
}

// TestLevel has the cases in which Hadoop's counters and the file's locality
// differ.
func TestLevel(t *testing.T) {
	attempt := func(status, err string, start, finish int64, locality string) *Attempt {
		return &Attempt{Status: status, Error: err, StartMs: start, FinishMs: finish, Locality: locality, Host: "n1", Rack: "/r1"}
	}
	next := attempt("SUCCEEDED", "", 100, 200, "NODE_LOCAL")
	for _, c := range []struct {
		name  string
		job   Job
		task  Task
		level traces.Level
	}{
		{"first", Job{}, Task{}, traces.LevelNode},
		{"after a failure", Job{}, Task{Attempts: []*Attempt{attempt("FAILED", "", 10, 50, "NODE_LOCAL")}}, traces.LevelOff},
		{"after a kill", Job{}, Task{Attempts: []*Attempt{attempt("KILLED", "by hand", 10, 50, "NODE_LOCAL")}}, traces.LevelNode},
		{"after a lost node", Job{}, Task{Attempts: []*Attempt{attempt("KILLED", nodeLost+" n2:1", 10, 50, "NODE_LOCAL")}}, traces.LevelOff},
		{"beside one that fails later", Job{}, Task{Attempts: []*Attempt{attempt("FAILED", "", 10, 150, "NODE_LOCAL")}}, traces.LevelNode},
		{"uberized", Job{Uberized: true}, Task{}, traces.LevelOff},
	} {
		c.task.Type = "MAP"
		c.task.Attempts = append(c.task.Attempts, next)
		if got := c.job.Level(&c.task, next, nil); got != c.level {
			t.Errorf("%s: %v, want %v", c.name, got, c.level)
		}
	}
	unlaunched := attempt("KILLED", "", 0, 50, "")
	task := Task{Type: "MAP", SplitHosts: []string{"n2"}, Attempts: []*Attempt{unlaunched}}
	if got := new(Job).Level(&task, unlaunched, map[string]string{"n2": "/r1"}); got != traces.LevelRack {
		t.Errorf("assigned, never launched: %v, want %v", got, traces.LevelRack)
	}
	task.SplitHosts = []string{"n3"}
	if got := new(Job).Level(&task, unlaunched, map[string]string{"n3": "/r2"}); got != traces.LevelOff {
		t.Errorf("assigned off the rack, never launched: %v, want %v", got, traces.LevelOff)
	}
	if got := new(Job).Level(&task, unlaunched, nil); got != traces.LevelUnknown {
		t.Errorf("assigned, never launched, the split's rack not told: %v, want %v", got, traces.LevelUnknown)
	}
	elsewhere := &Job{HostRacks: map[traces.Node]string{"n3": "/r1"}}
	if got := elsewhere.Level(&task, unlaunched, elsewhere.Racks()); got != traces.LevelRack {
		t.Errorf("assigned, never launched, the split's rack told by the caller: %v, want %v", got, traces.LevelRack)
	}
	unlaunched.Host = ""
	if got := new(Job).Level(&task, unlaunched, nil); got != traces.LevelUnknown {
		t.Errorf("never assigned: %v, want %v", got, traces.LevelUnknown)
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*[tg]") // .jhist and .log
	for _, path := range files {
		data := errtest.Must(os.ReadFile(path))
		f.Add(data[:min(len(data), 4<<10)])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8<<10 {
			t.Skip("longer inputs find little more in the same time")
		}
		job, _, err := Parse(bytes.NewReader(data))
		if job == nil && err == nil {
			t.Error("neither a job nor an error")
		}
		if job != nil {
			Events(job, 0)
		}
	})
}

// BenchmarkParse reads the history of a job of 10,000 tasks.
func BenchmarkParse(b *testing.B) {
	files, _ := filepath.Glob("testdata/*_0034-*.jhist")
	data := errtest.Must(os.ReadFile(files[0]))
	lines := bytes.SplitAfter(data, []byte("\n"))
	var big bytes.Buffer
	big.Write(lines[0])
	big.Write(lines[1])
	for i := range 10_000 {
		for _, l := range lines[2:] {
			if bytes.Contains(l, []byte("_m_000001")) {
				big.Write(bytes.ReplaceAll(l, []byte("_m_000001"), fmt.Appendf(nil, "_m_%06d", i)))
			}
		}
	}
	b.SetBytes(int64(big.Len()))
	b.ResetTimer()
	for range b.N {
		job, _, err := Parse(bytes.NewReader(big.Bytes()))
		if err != nil || len(job.Tasks) != 10_000 {
			b.Fatalf("%d tasks, error %v", len(job.Tasks), err)
		}
	}
}

func parseFile(t *testing.T, path string) (*Job, int, *mend.Log) {
	t.Helper()
	f := errtest.Must(os.Open(path))
	defer f.Close()
	log := &mend.Log{}
	job, events, err := parse(f, log)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return job, events, log
}

// describe is a job in lines, for golden files.
func describe(j *Job, events int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events\n", events)
	fmt.Fprintf(&b, "%s %q user %s queue %s %s, %d maps, %d reduces, submit %d launch +%d finish +%d\n",
		j.ID, j.Name, j.User, j.Queue, j.Status, j.Maps, j.Reduces, j.SubmitMs, j.LaunchMs-j.SubmitMs, j.FinishMs-j.SubmitMs)
	fmt.Fprintf(&b, "diagnostics %q\n", j.Diagnostics)
	fmt.Fprintf(&b, "masters on %v\n", j.AMHosts)
	since := func(ms int64) string {
		if ms == 0 {
			return "-"
		}
		return fmt.Sprintf("+%d", ms-j.SubmitMs)
	}
	racks := j.Racks()
	for _, t := range j.Tasks {
		fmt.Fprintf(&b, "%s %s %s to %s, hosts %v, winner %q\n", t.ID, t.Status, since(t.StartMs), since(t.FinishMs), t.SplitHosts, t.Winner)
		for _, a := range t.Attempts {
			fmt.Fprintf(&b, "  %s %s %s to %s on %s%s, %s %s, level %v\n", a.ID, a.Status, since(a.StartMs), since(a.FinishMs), a.Rack, "/"+a.Host,
				a.Locality, a.Avataar, j.Level(t, a, racks))
			fmt.Fprintf(&b, "    map %s shuffle %s sort %s, %s\n    %+v\n", since(a.MapFinishMs), since(a.ShuffleFinishMs), since(a.SortFinishMs),
				a.Container, a.Counters)
		}
	}
	fmt.Fprintf(&b, "total %+v\ndata, rack, other %d %d %d, launched %d %d\n", j.Counters, j.DataLocalMaps, j.RackLocalMaps, j.OtherLocalMaps,
		j.LaunchedMaps, j.LaunchedReduces)
	return b.String()
}
