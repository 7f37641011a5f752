package exchange

import (
	"fmt"

	"heddle/traces"
	"heddle/traces/jhist"
)

// maxIndex bounds the numbers of tasks, since programs keep arrays of them.
const maxIndex = 16 << 20

// maxNs bounds times: the year 2200.
const maxNs = traces.Time(7258118400e9)

// addHistory takes in a job's events, and mends what package jhist hands on as
// it stands in the file.
func (im *importer) addHistory(events []traces.Event, job *jhist.Job) error {
	submitted := traces.Time(0)
	for _, e := range events {
		if s, ok := e.(*traces.JobSubmitted); ok && s.T > 0 && s.T <= maxNs {
			submitted = s.T
		}
	}
	bad := 0
	fix := func(t traces.Time) traces.Time {
		if t < 0 || t > maxNs {
			bad++
			return submitted
		}
		return t
	}
	clamp := &retime{when: fix, other: fix}
	for _, e := range events {
		bad = 0
		e.Fields(clamp)
		for range bad {
			if err := im.log.Add(impossibleTime, e.Kind().String(), job.ID); err != nil {
				return err
			}
		}
		if index := taskIndex(e); index >= maxIndex {
			if err := im.log.Add(hugeIndex, e.Kind().String(), fmt.Sprintf("%s, task %d", job.ID, index)); err != nil {
				return err
			}
			continue
		}
		if err := im.add(e); err != nil {
			return err
		}
	}
	for host, rack := range job.Racks() {
		if err := im.nodes.see(traces.Node(host), rack, im.log); err != nil {
			return err
		}
	}
	return nil
}

func taskIndex(e traces.Event) int32 {
	switch e := e.(type) {
	case *traces.TaskScheduled:
		return e.Task.Index
	case *traces.TaskFinished:
		return e.Task.Index
	case *traces.AttemptStarted:
		return e.Attempt.Index
	case *traces.AttemptFinished:
		return e.Attempt.Index
	}
	return 0
}
