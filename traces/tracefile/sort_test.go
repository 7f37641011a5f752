package tracefile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/traces"
)

// TestSorter holds the Sorter against a stable sort of everything, over several
// runs on disk.
func TestSorter(t *testing.T) {
	folder := t.TempDir()
	s := NewSorter(folder)
	var all []traces.Event
	const n = maxRunEvents*2 + 1000
	for i := range n {
		// Many of the same T, told apart by their texts.
		e := traces.Event(&traces.Note{T: traces.Time(uint32(i*2654435761) % 5000), Text: fmt.Sprint(i)})
		if i%3 == 0 {
			e = &traces.NodeDown{T: e.At(), Reason: fmt.Sprint(i % 97)}
		}
		all = append(all, e)
		mustDo(t, s.Add(e))
	}
	path := filepath.Join(folder, "sorted.trace")
	mustDo(t, s.WriteFile(path, someHeader, nil))
	mustDo(t, s.Close())
	traces.Sort(all)
	want, got := traces.NewTraceDigest(), traces.NewTraceDigest()
	for _, e := range all {
		want.Add(e)
	}
	_, events := must2(ReadFile(path))
	for _, e := range events {
		got.Add(e)
	}
	if len(events) != n || want.String() != got.String() {
		t.Errorf("%d events with digest %v, want %d with %v", len(events), got, n, want)
	}
	if left, _ := os.ReadDir(folder); len(left) != 1 {
		t.Errorf("%d files are left, want the trace only", len(left))
	}
}

// TestSortWithoutDisk has no folder to spill to: Add tells, and so does Encode to
// callers that have not looked.
func TestSortWithoutDisk(t *testing.T) {
	s := NewSorter(filepath.Join(t.TempDir(), "gone"))
	defer s.Close()
	var first error
	for range maxRunEvents + 2 {
		first = cmp.Or(first, s.Add(&traces.Note{Text: "x"}))
	}
	var out bytes.Buffer
	if err := s.Encode(&out, "trace", traces.Header{}, nil, ""); first == nil || !errors.Is(err, first) {
		t.Errorf("Add said %v, Encode %v", first, err)
	}
}

// TestStream holds the file of a Stream against that of a Sorter: events of one time come in
// any order, and there are several batches and blocks.
func TestStream(t *testing.T) {
	folder := t.TempDir()
	stream := must(NewStream(folder))
	defer stream.Close()
	sorter := NewSorter(folder)
	defer sorter.Close()
	for i := range 3*streamEvents + 7 {
		e := traces.Event(&traces.Note{T: traces.Time(i / 5), Text: fmt.Sprint(i, strings.Repeat("x", 100))})
		if i%3 == 0 {
			e = &traces.NodeDown{T: e.At(), Node: traces.Node(fmt.Sprint("n", i%7))}
		}
		stream.Add(e)
		mustDo(t, sorter.Add(e))
	}
	got, want := filepath.Join(folder, "stream"), filepath.Join(folder, "sorter")
	mustDo(t, errors.Join(stream.WriteFile(got, someHeader), sorter.WriteFile(want, someHeader, nil)))
	a := must(os.ReadFile(got))
	b := must(os.ReadFile(want))
	if !bytes.Equal(a, b) {
		t.Errorf("%d bytes, those of the Sorter are %d and others", len(a), len(b))
	}
	if left, _ := os.ReadDir(folder); len(left) != 2 {
		t.Errorf("%d files are left, want the traces only", len(left))
	}
}

// TestStreamFails cannot write its events any more: the trace is not made, and the reader is told.
func TestStreamFails(t *testing.T) {
	folder := t.TempDir()
	stream := must(NewStream(folder))
	defer stream.Close()
	stream.file.Close()
	for i := range 2 * streamEvents {
		stream.Add(&traces.Note{T: traces.Time(i), Text: "x"})
	}
	var failed *WriteError
	if err := stream.WriteFile(filepath.Join(folder, "trace"), someHeader); !errors.As(err, &failed) || !errors.Is(err, os.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// TestShortStream ends before its goroutine has begun.
func TestShortStream(t *testing.T) {
	folder := t.TempDir()
	for i := range 100 {
		stream := must(NewStream(folder))
		mustDo(t, stream.WriteFile(filepath.Join(folder, fmt.Sprint(i)), someHeader))
		stream.Close()
	}
}
