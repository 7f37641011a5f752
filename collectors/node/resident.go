package node

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

// Resident keeps the files at and under paths in memory while the process lives,
// and says how many bytes they are: what drops page caches, or wants memory, does
// not get them. The first file that cannot be kept ends it.
func Resident(paths ...string) (bytes int64, err error) {
	for _, path := range paths {
		path, err := filepath.EvalSymlinks(path) // the walk would not enter one
		if err != nil {
			return bytes, fmt.Errorf("keep files in memory: %w", err)
		}
		err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			n, err := lockFile(file)
			bytes += n
			return err
		})
		if err != nil {
			return bytes, fmt.Errorf("keep files in memory: %w", err)
		}
	}
	return bytes, nil
}
