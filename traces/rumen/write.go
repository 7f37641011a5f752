package rumen

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"heddle/traces"
	"heddle/traces/byjob"
	"heddle/traces/format"
)

// undatedMs is the time in ms since 1970 that is written for Time 0 of a trace
// without a date. Hadoop's own converter refuses times that fit into 32 bits.
const undatedMs = 1e12

// write writes a line with a JSON object for each job. Unknown values are
// written as -1 or left out. A job whose id does not have Hadoop's form gets a
// new id.
func write(e *format.Export) error {
	w := writer{start: e.Header.StartUnixNs, racks: e.Header.Cluster.Racks()}
	if w.start == 0 {
		w.start = undatedMs * 1e6
	}
	out := jsontext.NewEncoder(e.Out, jsontext.AllowInvalidUTF8(true))
	for job, err := range byjob.Jobs(e.Path) {
		if err != nil {
			return err
		}
		if err := json.MarshalEncode(out, w.job(job)); err != nil {
			return fmt.Errorf("write %s: %w", job.ID, err)
		}
	}
	return nil
}

type writer struct {
	start int64 // start time of the trace (Time 0), in ns since 1970
	racks map[traces.Node]string
	count int
	id    string // id of the job that is being written, without "job_"
}

// ms converts a time of the trace to milliseconds since 1970. If the argument
// known is false, it returns -1, which means unknown.
func (w *writer) ms(t traces.Time, known bool) millis {
	if !known {
		return unknown
	}
	return millis((w.start + int64(t)) / 1e6)
}

var hadoopID = regexp.MustCompile(`^job_(\d+_\d+)$`)

func (w *writer) job(j *byjob.Job) *job {
	w.count++
	s := j.Submitted
	if s == nil {
		s = &traces.JobSubmitted{}
	}
	name := s.Name
	if m := hadoopID.FindStringSubmatch(string(j.ID)); m != nil {
		w.id = m[1]
	} else {
		w.id = fmt.Sprintf("%d_%04d", int64(undatedMs), w.count)
		if name == "" {
			name = string(j.ID)
		}
	}
	o := &job{
		ID: "job_" + w.id, Name: name, User: s.User, Queue: s.Queue, Submit: w.ms(s.T, j.Submitted != nil), Launch: unknown, Finish: unknown,
		Type: "JAVA", TotalMaps: number(s.Maps), TotalReduces: number(s.Reduces),
	}
	if s.Priority > 0 && int(s.Priority) <= len(format.Priorities) {
		o.Priority = format.Priorities[s.Priority-1]
	}
	for _, p := range []struct {
		to *string
		n  int64
	}{
		{&o.Properties.MapMB, s.MapMemoryBytes >> 20},
		{&o.Properties.ReduceMB, s.ReduceMemoryBytes >> 20},
		{&o.Properties.MapVCores, int64(s.MapVCores)},
		{&o.Properties.ReduceVCores, int64(s.ReduceVCores)},
	} {
		if p.n > 0 {
			*p.to = strconv.FormatInt(p.n, 10)
		}
	}
	if s.SlowStart > 0 {
		o.Properties.SlowStart = strconv.FormatFloat(s.SlowStart, 'g', -1, 64)
	}
	if j.Started != nil {
		o.Launch = w.ms(j.Started.T, true)
	}
	if j.Finished != nil {
		o.Finish, o.Outcome = w.ms(j.Finished.T, true), outcome(j.Finished.Outcome)
	}
	for _, t := range j.Tasks {
		if t.ID.Kind == traces.Map {
			o.Maps = append(o.Maps, w.task(t))
		} else {
			o.Reduces = append(o.Reduces, w.task(t))
		}
	}
	return o
}

var kindNames = [...]string{traces.Map: "MAP", traces.Reduce: "REDUCE"}

func (w *writer) task(t *byjob.Task) task {
	o := noTask
	o.ID = taskID{job: w.id, kind: t.ID.Kind, index: t.ID.Index}
	o.Type = kindNames[t.ID.Kind%2]
	if t.Scheduled != nil {
		o.Start = w.ms(t.Scheduled.T, true)
		for _, h := range t.Scheduled.SplitHosts {
			o.Hosts = append(o.Hosts, location{w.racks[h], string(h)})
		}
	}
	if t.Finished != nil {
		o.Finish, o.Outcome = w.ms(t.Finished.T, true), outcome(t.Finished.Outcome)
	}
	for _, a := range t.Attempts {
		o.Attempts = append(o.Attempts, w.attempt(a))
		if f := a.Finished; f != nil && f.Outcome == traces.Succeeded {
			o.InputRecords, o.OutputRecords = number(f.Counters.InputRecords), number(f.Counters.OutputRecords)
			if t.ID.Kind == traces.Map {
				o.InputBytes, o.OutputBytes = number(f.Counters.HDFSReadBytes), number(f.Counters.FileWrittenBytes)
			} else {
				o.InputBytes, o.OutputBytes = number(f.Counters.ShuffleBytes), number(f.Counters.HDFSWrittenBytes)
			}
		}
	}
	if t.Scheduled != nil && t.Scheduled.LengthBytes > 0 {
		o.InputBytes = number(t.Scheduled.LengthBytes)
	}
	return o
}

func (w *writer) attempt(a *byjob.Attempt) attempt {
	o := noAttempt
	o.ID = attemptID{taskID{job: w.id, kind: a.ID.Kind, index: a.ID.Index}, a.ID.Number}
	if a.Started != nil {
		o.Start = w.ms(a.Started.T, true)
		o.Host = host{a.Started.Rack, string(a.Started.Node)}
	}
	if f := a.Finished; f != nil {
		if o.Host.Name == "" {
			o.Host.Name = string(f.Node)
		}
		o.Finish, o.Outcome = w.ms(f.T, true), outcome(f.Outcome)
		o.Shuffled, o.Sorted = w.ms(f.ShuffleDone, f.ShuffleDone != 0), w.ms(f.SortDone, f.SortDone != 0)
		if f.Counters.CPUMs >= 0 || f.Counters.PhysicalBytes >= 0 {
			o.Usage = &usage{}
		}
		for _, p := range o.counters(a.ID.Kind, &f.Counters) {
			*p[0] = *p[1]
		}
	}
	if o.Host.Rack == "" {
		o.Host.Rack = w.racks[traces.Node(o.Host.Name)]
	}
	o.Location = location(o.Host)
	return o
}
