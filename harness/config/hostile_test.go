package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// hostile are files of about n bytes, each of one construct that has exhausted
// a YAML parser's memory or time, or might.
func hostile(n int) map[string]string {
	fill := func(text string) string { return strings.Repeat(text, n/len(text)+1) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	var indentedKeys, indentedItems strings.Builder
	for depth := 0; indentedKeys.Len() < n; depth++ {
		indentedKeys.WriteString(strings.Repeat(" ", depth) + "a:\n")
		indentedItems.WriteString(strings.Repeat(" ", depth) + "-\n")
	}
	laughs := "a: &a0 [x]\n"
	for i := range 30 {
		laughs += fmt.Sprintf("b%d: &a%d [%s]\n", i, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9))
	}
	return map[string]string{
		"lists open": fill("["), "lists closed": strings.Repeat("[", n/2) + strings.Repeat("]", n/2), "mappings open": fill("{"),
		"mappings in keys": fill("{a: "), "items in items": fill("- "), "keys in keys": fill("? "), "items and keys": fill("- ? "),
		"values in values": fill("a: "), "indented keys": indentedKeys.String(), "indented items": indentedItems.String(),
		"flow keys open": "[" + fill("? "),
		"tags":           fill("!!x "), "tags joined": fill("!!x"), "bangs": fill("! "), "tagged items": fill("- !!a\n"), "anchors": fill("&a "),
		"anchored items": fill("- &a b\n"),
		"aliases":        fill("*a "), "alias items": "x: &a 1\ny:\n" + fill("- *a\n"), "aliases of aliases": laughs, "merges": fill("<<: *a\n"),
		"quote open": `"` + fill("x"), "single quote open": "'" + fill("x"), "escapes": `"` + fill(`\u0041`) + `"`,
		"lines in quotes": `"` + fill("\n") + `"`, "quoted lines": fill("\"a\"\n"),
		"literal": "name: |\n" + fill(" x\n"), "folded": "name: >\n" + fill(" x\n"), "literals": fill("|\n"), "directives": fill("%a\n"),
		"percents":  fill("%"),
		"documents": fill("---\n"), "documents with content": fill("--- a\n"), "document ends": fill("...\n"),
		"a document with documents": "repeats: 1\n" + fill("--- a\n"),
		"grid":                      "workloads: [{name: sort, size: [" + fill("9MiB,") + "]}]",
		"grid of all sizes":         "workloads: [{name: sort, size: [" + numbered("%dMiB,") + "]}]",
		"grid of many lists":        "models: [{model: fifo, params: {" + numbered("p%d: [1, 2], ") + "}}]",
		"grids":                     "models:\n" + numbered("- {label: m%d, model: [fifo, fair]}\n"),
		"grid of many keys": "workloads: [{name: sort, size: [1MiB, 2MiB, 3MiB, 4MiB], maps: [1, 2, 3, 4], reduces: [1, 2, 3, 4], settings: {" +
			numbered("p%d: 1, ") + "}}]",
		"tabs": fill("\t"), "spaces": fill(" "), "empty lines": fill("\n"), "CR": fill("\r"), "keys ended by CR": fill("a: 1\r"),
		"CRLF": fill("\r\n"), "NUL": fill("\x00"),
		"no UTF-8": fill("\xff"), "byte order marks": fill("\ufeff"), "comments": fill("#x\n"),
		"comments inside": "repeats: 1\n" + fill("  #x\n"), "reserved": fill("@"),
		"plain": "name: " + fill("x"), "plain words": "name: " + fill("x "), "plain lines": "name: x\n" + fill("  x\n"),
		"long key":                   fill("x") + ": 1",
		"error at the end of a line": "models: [" + fill("x, ") + "}", "colon at the end of a line": "name: " + fill("x ") + ": y",
		"colons": fill(": "), "commas": "models: [" + fill(",") + "]", "lines in a list": "models: [" + fill("\n") + "]",
		"keys": numbered("k%d: 1\n"), "flow keys": "{" + numbered("k%d: 1, ") + "}", "same key": fill("repeats: 1\n"),
		"hosts": "hosts: {" + numbered("k%d: 1, ") + "}",
		"items": "models:\n" + fill("- a\n"), "names": "models: [" + fill("a,") + "]", "faulty names": "models: [" + fill("[],") + "]",
		"faulty models":    "models: [" + fill("{a: b}, ") + "]",
		"faulty workloads": "workloads:\n" + fill("- {name: x}\n"), "faulty agents": "agents: [" + fill("{},") + "]",
		"digits": "repeats: " + fill("1"), "fraction": "cache: {fraction: 0." + fill("1") + "}",
		"exponent": "cache: {fraction: 1e" + fill("9") + "}", "hex": "repeats: 0x" + fill("f"),
		"size": "workloads: [{name: sort, size: " + fill("1") + "MiB}]", "duration": "timeout: " + fill("1") + "s",
		"binary":  "name: !!binary " + fill("QQ"),
		"secrets": "agents: [" + fill("token: x, ") + "]", "users": "nameNodes: [" + fill("u@h, ") + "]",
		"no user":    "nameNodes: [" + fill("://") + "]",
		"thresholds": "thresholds: {makespan: [" + fill("a < b,") + "]}", "faulty thresholds": "thresholds: {makespan: [" + fill("a<b,") + "]}",
		"metrics": "thresholds: {" + numbered("m%d: [a < b], ") + "}",
		"thresholds of no model": "workloads: [{name: sort, profile: tiny}]\nthresholds: {makespan: [" + strings.Repeat("a < b,", 100) +
			"]}\nmodels: [" + numbered("m%d, ") + "]",
		"warmups": "warmups: " + fill("9"), "warmups of nothing": "warmups: 3",
		"trials": "repeats: 10000\nworkloads:\n" + numbered("- {name: sort, profile: tiny, label: s%d}\n") + "models: [" +
			numbered("{model: fifo, label: f%d},") + "]",
	}
}

// allocated is how many bytes work takes from the heap, in all. It grows with
// time too, and unlike time it is the same on a busy machine.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// parseBound parses data as both files and fails if that takes more memory
// than its length calls for.
func parseBound(t *testing.T, data []byte) {
	t.Helper()
	got := allocated(func() {
		if e, err := ParseExperiment("e.yaml", data); err == nil {
			if err := e.Validate(); err != nil {
				t.Errorf("read without error, but not valid: %v", err)
			}
			e.Trials()
		} else if text := err.Error(); len(text) > 100_000 {
			t.Errorf("an error of %d bytes", len(text))
		}
		if c, err := ParseCluster("c.yaml", data); err == nil {
			if err := c.Validate(); err != nil {
				t.Errorf("read without error, but not valid: %v", err)
			}
		} else if text := err.Error(); len(text) > 100_000 {
			t.Errorf("an error of %d bytes", len(text))
		}
	})
	if most := uint64(4<<20 + 2_500*len(data)); got > most {
		t.Errorf("%d bytes of YAML take %d bytes of memory, want %d at most", len(data), got, most)
	}
}

// TestHostileFiles: no file takes more memory than its length calls for.
func TestHostileFiles(t *testing.T) {
	for name, text := range hostile(32 << 10) {
		t.Run(name, func(t *testing.T) { parseBound(t, []byte(text)) })
	}
}

// FuzzParse looks for files that take too much memory, or are read without
// error and then not valid.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/broken/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			data := must(os.ReadFile(file))
			f.Add(data)
		}
	}
	for _, text := range hostile(2 << 10) {
		f.Add([]byte(text))
	}
	f.Fuzz(parseBound)
}

// TestManyNodes: an inventory of 3,000 agents with long names is read.
func TestManyNodes(t *testing.T) {
	var b strings.Builder
	b.WriteString("resourceManagers: [\"http://rm:8088\"]\nnameNodes: [\"nn:8020\"]\nhistoryServer: http://jhs:19888\nhosts:\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "  worker-%04d.rack-17.hadoop.example.com: 10.17.%d.%d\n", i, i/250, i%250)
	}
	b.WriteString("agents:\n")
	for i := range 3000 {
		host := fmt.Sprintf("worker-%04d.rack-17.hadoop.example.com", i)
		fmt.Fprintf(&b, "  - node: %s\n    url: http://%s:9177\n    tokenFile: /etc/heddle/agent.token\n", host, host)
	}
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	mustDo(t, os.WriteFile(file, []byte(b.String()), 0o600))
	var c *Cluster
	var err error
	got := allocated(func() { c, err = LoadCluster(file) })
	if err != nil || len(c.Agents) != 3000 || len(c.Hosts) != 3000 {
		t.Fatalf("%+v, error %v; want 3000 agents", c, err)
	}
	if most := uint64(500 * b.Len()); got > most {
		t.Errorf("%d bytes take %d bytes of memory, want %d at most", b.Len(), got, most)
	}
}

// TestEndlessFiles: what has no end is refused, and a pipe is a file like others.
func TestEndlessFiles(t *testing.T) {
	wantError(t, errOf(LoadCluster("/dev/zero")), "/dev/zero", "is longer than")
	// pipe is one through which text comes so many times.
	pipe := func(text string, times int) string {
		name := filepath.Join(t.TempDir(), "pipe.yaml")
		if err := unix.Mkfifo(name, 0o600); err != nil {
			t.Skipf("needs a file system with pipes: %v", err)
		}
		go func() {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			for i := 0; i < times && err == nil; i++ {
				_, err = f.WriteString(text) // fails once nobody reads
			}
			f.Close()
		}()
		return name
	}
	if _, _, err := LoadExperiment(pipe(strings.Repeat("# more\n", 1000), 100_000)); err == nil ||
		!strings.Contains(err.Error(), "is longer than") {
		t.Errorf("an endless pipe: error %v, want one that says that it is too long", err)
	}
	const good = "workloads: [{name: sort, profile: tiny}]\n"
	e, source, err := LoadExperiment(pipe(good, 1))
	if err != nil || len(e.Workloads) != 1 || string(source) != good {
		t.Errorf("a pipe: %+v, %q, error %v; want one workload", e, source, err)
	}
}

// TestManyProblems: the first are told, the others counted.
func TestManyProblems(t *testing.T) {
	_, err := ParseExperiment("e.yaml", []byte(strings.Repeat("- x\n", 10)+"? [a]\n"))
	wantError(t, err, "e.yaml:11:1: not valid YAML")
	_, err = ParseExperiment("e.yaml", []byte("models: ["+strings.Repeat("{a: b}, ", 1000)+"]"))
	if err == nil || strings.Count(err.Error(), "unknown key") != maxProblems || !strings.HasSuffix(err.Error(), "and 980 more problems") {
		t.Errorf("error %v, want %d problems and that there are 980 more problems", err, maxProblems)
	}
	_, err = ParseExperiment("e.yaml", []byte("models:\n"+strings.Repeat("- ", maxDepth+1)+"x\n"))
	wantError(t, err, "e.yaml:2:", "deep")
}
