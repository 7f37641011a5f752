package tracefile

import "heddle/traces"

// sparkState is what is known of an application of Spark so far.
type sparkState struct {
	executors map[string]*traces.SparkExecutor
	stages    map[[2]int32]int32 // of each attempt of a stage, its number of tasks
	tasks     map[int64]bool
}

// spark checks an event of an application of Spark.
func (s *sanity) spark(e traces.Event) {
	if a, ok := e.(*traces.SparkApplication); ok {
		if s.jobs[a.App] != nil {
			s.warn("%s is submitted again", a.App)
		}
		s.jobs[a.App] = &jobState{submitted: true, finished: a.End != 0}
		s.ends(e, a.End)
		return
	}
	id := traces.JobOf(e)
	s.job(id)
	a := s.apps[id]
	if a == nil {
		a = &sparkState{map[string]*traces.SparkExecutor{}, map[[2]int32]int32{}, map[int64]bool{}}
		s.apps[id] = a
	}
	switch e := e.(type) {
	case *traces.SparkQuery:
		s.ends(e, e.End)
	case *traces.SparkStage:
		s.ends(e, e.End)
		a.stages[[2]int32{e.Stage, e.Attempt}] = e.Tasks
	case *traces.SparkExecutor:
		s.ends(e, e.End)
		s.node(e.Node)
		x := *e
		a.executors[e.Executor] = &x
	case *traces.SparkTask:
		s.ends(e, e.End)
		s.sparkTask(a, e)
	}
}

func (s *sanity) sparkTask(a *sparkState, e *traces.SparkTask) {
	if a.tasks[e.ID] {
		s.warn("task %d of %s starts again", e.ID, e.App)
	}
	a.tasks[e.ID] = true
	if x := a.executors[e.Executor]; x == nil || x.End != 0 && e.T > x.End {
		s.warn("task %d of %s starts on executor %q, which is not there", e.ID, e.App, e.Executor)
	}
	if n, ok := a.stages[[2]int32{e.Stage, e.StageAttempt}]; !ok || e.Index >= n {
		s.warn("task %d of %s: stage %d.%d has no task %d", e.ID, e.App, e.Stage, e.StageAttempt, e.Index)
	}
}

// ends warns of an event whose end is before it.
func (s *sanity) ends(e traces.Event, end traces.Time) {
	if end != 0 && end < e.At() {
		s.warn("%v of %s ends at %d ns, before it starts", e.Kind(), traces.JobOf(e), end)
	}
}
