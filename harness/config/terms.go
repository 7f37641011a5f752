package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"heddle/harness/internal/units"
	"heddle/traces"
)

// Deadline is when a job should have ended: a time after its submission, or a
// multiple of a time that the job took. The zero value is no deadline.
type Deadline struct {
	After units.Duration
	Times float64 // 0 if After is given
	// Recorded says that Times is of the time that the job took in the trace, with all
	// that ran beside it there. Otherwise it is of the time that the job takes alone on
	// the experiment's cluster.
	Recorded bool
}

// OfAlone says whether the deadline is a multiple of the time that the job takes alone.
func (d Deadline) OfAlone() bool { return d.Times > 0 && !d.Recorded }

// Multiple returns the time to a deadline that is a multiple of a time.
func (d Deadline) Multiple(of time.Duration) time.Duration {
	return time.Duration(math.Min(d.Times*float64(of), float64(maxDeadline)))
}

// maxDeadline is the longest time from a submission to a deadline.
const maxDeadline = 365 * 24 * time.Hour

// UnmarshalText reads a deadline: "90s", "1.5x" for a multiple of the time that the job
// takes alone, or "1.5x recorded" for one of the time that it took in the trace.
func (d *Deadline) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	multiple, recorded := strings.CutSuffix(s, "recorded")
	if number, ok := strings.CutSuffix(strings.TrimSpace(multiple), "x"); ok {
		times, err := strconv.ParseFloat(number, 64)
		if err != nil || !(times > 0 && times <= 1e6) {
			return fmt.Errorf("%q: want a number above 0 before the x, at most 1000000, such as 1.5x", s)
		}
		*d = Deadline{Times: times, Recorded: recorded}
		return nil
	}
	after, err := units.ParseDuration(s)
	switch {
	case err != nil:
		return fmt.Errorf("%q: want a time after the submission, such as 90s, or a multiple of the time that the job takes alone, such as "+
			"1.5x, or took in the trace, such as 1.5x recorded", s)
	case after < units.Duration(time.Millisecond) || after > units.Duration(maxDeadline):
		return fmt.Errorf("%q: want 1ms to %v", s, maxDeadline)
	}
	*d = Deadline{After: after}
	return nil
}

// MarshalText returns the deadline as UnmarshalText reads it.
func (d Deadline) MarshalText() ([]byte, error) {
	switch {
	case d.Times > 0 && d.Recorded:
		return []byte(strconv.FormatFloat(d.Times, 'g', -1, 64) + "x recorded"), nil
	case d.Times > 0:
		return []byte(strconv.FormatFloat(d.Times, 'g', -1, 64) + "x"), nil
	case d.After > 0:
		return []byte(d.After.String()), nil
	}
	return nil, nil
}

// JobHints say how heavily a job's maps, and its reduces, use a node.
type JobHints struct {
	Map    Hints `yaml:"map,omitempty" text:"The hints of each map."`
	Reduce Hints `yaml:"reduce,omitempty" text:"The hints of each reduce."`
}

// Hints say how heavily a task uses each resource of its node, from 1 to 10. 0
// means that nobody says.
type Hints struct {
	CPU     int `yaml:"cpu,omitempty" text:"From 1, hardly at all, to 10, as much as it gets." min:"1" max:"10"`
	Memory  int `yaml:"memory,omitempty" text:"From 1 to 10." min:"1" max:"10"`
	Disk    int `yaml:"disk,omitempty" text:"From 1 to 10." min:"1" max:"10"`
	Network int `yaml:"network,omitempty" text:"From 1 to 10." min:"1" max:"10"`
}

func (h Hints) traced() traces.Hints {
	return traces.Hints{CPU: uint8(h.CPU), Memory: uint8(h.Memory), Disk: uint8(h.Disk), Network: uint8(h.Network)}
}

// Terms returns the deadline, price and hints of each of the workload's jobs.
// The argument recorded is how long the job took in the trace, 0 if that is not
// known. A deadline that is a multiple of it is then missing. So is one that is a
// multiple of the job's time alone, which nobody knows here.
func (w Workload) Terms(recorded time.Duration) traces.Terms {
	after := time.Duration(w.Deadline.After)
	if w.Deadline.Recorded {
		after = w.Deadline.Multiple(recorded)
	}
	return traces.Terms{
		DeadlineMs: after.Milliseconds(), Price: w.Price,
		Hints: traces.JobHints{Map: w.Hints.Map.traced(), Reduce: w.Hints.Reduce.traced()},
	}
}

// termsProblems adds what is wrong with the deadline and the hints of jobs.
func (w Workload) termsProblems(p *problems, path string) {
	p.keys(w.Hints.Map, path+".hints.map")
	p.keys(w.Hints.Reduce, path+".hints.reduce")
	if w.Deadline.Recorded && w.Name != WorkloadTrace {
		p.addf(path+".deadline", "a multiple of the recorded time, and %s has no trace; want a multiple of the time that a job takes alone, "+
			"such as 1.5x, or a time after the submission, such as 90s", w.Name)
	}
}
