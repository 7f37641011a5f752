package exchange

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"heddle/traces/spark/sparktest"
	"heddle/traces/tracefile"
)

// digestOf imports a file or folder, and returns the digest of its trace.
func digestOf(t *testing.T, in string) (string, *Imported) {
	t.Helper()
	o := DefaultImport
	o.Inputs, o.Output = []string{in}, filepath.Join(t.TempDir(), "out")
	imported := must(Import(context.Background(), o))
	r := must(tracefile.Open(o.Output))
	defer r.Close()
	for r.Next() {
	}
	return r.TraceDigest(), imported
}

// TestRollingLogs: an event log in parts, with zstd, is the log as one file, and parts that were compacted count once.
func TestRollingLogs(t *testing.T) {
	var log bytes.Buffer
	sparktest.Join(&log, "application_1_0001", "join")
	whole := filepath.Join(t.TempDir(), "application_1_0001")
	write := func(path string, data []byte) {
		t.Helper()
		mustDo(t, os.WriteFile(path, data, 0o644))
	}
	write(whole, log.Bytes())
	want, _ := digestOf(t, whole)
	packer := must(zstd.NewWriter(nil))
	lines := bytes.SplitAfter(log.Bytes(), []byte("\n"))
	pack := func(lines [][]byte) []byte { return packer.EncodeAll(bytes.Join(lines, nil), nil) }
	folder := filepath.Join(t.TempDir(), "eventlog_v2_application_1_0001")
	mustDo(t, os.Mkdir(folder, 0o755))
	part := func(name string) string { return filepath.Join(folder, name+"_application_1_0001.zstd") }
	write(filepath.Join(folder, "appstatus_application_1_0001"), nil)
	write(part("events_1"), pack(lines[:7]))
	write(part("events_2"), pack(lines[7:12]))
	write(part("events_10"), pack(lines[12:]))
	if got, _ := digestOf(t, folder); got != want {
		t.Errorf("in parts its digest is %s, want %s", got, want)
	}
	write(part("events_2")+".compact", pack(lines[:12]))
	got, imported := digestOf(t, filepath.Dir(folder))
	if got != want || len(imported.Mended) > 0 {
		t.Errorf("compacted its digest is %s, want %s; mended %v", got, want, imported.Mended)
	}
	var cut bytes.Buffer
	packer.Reset(&cut)
	for _, line := range lines {
		if _, err := packer.Write(line); err != nil || packer.Flush() != nil {
			t.Fatal(err)
		}
	}
	write(whole, cut.Bytes()[:cut.Len()-20])
	if _, imported := digestOf(t, whole); imported.Jobs != 1 || len(imported.LeftOut) == 0 {
		t.Errorf("a log whose zstd is cut off has %d jobs, and left out is %q", imported.Jobs, imported.LeftOut)
	}
}
