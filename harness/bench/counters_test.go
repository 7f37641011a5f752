package bench

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/harness/doc"
)

// counters stand for the kernel's: each is a file with a count, for how long it was
// wanted and for how long it ran.
func counters(t *testing.T, counts map[event][3]uint64) func(event, int) (*os.File, error) {
	t.Helper()
	return func(e event, _ int) (*os.File, error) {
		path := filepath.Join(t.TempDir(), "counter")
		data, err := binary.Append(nil, binary.NativeEndian, counts[e])
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, err
		}
		return os.Open(path)
	}
}

// TestCounters: counts of all threads are added, and those of counters that ran for a part
// of the time are taken for the whole of it.
func TestCounters(t *testing.T) {
	c, err := startCounting([]int{7, 8}, counters(t, map[event][3]uint64{cycles: {500, 9, 9}, instructions: {1000, 8, 4}, cacheMisses: {10, 6, 2}}))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := c.sums()
	c.end()
	if got, want := *perTask(sums, 10), (Counters{Cycles: 100, Instructions: 400, CacheMisses: 6}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// TestRefusedCounters: a kernel that counts nothing, or only some events, costs the figures
// of counters alone, and a table says so in a line.
func TestRefusedCounters(t *testing.T) {
	var opened []*os.File
	allowed := counters(t, map[event][3]uint64{cycles: {1, 1, 1}})
	_, refused := startCounting([]int{7}, func(e event, thread int) (*os.File, error) {
		if e == cacheMisses {
			return nil, unix.EACCES
		}
		f, err := allowed(e, thread)
		opened = append(opened, f)
		return f, err
	})
	if !errors.Is(refused, unix.EACCES) {
		t.Fatalf("error %v, want the kernel's", refused)
	}
	for _, f := range opened {
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a counter is left open: %v", err)
		}
	}
	stopped, err := startCounting([]int{7}, counters(t, nil)) // as where a virtual machine has none
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.end()
	if _, err := stopped.sums(); err == nil {
		t.Error("counters that never ran gave sums")
	}

	counted := &Measure{Load: "counted", Counters: &Counters{Cycles: 3210, Instructions: 6543, CacheMisses: 27.5}}
	without := &Measure{Load: "without", Uncounted: refused}
	if text := table(t, counted); !strings.Contains(text, "cycles/task") || !strings.Contains(text, "3210") || !strings.Contains(text, "27.5") {
		t.Errorf("no counters in\n%s", text)
	}
	if text := table(t, counted, without); strings.Contains(text, "cycles/task") || strings.Count(text, "permission denied") != 1 {
		t.Errorf("want no counters, and why, in\n%s", text)
	}
	if text, err := json.Marshal(without); err != nil || strings.Contains(strings.ToLower(string(text)), "count") {
		t.Errorf("JSON %s, %v; want nothing about counters", text, err)
	}
}

func table(t *testing.T, list ...*Measure) string {
	t.Helper()
	var text strings.Builder
	if err := doc.WriteText(&text, Doc(list), false); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
