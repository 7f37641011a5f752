package traces

// JobOf returns the id of the job, or application of Spark, that an event names. It is empty for events
// about nodes and blocks, and for Actuation events, which only name a decision.
func JobOf(e Event) JobID {
	switch e := e.(type) {
	case *JobSubmitted:
		return e.Job
	case *JobListed:
		return e.Job
	case *JobStarted:
		return e.Job
	case *JobPredicted:
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
	case *SparkApplication:
		return e.App
	case *SparkQuery:
		return e.App
	case *SparkStage:
		return e.App
	case *SparkExecutor:
		return e.App
	case *SparkTask:
		return e.App
	}
	return ""
}
