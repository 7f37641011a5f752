package jhist

import "heddle/traces"

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

// counterFields maps Hadoop's counter groups and counter names to the counters
// of a trace. A trace has no other counters.
var counterFields = map[string]map[string]func(*traces.Counters) *int64{
	fileSystemCounters: {
		"HDFS_BYTES_READ":    func(c *traces.Counters) *int64 { return &c.HDFSReadBytes },
		"HDFS_BYTES_WRITTEN": func(c *traces.Counters) *int64 { return &c.HDFSWrittenBytes },
		"FILE_BYTES_READ":    func(c *traces.Counters) *int64 { return &c.FileReadBytes },
		"FILE_BYTES_WRITTEN": func(c *traces.Counters) *int64 { return &c.FileWrittenBytes },
	},
	taskCounters: {
		"REDUCE_SHUFFLE_BYTES":  func(c *traces.Counters) *int64 { return &c.ShuffleBytes },
		"MAP_OUTPUT_BYTES":      func(c *traces.Counters) *int64 { return &c.MapOutputBytes },
		"MAP_INPUT_RECORDS":     func(c *traces.Counters) *int64 { return &c.InputRecords },
		"REDUCE_INPUT_RECORDS":  func(c *traces.Counters) *int64 { return &c.InputRecords },
		"MAP_OUTPUT_RECORDS":    func(c *traces.Counters) *int64 { return &c.OutputRecords },
		"REDUCE_OUTPUT_RECORDS": func(c *traces.Counters) *int64 { return &c.OutputRecords },
		"SPILLED_RECORDS":       func(c *traces.Counters) *int64 { return &c.SpilledRecords },
		"CPU_MILLISECONDS":      func(c *traces.Counters) *int64 { return &c.CPUMs },
		"GC_TIME_MILLIS":        func(c *traces.Counters) *int64 { return &c.GCMs },
		"PHYSICAL_MEMORY_BYTES": func(c *traces.Counters) *int64 { return &c.PhysicalBytes },
	},
}

// counters converts Hadoop's counters to the counters of a trace. A trace has
// one number of records where Hadoop has one for maps and one for reduces; the
// two are added.
func (p *parser) counters(r *recordCounters) traces.Counters {
	all := traces.NoCounters
	for i := range r.Groups {
		fields := counterFields[r.Groups[i].Name]
		for _, c := range r.Groups[i].Counts {
			field := fields[c.Name]
			switch {
			case field == nil || c.Value == -1:
			case c.Value < 0 || c.Value > maxCount:
				p.mend(oddCount, c.Name)
			default:
				n := field(&all)
				*n = min(traces.AddCount(max(*n, 0), c.Value), maxCount)
			}
		}
	}
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
		if r.Groups[i].Name != jobCounters {
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
