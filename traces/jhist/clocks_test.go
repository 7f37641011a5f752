package jhist

import (
	"testing"

	"heddle/traces"
	"heddle/traces/mend"
)

// TestAlign reads a job of an ApplicationMaster whose host's clock is 20 s behind the
// ResourceManager's, with a map on a host whose clock is 30 s ahead: nothing is before the
// submission, and no phase outside of its attempt.
func TestAlign(t *testing.T) {
	const submitted = 1_449_525_218_000
	at := func(s int64) int64 { return submitted - 20_000 + 1000*s }
	j := &Job{
		ID: "job_1449525218032_0040", SubmitMs: submitted, LaunchMs: at(2), FinishMs: at(25), Maps: 2, Reduces: 1, AMHosts: []string{"n1"},
		amStartMs: at(1),
		Tasks: []*Task{
			{ID: "task_1449525218032_0040_m_000000", Type: "MAP", StartMs: at(3), FinishMs: at(14), Status: "SUCCEEDED", Attempts: []*Attempt{
				{ID: "attempt_1449525218032_0040_m_000000_0", Host: "n1", StartMs: at(4), FinishMs: at(14), MapFinishMs: at(13), Status: "SUCCEEDED"},
			}},
			{ID: "task_1449525218032_0040_m_000001", Type: "MAP", StartMs: at(3), FinishMs: at(14), Status: "SUCCEEDED", Attempts: []*Attempt{
				{ID: "attempt_1449525218032_0040_m_000001_0", Host: "n2", StartMs: at(4), FinishMs: at(14), MapFinishMs: at(43), Status: "SUCCEEDED"},
			}},
		},
	}
	mended := map[mend.Kind]int{}
	j.align(func(k mend.Kind, _ string) { mended[k]++ })
	if j.BehindMs != 19_000 || j.FinishMs-j.SubmitMs != 24_000 ||
		j.Behind() != "job_1449525218032_0040: the clock of n1 is 19s behind at least" {
		t.Errorf("%d ms behind, took %d ms, %q", j.BehindMs, j.FinishMs-j.SubmitMs, j.Behind())
	}
	// By its one phase, the clock of n2 is 29 to 39 s ahead: 34 s, give or take 5.
	if a := j.Tasks[1].Attempts[0]; a.MapFinishMs-a.StartMs != 5_000 {
		t.Errorf("the map of n2 read for %d ms, want 5000", a.MapFinishMs-a.StartMs)
	}
	if a := j.Tasks[0].Attempts[0]; a.MapFinishMs-a.StartMs != 9_000 {
		t.Errorf("the map of n1 read for %d ms, want 9000", a.MapFinishMs-a.StartMs)
	}
	if len(mended) != 2 {
		t.Errorf("mended %v", mended)
	}
	submission := traces.Time(0)
	for _, e := range Events(j, submitted*1e6) {
		if e.At() < submission {
			t.Errorf("%v at %d, before the submission", e.Kind(), e.At())
		}
	}
}
