package runs

import (
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

// writeAtomic puts data at path so that after a crash there is the old file or
// the new one, whole.
func writeAtomic(path string, data []byte) error {
	dir := filepath.Dir(path)
	err := func() error {
		f, err := os.CreateTemp(dir, tempPrefix+"*")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name()) // of no effect once renamed
		_, err = f.Write(data)
		if err == nil {
			err = f.Chmod(0o644)
		}
		if err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if err := os.Rename(f.Name(), path); err != nil {
			return err
		}
		return syncDir(dir)
	}()
	if err != nil {
		return fmt.Errorf("write %s: %w", path, Explain(path, int64(len(data)), err))
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
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

// settle hashes and syncs all files below dir, and its folders.
func settle(dir string) ([]File, error) {
	files := []File{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return syncDir(path)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == trialFile {
			return err
		}
		if strings.HasPrefix(e.Name(), tempPrefix) {
			return os.Remove(path)
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		f, err := hashFile(path, true)
		if err != nil {
			return err
		}
		f.Name = filepath.ToSlash(name)
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
