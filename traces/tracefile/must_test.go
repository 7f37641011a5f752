package tracefile

import "heddle/traces/errtest"

var mustDo = errtest.None

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// must2 is must for two results.
func must2[T, U any](x T, y U, err error) (T, U) {
	if err != nil {
		panic(err)
	}
	return x, y
}
