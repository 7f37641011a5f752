package learning

import (
	"testing"

	"heddle/harness/paper"
	"heddle/harness/paper/models"
	"heddle/harness/sched"
)

// TestMain makes the models of papers known, as the command does.
func TestMain(m *testing.M) {
	if err := sched.Register(append(models.List(), mutants...)...); err != nil {
		panic(err)
	}
	m.Run()
}

var (
	numbers = Paper().Numbers
	slots5  = paper.Scheduler{Model: "fifo", Set: map[string]string{"slots": "5"}}
)
