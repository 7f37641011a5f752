// Package mavenjars fetches sets of jars from Maven Central, such as those of
// Hadoop, and checks that each jar has the SHA-256 sum that heddle knows.
//
// It lets Maven do the fetching, so that a user's mirrors and proxies are
// honoured. It does not say where jars are kept.
package mavenjars

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"heddle/traces/printable"
)

// Set is a set of jars that Maven can fetch.
type Set struct {
	Name string   // what the jars are, such as "Hadoop 3.4.2", for messages
	POM  []byte   // Maven's project file, whose dependencies are the jars
	Goal []string // Maven's goal that fetches the jars, with its options; nil means the goal that fetches the dependencies in POM
	Pins []byte   // a line for each jar with its SHA-256 sum and its name, as the program sha256sum writes; pin.sh makes it
}

// Ensure returns without error once the folder contains the set's jars and
// nothing else. If the folder exists, its jars are checked. Otherwise they are
// fetched, after fetching was called to tell the user.
func (s Set) Ensure(ctx context.Context, folder string, fetching func()) error {
	if _, err := os.Stat(folder); err == nil {
		if err := s.check(folder); err != nil {
			return fmt.Errorf("%w; remove the folder %s, then heddle fetches it anew", err, folder)
		}
		return nil
	}
	fetching()
	return s.fetch(ctx, folder)
}

// check compares the jars in a folder with their sums. A jar that is not in the
// list is an error too, since a class path takes every jar of the folder.
func (s Set) check(folder string) error {
	want := map[string]string{} // expected SHA-256 hash of each file, by file name
	for line := range strings.Lines(string(s.Pins)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		want[name] = sum
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("check the jars of %s: %w", s.Name, fmt.Errorf(format, args...))
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fail("%w", err)
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		pinned, known := want[e.Name()]
		if !known {
			return fail("%s is not part of %s as this heddle knows it", path, s.Name)
		}
		sum, err := fileSHA256(path)
		if err != nil {
			return fail("%w", err)
		}
		if sum != pinned {
			return fail("%s has SHA-256 %s, want %s", path, sum, pinned)
		}
		delete(want, e.Name())
	}
	if len(want) > 0 {
		return fail("%s has no %s", folder, strings.Join(slices.Sorted(maps.Keys(want)), ", "))
	}
	return nil
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// fetch lets Maven fetch the set's jars and then checks their hashes. It fetches
// into a temporary folder and renames that folder at the end.
func (s Set) fetch(ctx context.Context, folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(folder), ".jars-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), s.POM, 0o644); err != nil {
		return err
	}
	out := filepath.Join(tmp, "jars")
	goal := s.Goal
	if goal == nil {
		goal = []string{"dependency:copy-dependencies", "-DincludeScope=runtime"}
	}
	cmd := exec.CommandContext(
		ctx,
		"mvn",
		append([]string{"-B", "-q", "-C", "-f", filepath.Join(tmp, "pom.xml"), "-DoutputDirectory=" + out}, goal...)...)
	// The JVM that runs Maven is to leave no folder in /tmp, and is too short-lived for its slower compiler to pay.
	cmd.Env = append(os.Environ(), "MAVEN_OPTS=-XX:TieredStopAtLevel=1 "+os.Getenv("MAVEN_OPTS")+" -XX:-UsePerfData -Djava.io.tmpdir="+tmp)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("fetch %s with Maven: %w; is Maven Central reachable?\n%s", s.Name, err, printable.LastLines(log.Bytes(), 10))
	}
	if err := s.check(out); err != nil {
		return fmt.Errorf("fetch %s with Maven: %w; something between Maven Central and this machine gives out other files", s.Name, err)
	}
	if err := os.Chmod(out, 0o755); err != nil {
		return err
	}
	if err := os.Rename(out, folder); err != nil {
		if _, statErr := os.Stat(folder); statErr == nil {
			return nil // no error if the folder exists: another process has fetched the jars meanwhile
		}
		return err
	}
	return nil
}
