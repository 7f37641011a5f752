package fluid

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/state"
)

// TestProperties: whatever is started, cancelled and changed, every flow ends
// once, none faster than what it passes allows, in the order of time and start,
// and no resource does much more than its rate.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 8).Draw(t, "nodes")
		rate := rapid.SampledFrom([]int64{0, 1 * mb, 5 * mb, 80 * mb, 1000 * mb})
		s := racked(nodes, rapid.IntRange(1, 4).Draw(t, "a rack"), rate.Draw(t, "disk"), rate.Draw(t, "link"), rate.Draw(t, "uplink"))
		type started struct {
			id     Flow
			ms     int64
			bytes  int64
			least  float64 // ms that it takes alone
			path   []uint32
			popped bool
		}
		var all []started
		now, busyFrom := int64(0), int64(0)
		passed := make([]float64, len(s.all)) // work, by resource
		pop := func() {
			last := -1
			for tag, ok := s.Pop(now); ok; tag, ok = s.Pop(now) {
				f := &all[tag]
				if f.popped {
					t.Fatalf("flow %d ended twice, or was cancelled", tag)
				}
				if int(tag) < last {
					t.Fatalf("flow %d after %d in one millisecond", tag, last)
				}
				last, f.popped = int(tag), true
				if took := float64(now - f.ms); took < f.least-1 {
					t.Fatalf("flow %d took %v ms, alone it takes %v", tag, took, f.least)
				}
				for _, r := range f.path {
					passed[r] += float64(f.bytes)
				}
			}
		}
		node := rapid.IntRange(0, nodes-1)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			for until := now + rapid.Int64Range(0, 20_000).Draw(t, "gap"); ; {
				if now = min(s.Next(), until); now == until {
					pop()
					break
				}
				pop()
			}
			if rapid.IntRange(0, 5).Draw(t, "cancel") == 0 && len(all) > 0 {
				if f := &all[rapid.IntRange(0, len(all)-1).Draw(t, "which")]; !f.popped {
					left := s.Left(now, f.id)
					if left < 0 || left > f.bytes {
						t.Fatalf("%d of %d bytes left", left, f.bytes)
					}
					s.Cancel(now, f.id)
					f.popped = true
				}
				continue
			}
			bytes := rapid.Int64Range(1, 200*mb).Draw(t, "bytes")
			to := state.NodeID(node.Draw(t, "to"))
			tag := uint32(len(all))
			var id Flow
			if streams := rapid.Int32Range(0, 3).Draw(t, "streams"); streams == 0 {
				id = s.Read(now, state.NodeID(node.Draw(t, "from")), to, false, bytes, tag)
			} else {
				id = s.Fetch(now, s.rackOf[node.Draw(t, "from")], to, streams, bytes, tag)
			}
			f := started{id: id, ms: now, bytes: bytes, popped: id == Ended}
			if id != Ended {
				f.path = slices.Clone(s.flows[id].path[:s.flows[id].passes+s.flows[id].counts])
				for _, r := range f.path {
					f.least = max(f.least, float64(bytes)*(1<<point)/float64(s.limits[s.all[r].limits].rate))
				}
			}
			all = append(all, f)
		}
		for s.Next() != Never {
			now = s.Next()
			pop()
		}
		for i, f := range all {
			if !f.popped {
				t.Fatalf("flow %d has not ended", i)
			}
		}
		for r, work := range passed {
			if can := float64(s.limits[s.all[r].limits].rate) / (1 << point) * float64(now-busyFrom); work > 1.1*can+1 {
				t.Fatalf("resource %d did %v in the time for %v", r, work, can)
			}
		}
		for i := range s.all {
			if r := &s.all[i]; r.load != 0 || r.weight != 0 || r.others != 0 || r.passing != 0 || r.bound != 0 || r.heap != 0 ||
				s.passing[i].list != 0 {
				t.Fatalf("resource %d is not empty: %+v", i, *r)
			}
		}
	})
}
