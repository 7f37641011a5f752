package why

import (
	"fmt"
	"strings"

	"heddle/traces"
)

// unconditional is how long a map waits before its ApplicationMaster kills reduces for it
// although YARN says that the job may get more, by Hadoop's default.
const unconditional = traces.Time(300e9)

// killer says who killed an attempt and by which rule, as far as Hadoop's text or the other
// events tell. It is empty if they do not.
func (r *reader) killer(a *attempt, text string) string {
	says := func(what string) bool { return strings.Contains(text, what) }
	switch {
	case says(traces.KilledForMaps):
		return "by its ApplicationMaster, " + r.forMap(a.job)
	case says(traces.KilledByYARN):
		return "by YARN's scheduler, which took its container for another queue or job (preemption)"
	case says(traces.KilledAsSlower):
		return "by its ApplicationMaster, since another attempt of the task succeeded first (speculation)"
	case says(traces.KilledWithNode), says(traces.KilledOnLost), a.node != nil && !a.node.up:
		return "with its node, which was lost or unhealthy"
	case says(traces.KilledWithTask):
		return "by its ApplicationMaster, which ended the task or the whole job"
	case text != "":
		line, _, _ := strings.Cut(text, "\n")
		return fmt.Sprintf("; the trace says: %.200s", line)
	}
	for _, t := range a.input.tries {
		if t.outcome == traces.Succeeded {
			return "since another attempt of the task had succeeded (speculation)"
		}
	}
	return ""
}

// forMap says for which map of a job a reduce was killed, and by which of Hadoop's two rules.
func (r *reader) forMap(j *job) string {
	const room = "to make room for"
	oldest, since := int32(-1), r.now
	for id, t := range j.tasks { // the earliest, and of several the one with the least index
		asked := max(t.asked, j.started)
		if n := len(t.tries); n > 0 {
			asked = t.tries[n-1].end
			if last := t.tries[n-1]; !last.ended || last.outcome == traces.Succeeded {
				continue
			}
		}
		if id.kind == traces.Map && t.scheduled && (asked < since || asked == since && id.index < oldest) {
			oldest, since = id.index, asked
		}
	}
	switch waited := r.now - since; {
	case oldest < 0:
		return room + " a map of the job"
	case waited < unconditional:
		return fmt.Sprintf("%s map %d, which had waited %s: YARN said that the job could get no more memory",
			room, oldest, seconds(float64(waited)/1e9))
	default:
		return fmt.Sprintf("%s map %d, which had waited %s: after %d s reduces are killed in any case "+
			"(mapreduce.job.reducer.unconditional-preempt.delay.sec)",
			room, oldest, seconds(float64(waited)/1e9), int(unconditional/1e9))
	}
}

// sayKilled joins when an attempt was killed with who did it.
func sayKilled(at Ms, by string) string {
	if by != "" && by[0] != ';' {
		by = " " + by
	}
	return fmt.Sprintf("was killed at %v%s", at, by)
}
