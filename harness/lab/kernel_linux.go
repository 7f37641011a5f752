package lab

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"heddle/harness/internal/units"
)

// mountMemory mounts a tmpfs of the given size, in bytes, on a folder. It belongs
// to a user, and to the group of the same number.
func mountMemory(folder string, size units.Size, user int) error {
	return unix.Mount("heddle", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d,mode=700,uid=%d,gid=%[2]d", size, user))
}

// detach unmounts a path, even while it is in use.
func detach(path string) error { return unix.Unmount(path, unix.MNT_DETACH) }

// keepFiles keeps the files that are open in this process from those that it
// starts, but the three standard ones. A shell may have left some open, which
// are root's.
func keepFiles() { _ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) } // ignore the error: kernels before 5.11 lack the flag

// forgetPages removes a file's pages from the page cache.
func forgetPages(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }

// deviceOf returns the block device that stores a folder, as major and minor
// number: "254:1".
func deviceOf(folder string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(folder, &st); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)), nil
}
