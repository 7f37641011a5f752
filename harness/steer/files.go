package steer

import (
	"slices"
	"time"

	"heddle/harness/state"
)

// locate adds to the job's description (Spec) which nodes have replicas of its input,
// which have them in the HDFS cache, and which are named in its splits. Hosts that are
// not steered are left out.
func (f *JobFiles) locate(v *state.View) {
	seen := &state.Hosts{}
	var nodes, cached []state.NodeID
	for i := range int(f.Spec.Maps) {
		nodes = nodes[:0]
		if i < len(f.Splits) {
			for _, host := range f.Splits[i] {
				if n := v.NodeNamed(host); n != state.None {
					nodes = append(nodes, n)
				}
			}
		}
		seen.Add(nodes...)
		if i >= len(f.Blocks) {
			f.Spec.Replicas.Add(nodes...)
			continue
		}
		nodes, cached = nodes[:0], cached[:0]
		for _, r := range f.Blocks[i] {
			if n := v.NodeNamed(r.Host); n != state.None {
				nodes = append(nodes, n)
				if r.Cached {
					cached = append(cached, n)
				}
			}
		}
		f.Spec.Replicas.Add(nodes...)
		f.Spec.Cached.Add(cached...)
	}
	f.Spec.SplitHosts = seen
}

// refresh asks repeatedly, while the job runs, which nodes have the job's input in
// their HDFS cache.
func (j *job) refresh() {
	c := j.core
	if !j.files.Moves {
		return
	}
	ask(c, Look{What: AskReplicas, Of: j.app.ID, Limit: filesLimit}, func(blocks [][]Replica, sent time.Time, err error) {
		if j.ended {
			return
		}
		if err != nil {
			c.log(Warn, "the locations of a job's input could not be asked for", "job", j.jobID(), "error", err)
		} else {
			j.sawReplicas(inOrder(blocks, j.order))
		}
		c.after(max(time.Second, c.pause(20, sent)), j.refresh)
	})
}

func (j *job) sawReplicas(blocks [][]Replica) {
	c := j.core
	var had []state.NodeID
	for i, of := range blocks {
		t := state.TaskID(i)
		had = c.view.CachedOn(j.id, t, had[:0])
		for _, r := range of {
			n := c.view.NodeNamed(r.Host)
			if n == state.None || !r.Cached {
				continue
			}
			if at := slices.Index(had, n); at >= 0 {
				had = slices.Delete(had, at, at+1)
			} else {
				c.state.Cached(j.id, t, n)
			}
		}
		for _, n := range had {
			c.state.Uncached(j.id, t, n)
		}
	}
}
