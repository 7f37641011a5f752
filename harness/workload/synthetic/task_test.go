package synthetic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/traces/errtest"
)

// runMap runs a map on a split that begins with a line, and returns what it
// emits.
func runMap(s *Spec, index int) ([]byte, error) {
	var out bytes.Buffer
	err := Map(s, index, Streams{In: bytes.NewReader(someLines(s.Maps.ReadBytes.at(index))), Out: &out, Report: io.Discard})
	return out.Bytes(), err
}

// someLines returns so many bytes of input.
func someLines(size int64) []byte {
	content, err := io.ReadAll(newLines(1, File{"lines", size}))
	if err != nil {
		panic(err)
	}
	return content
}

// shuffle does what Hadoop does between maps and reduces. It returns the sorted
// lines of each reduce, and the bytes of its segments.
func shuffle(t *rapid.T, s *Spec) (sorted [][]byte, segments []int64) {
	sorted, segments = make([][]byte, s.Reduces.Count), make([]int64, s.Reduces.Count)
	all := make([][][]byte, s.Reduces.Count)
	for m := range s.Maps.Count {
		out := errtest.Must(runMap(s, m))
		for r := range segments {
			segments[r] += segmentEnd
		}
		for line := range bytes.Lines(out) {
			key, value, found := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"))
			if !found {
				t.Fatalf("line %q has no tab", line)
			}
			r := int(hash(1, key)&hashMask) % s.Reduces.Count
			segments[r] += int64(ifileBytes(len(key), len(value)))
			all[r] = append(all[r], line)
		}
	}
	for r, lines := range all {
		slices.SortFunc(lines, bytes.Compare)
		sorted[r] = bytes.Join(lines, nil)
	}
	return sorted, segments
}

// TestBytesAsAsked runs all tasks of any job, and has each counter of Hadoop's
// at what was asked, but for the floors.
func TestBytesAsAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t, 20_000)
		if s.Reduces.Count == 0 {
			for m := range s.Maps.Count {
				out, err := runMap(s, m)
				checkFile(t, out, err, s.Maps.EmitBytes.at(m))
			}
			return
		}
		sorted, segments := shuffle(t, s)
		for r, in := range sorted {
			if want := s.ShuffleBytes()[r]; segments[r] != want {
				t.Errorf("reduce %d is given %d bytes, want %d", r, segments[r], want)
			}
			var out bytes.Buffer
			err := Reduce(s, r, Streams{In: bytes.NewReader(in), Out: &out, Report: io.Discard})
			checkFile(t, out.Bytes(), err, s.Reduces.WriteBytes.at(r))
			if len(in) == 0 {
				continue
			}
			in = in[:bytes.LastIndexByte(in[:len(in)-1], '\n')+1]
			err = Reduce(s, r, Streams{In: bytes.NewReader(in), Out: io.Discard, Report: io.Discard})
			if err == nil || !strings.Contains(err.Error(), "input ended after") {
				t.Errorf("reduce %d lacks a record, and ends with %v", r, err)
			}
		}
	})
}

// checkFile expects the lines of a file of so many bytes, as TextOutputFormat
// would write them again.
func checkFile(t *rapid.T, out []byte, err error, asked int64) {
	if err != nil || int64(len(out)) != FileBytes(asked) {
		t.Errorf("a file of %d bytes (%v), want %d", len(out), err, FileBytes(asked))
	}
	for line := range bytes.Lines(out) {
		if !bytes.Contains(line, []byte("\t")) || line[len(line)-1] != '\n' {
			t.Errorf("the line %q is no key and value", line)
		}
	}
}

// TestSameData has the same output for the same seed, another one for another
// seed or map.
func TestSameData(t *testing.T) {
	of := func(seed uint64, index int) string {
		out := errtest.Must(runMap(&Spec{Seed: seed, Maps: MapTasks{Count: 2, EmitBytes: Same(9000)}, Reduces: ReduceTasks{Count: 2}}, index))
		return string(out)
	}
	if again := of(1, 0); again != of(1, 0) {
		t.Error("the same map emits other data")
	}
	if of(1, 0) == of(1, 1) || of(1, 0) == of(2, 0) {
		t.Error("another map or seed emits the same data")
	}
}

func TestTaskErrors(t *testing.T) {
	s := &Spec{Maps: MapTasks{Count: 1, ReadBytes: Same(10 * LineBytes), EmitBytes: Same(5000)}, Reduces: ReduceTasks{Count: 1}}
	broken := errors.New("pipe broke")
	for _, c := range []struct {
		name    string
		streams Streams
		run     func(*Spec, int, Streams) error
		index   int
		want    string
	}{
		{
			"short",
			Streams{In: bytes.NewReader(someLines(9*LineBytes - 1))},
			Map, 0,
			"map 0: input ended after 36863 bytes, and the split has 40960",
		},
		{"one line less", Streams{In: bytes.NewReader(someLines(9 * LineBytes))}, Map, 0, ""},
		{"empty", Streams{In: strings.NewReader("")}, Map, 0, "input ended after 0 bytes"},
		{"no such map", Streams{}, Map, 1, "map 1: the job's spec has 1 maps"},
		{"no such reduce", Streams{}, Reduce, 5, "reduce 5: the job's spec has 1 reduces"},
		{"foreign", Streams{In: strings.NewReader("word\n")}, Reduce, 0, "has no tab"},
		{"cut line", Streams{In: strings.NewReader("a\tb\nc")}, Reduce, 0, "unexpected EOF"},
		{"long line", Streams{In: strings.NewReader(strings.Repeat("x", 1<<20))}, Reduce, 0, "buffer full"},
		{"read fails", Streams{In: io.MultiReader(bytes.NewReader(someLines(100)), failing{broken})}, Map, 0, "map 0: read input: pipe broke"},
		{"write fails", Streams{In: bytes.NewReader(someLines(10 * LineBytes)), Out: failing{broken}}, Map, 0, "map 0: write output: pipe broke"},
	} {
		if c.streams.Out == nil {
			c.streams.Out = io.Discard
		}
		c.streams.Report = io.Discard
		err := c.run(s, c.index, c.streams)
		wantError(t, err, c.want)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestIndex(t *testing.T) {
	for value, want := range map[string]int{"0": 0, "17": 17, "": -1, "-1": -1, "x": -1} {
		got, err := Index(func(name string) string {
			if name != "mapreduce_task_partition" {
				t.Errorf("asks for %s", name)
			}
			return value
		})
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("partition %q is task %d (%v), want %d", value, got, err, want)
		}
	}
}

// TestSpread has a task compute and emit while it reads, not all at its end.
func TestSpread(t *testing.T) {
	const all = 100 * LineBytes
	used := cpuTime().Milliseconds()
	s := &Spec{
		Maps:    MapTasks{Count: 1, ReadBytes: Same(all), EmitBytes: Same(4 << 20), CPUMs: Same(2*used + 400)},
		Reduces: ReduceTasks{Count: 4},
	}
	var out bytes.Buffer
	halfOut, halfCPU := 0, int64(0)
	first, second := bytes.NewReader(someLines(all/2)), bytes.NewReader(someLines(all/2))
	in := io.MultiReader(first, at(func() { halfOut, halfCPU = out.Len(), cpuTime().Milliseconds() }), second)
	var report bytes.Buffer
	mustDo(t, Map(s, 0, Streams{In: in, Out: &out, Report: &report}))
	if halfOut < 1<<20 {
		t.Errorf("halfway through its input a map has emitted %d of %d bytes", halfOut, out.Len())
	}
	if want := used + 200; halfCPU < want {
		t.Errorf("halfway through its input a map has computed %d ms, want %d", halfCPU, want)
	}
	if end := cpuTime().Milliseconds(); end < 2*used+400 {
		t.Errorf("a map has computed %d ms, want %d", end, 2*used+400)
	}
	if !strings.Contains(report.String(), fmt.Sprintf("reporter:counter:heddle,TASK_READ_BYTES,%d\n", all)) {
		t.Errorf("a map reports %q", &report)
	}
}

type at func()

func (a at) Read([]byte) (int, error) { a(); return 0, io.EOF }

// BenchmarkMap emits as fast as it can.
func BenchmarkMap(b *testing.B) {
	const size = 256 << 20
	s := &Spec{Maps: MapTasks{Count: 1, EmitBytes: Same(size)}, Reduces: ReduceTasks{Count: 100}}
	b.SetBytes(size)
	for b.Loop() {
		mustDo(b, Map(s, 0, Streams{In: strings.NewReader(""), Out: io.Discard, Report: io.Discard}))
	}
}

// TestReducesThatWriteGetARecord: Hadoop Streaming drops what a reduce puts out
// that gets no record, so each reduce that has to write gets one, of the first
// map if no map gives it any otherwise.
func TestReducesThatWriteGetARecord(t *testing.T) {
	s := &Spec{Format: specFormat, Seed: 3}
	s.Maps = MapTasks{Count: 2, EmitBytes: Same(9)}
	s.Reduces = ReduceTasks{Count: 3, WriteBytes: Each([]int64{2, 0, 5000})}
	for index, want := range []int64{2, 0} {
		var out bytes.Buffer
		mustDo(t, Map(s, index, Streams{In: strings.NewReader(""), Out: &out, Report: io.Discard}))
		if got := int64(bytes.Count(out.Bytes(), []byte("\n"))); got != want {
			t.Errorf("map %d puts out %d records, want %d", index, got, want)
		}
	}
	with := 2*int64(segmentEnd) + int64(leastRecordBytes)
	if got, want := s.ShuffleBytes(), []int64{with, 2 * segmentEnd, with}; !slices.Equal(got, want) {
		t.Errorf("the reduces get %d bytes, want %d", got, want)
	}
}
