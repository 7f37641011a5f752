package bench

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openCounter makes the kernel count an event of a thread.
func openCounter(e event, thread int) (*os.File, error) {
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_HARDWARE, Config: uint64(e), Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		Bits:        unix.PerfBitInherit | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}, thread, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, fmt.Errorf("perf_event_open: %w: the processor has no counters, or a virtual machine hides them", err)
	case err != nil:
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	return os.NewFile(uintptr(fd), "counter"), nil
}

// threads returns the ids of this process's threads.
func threads() []int {
	entries, _ := os.ReadDir("/proc/self/task") // without /proc none is counted
	var ids []int
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
