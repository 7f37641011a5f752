package report

import (
	"testing"

	"heddle/harness/report/browsertest"
)

// TestMain ends the browser that the tests share.
func TestMain(m *testing.M) {
	m.Run()
	browsertest.Close()
}
