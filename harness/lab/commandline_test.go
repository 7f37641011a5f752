package lab

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestCommandLine: an argument that a process keeps through each of its calls of exec
// is never missed, since a daemon without its mark is taken for dead. Read in pieces,
// it is missed within a few reads: its place in the command line changes.
func TestCommandLine(t *testing.T) {
	const mark = "-Dheddle.daemon=none"
	filler := strings.Repeat("x", 1000)
	// A shell that calls exec for ever, with the mark near the start and far from it in turn.
	script := `case $1 in far) exec sh -c "$0" "$0" near ` + mark + ` "$2";; *) exec sh -c "$0" "$0" far "$3" ` + mark + `;; esac`
	cmd := exec.Command("sh", "-c", script, script, "near", mark, filler)
	mustDo(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 5_000 {
		line, err := commandLine(cmd.Process.Pid)
		if err != nil || len(line) > 0 && !bytes.Contains(line, []byte(mark+"\x00")) {
			t.Fatalf("%d bytes without the mark: %v\n%q", len(line), err, line)
		}
	}
}
