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
	ask(c, Look{What: AskTaskCounters, Of: j.taskName(t), App: yarnclient.App{ID: j.app.ID}}, func(list yarnclient.Counters, _ time.Time, err error) {
		record := &j.tasks[t]
		if err != nil {
			c.log(Debug, "the output of a map is not known", "task", j.taskName(t), "error", err)
		}
		bytes, ok := list.Get("TaskCounter", "MAP_OUTPUT_MATERIALIZED_BYTES")
		if !ok || j.ended || !record.done || record.changed != changed || record.output > 0 {
			return // the map runs again, since its output was lost
		}
		record.output, record.outputOn = bytes.Total, on
		c.state.AddMapOutput(j.id, on.id, bytes.Total)
	})
}

// loseOutput no longer counts the output of a map that runs again.
func (j *job) loseOutput(t state.TaskID) {
	if record := &j.tasks[t]; record.output > 0 && !j.ended {
		j.core.state.AddMapOutput(j.id, record.outputOn.id, -record.output)
		record.output = 0
	}
}
