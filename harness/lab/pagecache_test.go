package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// resident is how many pages of a file the page cache has.
func resident(t *testing.T, path string, size int) int {
	t.Helper()
	f := must(os.Open(path))
	defer f.Close()
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Skipf("files cannot be mapped here: %v", err)
	}
	defer unix.Munmap(data)
	pages := make([]byte, (size+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&data[0])), uintptr(size),
		uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		t.Skipf("mincore: %v", errno)
	}
	return bytes.Count(pages, []byte{1})
}

func TestForgetBlocks(t *testing.T) {
	var on unix.Statfs_t
	if err := unix.Statfs(os.TempDir(), &on); err != nil || on.Type == unix.TMPFS_MAGIC {
		t.Skipf("the temporary folder is in memory: %v", err)
	}
	l := &Lab{plan: plan{Name: "test", root: t.TempDir(), nodes: []node{{name: "master"}, {name: "r1n1", rack: 1}}}}
	path := l.nodePath("r1n1", "data", "current", "blk_1")
	const size = 1 << 20
	mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
	mustDo(t, os.WriteFile(path, make([]byte, size), 0o644))
	if resident(t, path, size) == 0 {
		t.Skip("this file system keeps no pages")
	}
	l.forgetBlocks()
	if n := resident(t, path, size); n > 0 {
		t.Errorf("%d pages are still cached", n)
	}
}
