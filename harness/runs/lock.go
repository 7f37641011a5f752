package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const lockFile = ".lock"

// lock is a lock of the kernel on a run's lock file. It is free again when the
// process ends, even if the process is killed. Programs that the process starts
// do not inherit it.
type lock struct{ file *os.File }

// acquire makes this process the owner of the run. Only the owner may write to
// the run's folder. acquire returns ErrRunning if another process is the owner.
func (r *Run) acquire() error {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return fmt.Errorf("lock run folder: %w", err)
	}
	if err := r.acquireIn(root); err != nil {
		root.Close()
		return err
	}
	r.root = root
	entries, err := os.ReadDir(r.Dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) { // a killed process left it
			err = errors.Join(err, root.Remove(e.Name()))
		}
	}
	if err != nil {
		r.release()
		return fmt.Errorf("remove what a killed process left in the run folder: %w", err)
	}
	return nil
}

func (r *Run) acquireIn(root *os.Root) error {
	path := filepath.Join(r.Dir, lockFile)
	f, err := root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return fmt.Errorf("lock run folder: %w", Explain(path, 0, err))
	}
	// Try a few times: another process that only asks whether the run is locked
	// holds the lock for a moment.
	for range 5 {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		who := r.manifest.Owner
		return fmt.Errorf("%w: process %d on %s works on %s; wait for it or stop it", ErrRunning, who.PID, who.Host, r.Dir)
	} else if err != nil {
		f.Close()
		return fmt.Errorf("lock %s: %w", path, err)
	}
	r.lock = &lock{f}
	return nil
}

// release ends this process's ownership of the run. The caller must hold the
// lock r.mu, or no other goroutine may know r yet.
func (r *Run) release() {
	if r.saving != nil {
		r.saving.Stop()
		r.saving = nil
	}
	if r.lock != nil {
		r.lock.file.Close()
		r.root.Close()
		r.lock, r.root = nil, nil
	}
}

// isLocked reports whether some process works on the run in the folder dir.
func isLocked(dir string) bool {
	// with O_NONBLOCK, opening the file does not wait if the file is a pipe
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
