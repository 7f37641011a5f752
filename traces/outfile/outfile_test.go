package outfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/traces/errtest"
)

// TestNamedOnceWhole looks at the folder before, while and after something is
// written, by each function, with and without a failure.
func TestNamedOnceWhole(t *testing.T) {
	failure := errors.New("no")
	file := func(fail error) func(*os.File) error {
		return func(f *os.File) error {
			_, err := f.WriteString("new")
			return errors.Join(err, fail)
		}
	}
	for _, c := range []struct {
		name  string
		write func(path string, fail error) error
		want  error // where there is one already
	}{
		{"Replace", func(path string, fail error) error { return Replace(path, file(fail)) }, nil},
		{"Create", func(path string, fail error) error { return Create(path, file(fail)) }, os.ErrExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "a")
			errtest.Is(t, c.write(path, failure), failure)
			if left := names(t, folder); len(left) > 0 {
				t.Errorf("a write that failed leaves %q", left)
			}
			if err := c.write(path, nil); err != nil {
				t.Error(err)
			}
			if left := names(t, folder); !slices.Equal(left, []string{"a"}) {
				t.Errorf("there is %q, want a alone", left)
			}
			errtest.Is(t, c.write(path, nil), c.want)
		})
	}
}

// TestRemovesWhatKilledProcessesLeft finds files beside the one that is written: those that nobody holds a lock on go, those of a
// living process and all
// other files stay.
func TestRemovesWhatKilledProcessesLeft(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	for _, name := range []string{".a.unfinished-DEAD", ".a.unfinished-FILE", ".ab.unfinished-OTHER", ".a.12345", "a.unfinished-MINE"} {
		errtest.None(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		errtest.None(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	errtest.None(t, os.Symlink(t.TempDir(), filepath.Join(folder, ".a.unfinished-LINK")))
	stay := []string{".a.12345", ".a.unfinished-LINK", ".ab.unfinished-OTHER", "a.unfinished-MINE"}
	err := Replace(path, func(first *os.File) error {
		return Replace(path, func(second *os.File) error {
			want := append([]string{filepath.Base(first.Name()), filepath.Base(second.Name())}, stay...)
			slices.Sort(want)
			if left := names(t, folder); !slices.Equal(left, want) {
				t.Errorf("while two write, there is %q, want %q", left, want)
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	want := append(slices.Clone(stay), "a")
	slices.Sort(want)
	if left := names(t, folder); !slices.Equal(left, want) {
		t.Errorf("there is %q, want %q", left, want)
	}
}

func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries := errtest.Must(os.ReadDir(folder))
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestErrorNamesFile: a file that cannot be made is named as it was asked for.
func TestErrorNamesFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "x.html")
	err := Create(path, func(*os.File) error { return nil })
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path+":") || strings.Contains(err.Error(), "unfinished") {
		t.Errorf("error %v, want one that names %s", err, path)
	}
}
