package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Remove deletes run folders and returns the deleted runs. If another process
// works on any of them, it deletes none and returns ErrRunning. If one of them is
// given as a symbolic link, it deletes none.
func Remove(list []*Run) (removed []*Run, err error) {
	for _, r := range list {
		if to, err := os.Readlink(r.Dir); err == nil {
			return nil, fmt.Errorf("remove run: %s is a link to %s: name the folder itself, or remove the link with rm", r.Dir, to)
		}
	}
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

// remove deletes the run's folder, the manifest first. If the deletion is
// interrupted, what remains does not look like a run.
func (r *Run) remove() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.root.Remove(manifestFile)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockFile {
			err = errors.Join(err, r.root.RemoveAll(e.Name()))
		}
	}
	if err == nil {
		err = errors.Join(r.root.Remove(lockFile), os.Remove(r.Dir))
	}
	if err == nil {
		r.release()
	}
	return err
}

// Foreign returns the paths, in the run's folder, of files and folders that heddle
// did not write. It does not look into trials that are not complete.
func (r *Run) Foreign() ([]string, error) {
	m := r.Manifest()
	top := map[string]bool{manifestFile: true, lockFile: true, "trials": true, journalFile: true, RowsFile: true, PageFile: true}
	for _, f := range m.Files {
		top[f.Name] = true
	}
	trials := map[string]*TrialRecord{}
	for i := range m.Trials {
		t := &m.Trials[i]
		trials[t.Name], trials[t.Name+partial], trials[t.Name+before] = t, nil, nil
	}
	var foreign []string
	err := filepath.WalkDir(r.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.Dir, path)
		if err != nil || name == "." {
			return err
		}
		parts := strings.SplitN(filepath.ToSlash(name), "/", 3)
		var known bool
		switch len(parts) {
		case 1:
			known = top[name] || strings.HasPrefix(name, tempPrefix) || strings.HasPrefix(name, "."+PageFile)
		case 2:
			_, known = trials[parts[1]]
		default:
			t := trials[parts[1]]
			known = t == nil || d.IsDir() || parts[2] == trialFile || slices.ContainsFunc(t.Files, func(f File) bool { return f.Name == parts[2] })
		}
		switch {
		case !known:
			foreign = append(foreign, filepath.ToSlash(name))
		case !d.IsDir() || name == "trials" || len(parts) > 1:
			return nil
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for other files in %s: %w", r.Dir, err)
	}
	return foreign, nil
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
