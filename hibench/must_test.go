package hibench

import "heddle/traces/errtest"

var mustDo, wantError = errtest.None, errtest.Has

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// errOf returns the error of a call alone.
func errOf[T any](_ T, err error) error { return err }
