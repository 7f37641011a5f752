package node

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

// Resident keeps files in memory as long as this process lives, even when the
// page cache is dropped. The path of a folder stands for all files below the
// folder. Resident returns the sum of the files' lengths in bytes. It stops at
// the first file that cannot be kept.
func Resident(paths ...string) (bytes int64, err error) {
	for _, path := range paths {
		path, err := filepath.EvalSymlinks(path) // symbolic links are resolved first, as WalkDir does not walk into a start folder that is a link
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
