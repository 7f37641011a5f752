package clqlmrs

import (
	"testing"

	"heddle/harness/paper/models"
	"heddle/harness/sched"
)

// TestMain makes the models of papers known, as the command does, and the one that a test puts wrong.
func TestMain(m *testing.M) {
	for _, list := range [][]sched.Info{models.List(), {upsideDownInfo}} {
		if err := sched.Register(list...); err != nil {
			panic(err)
		}
	}
	m.Run()
}
