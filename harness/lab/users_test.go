package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A lab that two processes use goes down with the second.
func TestDownWhenGone(t *testing.T) {
	if _, err := findCgroups("/"); err != nil {
		t.Skip(err)
	}
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	root := filepath.Join(state, "heddle", "labs", "guarded")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	first, endFirst := child(t)
	second, endSecond := child(t)
	for _, pid := range []int{first, second} {
		if err := Use("guarded", pid); err != nil {
			t.Fatal(err)
		}
	}
	endFirst()
	if err := DownWhenGone(t.Context(), "guarded", first, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); err != nil {
		t.Fatalf("the lab went down while process %d used it: %v", second, err)
	}
	endSecond()
	if err := DownWhenGone(t.Context(), "guarded", second, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); err == nil {
		t.Error("the lab is still there after its last user")
	}
}

// child starts a process that lives until end is called.
func child(t *testing.T) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, func() {
		in.Close()
		cmd.Wait()
	}
}
