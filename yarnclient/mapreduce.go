package yarnclient

import (
	"context"
	"fmt"
	"net/url"
	"strings"
)

// JobReader reads the data of a MapReduce job. A reader from RM.AM asks the
// job's ApplicationMaster while the job runs. A reader from History.Job asks
// the history server after the job has ended.
type JobReader struct {
	c    *client
	path string // URL path of the job at the ApplicationMaster or the history server
	// gone makes the error for an answer that comes from the ResourceManager's
	// proxy instead of the ApplicationMaster. gone is nil if the data is read
	// from the history server, which has no proxy.
	gone func(ctx context.Context, r request, a answer) error
}

// Job is a MapReduce job as its ApplicationMaster or the history server
// describes it.
type Job struct {
	ID                string  `wire:"id" form:"job"`
	Name              string  `wire:"name"`
	User              string  `wire:"user" form:"user"`
	Queue             string  `wire:"queue"`
	State             string  `wire:"state"`      // state of the job: NEW, INITED, RUNNING, SUCCEEDED, FAILED, KILLED, ERROR
	SubmittedMs       int64   `wire:"submitTime"` // time when the job was submitted, in Unix ms; set by the history server only
	StartedMs         int64   `wire:"startTime"`
	FinishedMs        int64   `wire:"finishTime"`
	Diagnostics       string  `wire:"diagnostics"`
	Uberized          bool    `wire:"uberized"`
	Maps              int     `wire:"mapsTotal"`
	MapsCompleted     int     `wire:"mapsCompleted"`
	Reduces           int     `wire:"reducesTotal"`
	ReducesCompleted  int     `wire:"reducesCompleted"`
	MapsPending       int     `wire:"mapsPending"` // number of maps that have not started; like the next five numbers, set for running jobs only
	MapsRunning       int     `wire:"mapsRunning"`
	ReducesPending    int     `wire:"reducesPending"`
	ReducesRunning    int     `wire:"reducesRunning"`
	MapProgressPct    float64 `wire:"mapProgress"`
	ReduceProgressPct float64 `wire:"reduceProgress"`
	// Numbers of the job's task attempts by state. An attempt in state NEW has
	// not started yet.
	NewMapAttempts           int `wire:"newMapAttempts"`
	RunningMapAttempts       int `wire:"runningMapAttempts"`
	SuccessfulMapAttempts    int `wire:"successfulMapAttempts"`
	FailedMapAttempts        int `wire:"failedMapAttempts"`
	KilledMapAttempts        int `wire:"killedMapAttempts"`
	NewReduceAttempts        int `wire:"newReduceAttempts"`
	RunningReduceAttempts    int `wire:"runningReduceAttempts"`
	SuccessfulReduceAttempts int `wire:"successfulReduceAttempts"`
	FailedReduceAttempts     int `wire:"failedReduceAttempts"`
	KilledReduceAttempts     int `wire:"killedReduceAttempts"`
	// Mean times of the job's successful task attempts in ms: of maps, and of the
	// shuffle, merge and reduce phases of reduces. Only the history server sets
	// them.
	AvgMapMs     int64 `wire:"avgMapTime"`
	AvgShuffleMs int64 `wire:"avgShuffleTime"`
	AvgMergeMs   int64 `wire:"avgMergeTime"`
	AvgReduceMs  int64 `wire:"avgReduceTime"`
}

// Task is a map or a reduce of a MapReduce job.
type Task struct {
	ID                string  `wire:"id" form:"task"`
	Type              string  `wire:"type"`  // type of the task: MAP, REDUCE
	State             string  `wire:"state"` // state of the task: NEW, SCHEDULED, RUNNING, SUCCEEDED, FAILED, KILLED
	ProgressPct       float64 `wire:"progress"`
	SuccessfulAttempt string  `wire:"successfulAttempt" form:"attempt"`
	StartedMs         int64   `wire:"startTime"`
	FinishedMs        int64   `wire:"finishTime"`
	ElapsedMs         int64   `wire:"elapsedTime"`
}

// TaskAttempt is one attempt of a task. The shuffle and merge times are set for
// attempts of reduces only.
type TaskAttempt struct {
	ID                string  `wire:"id" form:"attempt"`
	Type              string  `wire:"type"`                                 // type of the attempt's task: MAP, REDUCE
	State             string  `wire:"state"`                                // state of the attempt: NEW, STARTING, RUNNING, SUCCEEDED, FAILED, KILLED, ...
	ContainerID       string  `wire:"assignedContainerId" form:"container"` // id of the attempt's container; empty while the attempt waits for a container
	NodeHTTPAddress   string  `wire:"nodeHttpAddress"`
	Rack              string  `wire:"rack"`
	ProgressPct       float64 `wire:"progress"`
	Status            string  `wire:"status"`
	Diagnostics       string  `wire:"diagnostics"`
	StartedMs         int64   `wire:"startTime"`
	FinishedMs        int64   `wire:"finishTime"`
	ElapsedMs         int64   `wire:"elapsedTime"`
	ShuffleFinishedMs int64   `wire:"shuffleFinishTime"`
	MergeFinishedMs   int64   `wire:"mergeFinishTime"`
	ShuffleMs         int64   `wire:"elapsedShuffleTime"`
	MergeMs           int64   `wire:"elapsedMergeTime"`
	ReduceMs          int64   `wire:"elapsedReduceTime"`
}

// Job returns the state, progress and numbers of tasks of the job.
func (j *JobReader) Job(ctx context.Context) (Job, error) {
	var out Job
	err := j.get(ctx, "", &out, "job")
	return out, err
}

// Tasks lists the job's tasks.
func (j *JobReader) Tasks(ctx context.Context) ([]Task, error) {
	var out []Task
	err := j.get(ctx, "/tasks", &out, "tasks", "task")
	return out, err
}

// Attempts lists the attempts of a task.
func (j *JobReader) Attempts(ctx context.Context, taskID string) ([]TaskAttempt, error) {
	var out []TaskAttempt
	err := j.get(ctx, taskPath(taskID)+"/attempts", &out, "taskAttempts", "taskAttempt")
	return out, err
}

func (j *JobReader) get(ctx context.Context, path string, v any, in ...string) error {
	r := request{path: j.path + path, proxied: j.gone != nil}
	a, err := j.c.do(ctx, r)
	if err != nil {
		return err
	}
	if j.gone != nil && a.byProxy() {
		return j.gone(ctx, r, a)
	}
	return j.c.understood(r, a, v, in...)
}

func taskPath(taskID string) string { return "/tasks/" + url.PathEscape(taskID) }

// attemptPath returns the URL path of a task attempt such as
// attempt_1_0002_m_000003_0, below the path of its job.
func attemptPath(attemptID string) (string, error) {
	task, ok := strings.CutPrefix(attemptID, "attempt_")
	end := strings.LastIndexByte(task, '_')
	if !ok || strings.Count(task, "_") != 4 || end < 0 {
		return "", fmt.Errorf("yarn: %q: want a task attempt, attempt_<cluster>_<job>_<m or r>_<task>_<attempt>", attemptID)
	}
	return taskPath("task_"+task[:end]) + "/attempts/" + url.PathEscape(attemptID), nil
}
