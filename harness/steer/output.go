package steer

import (
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// mapDone asks the ApplicationMaster how much output a finished map has left for the
// reduces, if the model uses View.MapOutput: one call for each map that finishes. If
// the call fails, the map's output is not known and counts as none.
func (j *job) mapDone(t state.TaskID, on *node) {
	c := j.core
	if !c.usesOutput || j.files.Spec.Reduces == 0 {
		return
	}
	changed := j.tasks[t].changed
	ask(c, Look{What: AskTaskCounters, Of: j.taskName(t), App: yarnclient.App{ID: j.app.ID}},
		func(list yarnclient.Counters, _ time.Time, err error) {
			if err != nil {
				c.log(Debug, "the output of a map is not known", "task", j.taskName(t), "error", err)
			}
			record := &j.tasks[t]
			if j.ended || !record.done || record.changed != changed || record.output > 0 {
				return // the map runs again, since it failed or its output was lost
			}
			j.outputs++
			bytes, ok := list.Get("TaskCounter", "MAP_OUTPUT_MATERIALIZED_BYTES")
			if !ok {
				return
			}
			record.output, record.outputOn = bytes.Total, on
			c.state.AddMapOutput(j.id, on.id, bytes.Total)
		})
}

// outputLimit is how long the reduces of a job wait for their maps' output to be known.
// YARN says that a container has ended up to two heartbeats of its node after the
// ApplicationMaster knows that the map is done.
const outputLimit = 5 * time.Second

// awaitsOutput says whether the job's first reduces are held back from a model that uses
// View.MapOutput. They are until the output of as many maps is known as must end before
// the ApplicationMaster asks for reduces, or outputLimit is over: the model would
// otherwise place them as if there was no output.
func (j *job) awaitsOutput(now time.Time) bool {
	if !j.core.usesOutput || j.asked[state.Reduce] > 0 || j.outputs >= j.files.ReduceAfter {
		return false
	}
	if j.heldSince.IsZero() {
		j.heldSince = now
	}
	return now.Sub(j.heldSince) < outputLimit
}

// loseOutput no longer counts the output of a map that runs again.
func (j *job) loseOutput(t state.TaskID) {
	if record := &j.tasks[t]; record.output > 0 && !j.ended {
		j.core.state.AddMapOutput(j.id, record.outputOn.id, -record.output)
		record.output = 0
		j.outputs--
	}
}
