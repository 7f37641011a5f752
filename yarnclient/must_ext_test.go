package yarnclient_test

import "heddle/traces/errtest"

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var mustDo = errtest.None
