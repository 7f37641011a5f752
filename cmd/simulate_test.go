package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSimulatedTrialOfNoPlan takes up a simulated run whose manifest names a trial
// that the experiment does not have.
func TestSimulatedTrialOfNoPlan(t *testing.T) {
	dir := t.TempDir()
	if _, code, err := heddle("run", "--simulate", "--runs", dir, "--run-name", "s", "../harness/config/testdata/first.yaml"); code != 0 {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "s", "manifest.json")
	text := must(os.ReadFile(file))
	changed := strings.NewReplacer(`"state": "finished"`, `"state": "failed"`, "r03-wordcount-yarn",
		"r09-wordcount-yarn").Replace(string(text))
	mustDo(t, os.WriteFile(file, []byte(changed), 0o600))
	_, code, err := heddle("run", "--simulate", "--unverified", "--resume", filepath.Join(dir, "s"))
	if code == 0 || !strings.Contains(err.Error(), "trial r09-wordcount-yarn is not in the experiment") {
		t.Errorf("code %d, %v", code, err)
	}
}
