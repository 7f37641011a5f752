package hdfs

import (
	"errors"
	"io/fs"
	"testing"
)

// said is an error as the library colinmarc/hdfs returns it.
type said string

func (e said) Error() string     { return "mkdirs call failed (SafeModeException)" }
func (e said) Method() string    { return "mkdirs" }
func (e said) Desc() string      { return "ERROR_APPLICATION" }
func (e said) Exception() string { return "SafeModeException" }
func (e said) Message() string   { return string(e) }

func TestExplained(t *testing.T) {
	err := &fs.PathError{Op: "mkdir", Path: "/x", Err: said("Cannot create /x.\n Name node is in safe mode.\n\tat A.b(A.java:1)\n\tat C.d")}
	got := Explained(err)
	if want := err.Error() + ": Cannot create /x. Name node is in safe mode."; got.Error() != want || !errors.Is(got, err) {
		t.Errorf("%q, want %q that wraps the error", got, want)
	}
	for _, same := range []error{nil, fs.ErrNotExist, said("")} {
		if Explained(same) != same {
			t.Errorf("%v became %v", same, Explained(same))
		}
	}
}
