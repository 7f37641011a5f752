package node

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestResident has files stay in the page cache when it is asked to let go of
// them; one beside them does not.
func TestResident(t *testing.T) {
	dir := t.TempDir()
	kept, other := filepath.Join(dir, "kept", "deep", "a"), filepath.Join(dir, "other")
	const size = 1 << 20
	for _, path := range []string{kept, other} {
		mustDo(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, make([]byte, size), 0o644)))
	}
	link := filepath.Join(dir, "link") // as JAVA_HOME may be one
	mustDo(t, os.Symlink(filepath.Join(dir, "kept"), link))
	n, err := Resident(link)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOMEM) {
		t.Skipf("this process may lock no memory: %v", err)
	}
	if n != size || err != nil {
		t.Fatalf("%d bytes, %v, want %d", n, err, size)
	}
	forget(t, kept)
	forget(t, other)
	if cached(t, other) {
		t.Skip("this file system keeps what it is asked to drop")
	}
	if !cached(t, kept) {
		t.Error("the file is not in memory")
	}
	wantError(t, errOf(Resident(filepath.Join(dir, "none"))), "none")
}

func forget(t *testing.T, path string) {
	t.Helper()
	f := must(os.Open(path))
	defer f.Close()
	mustDo(t, errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)))
}

// cached says whether the file's last page is in memory.
func cached(t *testing.T, path string) bool {
	t.Helper()
	f := must(os.Open(path))
	defer f.Close()
	info := must(f.Stat())
	pages := must(unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED))
	defer func() { _ = unix.Munmap(pages) }()
	in := make([]byte, len(pages)/os.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&pages[0])), uintptr(len(pages)),
		uintptr(unsafe.Pointer(&in[0]))); errno != 0 {
		t.Skipf("mincore: %v", errno)
	}
	return in[len(in)-1]&1 == 1
}
