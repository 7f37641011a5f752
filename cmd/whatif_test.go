package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNodesOfResourceManager: with a cluster file that describes no machines, nodes and
// applications are those that its ResourceManager tells.
func TestNodesOfResourceManager(t *testing.T) {
	d := startDaemons(t)
	file := filepath.Join(t.TempDir(), "one.xml")
	text := "root.queues=replay\nroot.replay.capacity=100\n"
	mustDo(t, os.WriteFile(file, []byte(text), 0o600))
	histories, err := filepath.Glob("../traces/jhist/testdata/*0034*.jhist")
	if err != nil || len(histories) == 0 {
		t.Fatal("no history:", err)
	}
	app := newApp()
	var out, said bytes.Buffer
	app.Writer, app.ErrWriter = &out, &said
	err = app.RunContext(t.Context(), []string{
		"heddle", "replay", "--queues", file, "--against", file, "--cluster", d.file, "--format", "markdown", histories[0],
	})
	if err != nil {
		t.Fatal(err, said.String())
	}
	for _, want := range []string{"2 are simulated", "Nothing changes"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
}
