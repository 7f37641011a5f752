package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Remove deletes run folders and returns the deleted runs. If another process
// works on any of them, it deletes none and returns ErrRunning.
func Remove(list []*Run) (removed []*Run, err error) {
	for i, r := range list {
		r.mu.Lock()
		err := r.acquire()
		r.mu.Unlock()
		if err != nil {
			for _, taken := range list[:i] {
				taken.Close()
			}
			return nil, fmt.Errorf("remove run: %w", err)
		}
	}
	for i, r := range list {
		if err := r.remove(); err != nil {
			for _, left := range list[i:] {
				left.Close()
			}
			return list[:i], fmt.Errorf("remove run %s: %w", r.Dir, err)
		}
	}
	return list, nil
}

// remove deletes the run's folder, the manifest last. If the deletion is
// interrupted, what remains is still a run and can be removed.
func (r *Run) remove() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != manifestFile && e.Name() != lockFile {
			err = errors.Join(err, r.root.RemoveAll(e.Name()))
		}
	}
	if err == nil {
		err = errors.Join(r.root.Remove(manifestFile), r.root.Remove(lockFile))
	}
	if err == nil {
		err = os.Remove(r.Dir)
	}
	if err == nil {
		r.release()
	}
	return err
}

// Bytes returns the total length of all files in the run's folder.
func (r *Run) Bytes() int64 {
	var bytes int64
	_ = filepath.WalkDir(r.Dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // skip files that cannot be read, because a run under way renames its folders
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
