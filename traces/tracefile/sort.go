package tracefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"heddle/traces"
)

// maxRunEvents is the greatest number of events that a Sorter keeps in memory.
const maxRunEvents = 1 << 18

// Sorter sorts events into the order of a finished trace. It keeps a limited
// number of events in memory: it writes sequences of sorted events (runs) to a
// file, and merges the runs at the end.
type Sorter struct {
	folder string
	run    []traces.Event
	file   *os.File // nameless; contains the runs (sequences of sorted events), one after the other
	runs   []*io.SectionReader
	count  int64
	err    error // the first error of Add; later calls of Add and WriteFile return it again
}

// NewSorter returns a Sorter that writes its temporary file into folder. Close
// removes the file.
func NewSorter(folder string) *Sorter { return &Sorter{folder: folder} }

// Add adds an event. The Sorter keeps the event, so the caller must not change
// it. After an error the Sorter takes no more events, and WriteFile returns the
// same error.
func (s *Sorter) Add(e traces.Event) error {
	if s.err != nil {
		return s.err
	}
	s.run = append(s.run, e)
	s.count++
	if len(s.run) < maxRunEvents {
		return nil
	}
	s.err = s.spill()
	return s.err
}

// AddFrom adds those events of a trace for which the function want returns true.
// It stops at the end of the trace or at a damaged place.
func (s *Sorter) AddFrom(r *Reader, want func(traces.Event) bool) error {
	r.KeepEvents()
	for e := range r.All() {
		if !want(e) {
			continue
		}
		if err := s.Add(e); err != nil {
			return err
		}
	}
	return r.Err()
}

// Count returns the number of events that were added to the Sorter.
func (s *Sorter) Count() int64 { return s.count }

func (s *Sorter) spill() (err error) {
	if s.file == nil {
		if s.file, err = nameless(s.folder); err != nil {
			return fmt.Errorf("sort events: %w", err)
		}
	}
	from, err := s.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("sort events: %w", err)
	}
	traces.Sort(s.run)
	w, err := newWriter(s.file, s.file.Name(), traces.Header{})
	if err != nil {
		return fmt.Errorf("sort events: %w", err)
	}
	w.tally.digest = nil
	if err = errors.Join(w.Write(s.run...), w.Close()); err != nil {
		return fmt.Errorf("sort events: %w", err)
	}
	to, err := s.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("sort events: %w", err)
	}
	s.runs = append(s.runs, io.NewSectionReader(s.file, from, to-from))
	clear(s.run)
	s.run = s.run[:0]
	return nil
}

// nameless opens a new file in a folder and removes its name, so that the file disappears
// when the process ends.
func nameless(folder string) (*os.File, error) {
	f, err := os.CreateTemp(folder, ".heddle-sort-*")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// WriteFile writes a trace file with all added events in order. If the argument
// last is not nil, WriteFile calls this function for each event before it
// writes the event. The function may change the event, but not the event's
// place in the order.
func (s *Sorter) WriteFile(path string, h traces.Header, last func(traces.Event)) error {
	return replaceFile(path, func(f *os.File) error { return s.Encode(f, path, h, last, "") })
}

// Encode does the same as WriteFile, but writes to out. The argument name is
// used in error messages. If the argument reason is not empty, the trace is
// marked as not complete for that reason.
func (s *Sorter) Encode(out io.Writer, name string, h traces.Header, last func(traces.Event), reason string) error {
	if s.err != nil {
		return s.err
	}
	traces.Sort(s.run)
	var heap []*run
	for i := range len(s.runs) + 1 {
		r := &run{number: i, kept: s.run}
		if i < len(s.runs) {
			in, err := NewReader(s.runs[i], s.file.Name())
			if err != nil {
				return fmt.Errorf("sort events: %w", err)
			}
			r = &run{number: i, in: in}
		}
		if r.next() {
			heap = append(heap, r)
		} else if r.err() != nil {
			return r.err()
		}
	}
	w, err := newWriter(out, name, h)
	if err != nil {
		return err
	}
	slices.SortFunc(heap, compareRuns)
	for len(heap) > 0 {
		r := heap[0]
		if last != nil {
			last(r.event)
		}
		if err := w.Write(r.event); err != nil {
			return err
		}
		if !r.next() {
			if r.err() != nil {
				return r.err()
			}
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		sink(heap)
	}
	return w.close(reason == "", reason)
}

// Close removes the temporary file in which the Sorter keeps sorted events.
func (s *Sorter) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// run is a sequence of sorted events, in the Sorter's file or in memory.
type run struct {
	number int
	in     *Reader
	kept   []traces.Event
	event  traces.Event
}

func (r *run) next() bool {
	if r.in != nil {
		if !r.in.Next() {
			return false
		}
		r.event = r.in.Event()
		return true
	}
	if len(r.kept) == 0 {
		return false
	}
	r.event, r.kept = r.kept[0], r.kept[1:]
	return true
}

func (r *run) err() error {
	if r.in == nil {
		return nil
	}
	return r.in.Err()
}

// compareRuns orders runs (sequences of sorted events) by the next event of
// each. If Compare finds no order between these events, the run that was filled
// earlier comes first.
func compareRuns(a, b *run) int {
	if c := traces.Compare(a.event, b.event); c != 0 {
		return c
	}
	return a.number - b.number
}

// sink restores the order of a heap of runs (sequences of sorted events) after
// the next event of the first run has changed.
func sink(heap []*run) {
	for i := 0; ; {
		least := 2*i + 1
		if least >= len(heap) {
			return
		}
		if least+1 < len(heap) && compareRuns(heap[least+1], heap[least]) < 0 {
			least++
		}
		if compareRuns(heap[i], heap[least]) <= 0 {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
