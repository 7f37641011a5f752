package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Jars are run only if each has its pinned SHA-256, be it that they come from
// Maven or that they are in the cache from before.
func TestJarsAreChecked(t *testing.T) {
	const examples = "hadoop-mapreduce-examples-" + DefaultHadoop + ".jar"
	find := func(t *testing.T) error {
		t.Helper()
		_, err := findDistribution(t.Context(), Default(), func(Event) {})
		return err
	}
	t.Run("fetched", func(t *testing.T) {
		cache, bin := t.TempDir(), t.TempDir()
		t.Setenv("XDG_CACHE_HOME", cache)
		t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
		mvn := "#!/bin/sh\nfor a; do case $a in -DoutputDirectory=*) out=${a#*=}; esac; done\nmkdir \"$out\" && echo other >\"$out/" + examples +
			"\"\n"
		mustDo(t, os.WriteFile(filepath.Join(bin, "mvn"), []byte(mvn), 0o755))
		wantError(t, find(t), examples+" has SHA-256")
		if left, _ := filepath.Glob(filepath.Join(cache, "heddle", "*", "*jars*")); len(left) > 0 {
			t.Errorf("the jars are kept all the same: %v", left)
		}
	})
	for name, test := range map[string]struct{ file, want string }{
		"changed":  {examples, examples + " has SHA-256"},
		"added":    {"a.jar", "a.jar is not part of Hadoop"},
		"none":     {"", "has no "},
		"a folder": {examples + "/x", examples},
	} {
		t.Run("cached "+name, func(t *testing.T) {
			cache := t.TempDir()
			t.Setenv("XDG_CACHE_HOME", cache)
			jars := filepath.Join(cache, "heddle", "hadoop-"+DefaultHadoop, "jars")
			path := filepath.Join(jars, test.file)
			mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
			if test.file == "" {
				mustDo(t, os.MkdirAll(jars, 0o755))
			} else if err := os.WriteFile(path, []byte("other"), 0o644); err != nil {
				t.Fatal(err)
			}
			wantError(t, find(t), test.want, "remove the folder")
		})
	}
}

// TestReleases: what is pinned for each release are the jars of that release, and the jars
// with its jobs.
func TestReleases(t *testing.T) {
	source := must(os.ReadFile("distribution.go"))
	for _, r := range releases {
		for sums, names := range map[string][]string{
			"jars.sha256": {
				"hadoop-common-" + r.version, "hadoop-yarn-server-resourcemanager-" + r.version,
				"hadoop-mapreduce-examples-" + r.examples,
			},
			"tools.sha256": {"hadoop-streaming-" + r.streaming},
		} {
			set, err := r.jars(r.version+"/"+sums, nil)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, name := range names {
				if !strings.Contains(string(set.Pins), "  "+name+".jar\n") {
					t.Errorf("%s of Hadoop %s has no %s.jar", sums, r.version, name)
				}
			}
			if !strings.Contains(string(source), "pin.sh hadoop "+r.version+"/"+sums) {
				t.Errorf("'go generate' does not write %s of Hadoop %s", sums, r.version)
			}
		}
	}
}

func TestOtherHadoops(t *testing.T) {
	c := Default()
	c.Hadoop = "3.3.6"
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.HadoopHome = "/opt/hadoop"
	wantError(t, c.Validate(), "want one of them")
	c.HadoopHome, c.Hadoop = "", "3.2.0"
	wantError(t, c.Validate(), `--hadoop "3.2.0": want one of 3.3.6, 3.4.2, 3.5.0`)
}
