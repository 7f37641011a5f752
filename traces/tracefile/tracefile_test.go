package tracefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/traces"
	"heddle/traces/errtest"
)

var someHeader = traces.Header{
	Origin: traces.Measured, Writer: "heddle test", Model: "yarn", StartUnixNs: 1795236380513000000,
	Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{{Node: "n1", Rack: "/r1", VCores: 4, Worker: true}}},
}

func TestRoundTrip(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOf(anyEvent()).Draw(t, "events")
		path := filepath.Join(folder, "a.trace")
		w := must(newTestWriter(path))
		for i, e := range events {
			if err := w.Write(e); err != nil {
				t.Fatal(err)
			}
			if i%5 == 4 {
				w.Flush()
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		h, got := must2(ReadFile(path))
		want := someHeader
		want.Format = traces.FormatVersion
		if d := cmp.Diff(want, h); d != "" {
			t.Fatalf("header (-want +got):\n%s", d)
		}
		diffEvents(t, events, got)
	})
}

func TestLinesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOf(anyEvent()).Draw(t, "events")
		var text bytes.Buffer
		if err := WriteLines(&text, someHeader, slices.Values(events)); err != nil {
			t.Fatal(err)
		}
		r := must(NewReader(&text, "lines"))
		var got []traces.Event
		for e := range r.All() {
			got = append(got, e)
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		diffEvents(t, events, got)
	})
}

// TestTruncatedAnywhere cuts a file at every byte: what is read must be the
// beginning of the trace, and the reader must say that something is missing.
func TestTruncatedAnywhere(t *testing.T) {
	events := sampleEvents(40)
	whole := encode(t, events, 7)
	seen := map[int]bool{}
	for n := range len(whole) {
		got, err := readAll(whole[:n])
		var damage *DamageError
		switch {
		case err == nil:
			t.Fatalf("cut at %d of %d: no error", n, len(whole))
		case n < fileFrameBytes:
			if len(got) > 0 {
				t.Fatalf("cut at %d: %d events", n, len(got))
			}
			continue
		case !errors.As(err, &damage) || !damage.CutOff:
			t.Fatalf("cut at %d: %v, want a DamageError with CutOff", n, err)
		}
		diffEvents(t, events[:len(got)], got)
		seen[len(got)] = true
	}
	if len(seen) != 7 { // 0, 7, 14, …, 40
		t.Errorf("cuts leave %d different beginnings, want one for each block", len(seen))
	}
}

// TestOneBitWrong turns each bit of a file: no event may come out different.
func TestOneBitWrong(t *testing.T) {
	events := sampleEvents(12)
	whole := encode(t, events, 5)
	for i := range len(whole) * 8 {
		bad := bytes.Clone(whole)
		bad[i/8] ^= 1 << (i % 8)
		got, err := readAll(bad)
		if len(got) > len(events) {
			t.Fatalf("bit %d: %d events", i, len(got))
		}
		diffEvents(t, events[:len(got)], got)
		if err == nil && i/8 < len(whole)-200 && i/8 >= fileFrameBytes {
			t.Fatalf("bit %d of %d: no error", i, len(whole)*8)
		}
	}
}

func TestNewerFiles(t *testing.T) {
	t.Run("format version", func(t *testing.T) {
		b := encode(t, nil, 1)
		b[12] = traces.ListFormatVersion + 1
		errtest.Has(t, errtest.Of(readAll(b)), "newer heddle")
	})
	t.Run("unknown kinds, fields and frames", func(t *testing.T) {
		note := &traces.Note{T: 7, Text: "known"}
		var out bytes.Buffer
		w := must(newWriter(&out, "test", someHeader))
		// Kind 200: T 3 after the start, then anything.
		w.block.block = appendRecord(w.block.block, 200, []byte{6, 0xff, 0xff, 0xff})
		w.block.Since, w.block.Stored = 3, nil
		w.events++
		w.tally.addForeign(&records{unknown: 1, unknownKinds: [256]int64{200: 1}})
		// A note with one more field.
		w.block.Event(note)
		w.block.block = appendRecord(w.block.block, byte(traces.KindNote), append(w.block.Stored, 0x80, 0x01))
		w.events++
		w.Flush()
		out.Write(appendFrameHead(nil, "HDLX", 4+3))
		out.WriteString("new")
		mustDo(t, w.Close())
		r := must(NewReader(&out, "test"))
		if !r.Next() {
			t.Fatal(r.Err())
		}
		if d := cmp.Diff(traces.Event(note), r.Event()); d != "" {
			t.Errorf("event (-want +got):\n%s", d)
		}
		if r.Next() || r.Err() != nil {
			t.Errorf("after the last event: %v, %v", r.Event(), r.Err())
		}
		if r.Foreign() != 2 {
			t.Errorf("Foreign() = %d, want 2", r.Foreign())
		}
	})
	t.Run("older record with fewer fields", func(t *testing.T) {
		var d decoder
		d.reset(string(appendRecord(nil, byte(traces.KindDecision), []byte{2, 4})))
		if _, _, ok := d.record(); !ok {
			t.Fatal("no record")
		}
		e := &traces.Decision{Reason: "of an earlier use", BindIndex: 4, Group: 3}
		whole, ok := d.event(e)
		if want := (&traces.Decision{T: 1, ID: 2}); !whole || !ok || *e != *want {
			t.Errorf("got %+v whole %v ok %v, want %+v", e, whole, ok, want)
		}
	})
}

func TestWriteFileSortsAndReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.trace")
	mustDo(t, os.WriteFile(path, []byte("old"), 0o600))
	events := []traces.Event{&traces.Note{T: 3}, &traces.Note{T: 1}, &traces.Note{T: 2}}
	mustDo(t, WriteFile(path, someHeader, events))
	_, got := must2(ReadFile(path))
	diffEvents(t, []traces.Event{events[1], events[2], events[0]}, got)
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("folder holds %v, want the trace alone", left)
	}
}

func TestCreateRefusesAnExistingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.trace")
	mustDo(t, os.WriteFile(path, []byte("old"), 0o600))
	errtest.Is(t, errtest.Of(Create(path, someHeader)), os.ErrExist)
}

// TestDiskFull lets the disk take only so much: the error names the file and
// what was saved, stays, and the bytes on disk are a readable beginning.
func TestDiskFull(t *testing.T) {
	disk := &fullDisk{room: 1200}
	w := must(newWriter(disk, "run/a.trace", someHeader))
	w.live = true
	events := sampleEvents(100)
	var failed error
	for _, e := range events {
		if failed = errors.Join(w.Write(e), w.Flush()); failed != nil {
			break
		}
	}
	if failed == nil || !errors.Is(failed, errNoSpace) {
		t.Fatalf("error is %v, want %v", failed, errNoSpace)
	}
	got, err := readAll(disk.Bytes())
	if err == nil || len(got) == 0 {
		t.Fatalf("read %d events back, error %v", len(got), err)
	}
	diffEvents(t, events[:len(got)], got)
	if want := fmt.Sprintf("write trace run/a.trace: no space; %d events are saved", len(got)); !strings.Contains(failed.Error(), want) {
		t.Errorf("error %q lacks %q", failed, want)
	}
	errtest.Is(t, w.Close(), errNoSpace)
}

func TestReadingDoesNotAllocate(t *testing.T) {
	data := encode(t, sampleEvents(20_000), 1<<30)
	read := func() {
		r := must(NewReader(bytes.NewReader(data), "test"))
		for r.Next() {
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	if perEvent := testing.AllocsPerRun(3, read) / 20_000; perEvent > 0.05 {
		t.Errorf("%.2f allocations an event, want none", perEvent)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(encode(f, sampleEvents(10), 3))
	f.Add([]byte("{\"kind\":\"header\",\"format\":1}\n{\"kind\":\"note\",\"t\":1}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4<<10 {
			t.Skip("longer inputs find little more in the same time")
		}
		got, err := readAll(data)
		if err == nil && len(data) == 0 {
			t.Errorf("no data: %d events and no error", len(got))
		}
	})
}

// FuzzRecords feeds the record decoder, which checksums protect above.
func FuzzRecords(f *testing.F) {
	var enc encoder
	enc.names, enc.Number = map[string]uint64{}, enc.number
	for _, e := range sampleEvents(10) {
		enc.event(e, nil)
	}
	enc.event(&traces.Decision{T: 3, ID: 1, Job: "job_1_0002", Node: "n3", Seen: &traces.Seen{
		Candidates: []traces.Candidate{{Node: "n1", Level: traces.LevelCache}, {Node: "n2", Room: traces.RoomFull, ForMs: 2}},
		Passed:     []traces.PassedJob{{Job: "job_1_0001", Why: traces.PassedWaits, Waited: 2}}, Waited: 1, Limit: 3, WaitUnit: traces.WaitSkips,
	}}, nil)
	f.Add(string(enc.block))
	f.Fuzz(func(t *testing.T, block string) {
		var d decoder
		d.reset(block)
		for {
			kind, _, ok := d.record()
			if !ok {
				return
			}
			if e := traces.New(traces.Kind(kind)); e != nil {
				if _, ok := d.event(e); !ok {
					return
				}
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	events := sampleEvents(1_000_000)
	b.ResetTimer()
	for range b.N {
		w := must(newWriter(io.Discard, "bench", someHeader))
		for _, e := range events {
			mustDo(b, w.Write(e))
		}
		mustDo(b, w.Close())
		b.SetBytes(w.written)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/event")
}

func BenchmarkRead(b *testing.B) {
	data := encode(b, sampleEvents(1_000_000), 1<<30)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		r := must(NewReader(bytes.NewReader(data), "bench"))
		for r.Next() {
		}
		if r.Err() != nil {
			b.Fatal(r.Err())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/event")
}

// sampleEvents are the starts and ends of attempts on 100 nodes.
func sampleEvents(n int) []traces.Event {
	events := make([]traces.Event, n)
	for i := range events {
		a := traces.Attempt{Task: traces.Task{Job: traces.JobID(fmt.Sprintf("job_1795236380513_%04d", i/2000)), Index: int32(i / 2 % 1000)}}
		at := traces.Time(i)*1_234_567 + traces.Time(i*7919%100_000)
		if i%2 == 0 {
			events[i] = &traces.AttemptStarted{
				T: at, Attempt: a, Node: traces.Node(fmt.Sprintf("node%03d.example", i*31%100)), Rack: "/rack1",
				SplitLocality: traces.LevelNode, ReplicaLocality: traces.LevelCache, SampleAgeNs: int64(i * 7919 % 100_000),
			}
			continue
		}
		c := traces.NoCounters
		c.HDFSReadBytes, c.CPUMs = 134217728, int64(i*7919%3000)
		events[i] = &traces.AttemptFinished{T: at, Attempt: a, Outcome: traces.Succeeded, MapDone: at - 5_000_000, Counters: c}
	}
	return events
}

// encode writes events with a flush after every few of them.
func encode(t testing.TB, events []traces.Event, flushAfter int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := must(newWriter(&out, "test", someHeader))
	for i, e := range events {
		mustDo(t, w.Write(e))
		if i%flushAfter == flushAfter-1 {
			w.Flush()
		}
	}
	mustDo(t, w.Close())
	return out.Bytes()
}

func readAll(data []byte) ([]traces.Event, error) {
	r, err := NewReader(bytes.NewReader(data), "test")
	if err != nil {
		return nil, err
	}
	if src, ok := r.src.(*records); ok {
		src.keep = true
	}
	var events []traces.Event
	for e := range r.All() {
		events = append(events, e)
	}
	return events, r.Err()
}

func newTestWriter(path string) (*Writer, error) {
	os.Remove(path)
	return Create(path, someHeader)
}

func diffEvents(t rapid.TB, want, got []traces.Event) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(want[i], got[i]) {
			if d := cmp.Diff(want[i], got[i]); d != "" {
				t.Fatalf("event %d (-want +got):\n%s", i, d)
			}
		}
	}
}

// anyEvent is an event of any kind with any values in every field.
func anyEvent() *rapid.Generator[traces.Event] {
	return rapid.Custom(func(t *rapid.T) traces.Event {
		e := traces.New(traces.Kind(rapid.IntRange(1, int(traces.Kinds)-1).Filter(func(k int) bool { return traces.Kind(k).Known() }).Draw(t,
			"kind")))
		setAny(t, reflect.ValueOf(e).Elem())
		return e
	})
}

func setAny(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			setAny(t, v.Field(i))
		}
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.SampledFrom([]string{"", "node1", "node2"}), rapid.String()).Draw(t, "text"))
	case reflect.Int32:
		v.SetInt(int64(rapid.Int32().Draw(t, "number")))
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "number"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Uint8().Draw(t, "number")))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "number"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64().Draw(t, "number"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			setAny(t, v.Elem())
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "length")
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			setAny(t, v.Index(i))
		}
	default:
		panic("no generator for " + v.Type().String())
	}
}

var errNoSpace = errors.New("no space")

// fullDisk takes whole writes until its room is used up, then a part.
type fullDisk struct {
	bytes.Buffer
	room int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errNoSpace
	}
	return n, nil
}

// TestLinesOfNaN: a number that JSON does not have is an error that says what to do.
func TestLinesOfNaN(t *testing.T) {
	events := []traces.Event{&traces.NodeSpeed{T: 1, Node: "n", Speed: math.NaN()}}
	errtest.Has(t, WriteLines(io.Discard, someHeader, slices.Values(events)), "write event 1: ", "heddle trace check")
}

// TestSkip: a reader passes over events of the kinds that it is to skip, in both formats,
// and gives the others as they are, with the right times.
func TestSkip(t *testing.T) {
	h, events := traces.Header{Format: traces.FormatVersion}, []traces.Event{
		&traces.NodeUp{T: 1, NodeFacts: traces.NodeFacts{Node: "n"}}, &traces.Heartbeat{T: 5, Node: "m"}, &traces.NodeDown{T: 7, Node: "m"},
		&traces.Heartbeat{T: 9, Node: "n"}, &traces.NodeDown{T: 12, Node: "n"},
	}
	var binary, text bytes.Buffer
	mustDo(t, errors.Join(Encode(&binary, "x", h, events), WriteLines(&text, h, slices.Values(events))))
	for name, file := range map[string][]byte{"binary": binary.Bytes(), "lines": text.Bytes()} {
		r := must(NewReader(bytes.NewReader(file), name))
		r.KeepEvents()
		r.Skip(traces.KindHeartbeat, traces.KindNodeUp)
		got := slices.Collect(r.All())
		if d := cmp.Diff([]traces.Event{events[2], events[4]}, got); d != "" || r.Err() != nil || r.Foreign() != 0 {
			t.Errorf("%s: %v, %d foreign; want -, got +:\n%s", name, r.Err(), r.Foreign(), d)
		}
	}
}
