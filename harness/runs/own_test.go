package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOwn: a run is known as this user's until what decides how it goes on is changed, or
// for another user.
func TestOwn(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r := create(t, t.TempDir())
	mustDo(t, r.WriteFile("experiment.yaml", []byte("models: [fifo]\n")))
	r.Close()
	if !open(t, r.Dir).Own() {
		t.Error("a run that was just begun is not this user's")
	}
	file := filepath.Join(r.Dir, manifestFile)
	data := must(os.ReadFile(file))
	for _, change := range [][2]string{
		{`"sha256": "`, `"sha256": "0`},
		{`"name": "`, `"name": "x`},
		{`"seed": `, `"seed": 1`},
		{`"mark": "`, `"mark": "0`},
	} {
		changed := strings.Replace(string(data), change[0], change[1], 1)
		if changed == string(data) {
			t.Fatalf("the manifest has no %s", change[0])
		}
		mustDo(t, os.WriteFile(file, []byte(changed), 0o600))
		if open(t, r.Dir).Own() {
			t.Errorf("with %s it is this user's", change[1])
		}
	}
	mustDo(t, os.WriteFile(file, data, 0o600))
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if open(t, r.Dir).Own() {
		t.Error("without the key it is this user's")
	}
}
