package synthetic

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
)

// Streams are what a task's program has from Hadoop Streaming.
type Streams struct {
	In     io.Reader // lines of the task's input
	Out    io.Writer // lines with key, tab and value
	Report io.Writer // stderr: lines for the task's log, and those that set counters and status
}

// Counters of Hadoop's job that tasks set, in the group "heddle".
const (
	CounterGroup = "heddle"
	CounterCPUMs = "TASK_CPU_MS"     // CPU time of the program, in milliseconds
	CounterRead  = "TASK_READ_BYTES" // what the program read from stdin, in bytes
)

// Index returns which map or reduce of its job a task is. Hadoop Streaming says
// so in the task's environment.
func Index(getenv func(string) string) (int, error) {
	const name = "mapreduce_task_partition"
	value := getenv(name)
	if value == "" {
		return 0, fmt.Errorf("the variable %s is not set: Hadoop Streaming sets it for its tasks, and this program is of use only there",
			name)
	}
	index, err := strconv.Atoi(value)
	if err != nil || index < 0 {
		return 0, fmt.Errorf("the variable %s is %q, want a task's index", name, value)
	}
	return index, nil
}

// Map runs the map with the given index: it reads its split's lines, and emits
// records for each reduce, or lines for its file if the job has no reduces. It
// fails if the input ends before the split does.
func Map(s *Spec, index int, streams Streams) error {
	m := &s.Maps
	if index >= m.Count {
		return fmt.Errorf("map %d: the job's spec has %d maps", index, m.Count)
	}
	t := begin(streams, m.CPUMs.at(index), m.SleepMs.at(index), m.MemoryBytes.at(index))
	want := m.ReadBytes.at(index)
	in := &plainReader{in: streams.In}
	err := t.run(in, want, newEmitter(s, index, streams.Out), func() error {
		if in.bytes >= want-LineBytes { // the first line may belong to the split before
			return nil
		}
		return fmt.Errorf("input ended after %d bytes, and the split has %d: was the input file written by heddle, and is it whole?",
			in.bytes, want)
	})
	if err != nil {
		return fmt.Errorf("map %d: %w", index, err)
	}
	return nil
}

// Reduce runs the reduce with the given index: it reads the sorted records, and
// writes the lines of its file. It fails if there are fewer records than the
// maps were asked to give.
func Reduce(s *Spec, index int, streams Streams) error {
	r := &s.Reduces
	if index >= r.Count {
		return fmt.Errorf("reduce %d: the job's spec has %d reduces", index, r.Count)
	}
	t := begin(streams, r.CPUMs.at(index), 0, r.MemoryBytes.at(index))
	want := s.shuffled(s.division(), index) - int64(s.Maps.Count)*segmentEnd // ends of segments reach no reduce
	in := &recordReader{in: bufio.NewReaderSize(streams.In, 256<<10)}
	out := newWriter(s.Seed, fmt.Sprintf("reduce %d", index), r.WriteBytes.at(index), streams.Out)
	err := t.run(in, want, out, func() error {
		if in.bytes >= want {
			return nil
		}
		return fmt.Errorf("input ended after records of %d bytes, and the maps were asked to give %d: did all run with this spec?",
			in.bytes, want)
	})
	if err != nil {
		return fmt.Errorf("reduce %d: %w", index, err)
	}
	return nil
}

// task is a running program.
type task struct {
	pace   pace
	report io.Writer
	memory []byte
}

const pageBytes = 4096 // or a part of a page, where pages are larger

func begin(s Streams, cpuMs, sleepMs, memoryBytes int64) *task {
	t := &task{pace: newPace(cpuMs, sleepMs, s.Report), report: s.Report, memory: make([]byte, memoryBytes)}
	for i := 0; i < len(t.memory); i += pageBytes {
		t.memory[i] = 1 // a page that nobody touched takes no memory
	}
	return t
}

// input is what a task reads. Progress returns the bytes read, as the Spec
// counts them.
type input interface {
	next() (bytes int, err error) // next reads some of stdin, and returns how much
	progress() int64
}

// output is what a task puts out, step by step.
type output interface {
	upTo(share float64) error // upTo puts out records until this share of them is out, 0 to 1
	flush() error
}

// restSteps is the number of steps in which a task does the work that is left
// at its input's end. A task without input does all its work then.
const restSteps = 64

// run reads all of the input. It computes and puts out in proportion to what
// was read of the bytes wanted. At the input's end it calls check, and if all
// was read, does what is left.
func (t *task) run(in input, want int64, out output, check func() error) error {
	share, read := 0.0, int64(0)
	for {
		n, err := in.next()
		read += int64(n)
		if want > 0 {
			share = min(1, float64(in.progress())/float64(want))
		}
		if failed := t.work(share, out); failed != nil {
			return failed
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read input: %w", err)
		}
	}
	if err := check(); err != nil {
		return err
	}
	for i := range restSteps {
		if err := t.work(share+(1-share)*float64(i+1)/restSteps, out); err != nil {
			return err
		}
	}
	if err := out.flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	fmt.Fprintf(t.report, "reporter:counter:%s,%s,%d\n", CounterGroup, CounterRead, read)
	fmt.Fprintf(t.report, "reporter:counter:%s,%s,%d\n", CounterGroup, CounterCPUMs, cpuTime().Milliseconds())
	runtime.KeepAlive(t.memory) // until here it counts as used
	return nil
}

func (t *task) work(share float64, out output) error {
	if err := out.upTo(share); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	t.pace.upTo(share)
	return nil
}

// plainReader is the input of a map.
type plainReader struct {
	in    io.Reader
	chunk [64 << 10]byte
	bytes int64
}

func (r *plainReader) progress() int64 { return r.bytes }

func (r *plainReader) next() (int, error) {
	n, err := r.in.Read(r.chunk[:])
	r.bytes += int64(n)
	return n, err
}

// recordReader is the input of a reduce: lines of key, tab and value. It counts
// the bytes that they had in segments.
type recordReader struct {
	in    *bufio.Reader
	bytes int64
}

func (r *recordReader) progress() int64 { return r.bytes }

// next reads the lines that are there, and waits for one if there is none.
func (r *recordReader) next() (n int, err error) {
	for n == 0 || n < 64<<10 && r.in.Buffered() > 0 {
		line, err := r.in.ReadSlice('\n')
		n += len(line)
		if errors.Is(err, io.EOF) && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return n, err
		}
		key := bytes.IndexByte(line, '\t')
		if key < 0 {
			return n, fmt.Errorf("a line of %d bytes has no tab, so it is not of this job's maps", len(line))
		}
		r.bytes += int64(ifileBytes(key, len(line)-key-2))
	}
	return n, nil
}
