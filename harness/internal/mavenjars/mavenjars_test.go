package mavenjars

import (
	"archive/zip"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/traces/errtest"
)

// A fake Maven writes the one jar that most of these tests fetch, or others.
const (
	jar     = "greeting-1.jar"
	content = "hello\n"
	writes  = `mkdir "$out"; echo hello >"$out/greeting-1.jar"`
)

// fakeMaven puts a program mvn first on PATH. It is a shell script in which
// $out is the folder where Maven is to write the jars.
func fakeMaven(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	text := "#!/bin/sh\nfor a; do case $a in -DoutputDirectory=*) out=${a#*=}; esac; done\n" + script + "\n"
	write(t, filepath.Join(bin, "mvn"), text)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	errtest.None(t, os.MkdirAll(filepath.Dir(name), 0o700))
	errtest.None(t, os.WriteFile(name, []byte(text), 0o700))
}

// pin is the line of a jar in a list of sums.
func pin(name, content string) []byte {
	return fmt.Appendf(nil, "%x  %s\n", sha256.Sum256([]byte(content)), name)
}

// TestFetch: a folder that is not there is fetched, and is there only if Maven
// gave all jars of the set, unchanged, and no other. Nothing else is left.
func TestFetch(t *testing.T) {
	for name, tt := range map[string]struct{ maven, want string }{
		"all":           {writes, ""},
		"changed":       {`mkdir "$out"; echo other >"$out/greeting-1.jar"`, jar + " has SHA-256"},
		"one more":      {writes + `; echo x >"$out/x.jar"`, "x.jar is not part of Greeting 1"},
		"none":          {`mkdir "$out"`, "has no " + jar},
		"no folder":     {"exit 0", "no such file"},
		"Maven fails":   {"echo cannot resolve greeting; exit 1", "is Maven Central reachable?\ncannot resolve greeting"},
		"with another":  {writes + `; cp -r "$out" "$(dirname "$out")/../jars"`, ""}, // a second heddle was faster
		"another wrong": {`mkdir "$out" "$(dirname "$out")/../jars"`, "has no " + jar},
	} {
		t.Run(name, func(t *testing.T) {
			fakeMaven(t, tt.maven)
			cache := filepath.Join(t.TempDir(), "cache")
			folder := filepath.Join(cache, "jars")
			told := 0
			err := Set{Name: "Greeting 1", POM: []byte("<project/>"), Pins: pin(jar, content)}.Ensure(t.Context(), folder, func() { told++ })
			if told != 1 {
				t.Errorf("the user is told %d times of the fetching, want once", told)
			}
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "fetch Greeting 1 with Maven") {
					t.Errorf("error %v; want one with %q", err, tt.want)
				}
			} else if got, rerr := os.ReadFile(filepath.Join(folder, jar)); err != nil || string(got) != content {
				t.Errorf("error %v; the jar has %q, %v", err, got, rerr)
			}
			left, err := os.ReadDir(cache)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range left {
				if e.Name() != "jars" || tt.want != "" && !strings.HasPrefix(name, "another") {
					t.Errorf("%s is left in the cache", e.Name())
				}
			}
		})
	}
}

// TestCached: jars that are there are checked, and not fetched again.
func TestCached(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, want string }{
		"whole":    {jar, content, ""},
		"changed":  {jar, "other", jar + " has SHA-256"},
		"added":    {"x.jar", "x", "x.jar is not part of Greeting 1"},
		"a folder": {jar + "/x", "x", "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeMaven(t, "exit 1")
			folder := filepath.Join(t.TempDir(), "jars")
			write(t, filepath.Join(folder, tt.file), tt.text)
			err := Set{Name: "Greeting 1", Pins: pin(jar, content)}.Ensure(t.Context(), folder, func() { t.Error("fetches jars that are there") })
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "remove the folder "+folder) {
				t.Errorf("error %v; want one with %q and what to do", err, tt.want)
			}
		})
	}
}

// TestMaven lets the real Maven fetch a jar, offline, from a repository of files.
// Maven's plugins come from the user's own repository, read as one of files too.
func TestMaven(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts Maven, which takes seconds")
	}
	if _, err := exec.LookPath("mvn"); err != nil {
		t.Skip("no Maven: there is no program mvn")
	}
	home := errtest.Must(os.UserHomeDir())
	plugins := filepath.Join(home, ".m2", "repository")
	if _, err := os.Stat(filepath.Join(plugins,
		"org/apache/maven/plugins/maven-dependency-plugin/3.6.1/maven-dependency-plugin-3.6.1.jar")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("Maven has not fetched its plugin maven-dependency-plugin 3.6.1 yet: start a lab once")
	}
	dir := t.TempDir()
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	errtest.None(t, z.Close())
	at := filepath.Join(dir, "repository", "test", "greeting", "1")
	for name, text := range map[string]string{jar: packed.String(), "greeting-1.pom": project("greeting", "jar", "")} {
		write(t, filepath.Join(at, name), text)
		write(t, filepath.Join(at, name+".sha1"), fmt.Sprintf("%x", sha1.Sum([]byte(text)))) // Maven refuses files without one
	}
	settings := filepath.Join(dir, "settings.xml")
	write(t, settings, fmt.Sprintf(`<settings><mirrors>
<mirror><id>plugins</id><mirrorOf>central</mirrorOf><url>file://%s</url></mirror>
</mirrors></settings>`, plugins))
	set := Set{
		Name: "Greeting 1", Pins: pin(jar, packed.String()),
		POM: []byte(project("set", "pom", fmt.Sprintf(`
<repositories><repository><id>files</id><url>file://%s/repository</url></repository></repositories>
<dependencies><dependency><groupId>test</groupId><artifactId>greeting</artifactId><version>1</version></dependency></dependencies>
<build><plugins><plugin><groupId>org.apache.maven.plugins</groupId>
<artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version></plugin></plugins></build>`, dir))),
		Goal: []string{
			"dependency:copy-dependencies", "-DincludeScope=runtime", "-o", "-Daether.offline.protocols=file", "-s", settings,
			"-Dmaven.repo.local=" + filepath.Join(dir, "local"),
		},
	}
	folder := filepath.Join(dir, "cache", "jars")
	errtest.None(t, set.Ensure(t.Context(), folder, func() {}))
	if err := set.Ensure(t.Context(), folder, func() { t.Error("fetches jars that it has just fetched") }); err != nil {
		t.Error(err)
	}
}

// project is a project file of Maven's.
func project(name, packaging, more string) string {
	return fmt.Sprintf(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>test</groupId><artifactId>%s</artifactId><version>1</version><packaging>%s</packaging>%s</project>`, name, packaging, more)
}
