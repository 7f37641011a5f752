package jhist

// event is one line of a history file. Its record is any of about twenty that
// the file's schema has; one struct takes them all, since they call the same
// things by the same names.
type event struct {
	Type   string `avro:"type"`
	Record record `avro:"event"`
}

// record has the fields of all record types that a Job is made of. Times are
// milliseconds since 1970.
type record struct {
	JobID        string `avro:"jobid"`
	JobName      string `avro:"jobName"`
	UserName     string `avro:"userName"`
	JobQueueName string `avro:"jobQueueName"`
	JobConfPath  string `avro:"jobConfPath"`
	JobStatus    string `avro:"jobStatus"`
	Priority     string `avro:"priority"`
	Diagnostics  string `avro:"diagnostics"`
	SubmitTime   int64  `avro:"submitTime"`
	LaunchTime   int64  `avro:"launchTime"`
	FinishTime   int64  `avro:"finishTime"`
	TotalMaps    int32  `avro:"totalMaps"`
	TotalReduces int32  `avro:"totalReduces"`
	Uberized     bool   `avro:"uberized"`

	ApplicationAttemptID string `avro:"applicationAttemptId"`
	NodeManagerHost      string `avro:"nodeManagerHost"`

	TaskID              string `avro:"taskid"`
	TaskType            string `avro:"taskType"`
	SplitLocations      string `avro:"splitLocations"`
	SuccessfulAttemptID string `avro:"successfulAttemptId"`
	FailedDueToAttempt  string `avro:"failedDueToAttempt"`

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

	ClockSplits   []int32 `avro:"clockSplits"`
	CPUUsages     []int32 `avro:"cpuUsages"`
	VMemKbytes    []int32 `avro:"vMemKbytes"`
	PhysMemKbytes []int32 `avro:"physMemKbytes"`

	Counters       recordCounters `avro:"counters"`
	TotalCounters  recordCounters `avro:"totalCounters"`
	MapCounters    recordCounters `avro:"mapCounters"`
	ReduceCounters recordCounters `avro:"reduceCounters"`
}

type recordCounters struct {
	Groups []struct {
		Name   string `avro:"name"`
		Counts []struct {
			Name  string `avro:"name"`
			Value int64  `avro:"value"`
		} `avro:"counts"`
	} `avro:"groups"`
}
