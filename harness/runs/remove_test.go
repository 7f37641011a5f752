package runs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A run that a process works on is not removed, and none beside it.
func TestRemove(t *testing.T) {
	root := t.TempDir()
	create := func(name string) *Run {
		r := must(Create(root, name, Manifest{Trials: []TrialRecord{{Name: "a", State: TrialTodo}}}))
		return r
	}
	open := func(name string) *Run {
		r := must(Open(filepath.Join(root, name)))
		return r
	}
	outside := filepath.Join(t.TempDir(), "outside")
	mustDo(t, os.WriteFile(outside, []byte("12345"), 0o600))
	over, working := create("over"), create("working")
	mustDo(t, os.Symlink(outside, filepath.Join(over.Dir, "link")))
	over.Close()
	if removed, err := Remove([]*Run{open("over"), open("working")}); !errors.Is(err, ErrRunning) || len(removed) != 0 {
		t.Errorf("removed %d, %v; want none, since one is under way", len(removed), err)
	}
	if open("over").Manifest().State != Interrupted {
		t.Error("what was not removed is locked still")
	}
	working.Close()
	list := []*Run{open("over"), open("working")}
	if list[0].Bytes() == 0 {
		t.Error("a run without bytes")
	}
	if removed, err := Remove(list); err != nil || len(removed) != 2 {
		t.Errorf("removed %d, %v", len(removed), err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("what a link leads to: %v", err)
	}
}

// TestForeign names what heddle did not write into a run's folder.
func TestForeign(t *testing.T) {
	r := create(t, t.TempDir())
	do(t, r, plan.Trials[0].Name)
	mustDo(t, r.WriteFile("experiment.yaml", []byte("x")))
	must(r.Begin(plan.Trials[1].Name))
	if foreign, err := r.Foreign(); err != nil || len(foreign) > 0 {
		t.Errorf("of a new run: %q, %v; want none", foreign, err)
	}
	done := "trials/" + plan.Trials[0].Name
	want := []string{"notes", "notes.txt", "trials/mine", done + "/jobs/mine"}
	for _, name := range []string{
		"notes/a", "notes.txt", done + "/jobs/mine", "trials/mine",
		"trials/" + plan.Trials[1].Name + partial + "/half",
	} {
		path := filepath.Join(r.Dir, name)
		mustDo(t, os.MkdirAll(filepath.Dir(path), 0o700))
		mustDo(t, os.WriteFile(path, nil, 0o600))
	}
	foreign, err := r.Foreign()
	if err != nil || !slices.Equal(foreign, want) {
		t.Errorf("foreign files: %q, %v; want %q", foreign, err, want)
	}
}

// TestRemovalIsInterrupted has a folder that cannot be removed: the run is none any
// more, and the list says what to do.
func TestRemovalIsInterrupted(t *testing.T) {
	root := t.TempDir()
	r := create(t, root)
	r.Close()
	if err := os.Remove(filepath.Join(r.Dir, manifestFile)); err != nil { // the first step of a removal
		t.Fatal(err)
	}
	list, err := List(root)
	if len(list) != 0 || err == nil || !strings.Contains(err.Error(), "rm -r") {
		t.Errorf("list: %d runs, %v; want none, and an error that says what to do", len(list), err)
	}
}

// TestRemoveLink refuses a link to a run, and leaves the run.
func TestRemoveLink(t *testing.T) {
	root := t.TempDir()
	r := create(t, root)
	r.Close()
	link := filepath.Join(root, "link")
	mustDo(t, os.Symlink(r.Dir, link))
	if removed, err := Remove([]*Run{open(t, link)}); err == nil || len(removed) > 0 || !strings.Contains(err.Error(), "is a link to "+r.Dir) {
		t.Errorf("removed %d, %v; want an error that names the folder", len(removed), err)
	}
	wantState(t, r.Dir, Interrupted)
}

// TestLeftTemporaryFile removes what a killed process left in the run folder.
func TestLeftTemporaryFile(t *testing.T) {
	r := create(t, t.TempDir())
	left := filepath.Join(r.Dir, tempPrefix+"LEFT")
	mustDo(t, os.WriteFile(left, nil, 0o600))
	r.Close()
	again := open(t, r.Dir)
	mustDo(t, again.Resume())
	defer again.Close()
	if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v, want it removed", left, err)
	}
}
