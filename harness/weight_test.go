package harness_test

import (
	"bufio"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/internal/golden"
	"heddle/traces/errtest"
)

// ceilings has the most that each sum and each package may weigh. A change that raises
// a number says in its message why; -update writes what the tree weighs today.
const ceilings = "testdata/weight.txt"

// kits are packages that only tests import, and modules of users' own tests. They weigh
// with the tests.
var kits = []string{
	"yarnclient/yarntest", "collectors/hdfs/hdfstest", "harness/sched/schedtest", "harness/kerberos/kdctest", "harness/lease/leasetest",
	"traces/spark/sparktest", "harness/lab/labtest", "harness/report/browsertest", "harness/internal/golden", "traces/errtest",
	"ansible/tests",
}

// The sums of the tree. Go is counted in tokens without comments, since joined lines
// hide no token; a string is one for each 8 bytes. testdata and generated code weigh nothing.
const (
	product  = "sum:product-tokens"
	tests    = "sum:test-tokens"
	scripts  = "sum:script-lines"   // JavaScript, CSS, Python
	settings = "sum:settings-lines" // YAML, templates, properties, shell
	words    = "sum:markdown-words"
)

// TestWeight holds the tree against its ceilings, so that what grows pays by deleting.
func TestWeight(t *testing.T) {
	got := weigh(t, "..")
	if *golden.Update {
		var text strings.Builder
		for _, name := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&text, "%s %d\n", name, got[name])
		}
		errtest.None(t, os.WriteFile(ceilings, []byte(text.String()), 0o644))
	}
	ceiling := readCeilings(t)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		most, ok := ceiling[name]
		switch {
		case !ok:
			t.Errorf("%s weighs %d and has no line in %s", name, got[name], ceilings)
		case got[name] > most:
			t.Errorf("%s weighs %d, its ceiling in %s is %d: delete what it displaces, or raise the line and say why in the commit", name, got[name],
				ceilings, most)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ceiling)) {
		if _, ok := got[name]; !ok {
			t.Errorf("%s has a line for %s, which is gone", ceilings, name)
		}
	}
}

// weigh returns the sums of the tree below root, and the tokens of each product package.
func weigh(t *testing.T, root string) map[string]int {
	t.Helper()
	weight := map[string]int{}
	errtest.None(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || d.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		in, by := kind(filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator))))
		if in == "" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		n := by(text)
		weight[in] += n
		if in == product {
			weight[path.Dir(filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator))))] += n
		}
		return nil
	}))
	return weight
}

// kind returns the sum that a file is part of, "" for none, and how it is counted.
func kind(file string) (in string, by func([]byte) int) {
	switch path.Ext(file) {
	case ".md":
		return words, func(text []byte) int { return len(strings.Fields(string(text))) }
	case ".js", ".css", ".py":
		return scripts, lines
	case ".yaml", ".yml", ".j2", ".tmpl", ".props", ".sh":
		return settings, lines
	case ".go":
	default:
		return "", nil
	}
	folder := path.Dir(file)
	kit := slices.ContainsFunc(kits, func(kit string) bool { return folder == kit || strings.HasPrefix(folder, kit+"/") })
	switch {
	case strings.HasSuffix(file, ".pb.go"):
		return "", nil
	case kit || strings.HasSuffix(file, "_test.go"):
		return tests, tokens
	}
	return product, tokens
}

func lines(text []byte) int { return strings.Count(string(text), "\n") }

func tokens(text []byte) (n int) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return n
		case tok == token.SEMICOLON && lit == "\n":
		case tok == token.STRING:
			n += 1 + len(lit)/8
		default:
			n++
		}
	}
}

func readCeilings(t *testing.T) map[string]int {
	t.Helper()
	f := errtest.Must(os.Open(ceilings))
	ceiling := map[string]int{}
	for in := bufio.NewScanner(f); in.Scan(); {
		var name string
		var most int
		if _, err := fmt.Sscanf(in.Text(), "%s %d", &name, &most); err != nil {
			t.Fatalf("%s: %q: want NAME NUMBER", ceilings, in.Text())
		}
		ceiling[name] = most
	}
	return ceiling
}

// TestTokens counts by hand.
func TestTokens(t *testing.T) {
	const text = "package a // no token\n\nvar b = \"0123456789abcdef\" // 18 bytes with quotes\n"
	if got, want := tokens([]byte(text)), 2+1+1+1+1+18/8; got != want {
		t.Errorf("tokens of %q: %d, want %d", text, got, want)
	}
}
