package perfetto

import (
	"fmt"
	"slices"

	"heddle/traces"
)

// spark writes a part of an application of Spark. Applications, queries and stages are rows of jobs; each executor is a
// process, with a row for each task that runs at once.
func (w *writer) spark(e traces.Event) {
	id := traces.JobOf(e)
	switch e := e.(type) {
	case *traces.SparkApplication:
		w.span(e.T, e.End, string(id)+" "+e.Name, args{"user": e.User, "queue": e.Queue, "outcome": e.Outcome})
	case *traces.SparkQuery:
		w.span(e.T, e.End, fmt.Sprintf("query %d: %s", e.Query, e.Text), args{"job": id, "outcome": e.Outcome})
	case *traces.SparkStage:
		w.span(e.T, e.End, fmt.Sprintf("stage %d.%d: %s", e.Stage, e.Attempt, e.Name),
			args{"job": id, "tasks": e.Tasks, "parents": e.Parents, "outcome": e.Outcome})
	case *traces.SparkExecutor:
		n := w.node(executorOf(id, e.Executor), string(e.Node))
		w.mark(n.pid, e.T, "registered in "+e.Container)
		if e.End != 0 {
			w.mark(n.pid, e.End, "gone: "+e.Outcome.String()+" "+e.Reason)
		}
	case *traces.SparkTask:
		w.sparkTask(e)
	}
}

func executorOf(id traces.JobID, executor string) traces.Node {
	return traces.Node("executor " + executor + " of " + string(id))
}

// span writes a row of a part of an application. One without an end is as long as nothing.
func (w *writer) span(from, to traces.Time, name string, a args) {
	w.spans++
	begin := traceEvent{Phase: "b", PID: jobsPID, At: micros(from), Category: "spark", ID: w.spans, Name: name, Args: a}
	w.put(begin)
	begin.Phase, begin.At, begin.Args = "e", micros(max(from, to)), nil
	w.put(begin)
}

func (w *writer) sparkTask(e *traces.SparkTask) {
	n := w.node(executorOf(e.App, e.Executor), string(e.Node))
	row := slices.IndexFunc(n.until, func(t traces.Time) bool { return t <= e.T })
	if row < 0 {
		row, n.until = len(n.until), append(n.until, 0)
	}
	n.until[row] = max(e.T, e.End)
	name := fmt.Sprintf("%d.%d of stage %d.%d", e.Index, e.Attempt, e.Stage, e.StageAttempt)
	w.lasting(&running{node: n, row: row}, e.T, e.End, "task", name, args{
		"job": e.App, "tid": e.ID, "locality": e.Locality, "outcome": e.Outcome, "error": e.Error, "metrics": e.SparkCounters,
	})
}
