package programs

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/hibench"
	"heddle/traces/errtest"
)

// TestPins: each jar of a pom.xml has a sum, and no other has one.
func TestPins(t *testing.T) {
	for _, dir := range []string{"hive", "mahout"} {
		pom := errtest.Must(files.ReadFile(dir + "/pom.xml"))
		pins := errtest.Must(files.ReadFile(dir + "/jars.sha256"))
		var project struct {
			Dependencies []struct {
				Artifact string `xml:"artifactId"`
				Version  string `xml:"version"`
				Left     string `xml:"exclusions>exclusion>artifactId"`
			} `xml:"dependencies>dependency"`
		}
		errtest.None(t, xml.Unmarshal(pom, &project))
		if n := strings.Count(string(pins), "\n"); n != len(project.Dependencies) || n < 10 {
			t.Errorf("%s: %d jars have a sum, and pom.xml names %d", dir, n, len(project.Dependencies))
		}
		for _, d := range project.Dependencies {
			if !strings.Contains(string(pins), "  "+d.Artifact+"-"+d.Version+".jar\n") {
				t.Errorf("%s %s has no sum; run go generate", d.Artifact, d.Version)
			}
			if d.Left != "*" {
				t.Errorf("%s brings along jars that have no sum", d.Artifact)
			}
		}
	}
}

// TestJars: jars are fetched once and by their name, after a word of it, and one that was
// changed is not run. Maven is a program here that notes what it is asked for.
func TestJars(t *testing.T) {
	bin, cache := t.TempDir(), t.TempDir()
	asked := filepath.Join(bin, "asked")
	errtest.None(t, os.WriteFile(filepath.Join(bin, "mvn"), []byte("#!/bin/sh\necho \"$@\" > "+asked+"\nexit 1\n"), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", cache)
	for p, c := range map[hibench.Program]struct{ says, asks, jar string }{
		hibench.Tests: {testsJar, "dependency:copy -Dartifact=org.apache.hadoop:hadoop-mapreduce-client-jobclient:3.4.2:jar:tests", testsJar},
		hibench.Hive:  {"Hive 4.0.1", "dependency:copy-dependencies", "derby-10.14.2.0.jar"},
	} {
		var said []string
		say := func(text string) { said = append(said, text) }
		_, err := Jars(t.Context(), p, say)
		line, _ := os.ReadFile(asked)
		if err == nil || len(said) != 1 || !strings.HasPrefix(said[0], "fetching "+c.says) || !strings.Contains(string(line), c.asks) {
			t.Errorf("%s: said %q, asked Maven for %q, error %v", p, said, line, err)
		}
		name := filepath.Join(cache, "heddle", sets[p].folder, c.jar)
		errtest.None(t, os.MkdirAll(filepath.Dir(name), 0o755))
		errtest.None(t, os.WriteFile(name, []byte("other"), 0o644))
		_, err = Jars(t.Context(), p, say)
		if err == nil || len(said) != 1 || !strings.Contains(err.Error(), name+" has SHA-256") ||
			!strings.Contains(err.Error(), "remove the folder "+filepath.Dir(name)) {
			t.Errorf("%s: said %q, error %v; want one with the jar that was changed and what to do", p, said, err)
		}
	}
}
