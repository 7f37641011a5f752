package config

import (
	"testing"
	"time"

	"heddle/traces"
)

// TestTerms reads deadlines of all forms. A multiple of the recorded time needs that
// time, and one of the time alone is not known here: such jobs have no deadline yet.
func TestTerms(t *testing.T) {
	e := must(ParseExperiment("e.yaml", []byte(`workloads:
  - {name: sort, profile: tiny, deadline: 1m30s, price: 2.5, hints: {map: {cpu: 8, disk: 1}, reduce: {network: 10}}}
  - {trace: x.heddle, deadline: 1.5x recorded}
  - {name: sort, label: alone, profile: tiny, deadline: 1.5x}
`)))
	want := traces.Terms{
		DeadlineMs: 90_000, Price: 2.5,
		Hints: traces.JobHints{Map: traces.Hints{CPU: 8, Disk: 1}, Reduce: traces.Hints{Network: 10}},
	}
	if got := e.Workloads[0].Terms(time.Hour); got != want {
		t.Errorf("terms are %+v, want %+v", got, want)
	}
	for recorded, ms := range map[time.Duration]int64{0: 0, 40 * time.Second: 60_000, 1 << 62: maxDeadline.Milliseconds()} {
		if got := e.Workloads[1].Terms(recorded).DeadlineMs; got != ms {
			t.Errorf("a job that took %v may take %d ms, want %d", recorded, got, ms)
		}
	}
	alone := e.Workloads[2]
	if ms := alone.Terms(time.Hour).DeadlineMs; ms != 0 || !alone.Deadline.OfAlone() || e.Workloads[1].Deadline.OfAlone() ||
		alone.Deadline.Multiple(10*time.Second) != 15*time.Second {
		t.Errorf("a multiple of the time alone: %+v, %d ms of a recorded hour; want 1.5, and no deadline", alone.Deadline, ms)
	}
	for _, d := range []Deadline{e.Workloads[0].Deadline, e.Workloads[1].Deadline, alone.Deadline, {}} {
		var again Deadline
		text, err := d.MarshalText()
		if len(text) > 0 && err == nil {
			err = again.UnmarshalText(text)
		}
		if err != nil || again != d {
			t.Errorf("%+v is written %q and read as %+v, %v", d, text, again, err)
		}
	}
}
