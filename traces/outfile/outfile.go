// Package outfile writes files that get their final name only when they are
// complete. So nobody takes an incomplete file for a finished one.
//
// Until then a file has a hidden name, in the folder where it will be,
// and its process holds a lock on it. A process that must end at once should call
// RemoveUnfinished. What a killed process left, the next write of the same name
// removes: nobody holds its lock any more.
package outfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Replace calls the function write to fill a new file, which then gets the name
// path. An older file of this name is replaced.
func Replace(path string, write func(*os.File) error) error {
	f, err := begin(path)
	if err != nil {
		return err
	}
	defer end(f.Name())
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync()); err != nil {
		return err
	}
	if err := rename(f.Name(), path); err != nil { // before the file is closed, which ends the lock
		return err
	}
	return f.Close()
}

// Create calls the function write to fill a new file, which then gets the name
// path. If this name is taken, the error is os.ErrExist.
func Create(path string, write func(*os.File) error) error {
	if err := Absent(path); err != nil {
		return err
	}
	return Replace(path, write)
}

// unfinished has the paths of the files that still have their hidden names.
var unfinished = struct {
	sync.Mutex
	paths map[string]bool
}{paths: map[string]bool{}}

// RemoveUnfinished removes the files that are not complete. The
// process must end afterwards: this package blocks all later attempts to write a
// file.
func RemoveUnfinished() {
	unfinished.Lock() // the lock is never released, so that no goroutine begins a new file before the process ends
	for path := range unfinished.paths {
		os.Remove(path)
	}
}

// begin makes the file that will get the name path, under a hidden name
// and with a lock. Before that it removes what killed processes left there.
func begin(path string) (*os.File, error) {
	unfinished.Lock()
	defer unfinished.Unlock()
	removeLeft(path)
	for {
		f, err := os.OpenFile(hidden(path)+rand.Text()[:10], os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			if p := new(fs.PathError); errors.As(err, &p) {
				p.Path = path // the name that the caller knows
			}
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil && same(f) || err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
			unfinished.paths[f.Name()] = true // also on a file system without locks
			return f, nil
		}
		f.Close() // another process took it for left over before it had its lock, and removes it
	}
}

// removeLeft removes the files that killed processes left when they
// wrote to this path.
func removeLeft(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range entries {
		name := filepath.Join(filepath.Dir(path), e.Name())
		if !strings.HasPrefix(name, hidden(path)) || !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && same(f) {
			os.Remove(name)
		}
		f.Close()
	}
}

// same reports whether the name of an open file still stands for this file. It no
// longer does if another process has removed or renamed the file.
func same(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(open, named)
}

// The function end removes the file if it still has its hidden name,
// because it was not completed.
func end(path string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	os.Remove(path)
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

// Absent returns os.ErrExist if the name path is taken. A command that works for a
// while before it writes should ask first.
func Absent(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%w: choose another name", &fs.PathError{Op: "create", Path: path, Err: syscall.EEXIST})
	}
	return nil
}

// hidden returns how the names of files start that will get the name
// path.
func hidden(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".unfinished-")
}
