package jobsplit

import "heddle/traces/errtest"

var wantError = errtest.Has

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
