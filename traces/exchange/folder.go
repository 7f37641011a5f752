package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"heddle/traces"
	"heddle/traces/mend"
)

var strangeFile mend.Kind = "a file in a folder that is no trace of another tool: left out (part)"

// each calls do with the paths of all input files. Of a folder these are the files in it
// and in folders inside, in the order of their names; the history server nests its
// folders by date. Files that stand beside histories are passed over.
func (im *importer) each(do func(path string) error) error {
	for _, input := range im.o.Inputs {
		if info, err := os.Stat(input); err != nil || !info.IsDir() || isRolling(input) {
			if err := do(input); err != nil {
				return err
			}
			continue
		}
		im.folder, im.files = sha256.New(), 0
		err := filepath.WalkDir(filepath.Clean(input)+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && isRolling(path):
				if err := do(path); err != nil {
					return err
				}
				return filepath.SkipDir
			case d.IsDir() || isBeside(d.Name()):
				return im.ctx.Err()
			}
			return do(path)
		})
		if err != nil {
			return err
		}
		if im.files > 0 {
			im.header.Inputs = append(im.header.Inputs, traces.Input{Name: filepath.Base(input), SHA256: hex.EncodeToString(im.folder.Sum(nil))})
		}
		im.folder = nil
	}
	return nil
}

// isBeside reports whether, by its name, a file is one that Hadoop puts beside histories.
func isBeside(name string) bool {
	return name[0] == '.' || name[0] == '_' || strings.HasSuffix(name, ".crc") || strings.HasSuffix(name, ".summary") ||
		strings.Contains(name, "_conf.xml")
}

// isHistory reports whether, by its name, a file is a job's history.
func isHistory(path string) bool {
	name := filepath.Base(path)
	return strings.Contains(name, "job_") || strings.Contains(name, ".jhist")
}

// strange leaves out a file of a folder that cannot be opened or is no trace. For a file
// that was named it returns the error.
func (im *importer) strange(path string, err error) error {
	if im.folder == nil || im.ctx.Err() != nil {
		return err
	}
	if isHistory(path) {
		im.Log.LostJobs++
	}
	return im.Log.Add(strangeFile, "its beginning", strings.TrimPrefix(err.Error(), path+": "))
}
