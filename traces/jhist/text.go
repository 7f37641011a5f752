package jhist

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"heddle/traces"
)

// The JobTracker of Hadoop 0.18 to 1.x writes histories as text, a record a line:
//
//	MapAttempt TASK_TYPE="MAP" TASKID="task_…" TASK_ATTEMPT_ID="attempt_…" START_TIME="1344030478600" .
//
// With a first line Meta VERSION="1", backslashes escape what would end a value,
// and dots. Without it (0.18) nothing is escaped. A value may have several lines.
// Times are in milliseconds since 1970; the local times in ids are not used.
var (
	textRecord = regexp.MustCompile(`^(Meta|Job|Task|MapAttempt|ReduceAttempt) [A-Z_]+="`)
	textKey    = regexp.MustCompile(`^[ .\s]*([A-Z_]+)="`)
	afterValue = regexp.MustCompile(`^"([ .\s]*$| [A-Z_]+=")`)
)

// beginBytes is enough of a record to see that it begins, and its job's id.
const beginBytes = 200

// parseText reads records up to the end of the file or the beginning of another job's history.
func (p *parser) parseText() error {
	p.job.JobTracker, p.job.HostRacks = true, map[traces.Node]string{}
	escaped := false
	for p.refused == nil {
		head, _ := p.in.Peek(beginBytes) // line below meets the error
		if p.events > 0 && p.anotherJob(string(head)) {
			break
		}
		p.start = p.offset
		record, readErr := p.record()
		if len(record) > 0 {
			kind, f, err := fields(string(record), escaped)
			if err != nil && readErr != nil {
				return &CutOffError{p.events, p.start, errors.Join(err, notEOF(readErr))}
			}
			escaped = escaped || kind == "Meta"
			if p.event = (event{}); err == nil {
				err = p.fromText(kind, f)
			}
			p.take(err)
		}
		if readErr != nil {
			if err := notEOF(readErr); err != nil {
				return &CutOffError{p.events, p.offset, err}
			}
			break
		}
	}
	return p.refused
}

func (p *parser) anotherJob(head string) bool {
	id, isJob := strings.CutPrefix(head, `Job JOBID="`)
	return strings.HasPrefix(head, "Meta ") || isJob && p.job.ID != "" && !strings.HasPrefix(id, p.job.ID+`"`)
}

// The method record reads a record, with the lines that go on with its last value.
func (p *parser) record() (record []byte, err error) {
	for {
		line, err := p.line()
		record = append(record, line...)
		switch head, _ := p.in.Peek(beginBytes); {
		case err != nil:
			return record, err
		case textRecord.Match(head):
			return record, nil
		case len(record) > maxLineBytes:
			return nil, fmt.Errorf("a record of more than %d bytes", maxLineBytes)
		}
	}
}

var errNoEnd = errors.New("a record without its end")

// fields returns the kind of a record and its values.
func fields(record string, escaped bool) (kind string, values map[string]string, err error) {
	kind, rest, _ := strings.Cut(record, " ")
	values = map[string]string{}
	for {
		key := textKey.FindStringSubmatch(rest)
		if key == nil {
			if end := strings.TrimSpace(rest); end != "." && (escaped || end != "") {
				err = errNoEnd
			}
			return kind, values, err
		}
		rest = rest[len(key[0]):]
		var value strings.Builder
		i := 0
		for ; i < len(rest) && (rest[i] != '"' || !afterValue.MatchString(rest[i:])); i++ {
			if rest[i] == '\\' && escaped && i+1 < len(rest) {
				i++
			}
			value.WriteByte(rest[i])
		}
		if i == len(rest) {
			return kind, values, errNoEnd
		}
		values[key[1]], rest = value.String(), rest[i+1:]
	}
}

// fromText makes the event of a .jhist file from a record that says the same.
func (p *parser) fromText(kind string, f map[string]string) (err error) {
	number := func(key string) int64 {
		n, bad := strconv.ParseInt(f[key], 10, 64)
		if bad != nil && f[key] != "" {
			err = fmt.Errorf("%s=%.40q is no whole number", key, f[key])
		}
		return n
	}
	r := &p.event.Record
	r.JobID, r.TaskID, r.AttemptID, r.TaskType = f["JOBID"], f["TASKID"], f["TASK_ATTEMPT_ID"], f["TASK_TYPE"]
	r.StartTime, r.FinishTime, r.Error = number("START_TIME"), number("FINISH_TIME"), f["ERROR"]
	r.Status = f["JOB_STATUS"] + f["TASK_STATUS"]
	ending := r.Status
	if ending == "SUCCESS" {
		ending, r.Status = "FINISHED", "SUCCEEDED"
	}
	counters := textCounters(f["COUNTERS"])
	switch {
	case kind == "Job" && f["JOBNAME"] != "":
		p.event.Type = "JOB_SUBMITTED"
		r.JobName, r.UserName, r.JobQueueName, r.SubmitTime = f["JOBNAME"], f["USER"], f["JOB_QUEUE"], number("SUBMIT_TIME")
	case kind == "Job" && r.FinishTime != 0:
		p.event.Type, r.JobStatus, r.TotalCounters, r.Diagnostics = "JOB_"+ending, r.Status, counters, f["FAIL_REASON"]
	case kind == "Job" && f["TOTAL_MAPS"] != "":
		p.event.Type, r.LaunchTime = "JOB_INITED", number("LAUNCH_TIME")
		r.TotalMaps = int32(min(max(number("TOTAL_MAPS"), -1), maxIndex))
		r.TotalReduces = int32(min(max(number("TOTAL_REDUCES"), -1), maxIndex))
	case kind == "Job" && f["SUBMIT_TIME"] != "": // the JobTracker was restarted
		p.event.Type, r.SubmitTime, r.LaunchTime = "JOB_INFO_CHANGED", number("SUBMIT_TIME"), number("LAUNCH_TIME")
	case kind == "Task" && r.StartTime != 0:
		p.event.Type = "TASK_STARTED"
		r.SplitLocations = p.places(f["SPLITS"])
	case kind == "Task" && ending == "FINISHED":
		p.event.Type = "TASK_FINISHED"
		p.taskCounters(p.tasks[r.TaskID], &counters)
	case kind == "Task" && ending != "":
		p.event.Type = "TASK_FAILED"
	case kind == "MapAttempt", kind == "ReduceAttempt":
		p.event.Type = strings.ToUpper(strings.TrimSuffix(kind, "Attempt")) + "_ATTEMPT_" + cmp.Or(ending, "STARTED")
		if ending == "" {
			p.attemptBegins(f)
			break
		}
		r.ShuffleFinishTime, r.SortFinishTime, r.Counters = number("SHUFFLE_FINISHED"), number("SORT_FINISHED"), counters
		r.Hostname = p.place(f["HOSTNAME"])
		r.RackName = p.job.HostRacks[traces.Node(r.Hostname)]
	}
	return err
}

// attemptBegins sets what a record says of an attempt that begins.
func (p *parser) attemptBegins(f map[string]string) {
	r := &p.event.Record
	r.TrackerName, r.Locality, r.Avataar = p.place(f["TRACKER_NAME"]), f["LOCALITY"], f["AVATAAR"]
	if r.TrackerName == "" {
		r.TrackerName = p.place(f["HOSTNAME"])
	}
	running := func(a *Attempt) bool { return a.Status == "" && a.ID != r.AttemptID }
	if t := p.tasks[r.TaskID]; t != nil && r.Avataar == "" && slices.ContainsFunc(t.Attempts, running) {
		r.Avataar = "SPECULATIVE" // Hadoop before 1.2 does not say it
	}
}

// taskCounters gives an attempt the counters of its task: Hadoop 0.18 writes none of attempts.
func (p *parser) taskCounters(t *Task, counters *recordCounters) {
	if t == nil {
		return
	}
	for _, a := range t.Attempts {
		if a.Status == "SUCCEEDED" && a.Counters == traces.NoCounters {
			a.Counters = p.counters(counters)
		}
	}
}

// places returns the hosts of a list of places.
func (p *parser) places(list string) (hosts string) {
	for place := range strings.SplitSeq(list, ",") {
		hosts += p.place(place) + ","
	}
	return hosts
}

// place returns the host that a text such as /rack/host or tracker_host:… names, and
// remembers its rack.
func (p *parser) place(text string) string {
	if tracker, ok := strings.CutPrefix(text, "tracker_"); ok {
		host, _, _ := strings.Cut(tracker, ":")
		return host
	}
	i := strings.LastIndexByte(text, '/')
	if i > 0 && text[i+1:] != "" {
		p.job.HostRacks[traces.Node(text[i+1:])] = text[:i]
	}
	return text[i+1:]
}

// oldGroups are today's names of the groups of counters. Hadoop 0.18 writes the names
// that users see, and oldCounters makes those of single counters today's.
var oldGroups = map[string]string{
	"File Systems": fileSystemCounters, "FileSystemCounters": fileSystemCounters,
	"Map-Reduce Framework": taskCounters, "org.apache.hadoop.mapred.Task$Counter": taskCounters,
	"Job Counters": jobCounters, "org.apache.hadoop.mapred.JobInProgress$Counter": jobCounters,
}

var oldCounters = strings.NewReplacer(" ", "_", "-", "_", "LOCAL BYTES", "FILE_BYTES", "LOCAL MAP TASKS", "LOCAL_MAPS",
	"LAUNCHED MAP TASKS", "TOTAL_LAUNCHED_MAPS", "LAUNCHED REDUCE TASKS", "TOTAL_LAUNCHED_REDUCES")

// textCounters reads counters such as {(group)(shown)[(name)(shown)(5)]} or, of Hadoop
// 0.18, group.name:5,group.name:6.
func textCounters(text string) (all recordCounters) {
	add := func(group, name, value string) {
		if known, ok := oldGroups[strings.TrimSpace(group)]; ok {
			group = known
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			n = maxCount + 1 // told as a count that cannot be
		}
		if i := len(all.Groups) - 1; i < 0 || all.Groups[i].Name != group {
			all.Groups = append(all.Groups, counterGroup{Name: group})
		}
		g := &all.Groups[len(all.Groups)-1]
		g.Counts = append(g.Counts, counterValue{oldCounters.Replace(strings.ToUpper(name)), n})
	}
	if !strings.HasPrefix(text, "{") {
		for counter := range strings.SplitSeq(text, ",") {
			name, value, _ := cutLast(counter, ":")
			if group, name, ok := strings.Cut(name, "."); ok {
				add(group, name, value)
			}
		}
		return all
	}
	var words []string
	group, begin := "", 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '(':
			begin = i + 1
		case ')':
			words = append(words, text[begin:i])
		case '[':
			if len(words) > 0 {
				group = words[0]
			}
			words = words[:0]
		case ']':
			if len(words) == 3 {
				add(group, words[0], words[2])
			}
			words = words[:0]
		case '{':
			words = words[:0]
		}
	}
	return all
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}
