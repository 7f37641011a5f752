package runs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A run that a process works on is not removed, and none beside it.
func TestRemove(t *testing.T) {
	root := t.TempDir()
	create := func(name string) *Run {
		r, err := Create(root, name, Manifest{Trials: []TrialRecord{{Name: "a", State: TrialTodo}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	open := func(name string) *Run {
		r, err := Open(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	over, working := create("over"), create("working")
	if err := os.Symlink(outside, filepath.Join(over.Dir, "link")); err != nil {
		t.Fatal(err)
	}
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
