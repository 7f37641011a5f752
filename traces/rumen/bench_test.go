package rumen

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/mend"
)

const shared = "../../../shared/data/rumen/"

// sharedFile is a public trace, uncompressed.
func sharedFile(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.FromSlash(shared + name))
	if os.IsNotExist(err) {
		tb.Skipf("the public trace %s is not beside the project", name)
	}
	if err != nil {
		tb.Fatal(err)
	}
	if filepath.Ext(name) == ".gz" {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			tb.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			tb.Fatal(err)
		}
	}
	return data
}

var traceFiles = []string{"input-trace.json", "trace_3m.json.gz", "../sls/2jobs2min-rumen-jh.json"}

// perCPU reports megabytes a second of processor time: what a quiet core
// gives, whatever else runs.
func perCPU(b *testing.B, data []byte, run func()) {
	var before, after syscall.Rusage
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for b.Loop() {
		run()
	}
	syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := after.Utime.Nano() - before.Utime.Nano() + after.Stime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(len(data))*float64(b.N)/1e6/(float64(used)/1e9), "MB/cpu-s")
}

// BenchmarkRead reads each trace over and over in one file, since the public
// ones are short: a Reader's beginning takes as long as reading 50 KB.
func BenchmarkRead(b *testing.B) {
	for _, name := range traceFiles {
		b.Run(filepath.Base(name), func(b *testing.B) {
			data := sharedFile(b, name)
			data = bytes.Repeat(data, 4<<20/len(data)+1)
			perCPU(b, data, func() {
				r := testReader(&mend.Log{}, func(traces.Event) error { return nil })
				errtest.None(b, r.Read(bytes.NewReader(data)))
			})
		})
	}
}
