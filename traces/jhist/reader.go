package jhist

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/mend"
)

// Format is that of job histories.
var Format = format.Format{
	Name:   "jhist",
	Origin: traces.Recovered,
	Model:  "yarn",
	Detect: func(head []byte) bool {
		text := bytes.TrimLeft(head, " \t\r\n")
		return bytes.HasPrefix(text, []byte(avroJSON)) || bytes.HasPrefix(text, []byte(avroBinary))
	},
	NewReader: func(im *format.Import) format.Reader { return &reader{Import: im, seen: map[string]bool{}} },
}

// Limits of what a history may say.
const (
	// maxIndex bounds the numbers of tasks, since programs keep arrays of them.
	maxIndex = 16 << 20
	// maxMs bounds times: the year 2200.
	maxMs = 7258118400000
	// maxCount bounds counters.
	maxCount = 1 << 60
)

// Mends.
var (
	cutHistory     = mend.Kind{Wrong: "a history that ends inside an event", Done: "read without that event"}
	badEvents      = mend.Kind{Wrong: "an event of a history that does not fit its schema", Done: "left out"}
	historyAgain   = mend.Kind{Wrong: "a second history of a job", Done: "left out"}
	noHistoryJob   = mend.Kind{Wrong: "a history without a job", Done: "left out"}
	impossibleTime = mend.Kind{Wrong: "a time before 1970 or after 2200", Done: "taken as that of the job's submission"}
	hugeIndex      = mend.Kind{Wrong: "a task's or attempt's number over the limit", Done: "left out"}
	oddCount       = mend.Kind{Wrong: "a count below 0 or over 2^60", Done: "taken as not reported"}
	oddTotal       = mend.Kind{Wrong: "a number of tasks below 0 or over the limit", Done: "taken as that of the tasks in the history"}
)

// reader makes events of histories, a job each.
type reader struct {
	*format.Import
	seen map[string]bool // jobs by id
}

// Finish implements format.Reader.
func (r *reader) Finish(*traces.Header) (func(*traces.TaskScheduled), error) { return nil, nil }

// Read implements format.Reader.
func (r *reader) Read(in io.Reader) error {
	r.Records++
	job, stats, err := Parse(in)
	var cut *CutOffError
	if errors.As(err, &cut) {
		err = r.Log.Add(cutHistory, fmt.Sprintf("byte %d", cut.Offset), cut.Err.Error())
	}
	for range stats.Unreadable {
		err = errors.Join(err, r.Log.Add(badEvents, "an event", stats.FirstUnreadable))
	}
	switch {
	case err != nil:
		return err
	case job.ID == "":
		return r.Log.Add(noHistoryJob, "its end", "no event names a job")
	case r.seen[job.ID]:
		return r.Log.Add(historyAgain, "its name", job.ID)
	}
	r.seen[job.ID] = true
	if err := r.putRight(job); err != nil {
		return err
	}
	racks := job.Racks()
	r.placeHosts(job, racks)
	for _, e := range Events(job, 0) {
		if index := largestNumber(e); index >= maxIndex {
			err = r.Log.Add(hugeIndex, e.Kind().String(), fmt.Sprintf("%s, task %d", job.ID, index))
		} else {
			err = r.Add(e)
		}
		if err != nil {
			return err
		}
	}
	for host, rack := range racks {
		if err := r.Host(host, rack); err != nil {
			return err
		}
	}
	return nil
}

// putRight replaces times and numbers that cannot be, as they stand in the file.
func (r *reader) putRight(j *Job) (err error) {
	submitMs := j.SubmitMs
	if submitMs < 0 || submitMs > maxMs {
		submitMs = 0
	}
	times := func(about string, all ...*int64) {
		for _, ms := range all {
			if *ms < 0 || *ms > maxMs {
				err = errors.Join(err, r.Log.Add(impossibleTime, about, fmt.Sprintf("%s: %d", j.ID, *ms)))
				*ms = submitMs
			}
		}
	}
	counts := func(about string, all ...*int64) {
		for _, n := range all {
			if *n < -1 || *n > maxCount {
				err = errors.Join(err, r.Log.Add(oddCount, about, j.ID))
				*n = -1
			}
		}
	}
	total := func(n *int32, kind string) {
		if *n >= 0 && *n < maxIndex {
			return
		}
		err = errors.Join(err, r.Log.Add(oddTotal, "the job's start", fmt.Sprintf("%s, %d", j.ID, *n)))
		*n = 0
		for _, t := range j.Tasks {
			if t.Type == kind {
				*n = min(*n+1, maxIndex)
			}
		}
	}
	total(&j.Maps, "MAP")
	total(&j.Reduces, "REDUCE")
	times("the job", &j.SubmitMs, &j.LaunchMs, &j.FinishMs)
	counts("the job", &j.DataLocalMaps, &j.RackLocalMaps, &j.OtherLocalMaps, &j.LaunchedMaps, &j.LaunchedReduces)
	counts("the job", all(&j.Counters)...)
	for _, t := range j.Tasks {
		times("a task", &t.StartMs, &t.FinishMs)
		for _, a := range t.Attempts {
			times("an attempt", &a.StartMs, &a.FinishMs, &a.MapFinishMs, &a.ShuffleFinishMs, &a.SortFinishMs)
			counts("an attempt", all(&a.Counters)...)
		}
	}
	return err
}

func all(c *traces.Counters) (fields []*int64) {
	for _, group := range counterFields {
		for _, field := range group {
			fields = append(fields, field(c))
		}
	}
	return fields
}

// placeHosts gives a job the racks that its history may lack: those of attempts
// that were never launched, and of their splits' hosts.
func (r *reader) placeHosts(job *Job, own map[string]string) {
	for host, rack := range own {
		r.Racks.Tell(host, rack)
	}
	job.HostRacks = map[traces.Node]string{}
	for _, t := range job.Tasks {
		for _, a := range t.Attempts {
			if a.StartMs != 0 || a.Host == "" {
				continue
			}
			for _, host := range append([]string{a.Host}, t.SplitHosts...) {
				if rack := r.Racks.Of(host); rack != "" && own[host] == "" {
					job.HostRacks[traces.Node(host)] = rack
				}
			}
		}
	}
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
