package synthetic

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"
)

// memory is an HDFS in memory. After a number of bytes it is full.
type memory struct {
	bytes.Buffer
	mu    sync.Mutex
	files map[string][]byte
	room  int
	fail  error
	wrote int // files
}

func (m *memory) SetDeadline(time.Time) error { return nil }
func (m *memory) Close() error                { return nil }

func newMemory() *memory { return &memory{files: map[string][]byte{}, room: 1 << 30} }

func (m *memory) Stat(name string) (os.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	content, found := m.files[name]
	if !found {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return fs.Stat(fstest.MapFS{"file": {Data: content}}, "file")
}
func (m *memory) MkdirAll(string, os.FileMode) error { return nil }

func (m *memory) Create(name string, _ int, _ int64) (FileWriter, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, found := m.files[name]; found {
		return nil, fs.ErrExist
	}
	m.files[name] = nil
	m.wrote++
	return &memoryFile{m, name}, nil
}

func (m *memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[to] = m.files[from]
	delete(m.files, from)
	return nil
}

func (m *memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, found := m.files[name]; !found {
		return fs.ErrNotExist
	}
	delete(m.files, name)
	return nil
}

type memoryFile struct {
	m    *memory
	name string
}

func (f *memoryFile) Write(b []byte) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.m.room -= len(b); f.m.room < 0 {
		return 0, f.m.fail
	}
	f.m.files[f.name] = append(f.m.files[f.name], b...)
	return len(b), nil
}
func (f *memoryFile) SetDeadline(time.Time) error { return nil }
func (f *memoryFile) Close() error                { return nil }

var two = Input{Files: []File{{"/in/a", 3*LineBytes + 100}, {"/in/b", 1 << 20}, {"/in/empty", 0}}, Seed: 3, Replication: 2, BlockBytes: 1 << 20}

// TestInputLines has lines of one length, also after an interruption.
func TestInputLines(t *testing.T) {
	m := newMemory()
	m.files["/in/.a.unfinished"] = []byte("half a file of a killed run")
	if err := WriteInput(t.Context(), m, two); err != nil {
		t.Fatal(err)
	}
	for _, f := range two.Files {
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
	if len(m.files) != 3 {
		t.Errorf("%d files are there", len(m.files))
	}
	first := string(m.files["/in/b"])
	delete(m.files, "/in/b")
	m.wrote = 0
	if err := WriteInput(t.Context(), m, two); err != nil {
		t.Fatal(err)
	}
	if m.wrote != 1 || string(m.files["/in/b"]) != first {
		t.Errorf("one of three files was gone, and %d were written; the same text: %v", m.wrote, string(m.files["/in/b"]) == first)
	}
}

// TestInputFails leaves nothing under a final name that is not complete.
func TestInputFails(t *testing.T) {
	full := errors.New("could only be written to 0 of the 1 minReplication nodes")
	m := newMemory()
	m.room, m.fail = 500<<10, full
	err := WriteInput(t.Context(), m, two)
	if !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "write input /in/b of 1048576 bytes: after 262144 bytes: ") {
		t.Errorf("a full HDFS gives %v", err)
	}
	for name := range m.files {
		if name == "/in/b" || strings.Contains(name, "unfinished") {
			t.Errorf("%s is left", name)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by a signal")
	cancel(stopped)
	if err := WriteInput(ctx, m, two); !errors.Is(err, stopped) {
		t.Errorf("a call that was stopped gives %v", err)
	}
	m.room, m.files["/in/a"] = 1<<30, []byte("foreign")
	if err := WriteInput(t.Context(), m, two); err == nil || !strings.Contains(err.Error(), "/in/a of 12388 bytes: a file of 7 bytes has this name") {
		t.Errorf("another file gives %v", err)
	}
}

// TestTextDoesNotCompress has text of six random bits a byte: hardly less than
// three quarters are left of it.
func TestTextDoesNotCompress(t *testing.T) {
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	w.Write(lines(8 << 20))
	w.Close()
	if small.Len() < 8<<20*72/100 {
		t.Errorf("8 MiB are compressed to %d bytes", small.Len())
	}
}

// TestPopular has inputs chosen in the proportions of Zipf's law.
func TestPopular(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, inputs := rapid.IntRange(0, 300).Draw(t, "jobs"), rapid.IntRange(1, 50).Draw(t, "inputs")
		exponent, seed := rapid.Float64Range(0, 10).Draw(t, "exponent"), rapid.Uint64().Draw(t, "seed")
		chosen, err := Popular(jobs, inputs, exponent, seed)
		if err != nil || len(chosen) != jobs {
			t.Fatalf("%d jobs have %d inputs: %v", jobs, len(chosen), err)
		}
		for _, c := range chosen {
			if c < 0 || c >= inputs {
				t.Errorf("input %d of %d is chosen", c, inputs)
			}
		}
	})
	chosen, err := Popular(60_000, 3, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	counts := [3]int{}
	for _, c := range chosen {
		counts[c]++
	}
	for i, n := range counts { // 1 + 1/2 + 1/3 = 11/6
		if want := 60_000 * 6 / 11 / (i + 1); n < want*97/100 || n > want*103/100 {
			t.Errorf("input %d is chosen %d times of 60000, want about %d", i, n, want)
		}
	}
	if _, err := Popular(1, 0, 1, 1); err == nil {
		t.Error("no input at all is no error")
	}
}
