// Package golden holds what tests get against files that are kept in testdata. Only tests
// import it. With the flag -update, 'go test' writes the files anew.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is the flag -update, for tests that keep something else than a text.
var Update = flag.Bool("update", false, "write golden files anew")

// Check fails the test if a golden file does not have the text that the test got. The path
// begins in the folder of the test.
func Check[T string | []byte](t testing.TB, file string, got T) {
	t.Helper()
	if *Update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got, -update accepts it):\n%s", file, diff)
	}
}
