package exchange

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/klauspost/readahead"
)

// headBytes is the size of the beginning of a file from which its format is
// detected. chunkBytes is the number of bytes read from a file at a time.
const (
	headBytes  = 1 << 18
	chunkBytes = 1 << 18
)

// file is an input file of an import. Another goroutine decompresses the file
// and reads ahead.
type file struct {
	*bufio.Reader
	ctx    context.Context
	closer io.Closer
	raw    *bufio.Reader // bytes of the file as they are on the disk, perhaps compressed
	hash   hash.Hash     // SHA-256 of the bytes read from the disk
	ahead  io.ReadCloser
	damage error // error that ended the decompression early; known only after all data was read
}

// openFile opens an input file of an import. Once the context ctx has ended,
// reads of the file fail. The number of bytes that are read is added to read.
//
// Pipes and devices are refused, since an import may read its files twice.
func openFile(ctx context.Context, path string, read *atomic.Int64) (*file, error) {
	f, bytesAll, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open input: %w", err)
	}
	if bytesAll == 0 {
		f.Close()
		return nil, fmt.Errorf("open input: %s is empty", path)
	}
	in := &file{ctx: ctx, closer: f, hash: sha256.New()}
	size := int(min(chunkBytes, bytesAll)) // folders have many small files
	in.raw = bufio.NewReaderSize(io.TeeReader(f, io.MultiWriter(in.hash, counter{read})), size)
	content := io.Reader(in.raw)
	if head, _ := in.raw.Peek(4); bytes.HasPrefix(head, gzipMagic) || bytes.Equal(head, zstdMagic) {
		content, size = &unpacker{file: in, packedBytes: bytesAll}, headBytes
	}
	if size < chunkBytes {
		in.ahead = io.NopCloser(content)
	} else if in.ahead, err = readahead.NewReaderSize(content, 3, chunkBytes); err != nil {
		return nil, fmt.Errorf("open input: %w", err)
	}
	in.Reader = bufio.NewReaderSize(interruptible{in}, size)
	switch head, _ := in.Peek(3); {
	case string(head) == "\xef\xbb\xbf":
		_, _ = in.Discard(3) // Discard cannot fail: Peek has already read these 3 bytes into the buffer
	case len(head) >= 2 && (string(head[:2]) == "\xff\xfe" || string(head[:2]) == "\xfe\xff"):
		in.Close()
		return nil, fmt.Errorf("open input: %s is in UTF-16: convert it to UTF-8", path)
	}
	return in, nil
}

// open opens a file, or an event log of Spark that is a folder, and says how large it is.
func open(path string) (io.ReadCloser, int64, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, 0, err
	case info.IsDir() && isRolling(path):
		return openRolling(path)
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is no file but a pipe or a device: keep what it gives in a file", path)
	}
	f, err := os.Open(path)
	return f, info.Size(), err
}

// How compressed files begin.
var gzipMagic, zstdMagic = []byte("\x1f\x8b"), []byte("\x28\xb5\x2f\xfd")

// maxWindow bounds the memory of a zstd file that is unpacked.
const maxWindow = 128 << 20

// head returns the beginning of the file, from which its format is detected.
func (f *file) head() ([]byte, error) { return f.Peek(f.Size()) }

// counter counts the bytes that are written to it.
type counter struct{ bytes *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return len(p), nil
}

// sum reads the rest of the file and returns the SHA-256 of the file's bytes on
// disk. If compressed data in the file is damaged, the result damage is the
// error of the decompression.
func (f *file) sum() (sum string, damage error, err error) {
	if _, err := io.Copy(io.Discard, f.Reader); err != nil {
		return "", nil, err
	}
	if _, err := io.Copy(io.Discard, f.raw); err != nil {
		return "", nil, err
	}
	return hex.EncodeToString(f.hash.Sum(nil)), f.damage, nil
}

// Close stops reading ahead and closes the file.
func (f *file) Close() {
	f.ahead.Close()
	f.closer.Close()
}

// interruptible reads from a file. Once the file's context has ended, its reads
// fail.
type interruptible struct{ file *file }

func (f interruptible) Read(p []byte) (int, error) {
	if err := f.file.ctx.Err(); err != nil {
		return 0, err
	}
	return f.file.ahead.Read(p)
}

// An import refuses a compressed file whose decompressed data is larger than
// freeUnpacked bytes and more than maxUnpacked times as large as the file. Such
// a file was probably made to fill the memory: real traces become 5 to 50 times
// as large.
const (
	maxUnpacked  = 200
	freeUnpacked = 1 << 20
)

// unpacker decompresses an input file up to the end or the first damaged place
// of the file.
type unpacker struct {
	file        *file
	zip         io.Reader
	packedBytes int64
	bytes       int64 // number of decompressed bytes so far
}

func (u *unpacker) Read(p []byte) (n int, err error) {
	if head, _ := u.file.raw.Peek(len(zstdMagic)); u.zip == nil && bytes.Equal(head, zstdMagic) {
		u.zip, err = zstd.NewReader(
			u.file.raw,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow),
		)
	} else if u.zip == nil {
		u.zip, err = gzip.NewReader(u.file.raw)
	}
	if err == nil {
		n, err = u.zip.Read(p)
	}
	if u.bytes += int64(n); u.bytes > max(freeUnpacked, maxUnpacked*u.packedBytes) {
		return 0, fmt.Errorf("%d bytes unpack to over %d times as many: "+
			"unpack the file yourself if that is meant", u.packedBytes, maxUnpacked)
	}
	var path *os.PathError
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &path) {
		u.file.damage, err = err, io.EOF
	}
	return n, err
}
