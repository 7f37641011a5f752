package rumen

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"

	"heddle/traces"
	"heddle/traces/byjob"
	"heddle/traces/internal/members"
)

// undatedMs is the date that jobs of a trace without one get: Hadoop's own
// converter takes no times that fit 32 bits.
const undatedMs = 1e12

// Write writes jobs as Rumen does, an object a line. What a trace does not say
// is -1 or missing; what an import kept in Source events is written again. The
// jobs of a trace with other ids than Hadoop's get some.
func Write(out io.Writer, h traces.Header, jobs iter.Seq2[*byjob.Job, error]) error {
	w := writer{start: h.StartUnixNs, racks: map[traces.Node]string{}}
	if w.start == 0 {
		w.start = undatedMs * 1e6
	}
	for _, n := range h.Cluster.Nodes {
		w.racks[n.Node] = n.Rack
	}
	buf := bufio.NewWriter(out)
	var line []byte
	for job, err := range jobs {
		if err != nil {
			return err
		}
		line = append(w.job(line[:0], job), '\n')
		if _, err := buf.Write(line); err != nil {
			return fmt.Errorf("write %s: %w", job.ID, err)
		}
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write jobs: %w", err)
	}
	return nil
}

type writer struct {
	start int64 // ns since 1970 at Time 0
	racks map[traces.Node]string
	count int
	id    string // of the job under way, without "job_"
}

// given is what an import of this form kept.
func given(s *traces.Source) string {
	if s == nil || s.Form != "rumen" {
		return ""
	}
	return s.Members
}

// ms is a time in milliseconds since 1970.
func (w *writer) ms(t traces.Time, known bool) int64 {
	if !known {
		return Unknown
	}
	return (w.start + int64(t)) / 1e6
}

var hadoopID = regexp.MustCompile(`^job_(\d+_\d+)$`)

func (w *writer) job(to []byte, j *byjob.Job) []byte {
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
	o := members.Begin(to, given(j.Source))
	o.Text("jobID", "job_"+w.id)
	o.Text("jobName", name)
	o.Text("user", s.User)
	o.Text("queue", s.Queue)
	if s.Priority > 0 && int(s.Priority) <= len(priorities) {
		o.Text("priority", priorities[s.Priority-1])
	}
	o.Int("submitTime", w.ms(s.T, j.Submitted != nil))
	launch, end := int64(Unknown), int64(Unknown)
	outcome := traces.Unfinished
	if j.Started != nil {
		launch = w.ms(j.Started.T, true)
	}
	if j.Finished != nil {
		end, outcome = w.ms(j.Finished.T, true), j.Finished.Outcome
	}
	o.Int("launchTime", launch)
	o.Int("finishTime", end)
	o.Text("outcome", outcomes[outcome%4])
	o.Text("jobtype", "JAVA")
	o.Int("totalMaps", int64(s.Maps))
	o.Int("totalReduces", int64(s.Reduces))
	maps := 0
	for maps < len(j.Tasks) && j.Tasks[maps].ID.Kind == traces.Map {
		maps++
	}
	o.Key("mapTasks")
	o.To = list(o.To, j.Tasks[:maps], w.task)
	o.Key("reduceTasks")
	o.To = list(o.To, j.Tasks[maps:], w.task)
	if o.Key("otherTasks") {
		o.To = append(o.To, "[]"...)
	}
	return o.End()
}

var outcomes = [4]string{"", "SUCCESS", "FAILED", "KILLED"}

func list[T any](to []byte, items []T, item func([]byte, T) []byte) []byte {
	to = append(to, '[')
	for i, v := range items {
		if i > 0 {
			to = append(to, ',')
		}
		to = item(to, v)
	}
	return append(to, ']')
}

func (w *writer) task(to []byte, t *byjob.Task) []byte {
	letter := t.ID.Kind.Letter()
	var start, end traces.Time
	outcome := traces.Unfinished
	var hosts []traces.Node
	if t.Scheduled != nil {
		start, hosts = t.Scheduled.T, t.Scheduled.SplitHosts
	}
	if t.Finished != nil {
		end, outcome = t.Finished.T, t.Finished.Outcome
	}
	o := members.Begin(to, given(t.Source))
	o.Text("taskID", fmt.Sprintf("task_%s_%s_%06d", w.id, letter, t.ID.Index))
	o.Text("taskType", kindName(letter[0]))
	o.Text("taskStatus", outcomes[outcome%4])
	o.Int("startTime", w.ms(start, t.Scheduled != nil))
	o.Int("finishTime", w.ms(end, t.Finished != nil))
	for i, n := range totals(t) {
		o.Int(totalNames[i], n)
	}
	if o.Key("preferredLocations") {
		o.To = list(o.To, hosts, func(to []byte, h traces.Node) []byte {
			return append(to, layers(Host{w.racks[h], string(h)})...)
		})
	}
	o.Key("attempts")
	o.To = list(o.To, t.Attempts, w.attempt)
	return o.End()
}

// totals is what totalsOf finds when the task is imported again.
func totals(t *byjob.Task) [4]int64 {
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		f := t.Attempts[i].Finished
		switch {
		case f == nil || f.Outcome != traces.Succeeded:
		case t.ID.Kind == traces.Map:
			return [4]int64{f.Counters.HDFSReadBytes, f.Counters.InputRecords, f.Counters.FileWrittenBytes, f.Counters.OutputRecords}
		default:
			return [4]int64{f.Counters.ShuffleBytes, f.Counters.InputRecords, f.Counters.HDFSWrittenBytes, f.Counters.OutputRecords}
		}
	}
	return [4]int64{Unknown, Unknown, Unknown, Unknown}
}

func (w *writer) attempt(to []byte, a *byjob.Attempt) []byte {
	letter := a.ID.Kind.Letter()
	f := traces.AttemptFinished{Counters: traces.NoCounters}
	if a.Finished != nil {
		f = *a.Finished
	}
	host := Host{Name: string(f.Node)}
	var start traces.Time
	if a.Started != nil {
		start = a.Started.T
		host = Host{Rack: a.Started.Rack, Name: string(a.Started.Node)}
	}
	if host.Rack == "" {
		host.Rack = w.racks[traces.Node(host.Name)]
	}
	own, usage := splitUsage(given(a.Source))
	o := members.Begin(to, own)
	o.Text("attemptID", fmt.Sprintf("attempt_%s_%s_%06d_%d", w.id, letter, a.ID.Index, a.ID.Number))
	o.Text("result", outcomes[f.Outcome%4])
	o.Text("hostName", hostPath(host))
	if host.Name != "" && !o.Given("hostName") && o.Key("location") {
		o.To = append(o.To, layers(host)...)
	}
	o.Int("startTime", w.ms(start, a.Started != nil))
	o.Int("finishTime", w.ms(f.T, a.Finished != nil))
	o.Int("shuffleFinished", w.ms(f.ShuffleDone, f.ShuffleDone != 0))
	o.Int("sortFinished", w.ms(f.SortDone, f.SortDone != 0))
	c := &f.Counters
	mapIn, mapOut, reduceIn, reduceOut := c.InputRecords, c.OutputRecords, int64(Unknown), int64(Unknown)
	if a.ID.Kind == traces.Reduce {
		mapIn, mapOut, reduceIn, reduceOut = reduceIn, reduceOut, mapIn, mapOut
	}
	for _, v := range []struct {
		name string
		n    int64
	}{
		{"hdfsBytesRead", c.HDFSReadBytes},
		{"hdfsBytesWritten", c.HDFSWrittenBytes},
		{"fileBytesRead", c.FileReadBytes},
		{"fileBytesWritten", c.FileWrittenBytes},
		{"mapInputRecords", mapIn},
		{"mapInputBytes", Unknown},
		{"mapOutputBytes", c.MapOutputBytes},
		{"mapOutputRecords", mapOut},
		{"combineInputRecords", Unknown},
		{"reduceInputGroups", Unknown},
		{"reduceInputRecords", reduceIn},
		{"reduceShuffleBytes", c.ShuffleBytes},
		{"reduceOutputRecords", reduceOut},
		{"spilledRecords", c.SpilledRecords},
	} {
		o.Int(v.name, v.n)
	}
	if (c.CPUMs >= 0 || c.PhysicalBytes >= 0 || usage != "") && o.Key("resourceUsageMetrics") {
		u := members.Begin(o.To, usage)
		u.Int("cumulativeCpuUsage", c.CPUMs)
		u.Int("physicalMemoryUsage", c.PhysicalBytes)
		o.To = u.End()
	}
	return o.End()
}

// splitUsage takes the members of resourceUsageMetrics out of an attempt's.
func splitUsage(all string) (own, usage string) {
	if !strings.Contains(all, `Usage"`) {
		return all, ""
	}
	var rest, inner []string
	for _, m := range members.Split(all) {
		if text := m.Key + ":" + m.Value; m.Key == `"virtualMemoryUsage"` || m.Key == `"heapUsage"` {
			inner = append(inner, text)
		} else {
			rest = append(rest, text)
		}
	}
	return strings.Join(rest, ","), strings.Join(inner, ",")
}

func hostPath(h Host) string {
	if h.Rack == "" {
		return h.Name
	}
	return h.Rack + "/" + h.Name
}
