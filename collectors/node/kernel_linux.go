package node

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func syncDisks() { unix.Sync() }

// ReadClock asks the kernel for the state of the machine's clock. ok is false
// if the kernel does not report it.
func ReadClock() (clock Clock, ok bool) {
	var t unix.Timex // with a zero value, the system call adjtimex only reads the clock's state and does not set the clock
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return Clock{}, false
	}
	return Clock{
		Synchronised: state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0,
		MaxErrorUs:   int64(t.Maxerror),
	}, true
}

// lockFile keeps a file in memory as long as this process lives. It returns the
// file's length in bytes.
func lockFile(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	pages, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err == nil {
		err = unix.Mlock(pages)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return info.Size(), nil
}
