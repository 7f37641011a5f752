package bench

import "golang.org/x/sys/unix"

// cpuSeconds returns the CPU time, in seconds, that this process has used, or
// 0 if the operating system does not tell.
func cpuSeconds() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
