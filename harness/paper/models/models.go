// Package models lists the scheduler models that papers bring, each of which is in
// a package beside its paper. The command registers them all at its start.
package models

import (
	clqlmrs "heddle/harness/paper/clqlmrs/model"
	learning "heddle/harness/paper/learning/model"
	modfair "heddle/harness/paper/modfair/model"
	reverse "heddle/harness/paper/reverse/model"
	rhc "heddle/harness/paper/rhc/model"
	"heddle/harness/sched"
)

// List returns the models, for sched.Register.
func List() []sched.Info {
	return []sched.Info{
		clqlmrs.Info,
		clqlmrs.GreedyInfo,
		learning.Info,
		learning.RuleInfo,
		modfair.Fair1Info,
		modfair.FIFO1Info,
		modfair.Info,
		reverse.AdaptiveInfo,
		reverse.EDFInfo,
		reverse.ReverseInfo,
		rhc.Info,
		rhc.OptimalInfo,
	}
}
