package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/urfave/cli/v2"

	"heddle/harness/experiment"
)

// TestRunPage: between trials the page of a run is one that browsers load again, at the
// end it is not; a page that cannot be written costs one warning.
func TestRunPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	mustDo(t, os.CopyFS(dir, os.DirFS("../harness/fidelity/testdata/run")))
	c := cli.NewContext(newApp(), nil, nil)
	c.Context = t.Context()
	var said []string
	p := &runPage{c: c, say: func(text string) { said = append(said, text) }}
	reloads := func() bool {
		text := must(os.ReadFile(filepath.Join(dir, "report.html")))
		return bytes.Contains(text, []byte(`http-equiv="refresh"`))
	}
	p.next(&experiment.Step{Folder: dir, Number: 2})
	if !reloads() {
		t.Error("the page of a run that goes on does not reload")
	}
	p.end(dir)
	if reloads() {
		t.Error("the page of a run that has ended reloads")
	}
	if len(said) != 1 || said[0] != "page: "+dir+"/report.html" {
		t.Errorf("said %q", said)
	}
}
