package reverse

import (
	"testing"

	"heddle/harness/paper/models"
	"heddle/harness/sched"
)

// TestMain makes the models of papers known, as the command does, and those that a test breaks.
func TestMain(m *testing.M) {
	for _, list := range [][]sched.Info{models.List(), broken} {
		if err := sched.Register(list...); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// Labels of the other schedulers.
const fifo, fair, edf, ofMean = "FIFO", "Fair", "EDF", "Reverse, mean"
