package tracefile

import (
	"fmt"
	"os"
	"path/filepath"
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
		if err := s.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(folder, "sorted.trace")
	if err := s.WriteFile(path, someHeader, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	traces.Sort(all)
	want, got := traces.NewTraceDigest(), traces.NewTraceDigest()
	for _, e := range all {
		want.Add(e)
	}
	_, events, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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
