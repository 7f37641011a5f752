package node

import "golang.org/x/sys/unix"

func syncDisks() { unix.Sync() }

// ReadClock asks the kernel; ok is false when it does not say.
func ReadClock() (clock Clock, ok bool) {
	var t unix.Timex // no modes set: read only
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return Clock{}, false
	}
	return Clock{
		Synchronised: state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0,
		MaxErrorUs:   int64(t.Maxerror),
	}, true
}
