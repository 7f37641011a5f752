package exchange

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"

	"heddle/traces/errtest"
)

// pack is bytes written again and again, compressed.
func pack(t *testing.T, head, again string, times int) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	block := []byte(strings.Repeat(again, 1+(1<<20)/len(again)))
	_, err = z.Write([]byte(head))
	for written := 0; written < times*len(again); written += len(block) {
		_, werr := z.Write(block)
		err = errors.Join(err, werr)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestHostileFiles: files that were made to fill memory, to hang a reader, or
// that are no files, end with an error that says what they are.
func TestHostileFiles(t *testing.T) {
	const job = `{"jobID":"job_1_0001","submitTime":5,"mapTasks":[`
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"tasks":     {pack(t, job, "{},", 2<<20), "unpack to over 200 times as many"},
		"space":     {pack(t, `{"jobID":"job_1_0001",`, " ", 4<<20), "unpack to over 200 times as many"},
		"lines":     {pack(t, "", "j\t0\t0\t0\t0\t0\n", 1<<18), "unpack to over 200 times as many"},
		"topology":  {pack(t, `{"name":"r","children":[`, `{"name":"a"},`, 1<<18), "unpack to over 200 times as many"},
		"twice":     {pack(t, string(pack(t, job, "{},", 1)), "x", 1), "compressed with gzip, once more"},
		"deep":      {[]byte(job + strings.Repeat("[", 1<<20)), "exceeded max depth"},
		"deep kept": {[]byte(`{"jobID":"job_1_0001","submitTime":5,"x":` + strings.Repeat(`{"a":`, 1<<20)), "exceeded max depth"},
		"no number": {[]byte(`{"jobID":"job_1_0001","submitTime":NaN}`), "invalid character 'N' at start of value"},
		"long":      {[]byte(`{"jobID":"job_1_0001","submitTime":` + strings.Repeat("9", 1<<20) + "}"), "want a number of 64 bits"},
		"utf-16":    {[]byte("\xff\xfe{\x00}\x00"), "in UTF-16"},
		"no line":   {bytes.Repeat([]byte("a"), 1<<20), "no known form"},
		"zeros":     {make([]byte, 1<<20), "no known form"},
		"copies": {
			[]byte(`{"job.start.ms":0,"job.count":65536,"job.tasks":[{"count":1048576,"container.duration.ms":5}]}`),
			"ask for over 20000000 tasks",
		},
		"schema": {[]byte("Avro-Json\n" + strings.Repeat(`{"type":"record","name":"E","fields":[`, 1<<15) + "\n"), "not an Avro schema"},
		"array": {[]byte("Avro-Binary\n" + `{"type":"record","name":"E","fields":[{"name":"type","type":"string"},{"name":"event","type":{"type":"array","items":"null"}}]}` +
			"\n\x02a\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x00"), "zero-byte items"},
		"text": {[]byte("Avro-Binary\n" + `{"type":"record","name":"E","fields":[{"name":"type","type":"string"}]}` +
			"\n\xfe\xff\xff\xff\xff\xff\xff\xff\x7fabc"), "no job is left"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			o := DefaultImport
			o.Inputs, o.Output = []string{filepath.Join(folder, "in")}, filepath.Join(folder, "out")
			mustDo(t, os.WriteFile(o.Inputs[0], c.data, 0o644))
			_, err := Import(context.Background(), o)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 {
				t.Errorf("%.1000v, want %q", err, c.want)
			}
			if left, _ := os.ReadDir(folder); len(left) > 1 {
				t.Errorf("it leaves %v", left)
			}
		})
	}
}

// TestNoFiles: pipes and devices would hang or never end.
func TestNoFiles(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skipf("this file system has no pipes: %v", err)
	}
	for _, path := range []string{fifo, "/dev/zero"} {
		o := DefaultImport
		o.Inputs, o.Format, o.Output = []string{path}, Find("rumen"), filepath.Join(t.TempDir(), "out")
		if _, err := Import(context.Background(), o); err == nil || !strings.Contains(err.Error(), "a pipe or a device") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestInterruptedImport: an import that finds no job ends when it is told to.
func TestInterruptedImport(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := DefaultImport
	o.Inputs, o.Format, o.Output = []string{filepath.Join(t.TempDir(), "in")}, Find("rumen"), filepath.Join(t.TempDir(), "out")
	mustDo(t, os.WriteFile(o.Inputs[0], bytes.Repeat([]byte("no job\n"), 1<<16), 0o644))
	errtest.Is(t, errtest.Of(Import(ctx, o)), context.Canceled)
}
