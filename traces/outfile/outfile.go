// Package outfile writes files and folders that get their final name only when
// they are complete. So nobody takes an incomplete file for a finished one.
//
// Until then a file or folder has a hidden name, in the folder where it will be.
// A process that must end at once should call RemoveUnfinished.
package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Replace calls the function write to fill a new file, which then gets the name
// path. An older file of this name is replaced.
func Replace(path string, write func(*os.File) error) error {
	f, err := begin(func() (*os.File, error) { return os.CreateTemp(filepath.Dir(path), pattern(path)) })
	if err != nil {
		return err
	}
	defer end(f.Name())
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return rename(f.Name(), path)
}

// Create calls the function write to fill a new file, which then gets the name
// path. If this name is taken, the error is os.ErrExist.
func Create(path string, write func(*os.File) error) error {
	if err := absent(path); err != nil {
		return err
	}
	return Replace(path, write)
}

// CreateFolder calls the function write to fill a new folder, which then gets
// the name path. If this name is taken, the error is os.ErrExist.
func CreateFolder(path string, write func(folder string) error) error {
	if err := absent(path); err != nil {
		return err
	}
	folder, err := begin(func() (*os.File, error) {
		name, err := os.MkdirTemp(filepath.Dir(path), pattern(path))
		if err != nil {
			return nil, err
		}
		return os.Open(name)
	})
	if err != nil {
		return err
	}
	defer end(folder.Name())
	defer folder.Close()
	if err := write(folder.Name()); err != nil {
		return err
	}
	if err := errors.Join(folder.Chmod(0o755), folder.Sync()); err != nil {
		return err
	}
	return rename(folder.Name(), path)
}

// unfinished has the paths of the files and folders that still have their hidden
// names.
var unfinished = struct {
	sync.Mutex
	paths map[string]bool
}{paths: map[string]bool{}}

// RemoveUnfinished removes the files and folders that are not complete. The
// process must end afterwards: this package blocks all later attempts to write a
// file.
func RemoveUnfinished() {
	unfinished.Lock() // the lock is never released, so that no goroutine begins a new file before the process ends
	for path := range unfinished.paths {
		os.RemoveAll(path)
	}
}

func begin(create func() (*os.File, error)) (*os.File, error) {
	unfinished.Lock()
	defer unfinished.Unlock()
	f, err := create()
	if err == nil {
		unfinished.paths[f.Name()] = true
	}
	return f, err
}

// The function end removes the file or folder if it still has its hidden name,
// because it was not completed.
func end(path string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	os.RemoveAll(path)
	delete(unfinished.paths, path)
}

// rename gives a finished file its final name. It returns when the new name is
// on the disk.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func absent(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: syscall.EEXIST}
	}
	return nil
}

func pattern(path string) string { return "." + filepath.Base(path) + ".*" }
