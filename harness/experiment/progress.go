package experiment

import (
	"fmt"
	"time"

	"heddle/harness/doc"
	"heddle/harness/measure"
)

// Done returns how many trials are done, with the part that is done of the one under
// way.
func (s *Step) Done() float64 {
	part, of := 0, 0
	switch j := s.Jobs; {
	case s.Simulated != nil:
		part, of = int(s.Simulated.Done), int(s.Simulated.Tasks)
	case j != nil:
		part, of = j.MapsDone+j.ReducesDone, j.Maps+j.Reduces
	}
	return float64(max(0, s.Number-1)) + float64(part)/float64(max(1, of))
}

// Now returns what the trial under way does. It reports false if that is not followed.
func (s *Step) Now() (now measure.Now, ok bool) {
	if s.Live == nil {
		return now, false
	}
	now = s.Live.Now()
	if j := s.Jobs; j != nil { // what ApplicationMasters say is newer than the list of attempts
		now.Jobs, now.JobsEnded = j.Jobs, j.JobsEnded
		now.Maps.All, now.Maps.Done, now.Maps.Running = j.Maps, j.MapsDone, j.MapsRunning
		now.Reduces.All, now.Reduces.Done, now.Reduces.Running = j.Reduces, j.ReducesDone, j.ReducesRunning
	}
	return now, true
}

// Facts says in words what the trial under way does, for people who look at it: its
// jobs, its tasks, where maps found their input, and what became of a scheduler model's
// decisions.
func (s *Step) Facts(now *measure.Now) (list doc.Facts) {
	add := func(name, format string, args ...any) {
		list = append(list, doc.Fact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	text := fmt.Sprintf("%d of %d ended", now.JobsEnded, now.Jobs)
	if s.Simulated != nil {
		text += fmt.Sprintf(", after %v of virtual time", time.Duration(now.At).Round(time.Second))
	}
	add("jobs", "%s", text)
	text = fmt.Sprintf("maps %d of %d, %d running", now.Maps.Done, now.Maps.All, now.Maps.Running)
	if now.Reduces.All > 0 {
		text += fmt.Sprintf("; reduces %d of %d, %d running", now.Reduces.Done, now.Reduces.All, now.Reduces.Running)
	}
	add("tasks", "%s", text)
	if l := now.Locality; l.Known() > 0 {
		x := l.Shares()
		add("input", "cache %.0f %%, node %.0f %%, rack %.0f %%, off %.0f %% of %d maps", 100*x[0], 100*x[1], 100*x[2], 100*x[3], l.Known())
	}
	if now.Decisions > 0 {
		text = now.DecisionsText()
		if s.Model != "" {
			text = s.Model + ": " + text
		}
		add("model", "%s", text)
	}
	return list
}
