// Package errtest looks at errors in tests.
package errtest

import (
	"errors"
	"strings"
	"testing"
)

// None ends the test if there is an error.
func None(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must returns x, and panics with the error if there is one.
func Must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// Of returns the error of a call alone.
func Of[T any](_ T, err error) error { return err }

// Is fails the test unless the error is the one that is wanted, or wraps it.
func Is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// Has fails the test unless each of the texts is in the error, and none where a text is empty.
func Has(t testing.TB, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if (text == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %q in it", err, text)
		}
	}
}
