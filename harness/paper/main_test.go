package paper

import (
	"testing"

	"heddle/harness/paper/models"
	"heddle/harness/report/browsertest"
	"heddle/harness/sched"
)

// TestMain makes the models of papers known, as the command does, and ends
// the browser that the tests share.
func TestMain(m *testing.M) {
	if err := sched.Register(models.List()...); err != nil {
		panic(err)
	}
	m.Run()
	browsertest.Close()
}
