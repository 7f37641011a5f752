package node

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Resident keeps the files at and under paths in memory while the process lives,
// and says how many bytes they are: what drops page caches, or wants memory, does
// not get them. The first file that cannot be kept ends it.
func Resident(paths ...string) (bytes int64, err error) {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
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

func lockFile(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	pages, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err == nil {
		err = unix.Mlock(pages)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return info.Size(), nil
}
