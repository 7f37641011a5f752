package submit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/clients"
	"heddle/harness/lab/labtest"
)

// TestLabForgedFile has another user of HDFS put a program of the same length
// where a shared file belongs. The lab lets everybody write everywhere. The job
// runs the right program.
func TestLabForgedFile(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	program := fmt.Appendf(nil, "#!/bin/sh\ncat >/dev/null; echo right # %d\n", time.Now().UnixNano())
	local := filepath.Join(t.TempDir(), "program")
	mustDo(t, os.WriteFile(local, program, 0o755))
	sum := sha256.Sum256(program)
	name := fmt.Sprintf("%x-program", sum[:8])

	c := labtest.Shared(t).Cluster()
	c.User = "mallory"
	mallory, err := clients.To(&c, clients.Patience{})
	if err != nil {
		t.Fatal(err)
	}
	defer mallory.Close()
	forged := path.Join(sharedFolder, name)
	defer l.files.RemoveAll(context.Background(), forged)
	mustDo(t, mallory.HDFS.WriteFile(ctx, forged, bytes.NewReader(bytes.Replace(program, []byte("right"), []byte("wrong"), 1)),
		hdfs.WriteOptions{Mode: 0o755}))

	shared := must(l.Share(ctx, local))
	defer l.files.RemoveAll(context.Background(), shared)
	if want := path.Join(yarn.StagingFolder(stagingRoot(l.site), l.user, ownFolder), name); shared != want {
		t.Errorf("shared as %s, want %s", shared, want)
	}
	in, out := l.folder+"/in", l.folder+"/out"
	mustDo(t, l.Put(ctx, in, []byte("a line\n")))
	done := must(l.Submit(ctx, Job{
		Name: "forged", Mapper: "./program", Files: []File{{Path: shared, Link: "program"}}, Output: out,
		Splits: []jobsplit.Split{{Path: l.URL(in), Length: 7}},
	}))
	mustDo(t, l.Wait(ctx, done))
	files := must(l.HDFS.Files(t.Context()))
	said, err := files.ReadFile(out + "/part-00000")
	if err != nil || strings.TrimSpace(string(said)) != "right" {
		t.Errorf("the job said %q, %v; want what this user's program says", said, err)
	}
}
