package runs

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"heddle/harness/internal/units"
)

// tempPrefix marks files that are being written; they are no part of a run.
const tempPrefix = ".writing-"

// Files and folders of a run are their owner's alone: a job's configuration may
// hold passwords, and what holds settings cannot be told from what does not.
const (
	fileMode   = 0o600
	folderMode = 0o700
)

// writeAtomic puts data at name below root so that after a crash there is the old
// file or the new one, whole.
func writeAtomic(root *os.Root, name string, data []byte) error {
	return writeWith(root, name, int64(len(data)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// writeWith is writeAtomic of what write writes; needBytes is 0 where its length
// is not known.
func writeWith(root *os.Root, name string, needBytes int64, write func(io.Writer) error) error {
	dir := filepath.Dir(name)
	err := func() error {
		temp := filepath.Join(dir, tempPrefix+rand.Text())
		f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if err != nil {
			return err
		}
		defer func() { _ = root.Remove(temp) }() // of no effect once renamed
		if err = write(f); err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if err := root.Rename(temp, name); err != nil {
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

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return syncOpen(d)
}

// syncOpen syncs an open folder and closes it.
func syncOpen(d *os.File) error {
	defer d.Close()
	// Some file systems cannot sync a folder; they do not need it.
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}

// Explain adds to an error of writing path what a full disk calls for: how
// much is wanted (0: unknown) and left, and what to do. errors.Is(err,
// ErrDiskFull) then holds. Other errors are returned as they are.
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
	return fmt.Errorf("%w: %w in %s; what was written before is intact: free some space, then resume the run", ErrDiskFull, err, where)
}

func freeBytes(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// settle hashes and syncs all files below root, and its folders. Programs that
// were started may have made some with other modes.
func settle(root *os.Root) ([]File, error) {
	files := []File{}
	err := fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		path := filepath.Join(root.Name(), name)
		switch {
		case err != nil || name == trialFile:
			return err
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

// hashFile returns length and hash of a file, after a sync if asked for.
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
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return File{}, err
	}
	return File{Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

func fileOf(name string, data []byte) File {
	sum := sha256.Sum256(data)
	return File{Name: name, Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
}
