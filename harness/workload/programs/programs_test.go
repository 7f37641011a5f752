package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHadoopTests: the jar is fetched once and by its name, after a word of it, and one
// that was changed is not run. Maven is a program here that notes what it is asked for.
func TestHadoopTests(t *testing.T) {
	bin, cache := t.TempDir(), t.TempDir()
	asked := filepath.Join(bin, "asked")
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte("#!/bin/sh\necho \"$@\" > "+asked+"\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", cache)
	var said []string
	say := func(text string) { said = append(said, text) }
	_, err := HadoopTests(t.Context(), say)
	line, _ := os.ReadFile(asked)
	if err == nil || len(said) != 1 || !strings.HasPrefix(said[0], "fetching hadoop-mapreduce-client-jobclient-3.4.2-tests.jar") ||
		!strings.Contains(string(line), "dependency:copy -Dartifact=org.apache.hadoop:hadoop-mapreduce-client-jobclient:3.4.2:jar:tests") {
		t.Errorf("said %q, asked Maven for %q, error %v", said, line, err)
	}
	name := filepath.Join(cache, "heddle", "hadoop-tests-3.4.2", "hadoop-mapreduce-client-jobclient-3.4.2-tests.jar")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err = HadoopTests(t.Context(), say); err == nil || len(said) != 1 || !strings.Contains(err.Error(), name+" has SHA-256") {
		t.Errorf("said %q, error %v; want one with the jar that was changed", said, err)
	}
}
