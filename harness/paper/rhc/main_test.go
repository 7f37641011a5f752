package rhc

import (
	"testing"

	"heddle/harness/paper/models"
	"heddle/harness/sched"
)

// TestMain makes the models of papers known, as the command does.
func TestMain(m *testing.M) {
	if err := sched.Register(models.List()...); err != nil {
		panic(err)
	}
	m.Run()
}
