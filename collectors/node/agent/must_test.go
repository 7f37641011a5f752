package agent

import "testing"

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// mustDo ends the test if there is an error.
func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
