package synthetic

import (
	"bufio"
	"fmt"
	"io"
	"sort"
)

// lineBuffer is the size of the buffers in front of a task's stdout, in bytes.
const lineBuffer = 256 << 10

// emitter puts out a map's records for all reduces, mixed as those of a real
// map are.
type emitter struct {
	text  *text
	out   *bufio.Writer
	line  []byte
	parts []lengths // of the records for each reduce
	ends  []int64   // how many records there are for this reduce and those before
	// The records are put out in steps of stride through all of them, so that
	// each has its turn once and reduces alternate.
	records, stride, next, emitted int64
}

// newEmitter returns the output of a map. Without reduces it is a file.
func newEmitter(s *Spec, index int, out io.Writer) output {
	name := fmt.Sprintf("map %d", index)
	if s.Reduces.Count == 0 {
		return newWriter(s.Seed, name, s.Maps.EmitBytes.at(index), out)
	}
	e := &emitter{
		text: newText(s.Seed, name), out: bufio.NewWriterSize(out, lineBuffer),
		parts: make([]lengths, s.Reduces.Count), ends: make([]int64, s.Reduces.Count),
	}
	d, bytes := s.division(), s.Maps.EmitBytes.at(index)
	for r := range e.parts {
		e.parts[r] = cut(d.part(bytes, r)-segmentEnd, leastRecordBytes)
		if index == 0 && s.lacksRecord(d, r) {
			e.parts[r] = lengths{records: 1, last: leastRecordBytes}
		}
		e.records += e.parts[r].records
		e.ends[r] = e.records
	}
	e.stride = max(1, e.records*5/8)
	for gcd(e.stride, e.records) > 1 {
		e.stride++
	}
	return e
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (e *emitter) upTo(share float64) error {
	for target := int64(share * float64(e.records)); e.emitted < target; e.emitted++ {
		reduce := sort.Search(len(e.ends), func(r int) bool { return e.ends[r] > e.next })
		before := e.ends[reduce] - e.parts[reduce].records
		key, value := recordOf(e.parts[reduce].at(e.next - before))
		if err := e.record(reduce, key, value); err != nil {
			return err
		}
		e.next = (e.next + e.stride) % e.records
	}
	return nil
}

func (e *emitter) record(reduce, key, value int) error {
	e.line = sized(e.line, key+1+value+1)
	e.text.fillKey(e.line[:key], reduce, len(e.parts))
	e.line[key] = '\t'
	e.text.fill(e.line[key+1 : key+1+value])
	e.line[key+1+value] = '\n'
	_, err := e.out.Write(e.line)
	return err
}

func (e *emitter) flush() error { return e.out.Flush() }

// writer puts out the lines of a file. It has as many bytes as asked for, but 0
// in place of 1: Hadoop's TextOutputFormat writes at least a tab and an end of
// line.
type writer struct {
	text    *text
	out     *bufio.Writer
	line    []byte
	lines   lengths
	emitted int64
}

const leastLineBytes = 2 // a tab and an end of line

// FileBytes returns the length of the file of a task that is asked to write so
// many bytes: as many, but none in place of one.
func FileBytes(asked int64) int64 {
	if asked < leastLineBytes {
		return 0
	}
	return asked
}

func newWriter(seed uint64, name string, bytes int64, out io.Writer) *writer {
	return &writer{text: newText(seed, name), out: bufio.NewWriterSize(out, lineBuffer), lines: cut(bytes, leastLineBytes)}
}

func (w *writer) upTo(share float64) error {
	for target := int64(share * float64(w.lines.records)); w.emitted < target; w.emitted++ {
		length := w.lines.at(w.emitted)
		key := min(keyBytes, length-leastLineBytes)
		w.line = sized(w.line, length)
		w.text.fill(w.line)
		w.line[key], w.line[length-1] = '\t', '\n'
		if _, err := w.out.Write(w.line); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) flush() error { return w.out.Flush() }

// sized returns a slice of the given length, the old one if that is large
// enough.
func sized(b []byte, length int) []byte {
	if length > cap(b) {
		return make([]byte, length)
	}
	return b[:length]
}
