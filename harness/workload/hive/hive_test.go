package hive

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPins: each jar of pom.xml has a sum, and no other has one.
func TestPins(t *testing.T) {
	pom, err := files.ReadFile("pom.xml")
	if err != nil {
		t.Fatal(err)
	}
	pins, err := files.ReadFile("jars.sha256")
	if err != nil {
		t.Fatal(err)
	}
	var project struct {
		Dependencies []struct {
			Artifact string `xml:"artifactId"`
			Version  string `xml:"version"`
			Left     string `xml:"exclusions>exclusion>artifactId"`
		} `xml:"dependencies>dependency"`
	}
	if err := xml.Unmarshal(pom, &project); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(pins), "\n"); n != len(project.Dependencies) || n < 20 {
		t.Errorf("%d jars have a sum, and pom.xml names %d", n, len(project.Dependencies))
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

// TestJarsAreChecked: a jar that was changed in the cache is not run.
func TestJarsAreChecked(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	jars := filepath.Join(cache, "heddle", "hive-"+version, "jars")
	if err := os.MkdirAll(jars, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(jars, "derby-10.14.2.0.jar"), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Jars(t.Context())
	if err == nil || !strings.Contains(err.Error(), "derby-10.14.2.0.jar has SHA-256") || !strings.Contains(err.Error(), "remove the folder "+jars) {
		t.Errorf("error %v; want one with the jar and what to do", err)
	}
}
