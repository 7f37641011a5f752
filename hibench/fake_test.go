package hibench

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dirFS is a FileSystem in a local folder.
type dirFS string

func (d dirFS) path(name string) string                 { return filepath.Join(string(d), name) }
func (d dirFS) Stat(name string) (os.FileInfo, error)   { return os.Stat(d.path(name)) }
func (d dirFS) Open(name string) (io.ReadCloser, error) { return os.Open(d.path(name)) }
func (d dirFS) RemoveAll(name string) error             { return os.RemoveAll(d.path(name)) }

func (d dirFS) Create(_ context.Context, name string, _ int64, _ int) (io.WriteCloser, error) {
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o755); err != nil {
		return nil, err
	}
	return os.Create(d.path(name))
}

func (d dirFS) ReadDir(name string) ([]os.FileInfo, error) {
	entries, err := os.ReadDir(d.path(name))
	var list []os.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, err
}

// fakeHadoop stands for a distribution and its HDFS: its hadoop command notes
// its arguments and environment, and does the least that its caller looks for.
type fakeHadoop struct {
	home, conf, calls string
	fs                dirFS
}

const hadoopScript = `#!/bin/sh
env | sort > "$FAKE/env"
printf '%s\n' "$@" end-of-call >> "$FAKE/calls"
[ -f "$FAKE/script" ] && . "$FAKE/script"
shift 2
case "$1 $2" in
*CliDriver*) [ -f "$FAKE/hive" ] && . "$FAKE/hive"; exit 0;;
'fs -du') for last; do :; done; echo "12345 24690 $last";;
'fs -rm') for last; do :; done; rm -rf "$FAKE/hdfs$last";;
jar*)
	for last; do :; done
	mkdir -p "$FAKE/hdfs$last"
	: > "$FAKE/hdfs$last/_SUCCESS"
	truncate -s "${FAKE_BYTES:-0}" "$FAKE/hdfs$last/part-m-00000"
esac
`

func newFakeHadoop(t *testing.T) *fakeHadoop {
	t.Helper()
	root := t.TempDir()
	h := &fakeHadoop{
		home: filepath.Join(root, "hadoop"), conf: filepath.Join(root, "conf"), calls: filepath.Join(root, "calls"),
		fs: dirFS(filepath.Join(root, "hdfs")),
	}
	script := strings.ReplaceAll(hadoopScript, "$FAKE/", root+"/")
	script = strings.ReplaceAll(script, "$FAKE", root)
	write(t, filepath.Join(h.home, "bin", "hadoop"), script, 0o755)
	write(t, filepath.Join(h.home, "share", "hadoop", "mapreduce", "hadoop-mapreduce-examples-3.4.2.jar"), "", 0o644)
	write(t, filepath.Join(h.conf, "core-site.xml"), "<configuration/>", 0o644)
	write(t, filepath.Join(h.conf, "log4j.properties"), "", 0o644)
	return h
}

// does makes the hadoop command start with a piece of shell.
func (h *fakeHadoop) does(t *testing.T, script string) {
	t.Helper()
	write(t, filepath.Join(filepath.Dir(h.calls), "script"), script, 0o644)
}

func (h *fakeHadoop) env(t *testing.T) Env {
	return Env{
		HadoopHome: h.home, ConfDir: h.conf, FS: h.fs, DataDir: "/bench", RunDir: t.TempDir(),
		Vars:    []string{"PATH=" + os.Getenv("PATH"), "JAVA_HOME=/opt/java"},
		Workers: []string{"w1", "w2"},
	}
}

// jobs returns the arguments of all "hadoop jar" calls since the last time,
// with the names of this test's folders taken out.
func (h *fakeHadoop) jobs(t *testing.T, env Env) [][]string {
	t.Helper()
	text := must(os.ReadFile(h.calls))
	mustDo(t, os.Remove(h.calls))
	names := strings.NewReplacer(h.home, "$HADOOP", env.RunDir, "$RUN")
	var jobs [][]string
	for call := range strings.SplitSeq(strings.TrimSuffix(string(text), "end-of-call\n"), "end-of-call\n") {
		args := strings.Split(names.Replace(strings.TrimSuffix(call, "\n")), "\n")
		if slices.Contains(args, "jar") {
			jobs = append(jobs, args)
		}
	}
	return jobs
}

func write(t *testing.T, name, text string, perm os.FileMode) {
	t.Helper()
	mustDo(t, os.MkdirAll(filepath.Dir(name), 0o755))
	mustDo(t, os.WriteFile(name, []byte(text), perm))
}

func newRunner(t *testing.T, env Env, spec Spec) *Runner {
	t.Helper()
	r := must(New(env, spec))
	return r
}
