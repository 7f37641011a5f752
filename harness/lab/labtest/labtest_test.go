package labtest_test

import (
	"testing"

	"heddle/harness/lab/labtest"
)

func TestSharedIsUp(t *testing.T) {
	l := labtest.Shared(t)
	if s := l.Status(t.Context()); s.State != "up" {
		t.Errorf("the shared lab is not up:\n%+v", s)
	}
}
