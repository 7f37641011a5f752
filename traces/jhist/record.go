package jhist

import (
	"cmp"
	"strings"

	"heddle/traces"
)

// event is an event of a history file. Its Avro record has one of about twenty
// types. One Go struct can decode all these types, since fields with the same
// meaning have the same name in each.
type event struct {
	Type   string `avro:"type"`
	Record record `avro:"event"`
}

// record has those fields of a history file's events from which a Job is made.
// Times are in milliseconds since 1970.
type record struct {
	JobID        string `avro:"jobid"`
	JobName      string `avro:"jobName"`
	UserName     string `avro:"userName"`
	JobQueueName string `avro:"jobQueueName"`
	JobStatus    string `avro:"jobStatus"`
	Priority     string `avro:"priority"`
	Diagnostics  string `avro:"diagnostics"`
	SubmitTime   int64  `avro:"submitTime"`
	LaunchTime   int64  `avro:"launchTime"`
	FinishTime   int64  `avro:"finishTime"`
	TotalMaps    int32  `avro:"totalMaps"`
	TotalReduces int32  `avro:"totalReduces"`
	Uberized     bool   `avro:"uberized"`

	NodeManagerHost string `avro:"nodeManagerHost"`

	TaskID              string `avro:"taskid"`
	TaskType            string `avro:"taskType"`
	SplitLocations      string `avro:"splitLocations"`
	SuccessfulAttemptID string `avro:"successfulAttemptId"`

	AttemptID         string `avro:"attemptId"`
	StartTime         int64  `avro:"startTime"`
	TrackerName       string `avro:"trackerName"`
	ContainerID       string `avro:"containerId"`
	Locality          string `avro:"locality"`
	Avataar           string `avro:"avataar"`
	MapFinishTime     int64  `avro:"mapFinishTime"`
	ShuffleFinishTime int64  `avro:"shuffleFinishTime"`
	SortFinishTime    int64  `avro:"sortFinishTime"`
	Hostname          string `avro:"hostname"`
	RackName          string `avro:"rackname"`
	Status            string `avro:"status"`
	Error             string `avro:"error"`

	Counters      recordCounters `avro:"counters"`
	TotalCounters recordCounters `avro:"totalCounters"`
}

type recordCounters struct {
	Groups []counterGroup `avro:"groups"`
}

type counterGroup struct {
	Name   string         `avro:"name"`
	Counts []counterValue `avro:"counts"`
}

type counterValue struct {
	Name  string `avro:"name"`
	Value int64  `avro:"value"`
}

// Names of the groups of counters that a trace holds.
const (
	fileSystemCounters = "org.apache.hadoop.mapreduce.FileSystemCounter"
	taskCounters       = "org.apache.hadoop.mapreduce.TaskCounter"
	jobCounters        = "org.apache.hadoop.mapreduce.JobCounter"
)

// taskField returns the counter of a trace for one of a task's; nil if a trace has no such
// counter.
func taskField(name string, c *traces.Counters) *int64 {
	switch name {
	case "REDUCE_SHUFFLE_BYTES":
		return &c.ShuffleBytes
	case "MAP_OUTPUT_BYTES":
		return &c.MapOutputBytes
	case "MAP_INPUT_RECORDS", "REDUCE_INPUT_RECORDS":
		return &c.InputRecords
	case "MAP_OUTPUT_RECORDS", "REDUCE_OUTPUT_RECORDS":
		return &c.OutputRecords
	case "SPILLED_RECORDS":
		return &c.SpilledRecords
	case "CPU_MILLISECONDS":
		return &c.CPUMs
	case "GC_TIME_MILLIS":
		return &c.GCMs
	case "PHYSICAL_MEMORY_BYTES":
		return &c.PhysicalBytes
	}
	return nil
}

// counterField returns the counter of a trace for one of Hadoop's; nil if a trace has no such
// counter. HDFS stands for all file systems but the local one, such as those of S3 and ABFS. What
// input and output formats read and wrote goes to formats.
func counterField(group, name string, all, formats *traces.Counters) *int64 {
	system, what, _ := strings.Cut(name, "_BYTES_")
	switch {
	case group == taskCounters:
		return taskField(name, all)
	case strings.Contains(group, "FileInputFormat") && name == "BYTES_READ":
		return &formats.HDFSReadBytes
	case strings.Contains(group, "FileOutputFormat") && name == "BYTES_WRITTEN":
		return &formats.HDFSWrittenBytes
	case group != fileSystemCounters:
		return nil
	case what == "READ" && system == "FILE":
		return &all.FileReadBytes
	case what == "READ":
		return &all.HDFSReadBytes
	case what == "WRITTEN" && system == "FILE":
		return &all.FileWrittenBytes
	case what == "WRITTEN":
		return &all.HDFSWrittenBytes
	}
	return nil
}

// counters converts Hadoop's counters to the counters of a trace. A trace has
// one number of records where Hadoop has one for maps and one for reduces; the
// two are added. What the formats of input and output counted is the least that was read and
// written: jobs on local files, and some stores, have no other counter.
func (p *parser) counters(r *recordCounters) traces.Counters {
	all, formats := traces.NoCounters, traces.NoCounters
	for i := range r.Groups {
		group := cmp.Or(oldGroups[r.Groups[i].Name], r.Groups[i].Name)
		for _, c := range r.Groups[i].Counts {
			field := counterField(group, c.Name, &all, &formats)
			switch {
			case field == nil || c.Value == -1:
			case c.Value < 0 || c.Value > maxCount:
				p.mend(oddCount, c.Name)
			default:
				*field = min(traces.AddCount(max(*field, 0), c.Value), maxCount)
			}
		}
	}
	all.HDFSReadBytes = max(all.HDFSReadBytes, formats.HDFSReadBytes)
	all.HDFSWrittenBytes = max(all.HDFSWrittenBytes, formats.HDFSWrittenBytes)
	return all
}

// jobCounters sets the job's counts of maps by locality and of launched attempts.
// A count that the file does not have is 0, since Hadoop does not write zeros.
func (p *parser) jobCounters(r *recordCounters) {
	j := p.job
	fields := map[string]*int64{
		"DATA_LOCAL_MAPS": &j.DataLocalMaps, "RACK_LOCAL_MAPS": &j.RackLocalMaps, "OTHER_LOCAL_MAPS": &j.OtherLocalMaps,
		"TOTAL_LAUNCHED_MAPS": &j.LaunchedMaps, "TOTAL_LAUNCHED_REDUCES": &j.LaunchedReduces,
	}
	for i := range r.Groups {
		if name := r.Groups[i].Name; cmp.Or(oldGroups[name], name) != jobCounters {
			continue
		}
		for _, n := range fields {
			*n = 0
		}
		for _, c := range r.Groups[i].Counts {
			if n := fields[c.Name]; n != nil && c.Value >= 0 && c.Value <= maxCount {
				*n = c.Value
			} else if n != nil {
				p.mend(oddCount, c.Name)
			}
		}
	}
}
