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
	ID               string `wire:"id" form:"job"`
	User             string `wire:"user" form:"user"`
	State            string `wire:"state"`      // state of the job: NEW, INITED, RUNNING, SUCCEEDED, FAILED, KILLED, ERROR
	SubmittedMs      int64  `wire:"submitTime"` // time when the job was submitted, in Unix ms; set by the history server only
	StartedMs        int64  `wire:"startTime"`
	Maps             int    `wire:"mapsTotal"`
	MapsCompleted    int    `wire:"mapsCompleted"`
	Reduces          int    `wire:"reducesTotal"`
	ReducesCompleted int    `wire:"reducesCompleted"`
	MapsRunning      int    `wire:"mapsRunning"`
	ReducesRunning   int    `wire:"reducesRunning"`
	// Numbers of the job's task attempts by state.
	RunningMapAttempts    int `wire:"runningMapAttempts"`
	FailedMapAttempts     int `wire:"failedMapAttempts"`
	KilledMapAttempts     int `wire:"killedMapAttempts"`
	RunningReduceAttempts int `wire:"runningReduceAttempts"`
	FailedReduceAttempts  int `wire:"failedReduceAttempts"`
	KilledReduceAttempts  int `wire:"killedReduceAttempts"`
}

// Task is a map or a reduce of a MapReduce job.
type Task struct {
	ID                string `wire:"id" form:"task"`
	Type              string `wire:"type"`  // type of the task: MAP, REDUCE
	State             string `wire:"state"` // state of the task: NEW, SCHEDULED, RUNNING, SUCCEEDED, FAILED, KILLED
	SuccessfulAttempt string `wire:"successfulAttempt" form:"attempt"`
	StartedMs         int64  `wire:"startTime"`
	FinishedMs        int64  `wire:"finishTime"`
}

// TaskAttempt is one attempt of a task.
type TaskAttempt struct {
	ID   string `wire:"id" form:"attempt"`
	Type string `wire:"type"` // type of the attempt's task: MAP, REDUCE
	// state of the attempt: NEW, STARTING, RUNNING, SUCCEEDED, FAILED, KILLED, ...
	State string `wire:"state"`
	// id of the attempt's container; empty while the attempt waits for a container
	ContainerID     string `wire:"assignedContainerId" form:"container"`
	NodeHTTPAddress string `wire:"nodeHttpAddress"`
	Rack            string `wire:"rack"`
	Diagnostics     string `wire:"diagnostics"`
	StartedMs       int64  `wire:"startTime"`
	FinishedMs      int64  `wire:"finishTime"`
}

// Job returns the state, progress and numbers of tasks of the job.
func (j *JobReader) Job(ctx context.Context) (Job, error) {
	return ofJob[Job](ctx, j, "", "job")
}

// Conf returns the value of one of the job's properties, empty if it is not set.
func (j *JobReader) Conf(ctx context.Context, name string) (string, error) {
	list, err := ofJob[[]property](ctx, j, "/conf", "conf", "property")
	return propertyMap(list)[name], err
}

// Tasks lists the job's tasks.
func (j *JobReader) Tasks(ctx context.Context) ([]Task, error) {
	return ofJob[[]Task](ctx, j, "/tasks", "tasks", "task")
}

// Attempts lists the attempts of a task.
func (j *JobReader) Attempts(ctx context.Context, taskID string) ([]TaskAttempt, error) {
	return ofJob[[]TaskAttempt](ctx, j, taskPath(taskID)+"/attempts", "taskAttempts", "taskAttempt")
}

// ofJob is get for what is said of a job.
func ofJob[T any](ctx context.Context, j *JobReader, path string, in ...string) (v T, err error) {
	r := request{path: j.path + path, proxied: j.gone != nil}
	a, err := j.c.do(ctx, r)
	switch {
	case err != nil:
	case r.proxied && a.byProxy():
		err = j.gone(ctx, r, a)
	default:
		err = j.c.understood(r, a, &v, in...)
	}
	return v, err
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
