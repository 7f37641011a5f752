package paper

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"heddle/traces/outfile"
)

// nameForm is what names of papers look like: they are parts of the names of folders.
var nameForm = regexp.MustCompile(`^[A-Za-z][\w-]{0,63}$`)

//go:embed begin
var begin embed.FS

// Begin writes the files of a new paper to a folder of its name below dir, which must not exist: a
// paper that can be simulated, with two axes and one claim, for its author to change.
func Begin(dir, name string) (folder string, err error) {
	folder = filepath.Join(dir, name)
	if !nameForm.MatchString(name) {
		return "", fmt.Errorf("begin paper %q: want a name of letters, digits and -, that begins with a letter", name)
	}
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("begin paper: %s is there already", folder)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("begin paper: %w", err)
	}
	return folder, fs.WalkDir(begin, "begin", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := begin.ReadFile(path)
		if err != nil {
			return err
		}
		return outfile.Create(filepath.Join(folder, d.Name()), func(f *os.File) error {
			_, err := f.WriteString(strings.ReplaceAll(string(text), "NAME", name))
			return err
		})
	})
}
