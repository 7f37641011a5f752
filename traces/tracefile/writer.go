package tracefile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"heddle/traces"
	"heddle/traces/outfile"
)

// A Writer collects records and writes them to the file as one block when they
// have the size blockBytes.
const blockBytes = 512 << 10

// WriteFile sorts the events by time and writes them to a trace file. A file of
// that name is replaced, but only after the new file is complete and on disk.
func WriteFile(path string, h traces.Header, events []traces.Event) error {
	return replaceFile(path, func(f *os.File) error { return Encode(f, path, h, events) })
}

// Encode writes a trace with the events to out, in the order of a finished
// trace. The argument name is used in error messages.
func Encode(out io.Writer, name string, h traces.Header, events []traces.Event) error {
	if !slices.IsSortedFunc(events, traces.Compare) {
		events = slices.Clone(events)
		traces.Sort(events)
	}
	w, err := newWriter(out, name, h)
	if err != nil {
		return err
	}
	if err := w.Write(events...); err != nil {
		return err
	}
	return w.Close()
}

// replaceFile calls the function write to fill a new file. If the function
// succeeds, the file gets the name path.
func replaceFile(path string, write func(*os.File) error) error {
	var failed error
	err := outfile.Replace(path, func(f *os.File) error { failed = write(f); return failed })
	if err != nil && failed == nil {
		return &WriteError{Path: path, Err: err}
	}
	return err
}

// Writer appends events to a trace file while a run goes on. The events need not
// be in order. If the process crashes, the file has all events up to the last
// Flush. Several goroutines may use a Writer at once.
type Writer struct {
	path string
	out  io.Writer
	file *os.File // the file that Create opened and that Close must close; nil otherwise
	live bool     // true if the file is kept with its complete blocks after a write error
	zstd *zstd.Encoder

	mu      sync.Mutex
	block   encoder
	frame   []byte
	events  uint32 // number of events in the block that is being filled
	written int64  // number of bytes in the complete blocks of the file
	saved   int64  // number of events in the complete blocks of the file
	tally   *tally
	err     error // the first write error; nothing is written after it
	closed  bool
}

// Create creates a trace file and returns its Writer. It fails if the file
// exists.
func Create(path string, h traces.Header) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create trace: %w", err)
	}
	w, err := newWriter(f, path, h)
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	w.file, w.live = f, true
	return w, nil
}

// newWriter returns a Writer after it has written the header of the trace to
// out. The header gets the lowest format version that it can be written in.
func newWriter(out io.Writer, path string, h traces.Header) (*Writer, error) {
	h.Format = traces.FormatVersion
	if h.List != nil {
		h.Format = traces.ListFormatVersion
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write trace %s: encode header: %w", path, err)
	}
	if len(text) > maxBlockBytes-16 {
		return nil, fmt.Errorf("write trace %s: header of %d bytes is over the limit of %d", path, len(text), maxBlockBytes-16)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("write trace %s: %w", path, err)
	}
	w := &Writer{path: path, out: out, zstd: enc, tally: newTally(), block: encoder{names: map[string]uint64{}}}
	w.block.Number = w.block.number
	w.frame = appendFileFrame(nil, uint32(h.Format))
	w.block.block = appendRecord(nil, recordHeader, text)
	return w, w.flush()
}

// Write appends events to the trace. The caller may change them afterwards. After
// an error, all later calls return the same error.
func (w *Writer) Write(events ...traces.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed && w.err == nil {
		return fmt.Errorf("write trace %s: already closed", w.path)
	}
	for _, e := range events {
		if w.err != nil {
			break
		}
		w.block.event(e, w.tally.digest)
		w.events++
		w.tally.count(e)
		if len(w.block.block) >= blockBytes {
			_ = w.flush()
		}
	}
	return w.err
}

// Flush writes all events so far to the file, but does not wait until they are
// on the disk.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

// FlushEvery calls Flush at intervals, until ctx ends or Flush fails.
func (w *Writer) FlushEvery(ctx context.Context, interval time.Duration) error {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

// Close writes the footer of a complete run and closes the file that Create
// opened.
func (w *Writer) Close() error { return w.close(true, "") }

// CloseIncomplete writes the footer of a run that did not come to its end, with
// the reason, and closes the file that Create opened.
func (w *Writer) CloseIncomplete(reason string) error { return w.close(false, reason) }

func (w *Writer) close(complete bool, reason string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.err
	}
	w.closed = true
	if w.flush() == nil {
		w.frame, w.err = w.tally.result(complete, reason).append(w.frame[:0])
		if w.err == nil {
			w.store()
		}
	}
	_ = w.zstd.Close() // no data can be lost here: all blocks were compressed before, and Close only ends zstd's goroutines
	if w.file == nil {
		return w.err
	}
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil && w.err == nil {
		w.err = &WriteError{Path: w.path, Live: w.live, Saved: w.saved, Err: err}
	}
	return w.err
}

// flush writes the current block, unless it has no records.
func (w *Writer) flush() error {
	if w.err != nil || len(w.block.block) == 0 {
		return w.err
	}
	if len(w.block.block) > maxBlockBytes {
		w.err = fmt.Errorf("write trace %s: an event of %d bytes is over the limit of %d", w.path, len(w.block.block), maxBlockBytes)
		return w.err
	}
	// The compressed size is known only after the compression, so the block's
	// header is filled in last.
	head := len(w.frame)
	w.frame = append(w.frame, make([]byte, blockFrameBytes)...)
	w.frame = w.zstd.EncodeAll(w.block.block, w.frame)
	stored := w.frame[head+blockFrameBytes:]
	blockHead{
		storedBytes: uint32(len(stored)), bytes: uint32(len(w.block.block)), events: w.events,
		before: uint64(w.saved), crc: crc32.Checksum(stored, crcTable),
	}.append(w.frame[:head])
	w.store()
	return w.err
}

// store writes the current block, compressed in w.frame, to the output. If that
// fails, it shortens the file to its complete blocks.
func (w *Writer) store() {
	n, err := w.out.Write(w.frame)
	if err == nil && n < len(w.frame) {
		err = io.ErrShortWrite
	}
	if err != nil {
		lost := int64(w.events)
		if w.file != nil {
			err = errors.Join(err, w.file.Truncate(w.written))
		}
		w.err = &WriteError{Path: w.path, Live: w.live, Saved: w.saved, Lost: lost, Err: err}
		return
	}
	w.written += int64(n)
	w.saved += int64(w.events)
	w.events = 0
	w.frame = w.frame[:0]
	w.block.reset()
}
