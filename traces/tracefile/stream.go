package tracefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"heddle/traces"
)

// streamEvents is how many events a Stream hands over at once, at least.
const streamEvents = 1 << 12

// Stream writes a trace of events that come in order of time, in a goroutine of its own. It
// needs the trace's header only at the end: until then the events are in a file without a name.
type Stream struct {
	file    *os.File
	w       *Writer
	from    int64 // where the events begin in the file
	batch   []traces.Event
	batches chan []traces.Event
	err     chan error // what ended the goroutine
}

// NewStream returns a Stream whose file is in the folder. Close removes the file.
func NewStream(folder string) (*Stream, error) {
	file, err := nameless(folder)
	if err != nil {
		return nil, fmt.Errorf("write events: %w", err)
	}
	batches := make(chan []traces.Event, 4)
	s := &Stream{file: file, batches: batches, err: make(chan error, 1)}
	if s.w, err = newWriter(file, file.Name(), traces.Header{}); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.from = s.w.written
	go func() {
		for batch := range batches {
			slices.SortStableFunc(batch, traces.Compare) // by time they are in order, so this is a quick pass
			_ = s.w.Write(batch...)                      // Close returns the same error
		}
		s.err <- s.w.Close()
	}()
	return s, nil
}

// Add adds an event, which the caller must not change afterwards.
func (s *Stream) Add(e traces.Event) {
	if n := len(s.batch); n >= streamEvents && s.batch[n-1].At() != e.At() {
		s.batches <- s.batch
		s.batch = make([]traces.Event, 0, n)
	}
	s.batch = append(s.batch, e)
}

// WriteFile writes the trace file, with all events in the order of a finished trace.
func (s *Stream) WriteFile(path string, h traces.Header) error {
	s.batches <- s.batch
	if err := s.end(); err != nil {
		return err
	}
	return replaceFile(path, func(f *os.File) error {
		w, err := newWriter(f, path, h)
		if err != nil {
			return err
		}
		if _, err = io.Copy(f, io.NewSectionReader(s.file, s.from, s.w.written-s.from)); err != nil {
			err = &WriteError{Path: path, Err: err}
		}
		return errors.Join(err, w.zstd.Close())
	})
}

// end waits until all events handed over are in the nameless file, and the trace's footer.
func (s *Stream) end() error {
	close(s.batches)
	s.batches = nil
	return <-s.err
}

// Close ends the goroutine and removes the nameless file.
func (s *Stream) Close() {
	if s.batches != nil {
		_ = s.end() // nobody wants the trace
	}
	_ = s.file.Close() // it has no name any more
}
