package replay

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/replay/recorded"
	"heddle/traces"
)

// lab is a run of a lab: WordCount, twice at a time, three repeats.
const lab = "../fidelity/testdata/run/trials"

func loaded(t *testing.T, trial string) *recorded.Trace {
	t.Helper()
	x := must(recorded.Load(filepath.Join(lab, trial, "trace.heddle")))
	return x
}

// TestFollow holds the simulator against a real cluster: offered the nodes that
// reported there, at those times, the model decides the same, all the way.
func TestFollow(t *testing.T) {
	for _, trial := range []string{"r03-wordcount-fifo", "r04-wordcount-fifo"} {
		x := loaded(t, trial)
		var beats, want, gotBeats, got []string
		for _, b := range x.Heartbeats {
			beats = append(beats, fmt.Sprintf("%d ms %s", b.T.Milliseconds(), x.NodeName(b.Node)))
		}
		for _, d := range x.Decisions {
			want = append(want, decision(&traces.Decision{What: d.What, TaskIndex: d.TaskIndex, Job: x.JobName(d.Job), Node: x.NodeName(d.Node)}))
		}
		_, _, err := Run(&Config{Trace: x, Model: x.OwnModel(), Seed: 1, Follow: true, Record: func(e traces.Event) {
			switch e := e.(type) {
			case *traces.Heartbeat:
				gotBeats = append(gotBeats, fmt.Sprintf("%d ms %s", e.T.Milliseconds(), e.Node))
			case *traces.Decision:
				got = append(got, decision(e))
			}
		}})
		mustDo(t, err)
		// The real node reported anew for its second slot; the simulator has both
		// filled at the first report of a millisecond.
		beats = slices.Compact(beats)
		if diff := cmp.Diff(beats, gotBeats); diff != "" {
			t.Errorf("%s: opportunities (-measured +simulated):\n%s", trial, diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: decisions (-measured +simulated):\n%s", trial, diff)
		}
	}
}

func decision(d *traces.Decision) string {
	return fmt.Sprintf("%s %d of %s on %s", d.What, d.TaskIndex, d.Job, d.Node)
}

func TestFollowNeedsHeartbeats(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	if _, _, err := Run(&Config{Trace: x, Model: x.OwnModel(), Follow: true}); err == nil {
		t.Error("a run that nobody steered has no heartbeats to follow, and no error says so")
	}
}
