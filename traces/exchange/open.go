package exchange

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// headBytes is how much of a file is looked at to tell its form.
const headBytes = 1 << 18

// file is an input, uncompressed and read ahead by another goroutine.
type file struct {
	*bufio.Reader
	ahead *ahead
}

// openFile opens a file; Close ends the reading of it. Reading ends with ctx.
//
// Inputs are read more than once, so that pipes and devices are refused.
func openFile(ctx context.Context, path string) (*file, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open input: %w", err)
	}
	switch {
	case info.IsDir():
		return nil, fmt.Errorf("open input: %s is a folder: name its files", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("open input: %s is no file but a pipe or a device: keep what it gives in a file", path)
	case info.Size() == 0:
		return nil, fmt.Errorf("open input: %s is empty", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open input: %w", err)
	}
	a := &ahead{ctx: ctx, file: f, hash: sha256.New(), chunks: make(chan []byte, 2), free: make(chan []byte, 4), stop: make(chan struct{}), ended: make(chan struct{})}
	go a.run()
	in := &file{bufio.NewReaderSize(a, headBytes), a}
	switch head, _ := in.Peek(3); {
	case string(head) == "\xef\xbb\xbf":
		_, _ = in.Discard(3) // they are in the buffer
	case len(head) >= 2 && (string(head[:2]) == "\xff\xfe" || string(head[:2]) == "\xfe\xff"):
		in.Close()
		return nil, fmt.Errorf("open input: %s is in UTF-16: convert it to UTF-8", path)
	}
	return in, nil
}

// sum reads what is left of the file and gives its SHA-256 and what its
// decompression ended with.
func (f *file) sum() (sum string, damage error, err error) {
	if _, err := io.Copy(io.Discard, f.Reader); err != nil {
		return "", nil, err
	}
	<-f.ahead.ended
	return hex.EncodeToString(f.ahead.hash.Sum(nil)), f.ahead.damage, nil
}

// Close ends the reading.
func (f *file) Close() {
	f.ahead.once.Do(func() { close(f.ahead.stop) })
	for range f.ahead.chunks { // until run closes it
	}
	f.ahead.file.Close()
}

// ahead reads, hashes and decompresses a file in a goroutine of its own.
type ahead struct {
	ctx    context.Context // checked by Read
	file   *os.File
	packed int64 // bytes read of the file
	hash   hash.Hash
	chunks chan []byte
	free   chan []byte
	stop   chan struct{}
	ended  chan struct{}
	once   sync.Once
	damage error // of the compression; valid after ended
	err    error // valid once chunks is closed
	chunk  []byte
	rest   []byte
}

const chunkBytes = 1 << 18

// A compressed file that unpacks to over maxUnpacked times its size is taken for
// one made to fill memory, once it is over freeUnpacked bytes. Real traces
// unpack to 5 to 50 times.
const (
	maxUnpacked  = 200
	freeUnpacked = 1 << 20
)

// Write counts the bytes read of the file.
func (a *ahead) Write(p []byte) (int, error) {
	a.packed += int64(len(p))
	return a.hash.Write(p)
}

func (a *ahead) run() {
	defer close(a.ended)
	defer close(a.chunks)
	raw := bufio.NewReaderSize(io.TeeReader(a.file, a), chunkBytes)
	in := io.Reader(raw)
	compressed := false
	if head, _ := raw.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(raw)
		if err != nil {
			a.damage = err
			_, a.err = io.Copy(io.Discard, raw) // for the hash
			return
		}
		in, compressed = z, true
	}
	unpacked := int64(0)
	for {
		var chunk []byte
		select {
		case chunk = <-a.free:
		default:
			chunk = make([]byte, chunkBytes)
		}
		n, err := fill(in, chunk[:chunkBytes])
		if unpacked += int64(n); compressed && unpacked > max(freeUnpacked, maxUnpacked*a.packed) {
			a.err = fmt.Errorf("%d bytes of gzip unpack to over %d times as many: unpack the file yourself if that is meant", a.packed, maxUnpacked)
			return
		}
		if n > 0 {
			select {
			case a.chunks <- chunk[:n]:
			case <-a.stop:
				return
			}
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
		case compressed && !isPathError(err):
			a.damage = err
		default:
			a.err = err
		}
		// The rest belongs to the hash only.
		if _, err := io.Copy(io.Discard, raw); err != nil && a.err == nil {
			a.err = err
		}
		return
	}
}

// fill reads until p is full or there is an error, and keeps that error, unlike
// io.ReadFull.
func fill(in io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var got int
		got, err = in.Read(p[n:])
		n += got
	}
	return n, err
}

func isPathError(err error) bool {
	var path *os.PathError
	return errors.As(err, &path)
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	for len(a.rest) == 0 {
		if a.chunk != nil {
			select {
			case a.free <- a.chunk:
			default:
			}
			a.chunk = nil
		}
		chunk, ok := <-a.chunks
		if !ok {
			if a.err != nil {
				return 0, a.err
			}
			return 0, io.EOF
		}
		a.chunk, a.rest = chunk, chunk
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}
