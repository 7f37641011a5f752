package synthetic

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"heddle/collectors/hdfs"
	"heddle/traces/errtest"
)

// memory is an HDFS in memory that can be full.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
	room  int64
	wrote int // files
}

func newMemory() *memory { return &memory{files: map[string][]byte{}, room: 1 << 30} }

func (m *memory) Stat(_ context.Context, name string) (hdfs.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	content, found := m.files[name]
	if !found {
		return hdfs.File{}, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return hdfs.File{Path: name, Length: int64(len(content)), Dir: content == nil}, nil
}

var errFull = errors.New("could only be written to 0 of the 1 minReplication nodes")

func (m *memory) WriteFile(_ context.Context, name string, r io.Reader, o hdfs.WriteOptions) error {
	content, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(r, 5000)))
	if err == nil {
		var rest []byte
		rest, err = io.ReadAll(r)
		content = append(content, rest...)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.room -= int64(len(content)); m.room < 0 {
		return fmt.Errorf("write hdfs %s: %w", name, errFull)
	}
	if o.Replication != 2 || o.BlockSize != 1<<20 {
		return fmt.Errorf("written with %+v", o)
	}
	m.files[name] = content
	m.wrote++
	return err
}

var three = Input{
	Files: []File{{"/in/a", 3*LineBytes + 100}, {"/in/b", 1 << 20}, {"/in/empty", 0}}, Seed: 3, Replication: 2,
	BlockBytes: 1 << 20,
}

// TestInputLines has lines of one length, and writes only files that are not
// there.
func TestInputLines(t *testing.T) {
	m := newMemory()
	mustDo(t, WriteInput(t.Context(), m, three))
	for _, f := range three.Files {
		content := m.files[f.Path]
		if int64(len(content)) != f.Bytes {
			t.Errorf("%s has %d bytes, want %d", f.Path, len(content), f.Bytes)
		}
		for line := range bytes.Lines(content) {
			if len(line) != LineBytes && !bytes.HasSuffix(content, line) || line[len(line)-1] != '\n' || bytes.ContainsAny(line, "\r\t") {
				t.Fatalf("%s has the line %q", f.Path, line)
			}
		}
	}
	first := string(m.files["/in/b"])
	delete(m.files, "/in/b")
	m.wrote = 0
	mustDo(t, WriteInput(t.Context(), m, three))
	if m.wrote != 1 || string(m.files["/in/b"]) != first {
		t.Errorf("one of three files was gone, and %d were written; the same text: %v", m.wrote, string(m.files["/in/b"]) == first)
	}
}

func TestInputErrors(t *testing.T) {
	m := newMemory()
	m.room = 500 << 10
	err := WriteInput(t.Context(), m, three)
	if !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "write input of 1048576 bytes: write hdfs /in/b: ") {
		t.Errorf("a full HDFS gives %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by a signal")
	cancel(stopped)
	errtest.Is(t, WriteInput(ctx, m, three), stopped)
	m.room, m.files["/in/a"] = 1<<30, []byte("foreign")
	wantError(t, WriteInput(t.Context(), m, three), "hdfs /in/a is there with 7 bytes; remove it")
	m.files["/in/a"] = nil
	wantError(t, WriteInput(t.Context(), m, three), "hdfs /in/a is a folder")
}

// late is what the NameNode says while a DataNode has not reported a block.
type late struct{}

func (late) Error() string   { return "addBlock call failed" }
func (late) Method() string  { return "addBlock" }
func (late) Desc() string    { return "ERROR_APPLICATION" }
func (late) Message() string { return "Not replicated yet" }
func (late) Exception() string {
	return "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"
}

// slow is an HDFS whose first writes of each file fail.
type slow struct {
	*memory
	first int
	err   error

	met sync.Map // file to the number of its writes
}

func (s *slow) WriteFile(ctx context.Context, name string, r io.Reader, o hdfs.WriteOptions) error {
	n, _ := s.met.LoadOrStore(name, new(atomic.Int64))
	if n.(*atomic.Int64).Add(1) <= int64(s.first) {
		_, _ = r.Read(make([]byte, 200)) // what was read is lost
		return fmt.Errorf("write hdfs %s: %w", name, s.err)
	}
	return s.memory.WriteFile(ctx, name, r, o)
}

// TestWrittenAgain: a file is written anew, and whole, while DataNodes are late or
// gone, and not for ever. Other errors do not pass.
func TestWrittenAgain(t *testing.T) {
	gone := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, tt := range []struct {
		err   error
		first int // writes that fail
		ok    bool
	}{
		{late{}, 0, true},
		{late{}, 4, true},
		{late{}, 5, false},
		{gone, 4, true},
		{gone, 5, false},
		{errFull, 1, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &slow{memory: newMemory(), first: tt.first, err: tt.err}
			err := WriteInput(t.Context(), s, three)
			if tt.ok != (err == nil) || !tt.ok && !errors.Is(err, tt.err) {
				t.Errorf("%d writes of each file fail with %v: error %v", tt.first, tt.err, err)
			}
			for _, f := range three.Files {
				if tt.ok && int64(len(s.files[f.Path])) != f.Bytes {
					t.Errorf("%d writes fail with %v: %s has %d bytes, want %d", tt.first, tt.err, f.Path, len(s.files[f.Path]), f.Bytes)
				}
			}
		})
	}
}

// TestTextDoesNotCompress has text of six random bits a byte: hardly less than
// three quarters are left of it.
func TestTextDoesNotCompress(t *testing.T) {
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	w.Write(someLines(8 << 20))
	w.Close()
	if small.Len() < 8<<20*72/100 {
		t.Errorf("8 MiB are compressed to %d bytes", small.Len())
	}
}
