package traces

// JobOf returns the job that an event is about. It is empty for events of nodes
// and blocks, and for actuations, which name a decision only.
func JobOf(e Event) JobID {
	switch e := e.(type) {
	case *JobSubmitted:
		return e.Job
	case *JobListed:
		return e.Job
	case *JobStarted:
		return e.Job
	case *JobFinished:
		return e.Job
	case *TaskScheduled:
		return e.Task.Job
	case *TaskFinished:
		return e.Task.Job
	case *AttemptStarted:
		return e.Attempt.Job
	case *AttemptFinished:
		return e.Attempt.Job
	case *Decision:
		return e.Job
	}
	return ""
}
