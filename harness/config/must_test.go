package config

import (
	"strings"
	"testing"
)

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

// mustDo ends the test if there is an error.
func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errOf returns the error of a call alone.
func errOf[T any](_ T, err error) error { return err }

// wantError fails the test unless each of the texts is in the error, and none where a text is empty.
func wantError(t testing.TB, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if (text == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %q in it", err, text)
		}
	}
}
