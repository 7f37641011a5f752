package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/harness/config"
	"heddle/harness/runs"
)

// TestFindFiles finds the files of a resumed run where they were, and not in the
// run folder, and refuses one that has changed.
func TestFindFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "day.tsv")
	write := func(text string) {
		t.Helper()
		mustDo(t, os.WriteFile(file, []byte(text), 0o644))
	}
	write("job0\t0\t0\t1\t1\t1\n")
	read := func(folder string) *config.Experiment {
		t.Helper()
		e := must(config.ParseExperiment(filepath.Join(folder, "e.yaml"), []byte("workloads: [{trace: day.tsv}, {jar: day.tsv}]")))
		return e
	}
	settings := must(fileSettings(read(dir), map[string]string{"other": "kept"}))
	resumed := read(filepath.Join(dir, "runs", "x"))
	if err := FindFiles(resumed, runs.Manifest{Settings: settings}); err != nil || resumed.Workloads[0].Trace != file ||
		resumed.Workloads[1].Jar != file || settings["other"] != "kept" {
		t.Errorf("the trace and the jar of a resumed run are %s and %s (%v), want %s", resumed.Workloads[0].Trace, resumed.Workloads[1].Jar, err,
			file)
	}
	write("job0\t0\t0\t2\t2\t2\n")
	if err := FindFiles(resumed, runs.Manifest{Settings: settings}); !errors.Is(err, runs.ErrDamaged) ||
		!strings.Contains(err.Error(), "day.tsv has changed") {
		t.Errorf("a trace that has changed: %v", err)
	}
	if err := FindFiles(resumed, runs.Manifest{}); err == nil {
		t.Error("a run that recorded no trace was resumed")
	}
}
