package spark

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/format"
	"heddle/traces/mend"
	"heddle/traces/spark/sparktest"
)

// read reads a log, and returns its events by kind.
func read(tb testing.TB, in io.Reader) (map[traces.Kind][]traces.Event, *mend.Log) {
	tb.Helper()
	all := map[traces.Kind][]traces.Event{}
	im := &format.Import{Log: &mend.Log{}, Add: func(e traces.Event) error {
		all[e.Kind()] = append(all[e.Kind()], e)
		traces.OutOfRange(e, func(what string, _ bool) { tb.Errorf("%v: %s", e.Kind(), what) })
		return nil
	}}
	errtest.None(tb, Format.NewReader(im).Read(in))
	return all, im.Log
}

func join() []byte {
	var b bytes.Buffer
	sparktest.Join(&b, "application_1_0001", "join")
	return b.Bytes()
}

// TestTrueParents: stages that a job lists again under other ids are those that ran.
func TestTrueParents(t *testing.T) {
	all, log := read(t, bytes.NewReader(join()))
	var got []string
	for _, e := range all[traces.KindSparkStage] {
		s := e.(*traces.SparkStage)
		got = append(got, fmt.Sprint(s.Stage, s.Parents, s.Job, s.Query))
	}
	if want := []string{"0 [] 0 7", "1 [] 1 7", "4 [0 1] 2 7"}; !slices.Equal(got, want) {
		t.Errorf("stages %q, want %q", got, want)
	}
	if len(log.Counts()) > 0 {
		t.Errorf("mended %v", log.Counts())
	}
	a := all[traces.KindSparkApplication][0].(*traces.SparkApplication)
	if a.T != sparktest.Epoch*1e6 || a.Start-a.T != 2e9 || a.AMStart-a.T != 8e9 || a.End-a.T != 61e9 || a.Outcome != traces.Succeeded ||
		a.Queue != "q" || a.AMNode != "h" || a.AMMemoryBytes != 896<<20 {
		t.Errorf("application %+v", a)
	}
	x := all[traces.KindSparkExecutor][0].(*traces.SparkExecutor)
	if x.Container != "container_1_0001_01_000002" || x.MemoryBytes != 896<<20 || x.Cores != 2 || x.End != a.End {
		t.Errorf("executor %+v", x)
	}
}

// TestLostExecutors: how executors and attempts of stages ended is told apart.
func TestLostExecutors(t *testing.T) {
	var b bytes.Buffer
	sparktest.Lost(&b, "application_1_0002", "lost")
	all, _ := read(t, &b)
	var got []string
	for _, e := range all[traces.KindSparkExecutor] {
		x := e.(*traces.SparkExecutor)
		got = append(got, x.Executor+" "+x.Outcome.String())
	}
	for _, e := range all[traces.KindSparkStage] {
		x := e.(*traces.SparkStage)
		got = append(got, fmt.Sprintf("%d.%d %v", x.Stage, x.Attempt, x.Outcome))
	}
	want := []string{"2 failed", "3 killed", "1 succeeded", "0.0 succeeded", "1.0 failed", "0.1 succeeded", "1.1 succeeded"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCutLogs cuts a log at each of its bytes: all whole lines are read, and what had not ended has no end.
func TestCutLogs(t *testing.T) {
	whole := join()
	for at := range len(whole) {
		if at%7 > 0 {
			continue
		}
		all, log := read(t, bytes.NewReader(whole[:at]))
		if len(all[traces.KindSparkApplication]) == 0 {
			if bytes.Contains(whole[:at], []byte("ListenerJobStart")) {
				t.Fatalf("cut at %d: no application", at)
			}
			continue
		}
		a := all[traces.KindSparkApplication][0].(*traces.SparkApplication)
		ended := strings.Count(string(whole[:at]), "ListenerApplicationEnd")
		if (a.End != 0) != (ended > 0 && bytes.HasSuffix(bytes.TrimSpace(whole[:at]), []byte("}"))) {
			t.Fatalf("cut at %d: the application ends at %v", at, a.End)
		}
		starts := bytes.Count(whole[:at], []byte("ListenerTaskStart"))
		if n := len(all[traces.KindSparkTask]); n != starts && (n != starts-1 || log.Counts()[cutLog.String()] == 0) {
			t.Fatalf("cut at %d: %d tasks of %d", at, n, starts)
		}
	}
}

// TestHostileLogs spoils logs: nothing panics, and no event has an impossible value.
func TestHostileLogs(t *testing.T) {
	whole := join()
	insert := []string{
		"-1",
		"9223372036854775807",
		"1e308",
		"null",
		`"`,
		"{",
		"}",
		"[",
		"\n",
		"\xff",
		`{"Event":"SparkListenerTaskEnd"}` + "\n",
		strings.Repeat("[", 100),
	}
	for i := range 700 {
		r := rand.New(rand.NewPCG(uint64(i), 56))
		data := bytes.Clone(whole)
		for range 1 + r.IntN(3) {
			at := r.IntN(len(data))
			switch r.IntN(3) {
			case 0:
				data[at] ^= 1 << r.IntN(8)
			case 1:
				data = slices.Concat(data[:at], data[min(at+r.IntN(300), len(data)):])
			default:
				data = slices.Concat(data[:at], []byte(insert[r.IntN(len(insert))]), data[at:])
			}
			if len(data) == 0 {
				data = []byte("{")
			}
		}
		read(t, bytes.NewReader(data))
	}
}

// FuzzRead looks for what these miss.
func FuzzRead(f *testing.F) {
	f.Add(join())
	f.Fuzz(func(t *testing.T, data []byte) { read(t, bytes.NewReader(data)) })
}

// repeated is a log with so many stages of the same tasks.
type repeated struct {
	stage, left []byte
	n           int
}

func (r *repeated) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.left = r.stage
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// TestLongLogs: memory does not grow with a log.
func TestLongLogs(t *testing.T) {
	whole := join()
	from, to := bytes.Index(
		whole,
		[]byte(`{"Event":"SparkListenerStageSubmitted"`),
	), bytes.Index(
		whole,
		[]byte(`{"Event":"SparkListenerJobEnd"`),
	)
	in := &repeated{left: whole[:from], stage: whole[from:to], n: 20_000}
	tasks := 0
	im := &format.Import{Log: &mend.Log{}, Add: func(e traces.Event) error {
		if e.Kind() == traces.KindSparkTask {
			tasks++
		}
		return nil
	}}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := Format.NewReader(im)
	errtest.None(t, r.Read(in))
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(r)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); tasks != 40_000 || grown > 4<<20 {
		t.Errorf("%d tasks took %d bytes", tasks, grown)
	}
}

// TestOutsideLogs reads event logs that are not part of this project: HEDDLE_SPARK names a folder, such as
// spark-events of the tests in Spark's own source.
func TestOutsideLogs(t *testing.T) {
	folder := os.Getenv("HEDDLE_SPARK")
	if folder == "" {
		t.Skip("set HEDDLE_SPARK to a folder of event logs, such as core/src/test/resources/spark-events of Apache Spark")
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d files in %s: %v", len(paths), folder, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // a folder
		}
		all, log := read(t, bytes.NewReader(data))
		if len(all[traces.KindSparkApplication]) != 1 || len(log.Counts()) > 0 {
			t.Errorf("%s: %d applications, mended %v", path, len(all[traces.KindSparkApplication]), log.Counts())
		}
		ends := bytes.Count(data, []byte(`{"Event":"SparkListenerTaskEnd"`))
		if n := len(all[traces.KindSparkTask]); n != max(ends, bytes.Count(data, []byte(`{"Event":"SparkListenerTaskStart"`))) {
			t.Errorf("%s: %d tasks of %d", path, n, ends)
		}
		if n := len(all[traces.KindSparkStage]); n != bytes.Count(data, []byte(`{"Event":"SparkListenerStageSubmitted"`)) {
			t.Errorf("%s: %d stages", path, n)
		}
	}
}
