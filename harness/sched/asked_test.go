package sched

import (
	"fmt"
	"strings"
	"testing"

	"heddle/harness/state"
	"heddle/traces/errtest"
)

// TestAsked has a job get what YARN takes it to ask for: m0 is on nodes 0 and 1, the others on node 2. After
// each heartbeat of its ApplicationMaster some nodes are offered to it.
func TestAsked(t *testing.T) {
	const file = "root.queues=a\nroot.a.capacity=100\nroot.a.user-limit-factor=9\nper-node-heartbeat.maximum-offswitch-assignments=9"
	for _, x := range []struct {
		why    string
		maps   int32
		offers string
		want   string
	}{
		{"m0 asks for node 1, too, though it has a container, and one there", 3, "01 1", "m0/node m1/node, -"},
		{"a map that runs asks for no place", 3, "0 - 1", "m0/node, , -"},
		// It says that it wants two, the same that it was given since it heard of the first; one more of which there is none is given back.
		{"what is not heard of is wanted once more", 3, "0 22 222 2", "m0/node, m1/node m2/node, too many too many -, -"},
		{"but not if nothing was heard of before", 3, "- 022 2", ", m0/node m1/node m2/node, -"},
	} {
		s := state.New()
		for n := range 3 {
			addNode(t, s, n, 0, slot.Times(9))
		}
		spec := &state.JobSpec{Name: "job", Queue: "a", Maps: x.maps, MapSize: slot}
		spec.Replicas.Add(0, 1)
		for range x.maps - 1 {
			spec.Replicas.Add(2)
		}
		id := submit(t, s, spec)
		submit(t, s, &state.JobSpec{Name: "other", Queue: "nosuch", Maps: 1, MapSize: slot}) // for which a Surplus is a loss
		m := errtest.Must(New("capacity", Params{"queues": file}))
		masters, _ := As[HearsMasters](m)
		var all []string
		for i, offers := range strings.Fields(x.offers) {
			masters.Beat(s.View(), id)
			var got []string
			for k, n := range strings.Trim(offers, "-") {
				s.SetNow(int64(i*100 + k))
				p := "-"
				for _, d := range m.Round(s.View(), []state.NodeID{state.NodeID(n - '0')}, nil) {
					if p = "too many"; d.Task != Surplus {
						p = fmt.Sprintf("m%d/%v", d.Task, d.Reason)
						mustDo(t, s.Start(id, d.Task, d.Node))
					}
				}
				got = append(got, p)
			}
			all = append(all, strings.Join(got, " "))
		}
		if got := strings.Join(all, ", "); got != x.want {
			t.Errorf("%s: offers %s: got %s, want %s", x.why, x.offers, got, x.want)
		}
	}
}
