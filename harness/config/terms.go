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
// multiple of the time that it took in the trace. The zero value is no deadline.
type Deadline struct {
	After units.Duration
	Times float64 // 0 if After is given
}

// maxDeadline is the longest time from a submission to a deadline.
const maxDeadline = 365 * 24 * time.Hour

// UnmarshalText reads a deadline: "90s", or "1.5x" for a multiple.
func (d *Deadline) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if number, ok := strings.CutSuffix(s, "x"); ok {
		times, err := strconv.ParseFloat(number, 64)
		if err != nil || !(times > 0 && times <= 1e6) {
			return fmt.Errorf("%q: want a number above 0 before the x, at most 1000000, such as 1.5x", s)
		}
		*d = Deadline{Times: times}
		return nil
	}
	after, err := units.ParseDuration(s)
	switch {
	case err != nil:
		return fmt.Errorf("%q: want a time after the submission, such as 90s, or a multiple of the time in the trace, such as 1.5x", s)
	case after < units.Duration(time.Millisecond) || after > units.Duration(maxDeadline):
		return fmt.Errorf("%q: want 1ms to %v", s, maxDeadline)
	}
	*d = Deadline{After: after}
	return nil
}

// MarshalText returns the deadline as UnmarshalText reads it.
func (d Deadline) MarshalText() ([]byte, error) {
	switch {
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
// known. A deadline that is a multiple of it is then missing.
func (w Workload) Terms(recorded time.Duration) traces.Terms {
	after := time.Duration(w.Deadline.After)
	if w.Deadline.Times > 0 {
		after = time.Duration(math.Min(w.Deadline.Times*float64(recorded), float64(maxDeadline)))
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
	if w.Deadline.Times > 0 && w.Name != WorkloadTrace {
		text, _ := w.Deadline.MarshalText()
		p.addf(path+".deadline", "%s: a multiple is of the time that a job took in a trace, and %s has no trace; want a time after the submission, such as 90s", text, w.Name)
	}
}
