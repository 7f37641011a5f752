package node

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite what the fixtures want")

// TestFixtures takes a reading of the files under before/, one of those under
// after/ a second later, and compares the sample with want.json.
func TestFixtures(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("gopsutil reads /proc on Linux only")
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := must(txtar.ParseFile(file))
			var sample Sample
			synctest.Test(t, func(t *testing.T) { sample = sampleFixture(t, archive) })
			got := must(json.MarshalIndent(sample, "", "  "))
			got = append(got, '\n')
			last := len(archive.Files) - 1
			if archive.Files[last].Name != "want.json" {
				archive.Files = append(archive.Files, txtar.File{Name: "want.json"})
				last++
			}
			if *update {
				archive.Files[last].Data = got
				mustDo(t, os.WriteFile(file, txtar.Format(archive), 0o600))
				return
			}
			if diff := cmp.Diff(string(archive.Files[last].Data), string(got)); diff != "" {
				t.Errorf("sample differs (-want +got); if it is right, run with -update:\n%s", diff)
			}
		})
	}
}

// sampleFixture runs inside a bubble, where a second is exact.
func sampleFixture(t *testing.T, archive *txtar.Archive) Sample {
	f := newFixture(t, archive)
	s := must(NewSampler(f.options()))
	before := s.Read()
	f.turn("after")
	<-time.After(time.Second)
	sample := s.Read().Since(before)
	for group, why := range sample.Absent {
		sample.Absent[group] = strings.ReplaceAll(why, f.now, "ROOT")
	}
	return sample
}

// fixture is a folder with proc, sys and cgroup, as of one time or another.
type fixture struct {
	t      *testing.T
	root   string
	now    string // a link to before or after
	cgroup string
}

func newFixture(t *testing.T, archive *txtar.Archive) *fixture {
	t.Helper()
	f := &fixture{t: t, root: t.TempDir()}
	f.now = filepath.Join(f.root, "now")
	comment, _, _ := strings.Cut(string(archive.Comment), "\n")
	f.cgroup, _ = strings.CutPrefix(comment, "cgroup: ")
	if f.cgroup == comment {
		f.cgroup = ""
	}
	for _, file := range archive.Files {
		name, target, isLink := strings.Cut(file.Name, " -> ")
		f.make(name)
		var err error
		if isLink {
			err = os.Symlink(target, filepath.Join(f.root, name))
		} else {
			err = os.WriteFile(filepath.Join(f.root, name), file.Data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f.turn("before")
	return f
}

func (f *fixture) make(name string) {
	f.t.Helper()
	mustDo(f.t, os.MkdirAll(filepath.Dir(filepath.Join(f.root, name)), 0o700))
}

// turn lets the sampler see the files under before/ or after/.
func (f *fixture) turn(to string) {
	f.t.Helper()
	_ = os.Remove(f.now)
	mustDo(f.t, os.Symlink(filepath.Join(f.root, to), f.now))
}

func (f *fixture) options() Options {
	return Options{
		Cgroup:     f.cgroup,
		ProcRoot:   filepath.Join(f.now, "proc"),
		SysRoot:    filepath.Join(f.now, "sys"),
		CgroupRoot: filepath.Join(f.now, "cgroup"),
	}
}
