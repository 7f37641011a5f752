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

// Labels of the schedulers and of the controls.
const (
	fifo, delay, acl, acl2, acl5, learner = "FIFO", "Delay", "ACL", "ACL C=2", "ACL C=5", "CLQLMRS"
	matching, random, acl0, greedy        = "matching", "random", "ACL C=0", "cached first"
)

var numbers, claims = Paper().Numbers, Paper().Claims
