package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/traces"
	"heddle/traces/jhist"
	"heddle/traces/tracefile"
)

// useTrace does with a file what the commands that read traces do. Whatever the
// file holds, they take memory in proportion to it. Of a trace that passes the
// check, all figures are sound and every export succeeds.
func useTrace(path string, sizeBytes int) error {
	folder, err := os.MkdirTemp(filepath.Dir(path), "use-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	report, whole, err := lookAt(path)
	if err != nil {
		return err
	}
	if _, err := tracefile.Cut(path, filepath.Join(folder, "cut"), tracefile.Piece{}); err == nil && whole {
		cut, err := tracefile.Check(filepath.Join(folder, "cut"))
		if err != nil || len(cut.Damage) > 0 || len(cut.Impossible) > 0 {
			return fmt.Errorf("a piece of a sound trace: %v, damage %v, impossible %v", err, cut.Damage, cut.Impossible)
		}
	}
	if _, err := tracefile.Repair(path, filepath.Join(folder, "repaired")); err == nil && len(report.Damage) > 0 {
		repaired, err := tracefile.Check(filepath.Join(folder, "repaired"))
		if err != nil || len(repaired.Damage) > 0 {
			return fmt.Errorf("a repaired trace: %v, damage %v", err, repaired.Damage)
		}
	}
	for _, f := range Formats {
		if f.Write == nil {
			continue
		}
		tables := f.Tables
		if tables == nil {
			tables = []string{""}
		}
		for _, table := range tables {
			_, err := Export(ExportOptions{Input: path, Format: f, Table: table, Output: filepath.Join(folder, f.Name+table)}, nil)
			if err != nil && whole && !errors.Is(err, ErrList) && !errors.Is(err, traces.ErrSpark) {
				return fmt.Errorf("export of a sound trace: %w", err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	// Writers of tables have buffers of their own.
	const base, perByte = 256 << 20, 10000
	if taken := after.TotalAlloc - before.TotalAlloc; taken > base+perByte*uint64(sizeBytes) {
		return fmt.Errorf("%d bytes of trace took %d bytes of memory", sizeBytes, taken)
	}
	return nil
}

// lookAt checks a trace and takes its figures. It reports whether the trace is
// whole.
func lookAt(path string) (report tracefile.Report, whole bool, err error) {
	report, err = tracefile.Check(path)
	whole = err == nil && len(report.Damage) == 0 && len(report.Impossible) == 0
	if r, err := tracefile.Open(path); err == nil {
		info := measure.Of(r.Header(), r.All())
		r.Close()
		if whole {
			if err := soundInfo(info, len(report.Warnings) == 0); err != nil {
				return report, whole, err
			}
		}
		if err := doc.WriteText(io.Discard, info.Doc(), false); err != nil {
			return report, whole, fmt.Errorf("info: %w", err)
		}
	}
	return report, whole, nil
}

// soundInfo says which figure of a trace cannot be. Clocks of two machines may
// make durations negative, of which the check warns.
func soundInfo(info *measure.Figures, ordered bool) error {
	tasks, phases := 0, 0
	for _, j := range info.JobList {
		tasks += j.Maps + j.Reduces
		if ordered && j.CompletionMs < 0 && j.CompletionMs != -1 {
			return fmt.Errorf("job %s takes %v ms", j.ID, j.CompletionMs)
		}
	}
	for _, p := range info.Phases {
		phases += p.Count
	}
	if tasks != info.Maps+info.Reduces || info.List == nil && int64(tasks) > info.Events || int64(phases) > 9*info.Events ||
		int64(len(info.JobList)) > info.Events {
		return fmt.Errorf("%d tasks and %d jobs of %d events", tasks, len(info.JobList), info.Events)
	}
	return sound(reflect.ValueOf(info).Elem(), "info")
}

// sound walks a value for numbers that are negative or no numbers.
func sound(v reflect.Value, place string) error {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		if v.Int() < 0 {
			return fmt.Errorf("%s is %d", place, v.Int())
		}
	case reflect.Float64:
		// -1 is a figure that there is not.
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) || f < 0 && f != -1 && !strings.HasSuffix(place, "SubmitMs") &&
			!strings.HasSuffix(place, "CompletionMs") {
			return fmt.Errorf("%s is %v", place, f)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return sound(v.Elem(), place)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := sound(v.Index(i), fmt.Sprintf("%s[%d]", place, i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				if err := sound(v.Field(i), place+"."+f.Name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// lineSeeds are traces in JSON Lines: a real one, and some that lie.
// sparkLines is a trace of applications of Spark in JSON Lines.
func sparkLines(tb testing.TB) []byte {
	tb.Helper()
	o := DefaultImport
	o.Output = filepath.Join(tb.TempDir(), "out")
	for i, data := range seeds(tb)["spark"] {
		o.Inputs = append(o.Inputs, filepath.Join(tb.TempDir(), fmt.Sprint(i)))
		mustDo(tb, os.WriteFile(o.Inputs[i], data, 0o644))
	}
	must(Import(context.Background(), o))
	var lines bytes.Buffer
	must(Export(ExportOptions{Input: o.Output, Format: &jsonLines}, &lines))
	return lines.Bytes()
}

func lineSeeds(tb testing.TB) [][]byte {
	tb.Helper()
	paths, _ := filepath.Glob("../jhist/testdata/*_0060-*.jhist")
	if len(paths) == 0 {
		tb.Fatal("no history in ../jhist/testdata")
	}
	f := must(os.Open(paths[0]))
	defer f.Close()
	job, _, err := jhist.Parse(f)
	if err != nil {
		tb.Fatal(err)
	}
	events := append(jhist.Events(job, 1795266014072*1e6),
		&traces.NodeSample{T: 1, Node: "n1", CPUUser: 0.5},
		&traces.Decision{T: 2, ID: 1, Job: "job_1_0001", Node: "n1", TaskIndex: -1, BindIndex: 0, Seen: &traces.Seen{
			Candidates: []traces.Candidate{{Node: "n2", Room: traces.RoomFull, ForMs: 1}},
			Passed:     []traces.PassedJob{{Job: "job_1_0002", Why: traces.PassedWaits}},
		}},
		&traces.Actuation{T: 3, Decision: 1, AskedAt: 2, GrantedAt: 3, Outcome: "honoured"},
		&traces.Heartbeat{T: 4, Node: "n1"}, &traces.BlockReplica{T: 4, Block: 7, Node: "n1", LengthBytes: 9}, &traces.Note{T: 5, Text: "x"})
	h := traces.Header{Format: 1, Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{{Node: "n1", Rack: "/r1", VCores: 4, Worker: true}}}}
	var whole bytes.Buffer
	mustDo(tb, tracefile.WriteLines(&whole, h, slices.Values(events)))
	const head = `{"kind":"header","format":1,"origin":"x\"y"}` + "\n"
	return [][]byte{
		whole.Bytes(),
		sparkLines(tb),
		// What a job claims is not what there is.
		[]byte(head + `{"kind":"jobSubmitted","t":1,"job":"job_1_0001","maps":1,"reduces":19000000}` + "\n" +
			`{"kind":"taskScheduled","t":2,"task":{"job":"job_1_0001","kind":"reduce","index":18999999}}` + "\n" +
			`{"kind":"attemptFinished","t":3,"attempt":{"job":"job_1_0001","kind":"map","index":0,"number":2147483647},"outcome":"succeeded","counters":{"hdfsReadBytes":9223372036854775807}}` + "\n"),
		// Events of a kind that only earlier versions wrote.
		[]byte(head + `{"kind":"jobSubmitted","t":1,"job":"j","maps":1}` + "\n" +
			`{"kind":"source","t":1,"form":"sls","about":{"job":"j","kind":"map","index":-1,"number":-1},"members":"\"am.type\":1"}` + "\n" +
			`{"kind":"source","t":1,"form":"swim","about":{"job":"j","kind":"map","index":-1,"number":-1},"members":"\"gap\":-9e9"}` + "\n" +
			`{"kind":"attemptStarted","t":1,"attempt":{"job":"j","kind":"map","index":0,"number":0}}` + "\n" +
			`{"kind":"attemptFinished","t":3,"attempt":{"job":"j","kind":"map","index":0,"number":0},"outcome":"succeeded"}` + "\n"),
		// Times at the ends of their range.
		[]byte(head + `{"kind":"jobSubmitted","t":-1000000000000000000,"job":"j","maps":1}` + "\n" +
			`{"kind":"attemptStarted","t":-1000000000000000000,"attempt":{"job":"j","kind":"map","index":0,"number":0},"node":"n"}` + "\n" +
			`{"kind":"attemptFinished","t":8000000000000000000,"attempt":{"job":"j","kind":"map","index":0,"number":0},"outcome":"succeeded","counters":{"hdfsReadBytes":1152921504606846976}}` + "\n" +
			strings.Repeat(`{"kind":"attemptFinished","t":8000000000000000000,"attempt":{"job":"j","kind":"map","index":0,"number":0},"outcome":"succeeded","counters":{"hdfsReadBytes":1152921504606846976}}`+"\n", 20) +
			`{"kind":"note","t":-9223372036854775808,"text":"early"}` + "\n"),
		// A list of jobs.
		[]byte(`{"kind":"header","format":2,"list":{"blockBytes":134217728,"replication":3,"bytesPerReduce":1073741824,"maxReduces":999,"taskStartMs":2000,` +
			`"mapBytesPerSec":10000000,"shuffleBytesPerSec":20000000,"outputBytesPerSec":20000000,"spreadPercent":25}}` + "\n" +
			`{"kind":"jobListed","t":1000000000,"job":"a","name":"a","gapSec":1,"inputBytes":1000000000000,"shuffleBytes":5000000000,"outputBytes":7}` + "\n" +
			`{"kind":"jobListed","t":2000000000,"job":"b","name":"b","inputBytes":0,"shuffleBytes":0,"outputBytes":0,"path":"9f00aa"}` + "\n"),
	}
}

// TestUseOfSpoiltTraces spoils traces in JSON Lines and uses what remains.
func TestUseOfSpoiltTraces(t *testing.T) {
	n := 500
	if testing.Short() {
		n = 40
	}
	files := lineSeeds(t)
	path := filepath.Join(t.TempDir(), "spoilt.jsonl")
	for i := range n {
		data := bytes.Clone(files[i%len(files)])
		if i >= len(files) {
			r := rand.New(rand.NewPCG(uint64(i), 815))
			for range 1 + r.IntN(3) {
				data = mutate(r, data)
			}
		}
		mustDo(t, os.WriteFile(path, data, 0o644))
		if err := useTrace(path, len(data)); err != nil {
			t.Fatalf("mutation %d: %v\n%.3000q", i, err, data)
		}
	}
}

// FuzzUse looks for what these mutations miss.
func FuzzUse(f *testing.F) {
	for _, data := range lineSeeds(f) {
		f.Add(data[:min(len(data), maxFuzzed)])
	}
	path := filepath.Join(inMemory(f), "fuzzed")
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzzed {
			t.Skip("longer inputs find little more in the same time")
		}
		mustDo(t, os.WriteFile(path, data, 0o644))
		if _, _, err := lookAt(path); err != nil {
			t.Fatal(err)
		}
	})
}

// importSound imports a file through the front door: what comes out passes the
// check and can be used, or nothing comes out.
func importSound(folder string, data []byte) error {
	in, out := filepath.Join(folder, "in"), filepath.Join(folder, "out")
	if err := os.WriteFile(in, data, 0o644); err != nil {
		return err
	}
	o := DefaultImport
	o.Inputs, o.Output, o.Rules.BlockBytes = []string{in}, out, 1<<50
	defer os.Remove(out)
	if _, err := Import(context.Background(), o); err != nil {
		if _, left := os.Lstat(out); left == nil {
			return fmt.Errorf("an import that fails leaves a file: %w", err)
		}
		return nil
	}
	report, err := tracefile.Check(out)
	if err != nil || len(report.Damage) > 0 || len(report.Impossible) > 0 {
		return fmt.Errorf("an import's own trace: %v, damage %v, impossible %v", err, report.Damage, report.Impossible)
	}
	r, err := tracefile.Open(out)
	if err != nil {
		return err
	}
	defer r.Close()
	return soundInfo(measure.Of(r.Header(), r.All()), len(report.Warnings) == 0)
}

// TestImportsAreSound imports spoilt files of each form.
func TestImportsAreSound(t *testing.T) {
	n := 300 // each is synced to the disk
	if testing.Short() {
		n = 40
	}
	for form, files := range seeds(t) {
		t.Run(form, func(t *testing.T) {
			folder := t.TempDir()
			for i := range n {
				r := rand.New(rand.NewPCG(uint64(i), 12))
				data := bytes.Clone(files[i%len(files)])
				for range r.IntN(4) {
					data = mutate(r, data)
				}
				if len(data) > 1<<20 {
					continue
				}
				if err := importSound(folder, data); err != nil {
					t.Fatalf("mutation %d: %v\n%.3000q", i, err, data)
				}
			}
		})
	}
}
