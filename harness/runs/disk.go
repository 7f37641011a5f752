package runs

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"heddle/harness/internal/units"
)

// tempPrefix is how the names of files start that are still being written. Such
// files are not part of the run.
const tempPrefix = ".writing-"

// Only the owner may read a run's files and folders. A job's configuration may
// contain passwords, and files with passwords cannot be told from others.
const (
	fileMode   = 0o600
	folderMode = 0o700
)

// writeAtomic writes data to the file with the given name in the folder root.
// After a crash the file has either its old content or all of data.
func writeAtomic(root *os.Root, name string, data []byte) error {
	return writeWith(root, name, int64(len(data)), true, all(data))
}

// all returns a function that writes the whole of some data.
func all(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// writeWith works like writeAtomic, but the caller's function write writes the
// data. needBytes is the length of the data in bytes, 0 if unknown. Without sync, the
// promise holds if the process is killed, and no longer if the machine stops.
func writeWith(root *os.Root, name string, needBytes int64, sync bool, write func(io.Writer) error) error {
	dir := filepath.Dir(name)
	err := func() error {
		temp := filepath.Join(dir, tempPrefix+rand.Text())
		f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if err != nil {
			return err
		}
		defer func() { _ = root.Remove(temp) }() // after a rename this finds nothing to remove, and its error does not matter
		if err = write(f); err == nil && sync {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if err := root.Rename(temp, name); err != nil || !sync {
			return err
		}
		d, err := root.Open(dir)
		if err != nil {
			return err
		}
		return syncOpen(d)
	}()
	if err != nil {
		path := filepath.Join(root.Name(), name)
		return fmt.Errorf("write %s: %w", path, Explain(path, needBytes, err))
	}
	return nil
}

// writeLast writes the last file of a folder whose other files are on the disk, and waits
// until it is there with the folder's entries. Nobody may read the file before.
func writeLast(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err == nil {
		err = syncDir(root.Name())
	}
	if err != nil {
		path := filepath.Join(root.Name(), name)
		return fmt.Errorf("write %s: %w", path, Explain(path, int64(len(data)), err))
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return syncOpen(d)
}

// syncOpen makes sure that the entries of an open folder are on the disk, and
// closes the folder.
func syncOpen(d *os.File) error {
	defer d.Close()
	// some file systems cannot sync a folder, and do not need it
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}

// Explain adds advice to an error if the disk is full. The error comes from
// writing the file at path. The advice says how much space is needed (if needBytes is not
// 0), how much is left, and what to do. The returned error is then an
// ErrDiskFull. Other errors are returned unchanged.
func Explain(path string, needBytes int64, err error) error {
	if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
		return err
	}
	var facts []string
	if needBytes > 0 {
		facts = append(facts, fmt.Sprintf("%v needed", units.Size(needBytes)))
	}
	if left, ok := freeBytes(filepath.Dir(path)); ok {
		facts = append(facts, fmt.Sprintf("%v left", units.Size(left)))
	}
	where := filepath.Dir(path)
	if len(facts) > 0 {
		where += " (" + strings.Join(facts, ", ") + ")"
	}
	return &fullError{err, where, "what was written before is intact: free some space, then resume the run"}
}

// fullError is an ErrDiskFull. It says where, and what to do.
type fullError struct {
	err           error
	where, advice string
}

func (e *fullError) Error() string {
	return fmt.Sprintf("%v: %v in %s; %s", ErrDiskFull, e.err, e.where, e.advice)
}

func (e *fullError) Unwrap() []error { return []error{ErrDiskFull, e.err} }

func freeBytes(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// syncAll makes sure that all files and folders below root are on the disk, but for root's
// own entries, and returns the files' hashes. It also sets the files' access modes, because
// another program may have made some of them.
func syncAll(root *os.Root) ([]File, error) {
	files := []File{}
	err := fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		path := filepath.Join(root.Name(), name)
		switch {
		case err != nil || name == trialFile:
			return err
		case name == ".":
			return root.Chmod(name, folderMode)
		case e.IsDir():
			return errors.Join(root.Chmod(name, folderMode), syncDir(path))
		case strings.HasPrefix(e.Name(), tempPrefix):
			return root.Remove(name)
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", path)
		}
		if err := root.Chmod(name, fileMode); err != nil {
			return err
		}
		f, err := hashFile(path, true)
		if err != nil {
			return err
		}
		f.Name = name
		files = append(files, f)
		return nil
	})
	return files, err
}

// hashFile returns the length and hash of a file. If sync is true, it first
// waits until the file is on the disk.
func hashFile(path string, sync bool) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	if sync {
		if err := f.Sync(); err != nil {
			return File{}, fmt.Errorf("write %s: %w", path, Explain(path, 0, err))
		}
	}
	return hashed(f)
}

// hashed returns the size and the hash of what it reads.
func hashed(in io.Reader) (File, error) {
	h := sha256.New()
	n, err := io.Copy(h, in)
	return File{Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

func fileOf(name string, data []byte) File {
	sum := sha256.Sum256(data)
	f := File{Name: name, Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
	if path.Ext(name) == ".jsonl" {
		f.Rows = bytes.Count(data, []byte("\n"))
	}
	return f
}
