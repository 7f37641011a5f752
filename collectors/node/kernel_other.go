//go:build !linux

package node

import "errors"

func syncDisks() {}

// ReadClock returns ok false, since only Linux reports the state of the clock.
func ReadClock() (clock Clock, ok bool) { return Clock{}, false }

func lockFile(string) (int64, error) { return 0, errors.ErrUnsupported }
