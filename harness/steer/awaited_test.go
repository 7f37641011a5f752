package steer

import (
	"fmt"

	"heddle/harness/state"
)

// WaitsWrongly says of which opening at the head of a node's queue mustWait answers
// otherwise than a walk through all that the job awaits; nil if of none. Tests call it
// after each step.
func (c *Core) WaitsWrongly() error {
	for _, n := range c.nodes {
		if len(n.queue) == 0 {
			continue
		}
		op := n.queue[0]
		if got, want := op.mustWait(), op.waitsByWalk(); got != want {
			return fmt.Errorf("job %d on node %s: mustWait is %v, and %v by all that is awaited", op.job.id, n.name, got, want)
		}
		waitsChecked[op.waitsByWalk()]++
	}
	return nil
}

// waitsChecked counts the answers of mustWait that were checked.
var waitsChecked = map[bool]int{}

// WaitsChecked returns how many openings that had to wait were checked, and how many others.
func WaitsChecked() (waited, free int) { return waitsChecked[true], waitsChecked[false] }

// waitsByWalk is the rule of mustWait for each two decisions, oldest first.
func (op *opening) waitsByWalk() bool {
	if op.kind != state.Map {
		return false
	}
	v, id, here := op.job.core.view, op.job.id, op.node.id
	for _, other := range op.job.awaited.all {
		if other == op {
			return false
		}
		if other.kind != op.kind || other.node == op.node {
			continue
		}
		for _, theirs := range other.decisions {
			t := theirs.predicted
			if t == state.None || theirs.bound() {
				continue
			}
			ours, meant := v.SplitLevel(id, t, here), v.SplitLevel(id, t, other.node.id)
			if theirs.container != nil && ours >= meant || min(ours, meant) == state.LevelOff {
				continue
			}
			for _, dec := range op.decisions {
				if u := dec.predicted; u != state.None {
					if level := v.SplitLevel(id, u, here); ours < level || ours == level && t < u {
						return true
					}
				}
			}
		}
	}
	return false
}
