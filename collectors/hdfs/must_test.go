package hdfs

import "heddle/traces/errtest"

var mustDo, wantError = errtest.None, errtest.Has

// errOf returns the error of a call alone.
func errOf[T any](_ T, err error) error { return err }
