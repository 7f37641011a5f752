package replay

import (
	"slices"
	"testing"

	"heddle/harness/config"
	"heddle/harness/replay/recorded"
	"heddle/traces"
)

// TestProgress: a replay says how many of its tasks have succeeded, up to all of
// them, and its schedule is the same if nobody listens.
func TestProgress(t *testing.T) {
	measured := loaded(t, "r03-wordcount-yarn")
	list := must(recorded.New("list", traces.Header{List: &traces.DefaultListRules}, slices.Values([]traces.Event{
		&traces.JobListed{T: 1e9, Job: "a", InputBytes: 900 << 20, ShuffleBytes: 3 << 30, OutputBytes: 1 << 20},
		&traces.JobListed{T: 2e9, Job: "b", InputBytes: 90 << 30, OutputBytes: 1 << 20},
	})))
	for _, trace := range []*recorded.Trace{measured, list} {
		c := Config{Trace: trace, Model: config.Model{Model: "fifo"}, Seed: 1}
		if len(trace.List) > 0 {
			c.Change.Nodes = 4
		}
		without := must(Outcomes([]Config{c}))
		var said []int64
		c.Progress = func(done int64) { said = append(said, done) }
		with := must(Outcomes([]Config{c}))
		f := with[0].Figures
		if f.ScheduleDigest != without[0].ScheduleDigest || f.Attempts != without[0].Attempts {
			t.Errorf("%s: %s, %+v; without progress %s, %+v", trace.Name, f.ScheduleDigest, f.Attempts, without[0].ScheduleDigest,
				without[0].Attempts)
		}
		if n := c.Tasks(); n != int64(f.Maps+f.Reduces) {
			t.Errorf("%s: %d tasks, want %d maps and %d reduces", trace.Name, n, f.Maps, f.Reduces)
		}
		if !slices.IsSorted(said) || len(said) < 2 || said[0] != 0 || said[len(said)-1] > c.Tasks() || 2*said[len(said)-1] < c.Tasks() {
			t.Errorf("%s: said %v, want from 0 to nearly %d", trace.Name, said, c.Tasks())
		}
	}
}
