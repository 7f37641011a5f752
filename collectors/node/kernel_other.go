//go:build !linux

package node

import "errors"

func syncDisks() {}

// ReadClock asks the kernel; ok is false when it does not say.
func ReadClock() (clock Clock, ok bool) { return Clock{}, false }

func lockFile(string) (int64, error) { return 0, errors.ErrUnsupported }
