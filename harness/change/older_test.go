package change

import (
	"io/fs"
	"os"
	"path"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/yarnclient"
)

// TestOlderJournal restores what a heddle of before this package had its name left
// behind when it was killed: by its journal in HDFS, and by the copy in its run
// folder where HDFS has lost that.
func TestOlderJournal(t *testing.T) {
	for _, from := range []string{"HDFS", "run folder"} {
		t.Run(from, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				before := w.state(t)
				ctx := t.Context()
				size := yarnclient.Resource{MemoryMB: 1024, VCores: 1}
				if err := w.rm.AddLabels(ctx, true, "m07"); err != nil {
					t.Fatal(err)
				}
				if err := w.rm.ReplaceLabels(ctx, map[string]string{node1: "m00", node2: "idle"}); err != nil {
					t.Fatal(err)
				}
				for _, n := range []string{node1, "r2n1:45454"} {
					if err := w.rm.SetNodeResource(ctx, n, size); err != nil {
						t.Fatal(err)
					}
				}
				o := RestoreOptions{Options: Options{Purpose: "test"}}
				if from == "HDFS" {
					load(t, w, "testdata/older/hdfs")
				} else {
					o.Folder = t.TempDir()
					if err := os.CopyFS(o.Folder, os.DirFS("testdata/older/run")); err != nil {
						t.Fatal(err)
					}
				}
				pass(time.Minute) // the hold's last beat is long ago
				r, err := Restore(ctx, w.cluster(), o)
				if err != nil || r.Err() != nil {
					t.Fatalf("%v, %+v", err, r)
				}
				if d := cmp.Diff(before, w.state(t)); d != "" {
					t.Errorf("not as before: %s", d)
				}
			})
		})
	}
}

// load puts the files below folder into the world's HDFS.
func load(t *testing.T, w *world, folder string) {
	t.Helper()
	files := os.DirFS(folder)
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err == nil {
			err = w.files.MkdirAll(t.Context(), path.Dir("/"+name))
		}
		if err == nil {
			err = w.files.Create(t.Context(), "/"+name, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
