package sim

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/state"
	"heddle/traces"
)

// stateOf returns a cluster in memory of so many nodes, in racks of two.
func stateOf(t tester, nodes int) *state.State {
	t.Helper()
	s := state.New()
	for n := range nodes {
		must(s.AddNode(fmt.Sprint("n", n), fmt.Sprint("r", n/2), state.Resource{MemoryMB: 4096, VCores: 4}))
	}
	return s
}

// submitted returns the number of a job in package state.
func submitted(t testing.TB, s *state.State, x *Job) state.JobID {
	t.Helper()
	id := must(s.Submit(&x.JobSpec))
	return id
}

// remembered are the blocks in a node's cache, the one read last at the end.
type remembered []traces.Block

// read puts a block at the end, and keeps as many as there is room for.
func (r *remembered) read(b traces.Block, room int) {
	*r = append(slices.DeleteFunc(*r, func(x traces.Block) bool { return x == b }), b)
	*r = (*r)[max(0, len(*r)-room):]
}

// A map is cache-local on exactly those nodes with a replica that read its block not
// long ago, whichever job has read it, until other blocks take the room or the node
// is lost.
func TestCachesTellState(t *testing.T) {
	const nodes, blocks, room, size = 3, 6, 2, 100
	rapid.Check(t, func(t *rapid.T) {
		s := state.New()
		machines := make([]Node, nodes)
		for n := range machines {
			machines[n].CacheBytes = room * size
			must(s.AddNode(fmt.Sprint(n), "r", state.Resource{MemoryMB: 1, VCores: 1}))
		}
		var c caches
		c.begin(s, machines, true)
		type alive struct {
			id     state.JobID
			blocks []traces.Block
		}
		var jobs []alive
		want := make([]remembered, nodes)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := state.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "node"))
			switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
			case step == 0 || len(jobs) == 0:
				x := Job{JobSpec: state.JobSpec{Queue: "q", Maps: 3}}
				for range x.Maps {
					x.Blocks = append(x.Blocks, traces.Block(rapid.IntRange(0, blocks-1).Draw(t, "block")))
					x.Replicas.Add(0, 1, 2)
				}
				id := must(s.Submit(&x.JobSpec))
				jobs = append(jobs, alive{id, c.expect(nil, id, &x)})
			case step == 1:
				c.lose(n)
				want[n] = nil
			case step == 2:
				i := rapid.IntRange(0, len(jobs)-1).Draw(t, "ended")
				c.forget(jobs[i].id, jobs[i].blocks)
				s.EndJob(jobs[i].id)
				jobs = slices.Delete(jobs, i, i+1)
			default:
				b := jobs[0].blocks[rapid.IntRange(0, 2).Draw(t, "map")]
				c.read(b, n, size)
				want[n].read(b, room)
			}
			for _, j := range jobs {
				for m, b := range j.blocks {
					for n := range state.NodeID(nodes) {
						level, _ := s.View().Levels(j.id, state.TaskID(m), n)
						if cached := slices.Contains(want[n], b); cached != (level == state.LevelCache) {
							t.Fatalf("map %d of job %d reads block %d; on node %d, which has %v in its cache, its level is %v", m, j.id, b, n, want[n], level)
						}
					}
				}
			}
		}
		for _, j := range jobs {
			c.forget(j.id, j.blocks)
		}
		if len(c.readers) > 0 {
			t.Fatalf("of ended jobs, readers are left: %v", c.readers)
		}
	})
}

// Caches that keep nothing expect nothing, and jobs without blocks are left alone.
func TestCachesOff(t *testing.T) {
	s := stateOf(t, 1)
	x := simpleJob("a", 0, 1, 0, Work{})
	x.Blocks = []traces.Block{7}
	id := submitted(t, s, &x)
	var c caches
	c.begin(s, []Node{{CacheBytes: 1 << 20}}, false)
	if got := c.expect(nil, id, &x); got != nil {
		t.Errorf("blocks %v are expected, and nothing is kept", got)
	}
	c.lose(0)
	c.begin(s, []Node{{CacheBytes: 1 << 20}}, true)
	x.Blocks = nil
	if got := c.expect(nil, id, &x); got != nil {
		t.Errorf("blocks %v are expected of a job that names none", got)
	}
}
