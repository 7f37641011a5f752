// Package leasetest provides a file system in memory with the HDFS operations
// that a lease on a cluster needs. It is for tests that steer the fake cluster
// of package yarntest.
package leasetest

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Files is a file system in memory with its own clock, in place of HDFS in
// tests. It implements lease.Files. Its methods may be called from any
// goroutine.
type Files struct {
	// Now returns the NameNode's time. If it is nil, time.Now is used, which
	// testing/synctest controls in tests.
	Now func() time.Time

	mu      sync.Mutex
	entries map[string]*entry
}

type entry struct {
	dir      bool
	data     []byte
	modified time.Time
}

// New returns an empty file system in memory.
func New() *Files {
	return &Files{entries: map[string]*entry{"/": {dir: true}}}
}

func (f *Files) now() time.Time {
	if f.Now != nil {
		return f.Now().Truncate(time.Millisecond)
	}
	return time.Now().Truncate(time.Millisecond)
}

func fail(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// touch sets the modification time of the folder that contains the given path
// to now. Like a NameNode, it never sets a time back.
func (f *Files) touch(name string) {
	e := f.entries[path.Dir(name)]
	if now := f.now(); now.After(e.modified) {
		e.modified = now
	}
}

// MkdirAll makes a folder and its missing parents in the file system in
// memory.
func (f *Files) MkdirAll(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mkdirAll(path.Clean(name))
}

func (f *Files) mkdirAll(name string) error {
	if e := f.entries[name]; e != nil {
		if !e.dir {
			return fail("mkdir", name, fs.ErrExist)
		}
		return nil
	}
	if err := f.mkdirAll(path.Dir(name)); err != nil {
		return err
	}
	f.entries[name] = &entry{dir: true, modified: f.now()}
	f.touch(name)
	return nil
}

// Create makes a file with the given content in the file system in memory.
func (f *Files) Create(_ context.Context, name string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.entries[name] != nil {
		return fail("create", name, fs.ErrExist)
	}
	if e := f.entries[path.Dir(name)]; e == nil || !e.dir {
		return fail("create", name, fs.ErrNotExist)
	}
	f.entries[name] = &entry{data: slices.Clone(data), modified: f.now()}
	f.touch(name)
	return nil
}

// Read returns the content of a file in the file system in memory.
func (f *Files) Read(_ context.Context, name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entries[name]
	if e == nil || e.dir {
		return nil, fail("read", name, fs.ErrNotExist)
	}
	return slices.Clone(e.data), nil
}

// Names returns the names in a folder of the file system in memory.
func (f *Files) Names(_ context.Context, name string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.entries[name] == nil {
		return nil, fail("list", name, fs.ErrNotExist)
	}
	var names []string
	for p := range f.entries {
		if p != "/" && path.Dir(p) == name {
			names = append(names, path.Base(p))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Modified returns the modification time of a file or folder in memory.
func (f *Files) Modified(_ context.Context, name string) (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entries[name]
	if e == nil {
		return time.Time{}, fail("stat", name, fs.ErrNotExist)
	}
	return e.modified, nil
}

// Rename gives a file in memory another name in the same folder.
func (f *Files) Rename(_ context.Context, from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entries[from]
	if e == nil {
		return fail("rename", from, fs.ErrNotExist)
	}
	delete(f.entries, from)
	f.entries[to] = e
	f.touch(to)
	return nil
}

// RemoveAll removes a file or folder from the file system in memory.
func (f *Files) RemoveAll(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.entries[name] == nil {
		return nil
	}
	for p := range f.entries {
		if p == name || strings.HasPrefix(p, name+"/") {
			delete(f.entries, p)
		}
	}
	f.touch(name)
	return nil
}
