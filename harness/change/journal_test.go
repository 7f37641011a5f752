package change

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/harness/lease/leasetest"
	"heddle/harness/runs"
	"heddle/yarnclient"
)

var everyKind = []Change{
	{Kind: NodeLabel, Name: "r1n1:45454"},
	{Kind: NodeLabel, Name: "r1n2:45454", Label: "a07"},
	{Kind: NodeResource, Name: "r1n1:45454", Resource: &yarnclient.Resource{MemoryMB: 4096, VCores: 8}},
	{Kind: AddedLabel, Name: "m00", Prepared: true},
	{Kind: Setting, Queue: "root.a", Name: "accessible-node-labels.m00.capacity", Value: "10"},
	{Kind: CachePool, Name: "heddle-cache-lab1-0123456789abcdef"},
	{Kind: JobFolder, Name: "heddle-lab1-0123456789abcdef", Value: "/user/me/.staging"},
	{Kind: Application, Name: "heddle-lab1-0123456789abcdef"},
	{Kind: NodeSlow, Name: "r1n1"},
	{Kind: NodeDown, Name: "r1n2"},
}

func same(a, b []Change) string {
	return cmp.Diff(a, b, cmpopts.EquateEmpty(), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".line" }, cmp.Ignore()))
}

// TestCutJournal cuts a journal at every byte, and spoils every byte.
func TestCutJournal(t *testing.T) {
	data := encode(everyKind)
	ends := map[int]int{0: 0} // lines that are whole, by length
	for i, n := 0, 0; i < len(data); i++ {
		if data[i] == '\n' {
			n++
			ends[i+1] = n
		}
	}
	lines := 0
	for n := range len(data) + 1 {
		if whole, ok := ends[n]; ok {
			lines = whole
		}
		got, whole := parse(data[:n])
		if _, ok := ends[n]; whole != ok || same(got, everyKind[:lines]) != "" {
			t.Fatalf("cut at byte %d: whole %v, %v", n, whole, got)
		}
		if n == len(data) {
			break
		}
		spoilt := append([]byte(nil), data...)
		spoilt[n] ^= 4
		if got, _ := parse(spoilt); same(got, everyKind[:lines]) != "" {
			t.Fatalf("spoilt at byte %d: %v", n, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	data := encode(everyKind)
	f.Add(data)
	f.Add([]byte("00000000 {}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		changes, whole := parse(data)
		again := encode(changes)
		back, ok := parse(again)
		if d := same(changes, back); !ok || d != "" {
			t.Errorf("not the same again (whole %v): %s", whole, d)
		}
	})
}

// TestUnknownKind is left to the newer version that wrote it, as it is.
func TestUnknownKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		h := take(t, w)
		line := []byte(`{"kind":"splitFile","name":"/staging/x","blocks":[1,2]}`)
		mustDo(t, h.note(t.Context(), []Change{{Kind: "splitFile", Name: "/staging/x", line: line}}))
		r, err := h.Release(t.Context())
		if err != nil || len(r.Left) != 1 || r.Err() == nil {
			t.Errorf("%+v, %v", r, err)
		}
		_, open, err := notesBefore(t.Context(), w.files, 1000)
		if err != nil || string(open[key{kind: "splitFile", name: "/staging/x"}].line) != string(line) {
			t.Errorf("the journal has %v, %v", open, err)
		}
	})
}

// The copy is the run's owner's alone, and a link in its place leads nowhere.
func TestRunFolderCopyStaysThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, folder, outside := newWorld(), t.TempDir(), filepath.Join(t.TempDir(), "new")
		mustDo(t, os.Symlink(outside, filepath.Join(folder, journalFile)))
		if _, err := Take(t.Context(), w.cluster(), Options{Folder: folder}); err == nil {
			t.Error("the journal's copy is written through a link")
		}
		if _, err := os.Lstat(outside); err == nil {
			t.Errorf("%s was made", outside)
		}
		folder = t.TempDir()
		h := must(Take(t.Context(), w.cluster(), Options{Folder: folder}))
		defer h.die()
		if info, err := os.Stat(filepath.Join(folder, journalFile)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v; want mode 0600", info, err)
		}
	})
}

// TestRunFolderCopy restores where HDFS has lost its journal.
func TestRunFolderCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		app := w.longJob(t)
		before := w.state(t)
		folder := t.TempDir()
		h, err := Take(t.Context(), w.cluster(), Options{Folder: folder})
		mustDo(t, err)
		steer(t, h, app)
		h.die()
		f := must(os.OpenFile(filepath.Join(folder, journalFile), os.O_APPEND|os.O_WRONLY, 0))
		_, err = f.WriteString("1234abcd {\"kin") // the crash came while writing
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		w.files = leasetest.New()
		o := RestoreOptions{Options: Options{Folder: folder}}
		if r, err := Restore(t.Context(), w.cluster(), o); err != nil || r.Err() != nil {
			t.Fatal(err, r.Err())
		}
		w.same(t, before)
		// What was restored is noted behind the line that was cut, and is read.
		r, err := Restore(t.Context(), w.cluster(), o)
		if err != nil || r.Epoch != 0 {
			t.Errorf("restored again: %+v, error %v; want nothing to do", r, err)
		}
	})
}

// TestDamagedCopy: what stands behind a damaged line would be left as it is
// without a word.
func TestDamagedCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		app := w.longJob(t)
		folder := t.TempDir()
		h, err := Take(t.Context(), w.cluster(), Options{Folder: folder})
		mustDo(t, err)
		steer(t, h, app)
		h.die()
		name := filepath.Join(folder, journalFile)
		data := must(os.ReadFile(name))
		data[len(data)/2] ^= 1
		mustDo(t, os.WriteFile(name, data, 0o600))
		o := RestoreOptions{Options: Options{Folder: folder}}
		if _, err := Restore(t.Context(), w.cluster(), o); !errors.Is(err, runs.ErrDamaged) || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %v with the file", err, runs.ErrDamaged)
		}
		o.Unverified = true
		r, err := Restore(t.Context(), w.cluster(), o)
		if err != nil || len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], runs.NotVerified) {
			t.Errorf("unverified: %+v, error %v; want a warning", r, err)
		}
	})
}
