package rumen

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/byjob"
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
	for job, err := range jobs {
		if err != nil {
			return err
		}
		w.to = w.to[:0]
		w.job(job)
		if _, err := buf.Write(append(w.to, '\n')); err != nil {
			return fmt.Errorf("write %s: %w", job.ID, err)
		}
	}
	return buf.Flush()
}

type writer struct {
	to    []byte
	start int64 // ns since 1970 at Time 0
	racks map[traces.Node]string
	count int
	id    string // of the job under way, without "job_"
	// given are the members of the Source event under way: they win.
	given map[string]bool
	first bool
}

// open begins an object whose Source event is s.
func (w *writer) open(s *traces.Source) {
	w.to = append(w.to, '{')
	w.first = true
	w.given = map[string]bool{}
	if s == nil || s.Form != "rumen" || s.Members == "" {
		return
	}
	for _, m := range splitMembers(s.Members) {
		w.given[m.key] = true
		w.comma()
		w.to = append(append(append(w.to, m.key...), ':'), m.value...)
	}
}

func (w *writer) comma() {
	if !w.first {
		w.to = append(w.to, ',')
	}
	w.first = false
}

// key begins a member; false where the Source event has it.
func (w *writer) key(name string) bool {
	quoted := `"` + name + `"`
	if w.given[quoted] {
		return false
	}
	w.comma()
	w.to = append(append(w.to, quoted...), ':')
	return true
}

func (w *writer) text(name, value string) {
	if !w.key(name) {
		return
	}
	if value == "" {
		w.to = append(w.to, "null"...)
		return
	}
	w.to = appendText(w.to, value)
}

func (w *writer) number(name string, n int64) {
	if w.key(name) {
		w.to = strconv.AppendInt(w.to, n, 10)
	}
}

// time writes a time in milliseconds since 1970.
func (w *writer) time(name string, t traces.Time, known bool) {
	ms := int64(Unknown)
	if known {
		ms = (w.start + int64(t)) / 1e6
	}
	w.number(name, ms)
}

var hadoopID = regexp.MustCompile(`^job_(\d+_\d+)$`)

func (w *writer) job(j *byjob.Job) {
	w.count++
	w.id = fmt.Sprintf("%d_%04d", int64(undatedMs), w.count)
	if m := hadoopID.FindStringSubmatch(string(j.ID)); m != nil {
		w.id = m[1]
	}
	s := j.Submitted
	if s == nil {
		s = &traces.JobSubmitted{Name: string(j.ID)}
	}
	name := s.Name
	if name == "" && hadoopID.FindString(string(j.ID)) == "" {
		name = string(j.ID)
	}
	w.open(j.Source)
	w.text("jobID", "job_"+w.id)
	w.text("jobName", name)
	w.text("user", s.User)
	w.text("queue", s.Queue)
	priority := ""
	if s.Priority > 0 && int(s.Priority) <= len(priorities) {
		priority = priorities[s.Priority-1]
	}
	w.text("priority", priority)
	w.time("submitTime", s.T, j.Submitted != nil)
	var launched traces.Time
	if j.Started != nil {
		launched = j.Started.T
	}
	w.time("launchTime", launched, j.Started != nil)
	end, outcome := traces.Time(0), traces.Unfinished
	if j.Finished != nil {
		end, outcome = j.Finished.T, j.Finished.Outcome
	}
	w.time("finishTime", end, j.Finished != nil)
	w.text("outcome", outcomes[outcome%4])
	w.text("jobtype", "JAVA")
	w.number("totalMaps", int64(s.Maps))
	w.number("totalReduces", int64(s.Reduces))
	maps := 0
	for maps < len(j.Tasks) && j.Tasks[maps].ID.Kind == traces.Map {
		maps++
	}
	w.tasks("mapTasks", j.Tasks[:maps])
	w.tasks("reduceTasks", j.Tasks[maps:])
	if !w.given[`"otherTasks"`] {
		w.key("otherTasks")
		w.to = append(w.to, "[]"...)
	}
	w.to = append(w.to, '}')
}

var outcomes = [4]string{"", "SUCCESS", "FAILED", "KILLED"}

func (w *writer) tasks(name string, tasks []*byjob.Task) {
	w.key(name)
	given := w.given
	w.to = append(w.to, '[')
	for i, t := range tasks {
		if i > 0 {
			w.to = append(w.to, ',')
		}
		w.task(t)
	}
	w.to = append(w.to, ']')
	w.given, w.first = given, false
}

func (w *writer) task(t *byjob.Task) {
	w.open(t.Source)
	letter := t.ID.Kind.Letter()
	w.text("taskID", fmt.Sprintf("task_%s_%s_%06d", w.id, letter, t.ID.Index))
	w.text("taskType", kindName(letter[0]))
	var start, end traces.Time
	outcome := traces.Unfinished
	var hosts []traces.Node
	if t.Scheduled != nil {
		start, hosts = t.Scheduled.T, t.Scheduled.SplitHosts
	}
	if t.Finished != nil {
		end, outcome = t.Finished.T, t.Finished.Outcome
	}
	w.text("taskStatus", outcomes[outcome%4])
	w.time("startTime", start, t.Scheduled != nil)
	w.time("finishTime", end, t.Finished != nil)
	for i, n := range w.totals(t) {
		w.number(totalNames[i], n)
	}
	if w.key("preferredLocations") {
		w.to = append(w.to, '[')
		for i, h := range hosts {
			if i > 0 {
				w.to = append(w.to, ',')
			}
			w.to = append(w.to, layers(Host{w.racks[h], string(h)})...)
		}
		w.to = append(w.to, ']')
	}
	w.key("attempts")
	w.to = append(w.to, '[')
	for i, a := range t.Attempts {
		if i > 0 {
			w.to = append(w.to, ',')
		}
		w.attempt(t, a)
	}
	w.to = append(w.to, "]}"...)
}

// totals is what totalsOf finds when the task is imported again.
func (w *writer) totals(t *byjob.Task) [4]int64 {
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

func (w *writer) attempt(t *byjob.Task, a *byjob.Attempt) {
	usage := w.splitUsage(a)
	letter := t.ID.Kind.Letter()
	w.text("attemptID", fmt.Sprintf("attempt_%s_%s_%06d_%d", w.id, letter, t.ID.Index, a.ID.Number))
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
	w.text("result", outcomes[f.Outcome%4])
	if host.Name == "" {
		w.text("hostName", "")
	} else {
		w.text("hostName", hostPath(host))
		if w.key("location") {
			w.to = append(w.to, layers(host)...)
		}
	}
	w.time("startTime", start, a.Started != nil)
	w.time("finishTime", f.T, a.Finished != nil)
	w.time("shuffleFinished", f.ShuffleDone, f.ShuffleDone != 0)
	w.time("sortFinished", f.SortDone, f.SortDone != 0)
	c := &f.Counters
	mapIn, mapOut, redIn, redOut := c.InputRecords, c.OutputRecords, int64(Unknown), int64(Unknown)
	if t.ID.Kind == traces.Reduce {
		mapIn, mapOut, redIn, redOut = redIn, redOut, mapIn, mapOut
	}
	for _, v := range []struct {
		name string
		n    int64
	}{
		{"hdfsBytesRead", c.HDFSReadBytes}, {"hdfsBytesWritten", c.HDFSWrittenBytes},
		{"fileBytesRead", c.FileReadBytes}, {"fileBytesWritten", c.FileWrittenBytes},
		{"mapInputRecords", mapIn}, {"mapInputBytes", Unknown}, {"mapOutputBytes", c.MapOutputBytes}, {"mapOutputRecords", mapOut},
		{"combineInputRecords", Unknown}, {"reduceInputGroups", Unknown}, {"reduceInputRecords", redIn},
		{"reduceShuffleBytes", c.ShuffleBytes}, {"reduceOutputRecords", redOut}, {"spilledRecords", c.SpilledRecords},
	} {
		w.number(v.name, v.n)
	}
	if c.CPUMs >= 0 || c.PhysicalBytes >= 0 || usage != "" {
		w.key("resourceUsageMetrics")
		w.to = append(w.to, fmt.Sprintf(`{"cumulativeCpuUsage":%d,"physicalMemoryUsage":%d%s}`, c.CPUMs, c.PhysicalBytes, usage)...)
	}
	w.to = append(w.to, '}')
}

// splitUsage begins an attempt. The members that belong into its
// resourceUsageMetrics are given back.
func (w *writer) splitUsage(a *byjob.Attempt) string {
	if a.Source == nil {
		w.open(nil)
		return ""
	}
	own, usage := *a.Source, ""
	var kept []string
	for _, m := range splitMembers(own.Members) {
		if text := m.key + ":" + m.value; m.key == `"virtualMemoryUsage"` || m.key == `"heapUsage"` {
			usage += "," + text
		} else {
			kept = append(kept, text)
		}
	}
	own.Members = strings.Join(kept, ",")
	w.open(&own)
	return usage
}

func hostPath(h Host) string {
	if h.Rack == "" {
		return h.Name
	}
	return h.Rack + "/" + h.Name
}

type memberText struct{ key, value string }

// splitMembers splits compact members at their commas. What is not well-formed
// is left out: a trace may have been written by another program.
func splitMembers(members string) []memberText {
	var found []memberText
	depth, begin, colon, inText := 0, 0, -1, false
	for i := 0; i <= len(members); i++ {
		switch {
		case i == len(members) || members[i] == ',' && depth == 0 && !inText:
			if colon > begin {
				m := memberText{members[begin:colon], members[colon+1 : i]}
				if validMember(m) {
					found = append(found, m)
				}
			}
			begin, colon = i+1, -1
		case inText && members[i] == '\\':
			i++
		case members[i] == '"':
			inText = !inText
		case inText:
		case members[i] == '{' || members[i] == '[':
			depth++
		case members[i] == '}' || members[i] == ']':
			depth--
		case members[i] == ':' && depth == 0 && colon < 0:
			colon = i
		}
	}
	return found
}
