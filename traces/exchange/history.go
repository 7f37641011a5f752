package exchange

import (
	"errors"
	"fmt"

	"heddle/traces"
	"heddle/traces/jhist"
)

// maxIndex bounds the numbers of tasks, since programs keep arrays of them.
const maxIndex = 16 << 20

// maxNs bounds times: the year 2200.
const maxNs = traces.Time(7258118400e9)

// maxCount bounds counters.
const maxCount = 1 << 60

// historyFix is a traces.Visitor that mends times and counters.
type historyFix struct {
	retime
	count func(int64) int64
}

func (f *historyFix) Int64(n *int64) { *n = f.count(*n) }

// addHistory takes in a job's events, and mends what package jhist hands on as
// it stands in the file.
func (im *importer) addHistory(events []traces.Event, job *jhist.Job) error {
	submitted := traces.Time(0)
	for _, e := range events {
		if s, ok := e.(*traces.JobSubmitted); ok && s.T > 0 && s.T <= maxNs {
			submitted = s.T
		}
	}
	bad, odd := 0, 0
	tasks := map[traces.TaskKind]int32{}
	for _, e := range events {
		if s, ok := e.(*traces.TaskScheduled); ok {
			tasks[s.Task.Kind]++
		}
	}
	fix := func(t traces.Time) traces.Time {
		if t < 0 || t > maxNs {
			bad++
			return submitted
		}
		return t
	}
	count := func(n int64) int64 {
		if n < -1 || n > maxCount {
			odd++
			return -1
		}
		return n
	}
	clamp := &historyFix{retime{when: fix, other: fix}, count}
	for _, e := range events {
		bad, odd = 0, 0
		e.Fields(clamp)
		for range odd {
			if err := im.log.Add(oddCount, e.Kind().String(), job.ID); err != nil {
				return err
			}
		}
		if s, ok := e.(*traces.JobSubmitted); ok {
			if err := errors.Join(im.total(&s.Maps, tasks[traces.Map], job.ID), im.total(&s.Reduces, tasks[traces.Reduce], job.ID)); err != nil {
				return err
			}
		}
		for range bad {
			if err := im.log.Add(impossibleTime, e.Kind().String(), job.ID); err != nil {
				return err
			}
		}
		if index := largestNumber(e); index >= maxIndex {
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

// total mends a number of tasks that a job cannot have.
func (im *importer) total(n *int32, listed int32, job string) error {
	if *n >= 0 && *n < maxIndex {
		return nil
	}
	err := im.log.Add(oddTotal, "the job's start", fmt.Sprintf("%s, %d", job, *n))
	*n = min(listed, maxIndex)
	return err
}

// largestNumber is that of a task or attempt.
func largestNumber(e traces.Event) int32 {
	switch e := e.(type) {
	case *traces.TaskScheduled:
		return e.Task.Index
	case *traces.TaskFinished:
		return max(e.Task.Index, e.Winner)
	case *traces.AttemptStarted:
		return max(e.Attempt.Index, e.Attempt.Number)
	case *traces.AttemptFinished:
		return max(e.Attempt.Index, e.Attempt.Number)
	}
	return 0
}
