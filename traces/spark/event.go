package spark

// event is any event of a log: what is needed of the events of all kinds. Times are in ms since
// 1970 by the driver's clock.
type event struct {
	Event     string
	Version   string `json:"Spark Version"`
	AppName   string `json:"App Name"`
	AppID     string `json:"App ID"`
	AttemptID string `json:"App Attempt ID"`
	User      string
	Timestamp int64
	ExitCode  *int64 // from 4.0 on

	Settings map[string]string `json:"Spark Properties"`

	ProfileID int64                             `json:"Resource Profile Id"`
	Requests  map[string]struct{ Amount int64 } `json:"Executor Resource Requests"`

	Manager struct {
		Executor string `json:"Executor ID"`
		Host     string
	} `json:"Block Manager ID"`
	ProcessID string `json:"processId"`
	Process   struct {
		Host string            `json:"hostPort"`
		Logs map[string]string `json:"logUrlInfo"`
	} `json:"info"`

	Executor     string `json:"Executor ID"`
	Reason       string `json:"Removed Reason"`
	ExecutorInfo struct {
		Host       string
		Cores      int64             `json:"Total Cores"`
		Logs       map[string]string `json:"Log Urls"`
		Attributes map[string]string
		ProfileID  int64 `json:"Resource Profile Id"`
	} `json:"Executor Info"`

	// Of queries, and of the processes beside executors.
	Time        int64   `json:"time"`
	Query       int64   `json:"executionId"`
	Root        *int64  `json:"rootExecutionId"`
	Description string  `json:"description"`
	Error       *string `json:"errorMessage"`

	Job        int64        `json:"Job ID"`
	Submitted  int64        `json:"Submission Time"`
	Stages     []*stageInfo `json:"Stage Infos"`
	StageIDs   []int64      `json:"Stage IDs"`
	Properties struct {
		Query string `json:"spark.sql.execution.id"`
	}
	Result struct{ Result string } `json:"Job Result"`

	Stage        stageInfo `json:"Stage Info"`
	StageID      int64     `json:"Stage ID"`
	StageAttempt int64     `json:"Stage Attempt ID"`
	TaskType     string    `json:"Task Type"`
	EndReason    endReason `json:"Task End Reason"`
	Task         taskInfo  `json:"Task Info"`
	Metrics      *metrics  `json:"Task Metrics"`
}

type stageInfo struct {
	ID      int64   `json:"Stage ID"`
	Attempt int64   `json:"Stage Attempt ID"`
	Name    string  `json:"Stage Name"`
	Tasks   int64   `json:"Number of Tasks"`
	Parents []int64 `json:"Parent IDs"`
	RDDs    []struct {
		ID int64 `json:"RDD ID"`
	} `json:"RDD Info"` // the first is the one that the stage makes
	Submitted int64  `json:"Submission Time"`
	Completed int64  `json:"Completion Time"`
	Failure   string `json:"Failure Reason"`
}

type endReason struct {
	Reason      string
	Class       string `json:"Class Name"`
	Description string
	Message     string // of a fetch that failed
	Loss        string `json:"Loss Reason"`
	Kill        string `json:"Kill Reason"`
}

type taskInfo struct {
	ID          int64 `json:"Task ID"`
	Index       int64
	Attempt     int64
	Launched    int64  `json:"Launch Time"`
	Executor    string `json:"Executor ID"`
	Host        string
	Locality    string
	Speculative bool
	Finished    int64 `json:"Finish Time"`
}

type metrics struct {
	Deserialize int64 `json:"Executor Deserialize Time"`
	Run         int64 `json:"Executor Run Time"`
	CPUNs       int64 `json:"Executor CPU Time"`
	GC          int64 `json:"JVM GC Time"`
	Result      int64 `json:"Result Serialization Time"`
	Peak        int64 `json:"Peak Execution Memory"`
	SpilledMem  int64 `json:"Memory Bytes Spilled"`
	SpilledDisk int64 `json:"Disk Bytes Spilled"`
	Read        struct {
		Remote    int64 `json:"Remote Bytes Read"`
		Local     int64 `json:"Local Bytes Read"`
		FetchWait int64 `json:"Fetch Wait Time"`
	} `json:"Shuffle Read Metrics"`
	Write struct {
		Bytes int64 `json:"Shuffle Bytes Written"`
		Ns    int64 `json:"Shuffle Write Time"`
	} `json:"Shuffle Write Metrics"`
	Input struct {
		Bytes   int64 `json:"Bytes Read"`
		Records int64 `json:"Records Read"`
	} `json:"Input Metrics"`
	Output struct {
		Bytes int64 `json:"Bytes Written"`
	} `json:"Output Metrics"`
}
