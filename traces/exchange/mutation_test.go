package exchange

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"heddle/traces/spark/sparktest"
)

// seeds are small files of each form, to be spoilt.
func seeds(tb testing.TB) map[string][][]byte {
	tb.Helper()
	found := map[string][][]byte{}
	for form, pattern := range map[string]string{
		"rumen": "testdata/rumen/*.json", "sls": "testdata/sls/*.json", "swim": "testdata/swim/*.tsv", "jhist": "../jhist/testdata/*.jhist",
		"rumen topology": "testdata/topology/rumen.json", "sls topology": "testdata/topology/sls.json",
	} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			data := must(os.ReadFile(path))
			found[form] = append(found[form], data)
		}
		if len(found[form]) == 0 {
			tb.Fatalf("no files %s", pattern)
		}
	}
	var join, lost bytes.Buffer
	sparktest.Join(&join, "application_1_0001", "join")
	sparktest.Lost(&lost, "application_1_0002", "lost")
	found["spark"] = [][]byte{join.Bytes(), lost.Bytes()}
	return found
}

var insertions = []string{
	"-1",
	"-99999",
	"9223372036854775807",
	"99999999999999999999999999",
	"1e308",
	"0.5",
	"null",
	"true",
	`"`,
	`\`,
	"{",
	"}",
	"[",
	"]",
	",",
	":",
	"\t",
	"\n",
	"\x00",
	"\xff",
	`"\u00`,
	`\ud800`,
	"[[[[[[[[[[[[[[[[[[[[[[[[",
	`{"a":`,
	"job_1_1",
	"_",
	"999999999",
}

func mutate(r *rand.Rand, data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	at := r.IntN(len(data))
	end := min(at+1+r.IntN(40), len(data))
	switch r.IntN(8) {
	case 0: // another byte
		data[at] = byte(r.Uint32())
	case 1: // a bit
		data[at] ^= 1 << r.IntN(8)
	case 2: // cut off
		data = data[:at]
	case 3: // something missing
		data = append(data[:at], data[end:]...)
	case 4: // something twice
		data = append(data[:end:end], data[at:]...)
	case 5, 6: // something in between
		data = append(data[:at:at], append([]byte(insertions[r.IntN(len(insertions))]), data[at:]...)...)
	case 7: // a number is another
		for at < len(data) && (data[at] < '0' || data[at] > '9') {
			at++
		}
		end = at
		for end < len(data) && data[end] >= '0' && data[end] <= '9' {
			end++
		}
		data = append(data[:at:at], append([]byte(insertions[r.IntN(7)]), data[end:]...)...)
	}
	return data
}

// maxFuzzed is the length in bytes of the longest input that is fuzzed.
const maxFuzzed = 4 << 10

// FuzzImport looks for what the mutations of TestImportsAreSound miss.
func FuzzImport(f *testing.F) {
	for _, files := range seeds(f) {
		for _, data := range files {
			f.Add(data[:min(len(data), maxFuzzed)])
		}
	}
	folder := inMemory(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzzed {
			t.Skip("longer inputs find little more in the same time")
		}
		mustDo(t, importSound(folder, data))
	})
}

// inMemory returns a folder in memory, if there is one.
func inMemory(f *testing.F) string {
	folder, err := os.MkdirTemp("/dev/shm", "heddle-fuzz-")
	if err != nil {
		return f.TempDir()
	}
	f.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}
