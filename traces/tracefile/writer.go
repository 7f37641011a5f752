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

// blockBytes is the size of the records after which a Writer writes a block.
const blockBytes = 512 << 10

// WriteFile writes a trace with the events in order. It replaces a file of that
// name, and only when the new file is complete and on disk.
func WriteFile(path string, h traces.Header, events []traces.Event) error {
	return replaceFile(path, func(f *os.File) error { return Encode(f, path, h, events) })
}

// Encode writes a trace with the events in order to out. The name is for errors.
func Encode(out io.Writer, name string, h traces.Header, events []traces.Event) error {
	if !slices.IsSortedFunc(events, traces.Compare) {
		events = slices.Clone(events)
		traces.Sort(events)
	}
	w, err := newWriter(out, name, h)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := w.Write(e); err != nil {
			return err
		}
	}
	return w.Close()
}

// replaceFile has write write a file, and gives it its name if that succeeds.
func replaceFile(path string, write func(*os.File) error) error {
	var failed error
	err := outfile.Replace(path, func(f *os.File) error { failed = write(f); return failed })
	if err != nil && failed == nil {
		return &WriteError{Path: path, Err: err}
	}
	return err
}

// Writer appends events to a trace while a run goes on. They need not be in order.
// After a crash of the process, the file has all events up to the last Flush. A
// Writer is safe for concurrent use.
type Writer struct {
	path string
	out  io.Writer
	file *os.File // out, where the Writer opened it
	live bool     // whole blocks stay when a later one fails
	zstd *zstd.Encoder

	mu      sync.Mutex
	block   encoder
	frame   []byte
	events  uint32 // in block
	written int64  // bytes in whole blocks
	saved   int64  // events in whole blocks
	tally   *tally
	err     error // the first failure; nothing is written after it
	closed  bool
}

// Create begins a trace file, which must not exist.
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

// newWriter writes the header to out, with the format version that it needs.
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
	w.frame = appendFileFrame(nil, uint32(h.Format))
	w.block.block = appendRecord(nil, recordHeader, text)
	return w, w.flush()
}

// Write appends an event. The caller may then overwrite it. After an error, all
// later calls return the same error.
func (w *Writer) Write(e traces.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return fmt.Errorf("write trace %s: already closed", w.path)
	}
	w.block.event(e)
	w.events++
	w.tally.add(e)
	if len(w.block.block) >= blockBytes {
		return w.flush()
	}
	return nil
}

// Flush gives all events so far to the operating system.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

// FlushEvery flushes at intervals, until ctx is done or Flush fails.
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

// Close ends the trace of a run that is complete.
func (w *Writer) Close() error { return w.close(true, "") }

// CloseIncomplete ends the trace of a run that is not complete, and says why in
// its footer.
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
	_ = w.zstd.Close() // each block was compressed whole; this only ends its goroutines
	if w.file == nil {
		return w.err
	}
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil && w.err == nil {
		w.err = &WriteError{Path: w.path, Live: w.live, Saved: w.saved, Err: err}
	}
	return w.err
}

// flush writes the current block, unless it is empty.
func (w *Writer) flush() error {
	if w.err != nil || len(w.block.block) == 0 {
		return w.err
	}
	if len(w.block.block) > maxBlockBytes {
		w.err = fmt.Errorf("write trace %s: an event of %d bytes is over the limit of %d", w.path, len(w.block.block), maxBlockBytes)
		return w.err
	}
	// The size is known only after the compression, so that the block's header is
	// filled in afterwards.
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

// store writes w.frame. If that fails, it cuts the file back to complete blocks.
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
