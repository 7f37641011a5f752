package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/traces"
	"heddle/traces/internal/racks"
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
			data, err := os.ReadFile(path)
			if err != nil {
				tb.Fatal(err)
			}
			found[form] = append(found[form], data)
		}
		if len(found[form]) == 0 {
			tb.Fatalf("no files %s", pattern)
		}
	}
	return found
}

var errEnough = errors.New("enough events")

// maxEvents is where a spoilt file's import is ended: a number that grew may
// well ask for many tasks.
const maxEvents = 20000

// tryImport reads bytes of a format, and checks what comes out of it.
func tryImport(name string, data []byte, strict bool) (err error) {
	o := DefaultImport
	o.Rules.BlockBytes = 1 << 50
	o.Strict, o.Output = strict, filepath.Join(os.TempDir(), "spoilt")
	im := newImporter(context.Background(), o, &racks.Table{})
	im.Log.File = "spoilt"
	detect(data)
	in := bytes.NewReader(data)
	if of, ok := strings.CutSuffix(name, " topology"); ok {
		_, err := Find(of).Topology.Read(in)
		return err
	}
	events := 0
	im.Add = func(e traces.Event) error {
		if events++; events > maxEvents {
			return errEnough
		}
		if t := e.At(); t < 0 || t > maxT {
			return fmt.Errorf("BUG: %s at %d", e.Kind(), t)
		}
		return im.add(e)
	}
	return Find(name).NewReader(&im.Import).Read(in)
}

// maxT is later than any time that an import takes: 2200 and ten years more.
const maxT = traces.Time(7258118400e9 + 10*366*24*3600e9)

// TestMutations spoils files of each form in 10,000 ways: an import ends with
// an error that says where and why, or mends and counts; it never panics and
// never makes events of impossible times.
func TestMutations(t *testing.T) {
	n := 10000
	if testing.Short() {
		n = 200
	}
	for form, files := range seeds(t) {
		n := n
		if form == "jhist" && testing.Short() {
			n = 50 // each has its schema to parse
		}
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			failed, whole := 0, 0
			for i := range n {
				r := rand.New(rand.NewPCG(uint64(i), 4711))
				data := bytes.Clone(files[i%len(files)])
				for range 1 + r.IntN(3) {
					data = mutate(r, data)
				}
				strict := i%4 == 0
				err := tryImport(form, data, strict)
				switch {
				case err == nil || errors.Is(err, errEnough):
					whole++
				case strings.Contains(err.Error(), "BUG"):
					t.Fatalf("mutation %d: %v\n%q", i, err, data)
				default:
					failed++
					if text := err.Error(); len(text) > 2000 || !strings.Contains(text, "byte ") && !strings.Contains(text, "line ") && !strict {
						t.Fatalf("mutation %d: the error does not say where: %.300s", i, text)
					}
				}
			}
			t.Logf("%d read, with mends or without, %d refused", whole, failed)
		})
	}
}

var insertions = []string{
	"-1", "-99999", "9223372036854775807", "99999999999999999999999999", "1e308", "0.5", "null", "true", `"`, `\`, "{", "}", "[", "]", ",", ":", "\t", "\n", "\x00", "\xff",
	`"\u00`, `\ud800`, "[[[[[[[[[[[[[[[[[[[[[[[[", `{"a":`, "job_1_1", "_", "999999999",
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

// FuzzImport looks for what the mutations here and in TestImportsAreSound miss.
func FuzzImport(f *testing.F) {
	order := []string{"rumen", "sls", "swim", "jhist", "rumen topology", "sls topology"}
	for form, files := range seeds(f) {
		for _, data := range files {
			for i, o := range order {
				if o == form {
					f.Add(uint8(i), data[:min(len(data), maxFuzzed)])
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, form uint8, data []byte) {
		if len(data) > maxFuzzed {
			t.Skip("longer inputs find little more in the same time")
		}
		if err := tryImport(order[int(form)%len(order)], data, false); err != nil && strings.Contains(err.Error(), "BUG") {
			t.Fatal(err)
		}
	})
}
